"""The agent's own list of what is to be done: the tool ``write_todos`` and the key ``todos``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from typing_extensions import TypedDict

from hitl.agent.messages import ToolMessage
from hitl.agent.middleware import AgentMiddleware
from hitl.agent.tool import Tool, tool
from hitl.values import Command

__all__ = ["Todo", "TodoListMiddleware", "TodoState"]


class Todo(TypedDict):
    """One thing to do.

    Attributes:
        content: What.
        status: How far it is.
    """

    content: str
    status: Literal["pending", "in_progress", "completed"]


def _last(_: list[Todo], new: list[Todo]) -> list[Todo]:
    return new


class TodoState(TypedDict, total=False):
    """The key of the state that holds the list."""

    todos: Annotated[list[Todo], _last]


def write_todos(todos: list[Todo]) -> Command:
    """Write down what is to be done, all of it, in place of the list before.

    Use it for work of several steps, and again whenever a step is begun or done.

    Args:
        todos: The list.
    """
    done = sum(todo["status"] == "completed" for todo in todos)
    text = f"Noted: {len(todos)} todos, {done} done."
    return Command(update={"todos": todos, "messages": [ToolMessage(text, tool_call_id="")]})


class TodoListMiddleware(AgentMiddleware):
    """Gives an agent the tool ``write_todos``, and its state the key ``todos``."""

    state_schema = TodoState

    def __init__(self) -> None:
        self.tools: Sequence[Tool] = (tool(effect="idempotent")(write_todos),)
