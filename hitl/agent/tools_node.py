"""The tools node: one task per call, each through the executor, wrapped by middleware."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitl.agent.admission import Admission, Answered, Ticket, passing
from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.deciding import refused
from hitl.agent.executor import Executor, arun, run
from hitl.agent.messages import AIMessage, BaseMessage, ToolMessage
from hitl.agent.middleware import AgentMiddleware, overrides
from hitl.agent.review import Review, copied, mark
from hitl.agent.tool import Tool
from hitl.agent.tool_errors import ToolErrors
from hitl.agent.turns import (
    answers_of,
    find_turn,
    last_turn,
    messages_of,
    result_id,
    showing,
    shown_to_code,
    unanswered,
)
from hitl.agent.wording import LATE, REPEATED
from hitl.engine import Task, current_task
from hitl.errors import Misuse, Refused
from hitl.policy import ToolCallRequest
from hitl.values import Command, Json, Send, ToolCall

__all__ = ["TOOLS", "Goto", "ToolsNode", "sends"]

TOOLS = "tools"

Goto = str | Sequence[str | Send]
Left = Command | list[Command]
Ref = tuple[str, int]
"""Which call a task runs: id of the turn's message, and the call's place in it."""


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

    A task without such an argument runs nothing: it sends tasks for the open calls of the last
    turn. Of several tasks of a superstep for one call, the first runs it.

    Args:
        tools: The tools by name.
        gates: The approval middleware.
        middleware: Whose ``wrap_tool_call`` stands around a call, the first one outermost.

        told: What the model is told of exceptions in tools; None for all of them.

    Attributes:
        around: Makes the state that tools see of the messages here; None for the graph's own.
        after: Says where to go, given the messages before the calls; None for nowhere.
    """

    def __init__(
        self,
        tools: Mapping[str, Tool],
        gates: Sequence[HumanInTheLoopMiddleware],
        middleware: Sequence[AgentMiddleware],
        told: ToolErrors | None = None,
    ) -> None:
        self.around: Callable[[list[BaseMessage]], Any] | None = None
        self.after: Callable[[Sequence[Any]], Goto] | None = None
        self.wraps = [m for m in middleware if overrides(m, "wrap_tool_call")]
        self.awraps = [
            m
            for m in middleware
            if overrides(m, "awrap_tool_call") or overrides(m, "wrap_tool_call")
        ]
        self.admission = Admission(gates)
        self.executor = Executor(tools, keeps=bool(self.awraps), told=told)
        self.notice = next((gate.edit_notice for gate in gates if gate.edit_notice), None)
        self._turn: _Turn | None = None
        self._firsts: tuple[object, Mapping[Ref, int]] = ((), {})

    @property
    def asks(self) -> bool:
        """Return whether a call may wait here for a human."""
        inside = any(tool.asks for tool in self.executor.tools.values())
        return inside or any(gate.asks for gate in self.admission.gates)

    def __call__(self, ref: object) -> Left:
        """Run one call in this thread."""
        task = current_task("The tools node")
        known = _ref(ref)
        if known is None:
            return self._spread(task)
        ticket = self._open(task, known)
        if ticket is None:
            return self._left(task)
        return self._left(task, self._run(task, ticket), ticket.writes)

    async def acall(self, ref: object) -> Left:
        """Run one call on an event loop."""
        task = current_task("The tools node")
        known = _ref(ref)
        if known is None:
            return self._spread(task)
        ticket = self._open(task, known)
        if ticket is None:
            return self._left(task)
        return self._left(task, await self._arun(task, ticket), ticket.writes)

    def _spread(self, task: Task) -> Left:
        """Send a task for each open call of the last turn that has none in this superstep."""
        messages = messages_of(task.values)
        place = last_turn(messages)
        firsts = self._first_places(task)
        due = [] if place is None else sends(messages, place)
        missing = [send for send in due if _ref(send.arg) not in firsts]
        if missing:
            return Command(goto=missing)
        return self._left(task)

    def _left(
        self,
        task: Task,
        message: ToolMessage | None = None,
        writes: Sequence[tuple[str, object]] = (),
    ) -> Left:
        goto = () if self.after is None else self.after(messages_of(task.values))
        told = Command(update=None if message is None else {"messages": [message]}, goto=goto)
        return [told, *(Command(update={key: value}) for key, value in writes)] if writes else told

    def _run(self, task: Task, ticket: Ticket) -> ToolMessage:
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
        try:
            return _told(ticket, wrapped(once.request))
        finally:
            for key, items in once.close():
                task.run.journal.note(task.place, key, items)

    async def _arun(self, task: Task, ticket: Ticket) -> ToolMessage:
        if any(gate.remembers for gate in self.admission.gates):
            import asyncio

            admitted = await asyncio.to_thread(self.admitted, task, ticket)
        else:
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
        try:
            return _told(ticket, await wrapped(once.request))
        finally:
            for key, items in once.close():
                await task.run.journal.anote(task.place, key, items)

    def _open(self, task: Task, ref: Ref) -> Ticket | None:
        """Find the call; None where the turn is gone, or the call is another task's or done."""
        message, index = ref
        turn = self._open_turn(messages_of(task.values), message)
        if turn is None or index not in turn.calls:
            return None
        if self._first_places(task).get(ref, task.place) != task.place:
            return None
        review = task.values.get("hitl_review")
        known = review if isinstance(review, Review) else None
        if self.around is None:
            state = showing(task.run.shape.schema.build(task.values), turn.place, turn.shown)
        else:
            messages = list(messages_of(task.values))
            messages[turn.place] = turn.shown
            state = self.around(messages)
        return Ticket(message, index, turn.calls[index], known, state)

    def _first_places(self, task: Task) -> Mapping[Ref, int]:
        """Return the place of the first task for each call. A superstep has one list of them."""
        of, firsts = self._firsts
        if of is not task.due:
            firsts = {}
            for place, (node, arg) in enumerate(task.due):
                known = _ref(arg) if node == task.node.name else None
                if known is not None:
                    firsts.setdefault(known, place)
            self._firsts = task.due, firsts
        return firsts

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
        calls = {i: copied(call) for i, call in enumerate(message.tool_calls) if answers[i] is None}
        shown = replace(message, tool_calls=list(map(copied, message.tool_calls)))
        self._turn = turn = _Turn(messages, len(messages), id, place, calls, shown)
        return turn

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
    """The open calls of one turn, as they stand in one list of messages.

    Attributes:
        calls: What runs: copies, which nobody is given.
        shown: What tools and middleware see of the turn.
    """

    of: Sequence[BaseMessage]
    length: int
    id: str
    place: int
    calls: Mapping[int, ToolCall]
    shown: AIMessage

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
        state = shown_to_code(ticket.state) if node.awraps else ticket.state
        self.request = ToolCallRequest(
            copied(call),
            node.executor.tools.get(call["name"]),
            state,
            node.executor.runtime(task, state, call),
        )
        self._admitted = _Ready(call, items, mark(call) != mark(ticket.call), again=False)
        self._mark = mark(call)
        self._before: dict[str, str] = {}
        self._passed = [passing(call, items)]
        self._closed = False
        self._lock = threading.Lock()

    def next(self, request: ToolCallRequest) -> _Ready | ToolMessage:
        """Return the call that may run now, or the message that stands for it."""
        with self._lock:
            call = copied(request.tool_call)
            if self._closed:  # a middleware has kept the handler
                return refused(call, LATE.format(name=call["name"]))
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
        self._passed.append(passing(*admitted))
        return _Ready(*admitted, edited=now != print_, again=now in self._before)

    def close(self) -> list[tuple[str, Json]]:
        """Start nothing any more; return what to note of a task that has paused."""
        with self._lock:
            self._closed = True
        if not self.task.paused or not self.task.run.journal.saved:
            return []
        notes = self.task.record.notes
        new = [(key, items) for key, items in self._passed if notes.get(key) != items]
        notes.update(new)
        return new

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


def _ref(arg: object) -> Ref | None:
    """Return which call an argument points to, None where it is no such argument."""
    if not isinstance(arg, Mapping):
        return None
    message, index = arg.get("message"), arg.get("index")
    return (message, index) if isinstance(message, str) and type(index) is int else None


def _told(ticket: Ticket, message: object) -> ToolMessage:
    """Return what the task writes: the one answer to its call, whoever made it."""
    if not isinstance(message, ToolMessage):
        raise Misuse(
            f"wrap_tool_call returned a {type(message).__name__}.",
            hint="Return what handler(request) returned, or a ToolMessage of your own.",
        )
    return replace(
        message,
        id=result_id(ticket.message, ticket.index),
        tool_call_id=ticket.call.get("id") or "",
        name=message.name or ticket.call["name"],
    )


def _around(middleware: AgentMiddleware, inner: Handler) -> Handler:
    return lambda request: middleware.wrap_tool_call(request, inner)


def _aaround(middleware: AgentMiddleware, inner: AsyncHandler) -> AsyncHandler:
    if not overrides(middleware, "awrap_tool_call"):
        raise Misuse(
            f"{middleware.name} wraps tool calls in sync runs only.",
            hint="Give it awrap_tool_call, or use invoke.",
        )
    return lambda request: middleware.awrap_tool_call(request, inner)
