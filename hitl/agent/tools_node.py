"""The tools node: one task per call, each through the executor, wrapped by middleware."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitl.agent.admission import Admission, Answered, Ticket
from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.deciding import refused
from hitl.agent.executor import Executor, arun, run
from hitl.agent.messages import AIMessage, BaseMessage, ToolMessage
from hitl.agent.middleware import AgentMiddleware, overrides
from hitl.agent.review import Review, copied, mark
from hitl.agent.tool import Tool
from hitl.agent.turns import answers_of, find_turn, messages_of, result_id, unanswered
from hitl.engine import Task, current_task
from hitl.errors import Misuse, Refused
from hitl.policy import ToolCallRequest
from hitl.values import Send, ToolCall, plain

__all__ = ["TOOLS", "ToolsNode", "sends"]

TOOLS = "tools"

REPEATED = (
    "The call of {name!r} was started before and is not declared safe to repeat, so it was "
    "not started again. What came of it before: {before}"
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
        tools: The tools by name.
        gates: The approval middleware.
        middleware: Whose ``wrap_tool_call`` stands around a call, the first one outermost.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        gates: Sequence[HumanInTheLoopMiddleware],
        middleware: Sequence[AgentMiddleware],
    ) -> None:
        self.wraps = [m for m in middleware if overrides(m, "wrap_tool_call")]
        self.awraps = [
            m
            for m in middleware
            if overrides(m, "awrap_tool_call") or overrides(m, "wrap_tool_call")
        ]
        self.admission = Admission(gates)
        self.executor = Executor(tools, keeps=bool(self.awraps))
        self.notice = next((gate.edit_notice for gate in gates if gate.edit_notice), None)
        self._turn: _Turn | None = None

    @property
    def asks(self) -> bool:
        """Return whether a call may wait here for a human."""
        return any(gate.asks for gate in self.admission.gates)

    def __call__(self, ref: Mapping[str, Any]) -> dict[str, object]:
        """Run one call in this thread."""
        task, ticket = self._open(ref)
        if ticket is None:
            return {}
        admitted = self.admitted(task, ticket)
        if isinstance(admitted, ToolMessage):
            return _told(ticket, admitted)
        once = _Once(self, task, ticket, *admitted)

        def handler(request: ToolCallRequest) -> ToolMessage:
            ready = once.next(request)
            if isinstance(ready, ToolMessage):
                return ready
            steps = self.executor.execute(task, ticket, ready.call, ready.items, again=ready.again)
            return once.came(ready, run(task, steps))

        wrapped: Handler = handler
        for middleware in reversed(self.wraps):
            wrapped = _around(middleware, wrapped)
        return _told(ticket, wrapped(once.request))

    async def acall(self, ref: Mapping[str, Any]) -> dict[str, object]:
        """Run one call on an event loop."""
        task, ticket = self._open(ref)
        if ticket is None:
            return {}
        admitted = self.admitted(task, ticket)
        if isinstance(admitted, ToolMessage):
            return _told(ticket, admitted)
        once = _Once(self, task, ticket, *admitted)

        async def handler(request: ToolCallRequest) -> ToolMessage:
            ready = once.next(request)
            if isinstance(ready, ToolMessage):
                return ready
            steps = self.executor.execute(task, ticket, ready.call, ready.items, again=ready.again)
            return once.came(ready, await arun(task, steps))

        wrapped: AsyncHandler = handler
        for middleware in reversed(self.awraps):
            wrapped = _aaround(middleware, wrapped)
        return _told(ticket, await wrapped(once.request))

    def _open(self, ref: Mapping[str, Any]) -> tuple[Task, Ticket | None]:
        """Find the call; no ticket where the turn is gone or has its answer already."""
        task = current_task("The tools node")
        message, index = str(ref["message"]), int(ref["index"])
        turn = self._open_turn(messages_of(task.values), message)
        if turn is None or index not in turn.calls:
            return task, None
        review = task.values.get("hitl_review")
        known = review if isinstance(review, Review) else None
        state = task.run.shape.schema.build(task.values)
        return task, Ticket(message, index, turn.calls[index], known, state)

    def _open_turn(self, messages: Sequence[BaseMessage], id: str) -> _Turn | None:
        """Return the open calls of a turn. All tasks of a superstep read the same list."""
        kept = self._turn
        if kept is not None and kept.fits(messages, id):
            return kept
        place = find_turn(messages, id)
        if place is None:
            return None
        message = messages[place]
        assert isinstance(message, AIMessage)
        answers = answers_of(messages, place)
        calls = {i: call for i, call in enumerate(message.tool_calls) if answers[i] is None}
        self._turn = _Turn(messages, len(messages), id, calls)
        return self._turn

    def admitted(
        self, task: Task, ticket: Ticket
    ) -> tuple[ToolCall, tuple[str, ...]] | ToolMessage:
        """Return the call that may run and what allows it, or the message that stands for it."""
        try:
            return self.admission.admit(task, ticket)
        except Answered as answered:
            return answered.message
        except Refused as error:
            return refused(ticket.call, error.message)


@dataclass(frozen=True, slots=True)
class _Turn:
    """The open calls of one turn, as they stand in one list of messages."""

    of: Sequence[BaseMessage]
    length: int
    id: str
    calls: Mapping[int, ToolCall]

    def fits(self, messages: Sequence[BaseMessage], id: str) -> bool:
        """Return whether this is a turn of exactly this list."""
        return self.id == id and self.of is messages and self.length == len(messages)


@dataclass(frozen=True, slots=True)
class _Ready:
    """A call that is about to run: which, what allows it, whether it was edited or ran before."""

    call: ToolCall
    items: tuple[str, ...]
    edited: bool
    again: bool


class _Once:
    """Guards the innermost handler: a changed call is judged anew, a repeat is refused."""

    def __init__(
        self,
        node: ToolsNode,
        task: Task,
        ticket: Ticket,
        call: ToolCall,
        items: tuple[str, ...],
    ) -> None:
        self.node, self.task, self.ticket = node, task, ticket
        self.request = ToolCallRequest(
            copied(call),
            node.executor.tools.get(call["name"]),
            ticket.state,
            node.executor.runtime(task, ticket.state, call),
        )
        self._admitted = _Ready(call, items, mark(call) != mark(ticket.call), again=False)
        self._mark = mark(call)
        self._before: dict[str, str] = {}
        self._lock = threading.Lock()

    def next(self, request: ToolCallRequest) -> _Ready | ToolMessage:
        """Return the call that may run now, or the message that stands for it."""
        with self._lock:
            call = copied(request.tool_call)
            try:
                name, print_ = call["name"], mark(call)
            except Refused as error:
                return refused(call, error.message)
            tool = self.node.executor.tools.get(name)
            if self._before and tool is not None and tool.effect == "effect":
                before = list(self._before.values())[-1]
                return refused(call, REPEATED.format(name=name, before=before))
            ready = self._ready(call, print_)
            if isinstance(ready, _Ready):
                self._before.setdefault(mark(ready.call), "not known")
            return ready

    def _ready(self, call: ToolCall, print_: str) -> _Ready | ToolMessage:
        if print_ == self._mark:
            return replace(self._admitted, again=print_ in self._before)
        changed = replace(self.ticket, call=call, changed=True)
        admitted = self.node.admitted(self.task, changed)
        if isinstance(admitted, ToolMessage):
            return admitted
        now = mark(admitted[0])
        return _Ready(*admitted, edited=now != print_, again=now in self._before)

    def came(self, ready: _Ready, message: ToolMessage) -> ToolMessage:
        """Take what came of a call; the notice of an edit is put before it."""
        self._before[mark(ready.call)] = message.text
        notice = self.node.notice
        if not ready.edited or not notice:
            return message
        text = notice.format(name=ready.call["name"], args=ready.call["args"])
        content = message.content
        if isinstance(content, str):
            return replace(message, content=text + content)
        return replace(message, content=[{"type": "text", "text": text}, *content])


def _copy(call: ToolCall) -> ToolCall:
    """Return a call of its own, so that middleware cannot change what was approved."""
    try:
        return {**call, "args": plain(call["args"])}  # type: ignore[typeddict-item]
    except ValueError:
        return call  # not plain JSON: it is refused before it runs


def _told(ticket: Ticket, message: object) -> dict[str, object]:
    """Return what the task writes: the one answer to its call, whoever made it."""
    if not isinstance(message, ToolMessage):
        raise Misuse(
            f"wrap_tool_call returned a {type(message).__name__}.",
            hint="Return what handler(request) returned, or a ToolMessage of your own.",
        )
    answer = replace(
        message,
        id=result_id(ticket.message, ticket.index),
        tool_call_id=ticket.call.get("id") or "",
        name=message.name or ticket.call["name"],
    )
    return {"messages": [answer]}


def _around(middleware: AgentMiddleware, inner: Handler) -> Handler:
    return lambda request: middleware.wrap_tool_call(request, inner)


def _aaround(middleware: AgentMiddleware, inner: AsyncHandler) -> AsyncHandler:
    if not overrides(middleware, "awrap_tool_call"):
        raise Misuse(
            f"{middleware.name} wraps tool calls in sync runs only.",
            hint="Give it awrap_tool_call, or use invoke.",
        )
    return lambda request: middleware.awrap_tool_call(request, inner)
