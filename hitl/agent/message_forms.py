"""What else may stand for a message: texts, pairs, and dicts in the forms of other libraries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TypeAlias, cast

from hitl.agent.message_types import (
    AIMessage,
    BaseMessage,
    Content,
    HumanMessage,
    InvalidToolCall,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    checked_call,
)
from hitl.errors import Misuse
from hitl.values import Json, ToolCall

__all__ = ["MessageLike", "Messages", "parse_tool_call", "to_message", "to_messages"]

MessageLike: TypeAlias = BaseMessage | str | tuple[str, Content] | Mapping[str, object]
"""What ``to_message`` understands."""

Messages: TypeAlias = MessageLike | Sequence[MessageLike]


_ROLES: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "user": HumanMessage,
    "ai": AIMessage,
    "assistant": AIMessage,
    "system": SystemMessage,
    "developer": SystemMessage,
    "tool": ToolMessage,
    "remove": RemoveMessage,
}

_FORMS = "Give a message, a text, (role, content) or {'role': ..., 'content': ...}."


def to_message(value: object) -> BaseMessage:
    """Return a message for a message, a text, ``(role, content)`` or a dict.

    Dicts may be in the form of OpenAI (``role``, tool calls with a ``function``) or in ours
    (``type`` or ``role``, tool calls with ``name`` and ``args``). A bare text is a human's.

    Args:
        value: What stands for one message.

    Raises:
        Misuse: It is none of these, or its role is unknown.
    """
    if isinstance(value, BaseMessage):
        return value
    if isinstance(value, str):
        return HumanMessage(value)
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if isinstance(value, tuple) and len(value) == 2:
        return _from_mapping({"role": value[0], "content": value[1]})
    raise Misuse(f"A {type(value).__name__} is not a message.", hint=_FORMS)


def to_messages(value: object) -> list[BaseMessage]:
    """Return a list of messages for a list of what stands for messages, or for one of them.

    Args:
        value: A list, or one message in any form that ``to_message`` takes.

    Raises:
        Misuse: Something in it is not a message.
    """
    return [to_message(each) for each in value] if isinstance(value, list) else [to_message(value)]


def _from_mapping(given: Mapping[str, object]) -> BaseMessage:
    rest = dict(given)
    role = rest.pop("role", None) or rest.pop("type", None)
    kind = _ROLES.get(role) if isinstance(role, str) else None
    if kind is None:
        raise Misuse(
            f"A message has the role {role!r} and the keys {sorted(map(str, given))}.",
            hint=f"Roles are {', '.join(_ROLES)}. {_FORMS}",
        )
    if kind is RemoveMessage:
        return RemoveMessage(_id_to_remove(rest))
    return _of_kind(kind, rest)


def _id_to_remove(rest: Mapping[str, object]) -> str:
    id = rest.get("id")
    if not isinstance(id, str):
        raise Misuse("A message to remove is not named.", hint="Give its id.")
    return id


def _of_kind(kind: type[BaseMessage], rest: dict[str, object]) -> BaseMessage:
    known = {spec.name for spec in fields(kind)}
    calls = rest.get("tool_calls") if kind is AIMessage else None
    if "content" not in rest and not calls:
        raise Misuse(f"A message has no content; its keys are {sorted(rest)}.", hint=_FORMS)
    if kind is ToolMessage and "tool_call_id" not in rest:
        raise Misuse(
            "A tool message does not say which call it answers.", hint="Give tool_call_id."
        )
    if rest.get("content") is None:
        rest["content"] = ""
    if calls:
        rest |= _sorted_calls(calls)
    told = {key: rest.pop(key) for key in list(rest) if key in known and rest[key] is not None}
    extra = {key: value for key, value in rest.items() if value not in (None, [], {})}
    if extra:
        told["additional_kwargs"] = {
            **cast(dict[str, object], told.get("additional_kwargs", {})),
            **extra,
        }
    return cast(Callable[..., BaseMessage], kind)(**told)


def _sorted_calls(calls: object) -> dict[str, object]:
    """Return tool calls of either form, the readable ones apart from the others."""
    if not isinstance(calls, list | tuple):
        raise Misuse(f"The tool calls of a message are a {type(calls).__name__}, not a list.")
    read = [_read_call(call) for call in calls]
    valid = [call for call in read if call.get("type") != "invalid_tool_call"]
    invalid = [call for call in read if call.get("type") == "invalid_tool_call"]
    return {"tool_calls": valid, **({"invalid_tool_calls": invalid} if invalid else {})}


def _read_call(call: object) -> Mapping[str, object]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        return cast(Mapping[str, object], checked_call(call))
    return parse_tool_call(
        str(function.get("name")),
        cast("str | None", function.get("arguments")),
        cast("str | None", call.get("id")),
    )


def parse_tool_call(
    name: str, args: str | dict[str, Json] | None, id: str | None
) -> ToolCall | InvalidToolCall:
    """Return a call as a provider sent it: a ``ToolCall``, or what could not be read as one.

    Args:
        name: The tool's name.
        args: A dict, or the JSON text of one; nothing at all stands for no arguments.
        id: The provider's id of the call.
    """
    try:
        read = json.loads(args) if isinstance(args, str) and args.strip() else (args or {})
    except (ValueError, RecursionError) as error:
        return _invalid(name, str(args), id, f"The arguments are not valid JSON: {error}.")
    if not isinstance(read, dict):
        return _invalid(name, str(args), id, "The arguments are not a JSON object.")
    return {"name": name, "args": read, "id": id, "type": "tool_call"}


def _invalid(name: str, args: str, id: str | None, error: str) -> InvalidToolCall:
    return {"name": name, "args": args, "id": id, "error": error, "type": "invalid_tool_call"}
