"""The executor: runs a call that may run; once.

Theory of operation. ``Admission`` has said that the call may run. Then the call's intent is
committed, the body runs, and its result is committed with the task's end. An intent that is
found without a result is settled by the tool's effect class, by the tool's probe, or by what a
human said of it.
Where middleware stands around the call, which may still fail, pause or call again, the result
is kept by a commit of its own.

``execute`` is a generator of four effects, carried out by a sync and an async hand, so that
the order of these writes stands here once.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from hitl.agent.admission import Ticket, intent_of
from hitl.agent.deciding import edited
from hitl.agent.messages import ToolMessage
from hitl.agent.probing import Probe, aprobed, probed
from hitl.agent.review import copied, mark
from hitl.agent.tool import (
    Happened,
    Tool,
    ToolInvocationError,
    ToolRuntime,
    tool_message,
)
from hitl.agent.tool_errors import ToolErrors, tool_errors
from hitl.agent.tool_writes import left_by
from hitl.agent.wording import (
    GIVEN_UP,
    NOT_APPROVED,
    UNKNOWN_TOOL,
)
from hitl.codec import pack, unpack
from hitl.engine import Intent, Task, span
from hitl.errors import (
    Broken,
    NoCheckpointer,
    NotStorable,
    OutsideRun,
    Stale,
    StoreFailed,
)
from hitl.ledger import move, near, then
from hitl.values import Decision, Item, ItemChange, Json, ToolCall, derive, plain

__all__ = ["Begin", "Body", "Check", "Executor", "Keep", "arun", "run"]

_LOUD = (NoCheckpointer, OutsideRun, NotStorable, Stale, StoreFailed, Broken)
"""What the programmer or operator must see; anything else that a tool raises is its result."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Commit that the body is about to start."""

    key: str
    intent: Intent
    moves: Sequence[ItemChange]


@dataclass(frozen=True, slots=True)
class Body:
    """Run a tool's body. Reply: what it returned."""

    tool: Tool
    arguments: Mapping[str, object]
    runtime: ToolRuntime[Any, Any]
    call: ToolCall

    def facts(self) -> dict[str, object]:
        """Return what a trace is told of the call."""
        return {"call_id": self.call.get("id") or "", "arguments": self.call["args"]}


@dataclass(frozen=True, slots=True)
class Check:
    """Ask a tool whether a lost call happened. Reply: what it said, None where it failed."""

    tool: Tool
    probe: Probe
    key: str


@dataclass(frozen=True, slots=True)
class Keep:
    """Commit the result of a call whose task goes on."""

    key: str
    note: Json


Steps = Generator[Begin | Body | Check | Keep, object, ToolMessage]
Maybe = Generator[Begin | Body | Check | Keep, object, ToolMessage | None]


class Executor:
    """Runs the calls of one agent or gate.

    Args:
        tools: All tools by name.
        keeps: Whether each result is kept at once, because something stands around the calls.
        told: What the model is told of exceptions in tools; None for all of them.
    """

    def __init__(
        self, tools: Mapping[str, Tool], *, keeps: bool = False, told: ToolErrors | None = None
    ) -> None:
        self.tools = tools
        self.keeps = keeps
        self.told = told or tool_errors()

    def execute(
        self,
        task: Task,
        ticket: Ticket,
        call: ToolCall,
        items: tuple[str, ...],
        *,
        again: bool = False,
    ) -> Steps:
        """Run a call that may run; see the module's theory of operation.

        Args:
            task: The task that it runs in.
            ticket: What the task was given.
            call: The call that runs.
            items: Ids of the items that allow it, none for a free call.
            again: Whether it ran in this execution already, and is wanted once more.
        """
        call = copied(call)  # exactly this runs, whoever changes the state meanwhile
        key = intent_of(task, call)
        found = None if again else self._found(task, key, ticket, call, items)
        if found is None and not again:
            found = yield from self._checked(task, key, ticket, call, items)
        if found is not None:
            return found
        ready = self._ready(call)
        if isinstance(ready, ToolMessage):
            return _end(task, items, ready)
        tool, arguments = ready
        if not _permitted(task, key, call, items):
            text = NOT_APPROVED.format(name=call["name"])
            return _end(task, (), tool_message(text, call, status="error"))
        key = key or derive(
            task.run.salt, "call", task.checkpoint, task.node.name, task.place, mark(call)
        )
        attempt, written = 1, task.run.journal.saved and tool.effect != "pure"
        if written:
            intent = _intent(task, key, tool, call, items)
            attempt = intent.attempt
            yield Begin(key, intent, _starting(task, items))
        runtime = self.runtime(task, ticket.state, call, key, attempt)
        before = len(ticket.writes)
        message = yield from self._body(tool, arguments, runtime, task, ticket, call)
        if written and self.keeps:
            yield Keep(key, _note(task, message, ticket.writes[before:]))
        return _end(task, items, message)

    def _ready(self, call: ToolCall) -> tuple[Tool, Mapping[str, object]] | ToolMessage:
        """Return the tool and its arguments, or what the model is told is wrong with them."""
        tool = self.tools.get(call["name"])
        if tool is None:
            text = UNKNOWN_TOOL.format(
                name=call["name"],
                near=near(call["name"], self.tools),
                known=", ".join(sorted(self.tools)) or "none",
            )
            return tool_message(text, call, status="error")
        try:
            return tool, tool.validate(call["args"])
        except ToolInvocationError as error:
            return tool_message(self._told(error), call, status="error")

    def _body(
        self,
        tool: Tool,
        arguments: Mapping[str, object],
        runtime: ToolRuntime[Any, Any],
        task: Task,
        ticket: Ticket,
        call: ToolCall,
    ) -> Steps:
        """Run the body; an exception is a result, which the model reads."""
        try:
            result = yield Body(tool, arguments, runtime, call)
            return _left(task, ticket, call, result)
        except _LOUD:
            raise
        except Exception as error:  # noqa: BLE001 - what is not told is raised again
            return tool_message(self._told(error), call, status="error")

    def _told(self, error: Exception) -> str:
        """Return what the model is told of an exception; raise it where it is not told."""
        text = self.told(error)
        if text is None:
            raise error
        return text

    def _found(
        self, task: Task, key: str, ticket: Ticket, call: ToolCall, items: tuple[str, ...]
    ) -> ToolMessage | None:
        """Return what came of the call in an earlier execution, if that settles it."""
        intent = task.record.intents.get(key)
        if intent is None:
            return None
        if key in task.record.notes:
            return _end(task, items, _kept(task, ticket, key))
        decision = _outcome(task, intent)
        if decision is None or decision.type == "retry":
            return None
        # Nothing was asked after the call was lost, so all answers so far were its body's.
        task.asks = sum(not asked.lost for asked in task.record.asked)
        message = str(decision.payload.get("message") or "")
        if decision.type == "respond":
            return _end(task, items, tool_message(message, call), settled="settle")
        told = f" They said: {message}" if message else ""
        text = GIVEN_UP.format(name=call["name"], message=told)
        return _end(task, items, tool_message(text, call, status="error"))

    def _checked(
        self, task: Task, key: str, ticket: Ticket, call: ToolCall, items: tuple[str, ...]
    ) -> Maybe:
        """Return what a lost call came to by its tool's own word, None where it may run.

        Where the tool does not know, a human is asked; where that fails, so it is said.
        """
        intent = task.record.intents.get(key)
        if intent is None or not (intent.probe and intent.open):
            return None
        tool = self.tools.get(call["name"])
        said: object = None
        if tool is not None and tool.probe is not None:
            said = yield Check(tool, tool.probe, key)
        if isinstance(said, Happened):
            return _end(task, items, _left(task, ticket, call, said.result))
        if said is not False:
            yield Begin(key, replace(intent, probe=False), ())
            task.lose()
        return None

    def runtime(
        self, task: Task, state: Any, call: ToolCall, key: str = "", attempt: int = 1
    ) -> ToolRuntime[Any, Any]:
        """Return what a call is given of its run.

        Args:
            task: The task that it runs in.
            state: The state that it may read.
            call: The call.
            key: Its idempotency key.
            attempt: Counts its starts, from 1.
        """
        run = task.run
        return ToolRuntime(
            state=state,
            context=run.runtime.context,
            config=run.config,
            stream_writer=run.runtime.stream_writer,
            tool_call_id=call.get("id"),
            store=run.runtime.store,
            tools=list(self.tools.values()),
            execution_info=task.runtime.execution_info,
            server_info=run.runtime.server_info,
            idempotency_key=key if run.journal.saved else "",
            attempt=attempt,
        )


def _intent(task: Task, key: str, tool: Tool, call: ToolCall, items: tuple[str, ...]) -> Intent:
    found = task.record.intents.get(key)
    attempt = 1 if found is None else found.attempt + (0 if found.paused else 1)
    subject: dict[str, Json] = {"name": call["name"], "args": plain(call["args"])}
    subject |= {"call_id": call.get("id") or "", "fingerprint": mark(call)}
    safe, item = tool.effect != "effect", items[-1] if items else ""
    return Intent(attempt, safe, subject, item, probe=tool.probe is not None)


def _permitted(task: Task, key: str, call: ToolCall, items: tuple[str, ...]) -> bool:
    """Return whether the last yes is to exactly this call, and no other task has used it."""
    if not items:
        return True
    own = task.run.items.get(items[-1])
    if own is None or own.decision is None or own.decision.type not in ("approve", "edit"):
        return False
    unused = ("decided", "cleared")
    if own.state not in (unused if not key else (*unused, "started", "uncertain")):
        return False
    change = edited(own)
    return mark(call) == (own.fingerprint if change is None else mark(change))


def _starting(task: Task, items: tuple[str, ...]) -> list[ItemChange]:
    """Return the move of the item that let the call in last; the others wait for its end."""
    own = task.run.items.get(items[-1]) if items else None
    if own is None:
        return []
    if own.state == "decided":
        return [then(move(own, "clear"), "start")]
    if own.state == "cleared":
        return [move(own, "start")]
    return [move(own, "restart")] if own.state == "uncertain" else []


def _end(
    task: Task, items: tuple[str, ...], message: ToolMessage, settled: str = "abandon"
) -> ToolMessage:
    """Let the items that allowed the call be closed with the task's end."""
    for id in items:
        own = task.run.items.get(id)
        if own is None or id in task.moves:
            continue
        if own.state == "decided":
            task.moves[id] = then(move(own, "clear"), "finish")
        elif own.state in ("cleared", "started"):
            task.moves[id] = move(own, "finish")
        elif own.state == "uncertain":
            task.moves[id] = move(own, settled)
    return message


def _outcome(task: Task, intent: Intent) -> Decision | None:
    item: Item | None = task.run.items.get(intent.outcome)
    return item.decision if item is not None else None


def _left(task: Task, ticket: Ticket, call: ToolCall, result: object) -> ToolMessage:
    """Take what a body returned: its message, and what it writes to the state."""
    message, writes = left_by(result, call, task.run.shape.channels)
    ticket.writes.extend(writes)
    return message


def _note(task: Task, message: ToolMessage, writes: Sequence[tuple[str, object]]) -> Json:
    """Return a result as it is kept, with how far the body has counted questions and steps."""
    told: list[Json] = [[key, pack(value, f"a write to {key!r}")] for key, value in writes]
    kept = pack(message, "a tool's result")
    return {"message": kept, "writes": told, "asks": task.asks, "steps": task.steps}


def _kept(task: Task, ticket: Ticket, key: str) -> ToolMessage:
    note = cast(dict[str, Any], task.record.notes[key])
    task.asks, task.steps = note["asks"], note["steps"]
    ticket.writes.extend((name, unpack(value)) for name, value in note.get("writes", ()))
    message = unpack(note["message"])
    assert isinstance(message, ToolMessage)
    return message


def run(task: Task, steps: Steps) -> ToolMessage:
    """Carry out an execution in this thread; return its result."""
    journal = task.run.journal
    reply: object = None
    error: Exception | None = None
    while True:
        try:
            effect = steps.throw(error) if error is not None else steps.send(reply)
        except StopIteration as stop:
            return cast(ToolMessage, stop.value)
        reply, error = None, None
        if isinstance(effect, Body):
            try:
                with span("tool", effect.tool.name, effect.facts):
                    reply = effect.tool.run(effect.arguments, effect.runtime)
            except Exception as raised:  # noqa: BLE001 - thrown into the execution
                error = raised
        elif isinstance(effect, Check):
            reply = probed(effect.tool.name, effect.probe, effect.key)
        elif isinstance(effect, Begin):
            journal.intent(task.place, effect.key, effect.intent, effect.moves)
            task.record.intents[effect.key] = replace(effect.intent)
        else:
            journal.note(task.place, effect.key, effect.note)
            task.record.notes[effect.key] = effect.note


async def arun(task: Task, steps: Steps) -> ToolMessage:
    """Carry out an execution on an event loop; return its result."""
    journal = task.run.journal
    reply: object = None
    error: Exception | None = None
    while True:
        try:
            effect = steps.throw(error) if error is not None else steps.send(reply)
        except StopIteration as stop:
            return cast(ToolMessage, stop.value)
        reply, error = None, None
        if isinstance(effect, Body):
            try:
                with span("tool", effect.tool.name, effect.facts):
                    reply = await effect.tool.arun(effect.arguments, effect.runtime)
            except Exception as raised:  # noqa: BLE001 - thrown into the execution
                error = raised
        elif isinstance(effect, Check):
            reply = await aprobed(effect.tool.name, effect.probe, effect.key)
        elif isinstance(effect, Begin):
            await journal.aintent(task.place, effect.key, effect.intent, effect.moves)
            task.record.intents[effect.key] = replace(effect.intent)
        else:
            await journal.anote(task.place, effect.key, effect.note)
            task.record.notes[effect.key] = effect.note
