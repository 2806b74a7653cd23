"""Messages of a conversation: the front of their classes, and how lists of them merge.

Owns the reducer ``add_messages``. Knows nothing of models, tools or graphs.
"""

from __future__ import annotations

from typing import Annotated, cast

from typing_extensions import TypedDict

from hitl.agent.message_forms import (
    MessageLike,
    Messages,
    parse_tool_call,
    to_message,
    to_messages,
)
from hitl.agent.message_types import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    Content,
    HumanMessage,
    InvalidToolCall,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    UsageMetadata,
)
from hitl.errors import Misuse

__all__ = [
    "REMOVE_ALL_MESSAGES",
    "AIMessage",
    "AIMessageChunk",
    "AnyMessage",
    "BaseMessage",
    "Content",
    "HumanMessage",
    "InvalidToolCall",
    "MessageLike",
    "Messages",
    "MessagesState",
    "RemoveMessage",
    "SystemMessage",
    "ToolMessage",
    "UsageMetadata",
    "add_messages",
    "parse_tool_call",
    "to_message",
    "to_messages",
]

REMOVE_ALL_MESSAGES = "__remove_all__"
"""As the id of a ``RemoveMessage``: forget everything that stands before it."""


def add_messages(left: Messages, right: Messages) -> list[AnyMessage]:
    """Return the messages of ``left`` with those of ``right`` merged in: the state's reducer.

    A message with a known id takes the old one's place, others are appended; messages without
    an id are given a random one. A ``RemoveMessage`` takes one out, or everything before it
    with the id ``REMOVE_ALL_MESSAGES``. The list is new; what is kept are the same objects.

    Args:
        left: What there is; a list, or one message.
        right: What is written; a list, or one message, in any form ``to_message`` takes.

    Raises:
        Misuse: Something is not a message, or a message to remove is not there.
    """
    merged, known = _settled(left)
    new, given = _settled(right)
    for place in range(len(new) - 1, -1, -1):
        if isinstance(new[place], RemoveMessage) and new[place].id == REMOVE_ALL_MESSAGES:
            return cast(list[AnyMessage], _merged_by_id([], new[place + 1 :]))
    named = {id for id in given if id}
    if len(named) == sum(map(bool, given)) and (not named or named.isdisjoint(known)):
        # The common case: all is new. It needs no index of the whole list.
        for message in new:
            if isinstance(message, RemoveMessage):
                raise _not_there(message)
        return cast(list[AnyMessage], merged + new)
    return cast(list[AnyMessage], _merged_by_id(merged, new))


def _settled(value: object) -> tuple[list[BaseMessage], list[str | None]]:
    """Return a new list of messages that all have ids, and the ids that they came with."""
    if isinstance(value, list):
        try:
            # What a state holds is settled already; this finds out in one quick pass.
            ids = [message.id for message in value]
        except AttributeError:
            ids = [None]
        if all(ids):
            return list(value), ids
    messages = to_messages(value)
    ids = [message.id for message in messages]
    if not all(ids):
        import uuid

        for message in messages:
            message.id = message.id or str(uuid.uuid4())
    return messages, ids


def _merged_by_id(merged: list[BaseMessage], new: list[BaseMessage]) -> list[BaseMessage]:
    places = {message.id: place for place, message in enumerate(merged)}
    removed: set[str | None] = set()
    for message in new:
        place = places.get(message.id)
        if isinstance(message, RemoveMessage):
            if place is None:
                raise _not_there(message)
            removed.add(message.id)
        elif place is None:
            places[message.id] = len(merged)
            merged.append(message)
        else:
            removed.discard(message.id)
            merged[place] = message
    return [message for message in merged if message.id not in removed] if removed else merged


def _not_there(message: BaseMessage) -> Misuse:
    return Misuse(
        f"The message {message.id!r} is to be removed, but it is not there.",
        hint="Give the id of a message of the state.",
        id=message.id,
    )


class MessagesState(TypedDict):
    """A graph's state that holds a conversation."""

    messages: Annotated[list[AnyMessage], add_messages]
