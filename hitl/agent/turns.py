"""Reading a conversation's last turn: which calls it proposed, and which are unanswered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hitl.agent.messages import AIMessage, BaseMessage, ToolMessage
from hitl.values import ToolCall

__all__ = ["find_call", "last_turn", "messages_of", "unanswered"]


def messages_of(state: object) -> Sequence[BaseMessage]:
    """Return the messages of a state, whatever its form."""
    if isinstance(state, Mapping):
        found = state.get("messages", ())
    else:
        found = getattr(state, "messages", ())
    return found if isinstance(found, Sequence) else ()


def last_turn(messages: Sequence[BaseMessage]) -> int | None:
    """Return the place of the last answer of the model, or None where there is none."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], AIMessage):
            return place
    return None


def unanswered(messages: Sequence[BaseMessage], place: int) -> Iterator[tuple[int, ToolCall]]:
    """Yield the calls of a turn that no tool message after it answers, with their index.

    Providers repeat call ids, also within a turn: as many answers as calls are wanted.
    """
    turn = messages[place]
    if not isinstance(turn, AIMessage) or not turn.tool_calls:
        return
    answers: dict[str | None, int] = {}
    for message in messages[place + 1 :]:
        if isinstance(message, ToolMessage):
            answers[message.tool_call_id] = answers.get(message.tool_call_id, 0) + 1
    for index, call in enumerate(turn.tool_calls):
        id = call.get("id") or ""
        if answers.get(id, 0) > 0:
            answers[id] -= 1
        else:
            yield index, call


def find_call(messages: Sequence[BaseMessage], id: str, index: int) -> tuple[int, ToolCall] | None:
    """Return the place of a turn and its call, or None where the turn is gone."""
    for place in range(len(messages) - 1, -1, -1):
        turn = messages[place]
        if turn.id == id and isinstance(turn, AIMessage) and index < len(turn.tool_calls):
            return place, turn.tool_calls[index]
    return None
