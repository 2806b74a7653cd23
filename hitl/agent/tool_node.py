"""``ToolNode``: the tools of an agent as a node of anybody's own graph.

It is a small graph itself, so that each call is a task of its own: a call that has finished does
not run again because its sibling paused or failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from hitl.agent.hooks import Hook, wrapped_calls
from hitl.agent.messages import AIMessage, AnyMessage, BaseMessage, MessagesState
from hitl.agent.tool import Tool, as_tool, check_names
from hitl.agent.tool_errors import HandleToolErrors, tool_errors
from hitl.agent.tools_node import TOOLS, ToolsNode, sends
from hitl.agent.turns import last_turn, messages_of, with_messages
from hitl.engine import CompiledStateGraph, StateGraph, running_task
from hitl.errors import Misuse
from hitl.values import END, START, Config

__all__ = ["ToolNode", "tools_condition"]


class ToolNode(CompiledStateGraph):
    """Runs the tool calls of the last answer, each as a task of its own.

    Use it as a node, ``graph.add_node("tools", ToolNode([look]))``, or call ``invoke`` with a
    state that has ``messages``. It returns ``{"messages": [...]}`` with the answers alone.

    Args:
        tools: Functions, or what ``@tool`` made of them.
        name: The node's name.
        handle_tool_errors: Which exceptions of tools become answers that the model reads: True
            for all, False for none, a text, a function that makes the text, or their classes.
            Others are raised; the outcome of a call that raised so is not known, see docs/tools.md.
        wrap_tool_call: ``f(request, handler)``, which stands around each call in sync runs.
        awrap_tool_call: The same in async runs.

    Raises:
        Misuse: Something is no tool, two names are alike, or ``handle_tool_errors`` is none.
    """

    def __init__(
        self,
        tools: Sequence[object],
        *,
        name: str = TOOLS,
        handle_tool_errors: HandleToolErrors = True,
        wrap_tool_call: Hook | None = None,
        awrap_tool_call: Hook | None = None,
    ) -> None:
        known = check_names([as_tool(each) for each in tools])
        wraps = wrapped_calls(wrap_tool_call, awrap_tool_call)
        node = ToolsNode(known, [], wraps, tool_errors(handle_tool_errors))
        node.around = _shown
        graph = StateGraph(MessagesState)
        graph.add_node(TOOLS, node, async_action=node.acall, approves=node.asks)
        graph.add_conditional_edges(START, _due, [TOOLS, END])
        graph.add_edge(TOOLS, END)
        super().__init__(graph.compile(name=name).shape, None, None)
        self._tools = known

    @property
    def tools_by_name(self) -> Mapping[str, Tool]:
        """Return the tools by their names."""
        return dict(self._tools)

    @property
    def _tools_by_name(self) -> Mapping[str, Tool]:
        return self.tools_by_name  # the name by which it is known elsewhere

    def invoke(self, input: object, config: Config | None = None, **more: Any) -> Any:
        """Run the open calls of the last answer.

        Args:
            input: A state with ``messages``, or the messages alone.
            config: See ``CompiledStateGraph.invoke``.
            **more: See there.

        Returns:
            ``{"messages": [...]}`` with the answers alone; the bare list for a list.

        Raises:
            Misuse: The last message is no answer of a model with tool calls.
        """
        state, before, turn = _opened(input)
        with _seen_from(state, before):
            output = super().invoke({"messages": turn}, config, **more)
        return _answers(input, turn, output)

    async def ainvoke(self, input: object, config: Config | None = None, **more: Any) -> Any:
        """Run the open calls of the last answer on an event loop; see ``invoke``.

        Raises:
            Misuse: The last message is no answer of a model with tool calls.
        """
        state, before, turn = _opened(input)
        with _seen_from(state, before):
            output = await super().ainvoke({"messages": turn}, config, **more)
        return _answers(input, turn, output)


def tools_condition(state: object, messages_key: str = "messages") -> Literal["tools", "__end__"]:
    """Return ``"tools"`` where the last answer calls tools, else the end: for a conditional edge.

    Args:
        state: A state with messages, or the messages alone.
        messages_key: Where the state has them.

    Raises:
        Misuse: There are no messages.
    """
    messages = state
    if isinstance(state, Mapping):
        messages = state.get(messages_key)
    elif not isinstance(state, list):
        messages = getattr(state, messages_key, None)
    if not isinstance(messages, Sequence) or not messages:
        raise Misuse(
            f"tools_condition found no messages in the state's {messages_key!r}.",
            hint="Put it behind the node that asks the model.",
        )
    last = messages[-1]
    return "tools" if isinstance(last, AIMessage) and last.tool_calls else "__end__"


_AROUND: ContextVar[tuple[Any, list[AnyMessage]]] = ContextVar("hitl_tool_node_state")
"""The state around a ``ToolNode`` that is running here, and its messages before the turn."""


@contextmanager
def _seen_from(state: object, before: list[AnyMessage]) -> Iterator[None]:
    """Let tools see the whole state of the graph around, of which this node has only a part."""
    task = running_task()
    if task is not None:
        state = task.run.shape.schema.build(task.values)
    token = _AROUND.set((state, before))
    try:
        yield
    finally:
        _AROUND.reset(token)


def _shown(messages: list[BaseMessage]) -> Any:
    state, before = _AROUND.get()
    return with_messages(state, [*before, *messages])


def _opened(input: object) -> tuple[object, list[AnyMessage], list[AnyMessage]]:
    """Return the state, its messages before the last turn, and those from the turn on."""
    messages: Any = input if isinstance(input, list) else list(messages_of(input))
    place = last_turn(messages)
    if place is None or not messages[place].tool_calls:
        raise Misuse(
            "ToolNode was given no message with tool calls.",
            hint="Lead to it with add_conditional_edges('model', tools_condition).",
        )
    state = {"messages": input} if isinstance(input, list) else input
    return state, messages[:place], messages[place:]


def _answers(input: object, turn: Sequence[AnyMessage], output: Any) -> Any:
    known = {message.id for message in turn}
    new = [message for message in output["messages"] if message.id not in known]
    if isinstance(input, list):
        return new
    output["messages"] = new
    return output


def _due(state: Mapping[str, Any]) -> Any:
    messages = messages_of(state)
    place = last_turn(messages)
    return END if place is None else sends(messages, place) or END
