"""Messages that a node writes while it still runs."""

from __future__ import annotations

from typing import cast

from hitl.agent.messages import AnyMessage, BaseMessage, add_messages
from hitl.engine import current_task, message_writer

__all__ = ["push_message"]


def push_message(
    message: BaseMessage | dict[str, object] | str, *, state_key: str | None = "messages"
) -> AnyMessage:
    """Tell a message to those who read the run's messages, at once; write it to the state.

    It is written when the node has finished, before what the node returns; a node that pauses
    or fails writes nothing, and tells it again when it is run again.

    Args:
        message: In any form that ``add_messages`` takes; without an id it is given one.
        state_key: Where it is written, None for nowhere.

    Returns:
        The message, with its id.

    Raises:
        OutsideRun: No node is running here.
        InvalidUpdateError: The state has no such key.
        Misuse: It is no message.
    """
    task = current_task("push_message()")
    (whole,) = add_messages([], cast("BaseMessage", message))
    id = str(whole.id)
    if state_key is not None:
        task.push(state_key, [whole])
    writer = message_writer()
    if writer is not None:
        writer.put(whole, id)
        writer.end(id, whole)
    return whole
