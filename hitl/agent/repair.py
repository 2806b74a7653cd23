"""A history that a model can read: every call has its one answer, right behind its turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from hitl.agent.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    BaseMessage,
    RemoveMessage,
    ToolMessage,
    to_messages,
)
from hitl.agent.turns import messages_of, result_id
from hitl.agent.wording import DID_NOT_COMPLETE, NOT_KNOWN, NOT_READABLE

__all__ = ["repair", "repaired"]


def repaired(
    messages: Sequence[BaseMessage], lost: frozenset[str] = frozenset()
) -> list[BaseMessage] | None:
    """Return a history in which every call has its answer right behind its turn, or None.

    Args:
        messages: The history.
        lost: Ids of calls that were started and whose outcome is not known.

    Returns:
        A new list of the same messages, answers in place and missing ones added; None where
        the history is so already.
    """
    if not any(isinstance(m, AIMessage) and _calls(m) for m in messages):
        return None
    places = {id(message): place for place, message in enumerate(messages)}
    answers = _answers(messages, places)
    owned = {id(answer) for found in answers.values() for answer in found if answer is not None}
    whole: list[BaseMessage] = []
    for message in messages:
        if id(message) in owned:
            continue
        whole.append(message)
        if isinstance(message, AIMessage) and id(message) in answers:
            whole.extend(_block(message, answers[id(message)], places, lost))
    same = len(whole) == len(messages) and all(a is b for a, b in zip(whole, messages, strict=True))
    return None if same else whole


_Call = tuple[str, str | None, bool]
"""Name, the provider's id, and whether it could not be read."""


def _calls(turn: AIMessage) -> list[_Call]:
    calls: list[_Call] = [(call["name"], call.get("id"), False) for call in turn.tool_calls]
    calls += [(bad.get("name") or "", bad.get("id"), True) for bad in turn.invalid_tool_calls]
    return calls


def _answers(
    messages: Sequence[BaseMessage], places: Mapping[int, int]
) -> dict[int, list[ToolMessage | None]]:
    """Return what answers each turn's calls: by our own ids, then by the provider's in order."""
    named: dict[str | None, ToolMessage] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            named[message.id or f"unnamed {len(named)}"] = message
    turns = [message for message in messages if isinstance(message, AIMessage) and _calls(message)]
    found = {
        id(turn): [named.pop(result_id(turn.id, index), None) for index in range(len(_calls(turn)))]
        for turn in turns
    }
    rest: dict[str | None, deque[ToolMessage]] = {}
    for answer in named.values():
        rest.setdefault(answer.tool_call_id, deque()).append(answer)
    for turn in turns:
        for index, (_, call_id, _) in enumerate(_calls(turn)):
            if found[id(turn)][index] is None:
                found[id(turn)][index] = _next(rest.get(call_id), places, places[id(turn)])
    return found


def _next(
    answers: deque[ToolMessage] | None, places: Mapping[int, int], turn: int
) -> ToolMessage | None:
    """Take the next answer with a call's id that stands behind its turn."""
    while answers:
        answer = answers.popleft()
        if places[id(answer)] > turn:
            return answer
    return None


def _block(
    turn: AIMessage,
    answers: Sequence[ToolMessage | None],
    places: Mapping[int, int],
    lost: frozenset[str],
) -> list[ToolMessage]:
    """Return the answers of a turn: as they stand, or by call where one has to be added."""
    calls = list(enumerate(zip(_calls(turn), answers, strict=True)))
    if all(answer is not None or call[1] is None for _, (call, answer) in calls):
        there = (answer for answer in answers if answer is not None)
        return sorted(there, key=lambda answer: places[id(answer)])
    return [
        _missing(turn, index, call, lost) if answer is None else answer
        for index, (call, answer) in calls
        if answer is not None or call[1] is not None
    ]


def _missing(turn: AIMessage, index: int, call: _Call, lost: frozenset[str]) -> ToolMessage:
    name, call_id, broken = call[0] or "unknown", call[1] or "", call[2]
    text = NOT_READABLE if broken else NOT_KNOWN if call_id in lost else DID_NOT_COMPLETE
    return ToolMessage(
        text.format(name=name, id=call_id),
        id=result_id(turn.id, index),
        name=name,
        tool_call_id=call_id,
        status="error",
    )


def repair(
    values: Mapping[str, object], writes: dict[str, object], lost: frozenset[str]
) -> dict[str, object]:
    """Answer what an abandoned pause left open, before new input is written behind it."""
    whole = repaired(messages_of(values), lost)
    if whole is None:
        return writes
    new = to_messages(writes.get("messages", []))
    return {**writes, "messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *whole, *new]}
