"""Answers for calls that were given up, so that the next model reads a valid history."""

from __future__ import annotations

from collections.abc import Mapping

from hitl.agent.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    BaseMessage,
    RemoveMessage,
    ToolMessage,
    to_messages,
)
from hitl.agent.turns import messages_of

__all__ = ["DID_NOT_COMPLETE", "NOT_KNOWN", "NOT_READABLE", "repair", "repaired"]

DID_NOT_COMPLETE = (
    "The call of {name!r} (id {id}) did not complete: the conversation went on before it was "
    "decided or run. No result is recorded."
)
NOT_KNOWN = (
    "The call of {name!r} (id {id}) was started, but its outcome is not known. Do not assume "
    "that it happened or that it did not."
)
NOT_READABLE = (
    "The call of {name!r} (id {id}) could not be run: its arguments were malformed or cut off."
)


def repaired(
    messages: list[BaseMessage], lost: frozenset[str] = frozenset()
) -> list[BaseMessage] | None:
    """Return a history in which every call has its answer right behind it, or None.

    Args:
        messages: The history.
        lost: Ids of calls that were started and whose outcome is not known.

    Returns:
        A new list of the same messages with the missing answers; None where none is missing.
    """
    given: dict[str, int] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            given[message.tool_call_id] = given.get(message.tool_call_id, 0) + 1
    whole: list[BaseMessage] = []
    added = False
    for message in messages:
        whole.append(message)
        if not isinstance(message, AIMessage):
            continue
        calls = [(c["name"], c.get("id"), False) for c in message.tool_calls]
        calls += [(c.get("name") or "", c.get("id"), True) for c in message.invalid_tool_calls]
        for name, id, broken in calls:
            if id is None:
                continue
            if given.get(id, 0) > 0:
                given[id] -= 1
                continue
            text = NOT_READABLE if broken else NOT_KNOWN if id in lost else DID_NOT_COMPLETE
            known = name or "unknown"
            whole.append(
                ToolMessage(
                    text.format(name=known, id=id), name=known, tool_call_id=id, status="error"
                )
            )
            added = True
    return whole if added else None


def repair(
    values: Mapping[str, object], writes: dict[str, object], lost: frozenset[str]
) -> dict[str, object]:
    """Answer what an abandoned pause left open, before new input is written behind it."""
    whole = repaired(list(messages_of(values)), lost)
    if whole is None:
        return writes
    new = to_messages(writes.get("messages", []))
    return {**writes, "messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *whole, *new]}
