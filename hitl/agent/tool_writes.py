"""What a tool leaves: the message that answers its call, and what it writes to the state.

A tool writes by returning ``Command(update={...})``. The body has run by then, so that nothing
in here may fail: what cannot be used becomes a result that says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import get_type_hints

from hitl.agent.messages import ToolMessage
from hitl.agent.review import ReviewState
from hitl.agent.tool_result import tool_message
from hitl.agent.wording import NOT_KEPT
from hitl.codec import pack
from hitl.errors import NotStorable
from hitl.values import NO_ANSWER, Command, ToolCall

__all__ = ["Writes", "left_by"]

Writes = list[tuple[str, object]]

DONE = "Done."

_OURS = frozenset(get_type_hints(ReviewState))
"""What says which calls may run: no tool writes it."""


def left_by(result: object, call: ToolCall, keys: Collection[str]) -> tuple[ToolMessage, Writes]:
    """Return the message that answers a call, and what its tool writes to the state.

    Args:
        result: What the tool's function returned.
        call: The call.
        keys: The keys of the state.
    """
    if type(result) is str and result.isascii():
        return tool_message(result, call), []
    writes: Writes = []
    try:
        if isinstance(result, Command):
            result, writes = _opened(result, call, keys)
        message = tool_message(result, call)
        pack(message, f"the result of {call['name']!r}")
    except (NotStorable, _Unusable) as error:
        text = NOT_KEPT.format(name=call["name"], problem=getattr(error, "message", error))
        return tool_message(text, call, status="error"), []
    return message, writes


class _Unusable(Exception):
    """A command says what a tool cannot say."""


def _opened(command: Command, call: ToolCall, keys: Collection[str]) -> tuple[object, Writes]:
    if command.graph is not None or command.goto or command.resume is not NO_ANSWER:
        raise _Unusable("a tool's Command has an update and nothing else.")
    update = command.update or {}
    if not isinstance(update, Mapping):
        raise _Unusable(f"the update of its Command is a {type(update).__name__}, not a dict.")
    answer: object = DONE
    writes: Writes = []
    for key, value in update.items():
        if key == "messages":
            answer = _answer(value, call)
        elif key not in keys or key in _OURS:
            raise _Unusable(f"it writes {key!r}, which is no key of the state.")
        else:
            pack(value, f"what {call['name']!r} writes to {key!r}")
            writes.append((key, value))
    return answer, writes


def _answer(messages: object, call: ToolCall) -> object:
    given = messages if isinstance(messages, list | tuple) else [messages]
    if len(given) != 1 or not isinstance(given[0], ToolMessage):
        raise _Unusable("the messages of its Command are not the one ToolMessage of its call.")
    return replace(given[0], tool_call_id=call.get("id") or "")
