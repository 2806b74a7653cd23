"""Reading a conversation's last turn: which calls it proposed, and which are unanswered.

Providers repeat call ids, also within a turn, so an answer of ours bears an id that names the
very call it answers: the turn's message and the call's place in it. Answers that others wrote
are matched by the provider's id, as many answers as calls.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from hitl.agent.messages import AIMessage, BaseMessage, ToolMessage
from hitl.agent.review import Review, copied
from hitl.values import ToolCall

__all__ = [
    "ENDS_RUN",
    "answers_of",
    "ends_run",
    "find_turn",
    "last_turn",
    "messages_of",
    "result_id",
    "showing",
    "shown_to_code",
    "unanswered",
    "with_messages",
]


def messages_of(state: object) -> Sequence[BaseMessage]:
    """Return the messages of a state, whatever its form."""
    if type(state) is dict or isinstance(state, Mapping):
        found = state.get("messages", ())
    else:
        found = getattr(state, "messages", ())
    return found if type(found) is list or isinstance(found, Sequence) else ()


def showing(state: Any, place: int, turn: AIMessage) -> Any:
    """Return a state that shows a copy of a turn, so that its reader cannot change what runs."""
    messages = list(messages_of(state))
    messages[place] = turn
    return with_messages(state, messages)


def with_messages(state: Any, messages: list[BaseMessage]) -> Any:
    """Return a state like another one, with these messages."""
    if isinstance(state, Mapping):
        return {**state, "messages": messages}
    shown = copy.copy(state)
    object.__setattr__(shown, "messages", messages)
    return shown


def shown_to_code(state: Any, messages: Sequence[BaseMessage] | None = None) -> Any:
    """Return a state of its own for a hook: what it changes in place reaches nobody else.

    Args:
        state: The state as it is committed.
        messages: What it shows as its conversation, if not its own.
    """
    own = [_own(message) for message in (messages_of(state) if messages is None else messages)]
    if isinstance(state, Mapping):
        rest = {key: value for key, value in state.items() if key != "messages"}
        return {**{key: _value(value) for key, value in rest.items()}, "messages": own}
    shown = copy.copy(state)
    for key, value in vars(state).items() if hasattr(state, "__dict__") else ():
        object.__setattr__(shown, key, _value(value))
    object.__setattr__(shown, "messages", own)
    return shown


def _value(value: object) -> object:
    return value if isinstance(value, Review) else copy.deepcopy(value)


def _own(message: BaseMessage) -> BaseMessage:
    """Return a copy of a message; ``copy.copy`` of a class with slots takes thrice as long."""
    own = object.__new__(type(message))
    for name in _fields(type(message)):
        value = getattr(message, name)
        if name == "tool_calls":
            value = list(map(copied, value))
        elif isinstance(value, (dict, list)):
            value = copy.deepcopy(value) if value else type(value)()
        setattr(own, name, value)
    return own


_FIELDS: dict[type[BaseMessage], tuple[str, ...]] = {}


def _fields(kind: type[BaseMessage]) -> tuple[str, ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(each.name for each in fields(kind))
    return _FIELDS[kind]


def result_id(message: str | None, index: int) -> str:
    """Return the id of the message that answers a call: of which turn, and which call of it."""
    return f"{message}:{index}"


def last_turn(messages: Sequence[BaseMessage]) -> int | None:
    """Return the place of the last answer of the model, or None where there is none."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], AIMessage):
            return place
    return None


def answers_of(messages: Sequence[BaseMessage], place: int) -> list[ToolMessage | None]:
    """Return the answer to each call of a turn, None where it is open."""
    turn = messages[place]
    if not isinstance(turn, AIMessage) or not turn.tool_calls:
        return []
    given: dict[str | None, ToolMessage] = {}
    for message in _behind(messages, place):
        given[message.id or f"unnamed {len(given)}"] = message
    own = [given.pop(result_id(turn.id, index), None) for index in range(len(turn.tool_calls))]
    others: dict[str, list[ToolMessage]] = {}
    for message in reversed(given.values()):
        others.setdefault(message.tool_call_id, []).append(message)
    for index, call in enumerate(turn.tool_calls):
        if own[index] is None and others.get(call.get("id") or ""):
            own[index] = others[call.get("id") or ""].pop()
    return own


def _behind(messages: Sequence[BaseMessage], place: int) -> Iterator[ToolMessage]:
    """Yield the tool messages between a turn and the next."""
    for message in messages[place + 1 :]:
        if isinstance(message, AIMessage):
            return
        if isinstance(message, ToolMessage):
            yield message


def unanswered(messages: Sequence[BaseMessage], place: int) -> Iterator[tuple[int, ToolCall]]:
    """Yield the calls of a turn that no tool message after it answers, with their index."""
    turn = messages[place]
    if isinstance(turn, AIMessage):
        for index, answer in enumerate(answers_of(messages, place)):
            if answer is None:
                yield index, turn.tool_calls[index]


def find_turn(messages: Sequence[BaseMessage], id: str) -> int | None:
    """Return the place of a turn, or None where it is gone."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].id == id and isinstance(messages[place], AIMessage):
            return place
    return None


ENDS_RUN = "ends_run"
"""In ``additional_kwargs`` of a tool message after which the model is not asked again."""


def ends_run(messages: Sequence[BaseMessage], place: int) -> bool:
    """Return whether an answer to a turn says that the run ends with it."""
    return any(ENDS_RUN in message.additional_kwargs for message in _behind(messages, place))
