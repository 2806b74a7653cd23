"""The tools node: one task per call, each through the executor, wrapped by middleware."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from hitl.agent.executor import Answered, Executor, Ticket, arun, run
from hitl.agent.messages import ToolMessage
from hitl.agent.middleware import AgentMiddleware, overrides
from hitl.agent.review import Review
from hitl.agent.tool import tool_message
from hitl.agent.turns import find_call, messages_of, unanswered
from hitl.engine import Task, current_task
from hitl.errors import Misuse, Refused
from hitl.policy import ToolCallRequest
from hitl.values import Send, ToolCall, fingerprint, plain

__all__ = ["TOOLS", "ToolsNode", "sends"]

TOOLS = "tools"

REPEATED = (
    "The call of {name!r} was started before and is not declared safe to repeat, so it was "
    "not started again."
)

Handler = Callable[[ToolCallRequest], ToolMessage]
AsyncHandler = Callable[[ToolCallRequest], Awaitable[ToolMessage]]


def sends(messages: Sequence[Any], place: int) -> list[Send]:
    """Return a task for each unanswered call of a turn, in the order of the calls."""
    turn = messages[place]
    return [
        Send(TOOLS, {"message": turn.id, "index": index})
        for index, _ in unanswered(messages, place)
    ]


class ToolsNode:
    """Runs the call that its task's argument points to, and returns its tool message.

    Args:
        executor: What decides whether it may run, and runs it.
        middleware: Whose ``wrap_tool_call`` stands around it, the first one outermost.
    """

    def __init__(self, executor: Executor, middleware: Sequence[AgentMiddleware]) -> None:
        self.executor = executor
        self.wraps = [m for m in middleware if overrides(m, "wrap_tool_call")]
        self.awraps = [
            m
            for m in middleware
            if overrides(m, "awrap_tool_call") or overrides(m, "wrap_tool_call")
        ]

    def __call__(self, ref: Mapping[str, Any]) -> dict[str, object]:
        """Run one call in this thread."""
        opened = self._open(ref)
        if opened is None:
            return {}
        task, ticket, call, item = opened
        if isinstance(call, ToolMessage):
            return {"messages": [call]}
        body = self._handler(task, ticket, call, item)
        return {"messages": [self._wrapped(body)(self._request(ticket, call))]}

    async def acall(self, ref: Mapping[str, Any]) -> dict[str, object]:
        """Run one call on an event loop."""
        opened = self._open(ref)
        if opened is None:
            return {}
        task, ticket, call, item = opened
        if isinstance(call, ToolMessage):
            return {"messages": [call]}
        body = self._ahandler(task, ticket, call, item)
        return {"messages": [await self._awrapped(body)(self._request(ticket, call))]}

    def _open(
        self, ref: Mapping[str, Any]
    ) -> tuple[Task, Ticket, ToolCall | ToolMessage, str] | None:
        """Find the call, and what of it may run; None where it has its answer already."""
        task = current_task("The tools node")
        state = task.run.shape.schema.build(task.values)
        messages = messages_of(state)
        found = find_call(messages, ref["message"], ref["index"])
        if found is None:
            return None
        place, call = found
        if not any(index == ref["index"] for index, _ in unanswered(messages, place)):
            return None
        review = task.values.get("hitl_review")
        known = review.of(ref["message"], ref["index"]) if isinstance(review, Review) else None
        ticket = Ticket(call, ref["index"], known, state)
        try:
            allowed, item = self.executor.allowed(task, ticket)
        except Answered as answered:
            return task, ticket, answered.message, ""
        except Refused as refused:
            return task, ticket, tool_message(refused.message, call, status="error"), ""
        return task, ticket, allowed, item

    def _request(self, ticket: Ticket, call: ToolCall) -> ToolCallRequest:
        return ToolCallRequest(call, self.executor.tools.get(call["name"]), ticket.state, None)

    def _handler(self, task: Task, ticket: Ticket, allowed: ToolCall, item: str) -> Handler:
        once = _Once(self, task, ticket, allowed, item)

        def handler(request: ToolCallRequest) -> ToolMessage:
            ready = once.next(request)
            if isinstance(ready, ToolMessage):
                return ready
            return once.noticed(run(task, self.executor.execute(task, ticket, *ready)), ready[0])

        return handler

    def _ahandler(
        self, task: Task, ticket: Ticket, allowed: ToolCall, item: str
    ) -> AsyncHandler:
        once = _Once(self, task, ticket, allowed, item)

        async def handler(request: ToolCallRequest) -> ToolMessage:
            ready = once.next(request)
            if isinstance(ready, ToolMessage):
                return ready
            steps = self.executor.execute(task, ticket, *ready)
            return once.noticed(await arun(task, steps), ready[0])

        return handler

    def _wrapped(self, handler: Handler) -> Handler:
        for middleware in reversed(self.wraps):
            handler = _around(middleware, handler)
        return handler

    def _awrapped(self, handler: AsyncHandler) -> AsyncHandler:
        for middleware in reversed(self.awraps):
            handler = _aaround(middleware, handler)
        return handler


class _Once:
    """Guards the innermost handler: a changed call is judged anew, a repeat is refused."""

    def __init__(
        self, node: ToolsNode, task: Task, ticket: Ticket, allowed: ToolCall, item: str
    ) -> None:
        self.node, self.task, self.ticket = node, task, ticket
        self.allowed, self.item = allowed, item
        self.started = False

    def next(self, request: ToolCallRequest) -> tuple[ToolCall, str] | ToolMessage:
        """Return the call that may run now and its item, or the message that stands for it."""
        call = request.tool_call
        executor = self.node.executor
        tool = executor.tools.get(call["name"])
        if self.started and tool is not None and tool.effect == "effect":
            return tool_message(REPEATED.format(name=call["name"]), call, status="error")
        item = self.item
        if _mark(call) != _mark(self.allowed):
            changed = Ticket(call, self.ticket.index, None, self.ticket.state)
            try:
                call, item = executor.allowed(self.task, changed)
            except Answered as answered:
                return answered.message
            except Refused as refused:
                return tool_message(refused.message, call, status="error")
        self.started = True
        return call, item

    def noticed(self, message: ToolMessage, ran: ToolCall) -> ToolMessage:
        """Put the notice of an edit before the result of an edited call."""
        proposed = self.ticket.call
        notice = next((g.edit_notice for g in self.node.executor.gates if g.edit_notice), None)
        edited = self.item and _mark(self.allowed) != _mark(proposed)
        if not notice or not edited or not isinstance(message.content, str):
            return message
        message.content = notice.format(name=ran["name"], args=ran["args"]) + message.content
        return message


def _mark(call: ToolCall) -> str:
    return fingerprint(call["name"], plain(call["args"]))


def _around(middleware: AgentMiddleware, inner: Handler) -> Handler:
    return lambda request: middleware.wrap_tool_call(request, inner)


def _aaround(middleware: AgentMiddleware, inner: AsyncHandler) -> AsyncHandler:
    if not overrides(middleware, "awrap_tool_call"):
        raise Misuse(
            f"{middleware.name} wraps tool calls in sync runs only.",
            hint="Give it awrap_tool_call, or use invoke.",
        )
    return lambda request: middleware.awrap_tool_call(request, inner)
