"""The executor: runs a tool call if, and only if, it may run; once.

Theory of operation. Whatever route led here, just before a tool's body the executor needs for
exactly this call a stored free verdict, or a human's yes that has not been used; a call that
never passed a review is judged anew, and asked about where a rule asks. Then the call's intent
is committed, the body runs, and its result is committed with the task's end. An intent that is
found without a result is settled by the tool's effect class, or by what a human said of it.

``Execution`` is a generator of two effects, carried out by a sync and an async hand, so that
the order of these writes stands here once.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.messages import ToolMessage
from hitl.agent.review import CallReview
from hitl.agent.tool import Tool, ToolArgumentsError, ToolException, ToolRuntime, tool_message
from hitl.engine import Intent, Task
from hitl.errors import Refused
from hitl.ledger import move, near, then
from hitl.values import Decision, Item, ItemChange, ToolCall, derive, fingerprint, plain

__all__ = ["Body", "Executor", "Ticket", "arun", "run"]

UNKNOWN_TOOL = "There is no tool {name!r}.{near} Known tools: {known}."
GIVEN_UP = (
    "The call of {name!r} was started, but its outcome is not known, and the user gave it up. "
    "Do not call it again unless the user asks for it.{message}"
)
NOT_APPROVED = (
    "The call of {name!r} was not executed: it has no approval that could be used. "
    "Propose it again if it is still wanted."
)


@dataclass(frozen=True, slots=True)
class Ticket:
    """What one task of the tools node is to run: a proposed call and what is known of it.

    Attributes:
        call: The call as the model proposed it.
        index: Its place in the model's turn.
        review: What the turn's review says of it, if there is one.
        state: The state that the tool may read.
    """

    call: ToolCall
    index: int
    review: CallReview | None
    state: Any


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


Steps = Generator[Begin | Body, object, ToolMessage]


class Executor:
    """Runs the calls of one agent or gate.

    Args:
        tools: All tools by name.
        gates: The approval middleware that judges calls which no review speaks of.
    """

    def __init__(
        self, tools: Mapping[str, Tool], gates: Sequence[HumanInTheLoopMiddleware]
    ) -> None:
        self.tools = tools
        self.gates = gates

    def allowed(self, task: Task, ticket: Ticket) -> tuple[ToolCall, str]:
        """Return the call that may run in place of the proposed one, and the item that says so.

        Raises:
            Refused: It may not run; the message is written for the model.
            Pause: A rule asks for it, and nobody has answered yet.
        """
        review = ticket.review
        proposed = ticket.call
        mark = fingerprint(proposed["name"], plain(proposed["args"]))
        if review is not None and review.verdict == "closed":
            raise Refused(NOT_APPROVED.format(name=proposed["name"]))
        if review is not None and review.verdict == "free" and review.fingerprint == mark:
            return proposed, ""
        if review is not None and review.verdict == "asked":
            return self._approved(task, review, proposed, mark), review.item
        return self._judged(task, ticket)

    def _approved(
        self, task: Task, review: CallReview, proposed: ToolCall, mark: str
    ) -> ToolCall:
        item = task.run.items.get(review.item)
        call = review.call(proposed)
        runs = fingerprint(call["name"], plain(call["args"]))
        if (
            item is None
            or item.state not in ("cleared", "started", "uncertain")
            or item.fingerprint != mark
            or review.fingerprint != runs
        ):
            raise Refused(NOT_APPROVED.format(name=proposed["name"]))
        return call

    def _judged(self, task: Task, ticket: Ticket) -> tuple[ToolCall, str]:
        """Judge a call that no review speaks of; where a rule asks, ask here and now."""
        call, item = ticket.call, ""
        for number, gate in enumerate(self.gates):
            decided = gate.ask_here(task, number, ticket.index, call, ticket.state)
            if decided is None:
                continue
            review, answer = decided
            if answer is not None:
                raise Answered(answer)
            call, item = review.call(call), review.item
        return call, item

    def execute(self, task: Task, ticket: Ticket, call: ToolCall, item: str) -> Steps:
        """Run a call that may run; see the module's theory of operation.

        Args:
            task: The task that it runs in.
            ticket: What the task was given.
            call: The call that runs.
            item: Id of the item that allows it, empty for a free call.
        """
        tool = self.tools.get(call["name"])
        if tool is None:
            known = ", ".join(sorted(self.tools)) or "none"
            text = UNKNOWN_TOOL.format(
                name=call["name"], near=near(call["name"], self.tools), known=known
            )
            return self._end(task, item, tool_message(text, call, status="error"))
        try:
            arguments = tool.validate(call["args"])
        except ToolArgumentsError as error:
            return self._end(task, item, tool_message(str(error), call, status="error"))
        key = derive(task.run.salt, "call", task.checkpoint, task.node.name, task.place)
        attempt = 1
        if task.run.journal.saved and tool.effect != "pure":
            settled = self._settled(task, key, call)
            if settled is not None:
                return settled
            intent = self._intent(task, key, tool, call, item)
            attempt = intent.attempt
            yield Begin(key, intent, self._starting(task, key, item))
        runtime = self._runtime(task, ticket, call, key, attempt)
        message = yield from self._body(tool, arguments, runtime, call)
        return self._end(task, item, message)

    def _body(
        self,
        tool: Tool,
        arguments: Mapping[str, object],
        runtime: ToolRuntime[Any, Any],
        call: ToolCall,
    ) -> Steps:
        """Run the body; an exception is a result, which the model reads."""
        try:
            result = yield Body(tool, arguments, runtime)
            return tool_message(result, call)
        except ToolException as error:
            return tool_message(str(error), call, status="error")
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is its result
            text = f"The tool failed: {type(error).__name__}: {error}"
            return tool_message(text, call, status="error")

    def _end(self, task: Task, item: str, message: ToolMessage) -> ToolMessage:
        """Let the item that allowed the call be closed with the task's end."""
        own = task.run.items.get(item)
        if own is not None and item not in task.moves:
            if own.state == "decided":
                task.moves[item] = then(move(own, "clear"), "finish")
            elif own.state in ("cleared", "started"):
                task.moves[item] = move(own, "finish")
        return message

    def _settled(self, task: Task, key: str, call: ToolCall) -> ToolMessage | None:
        """Return the result of a lost call if a human has settled it for good."""
        intent = task.record.intents.get(key)
        decision = _outcome(task, intent)
        if intent is None or decision is None or decision.type == "retry":
            return None
        own = task.run.items.get(intent.item)
        respond = decision.type == "respond"
        if own is not None and own.state == "uncertain":
            task.moves[own.id] = move(own, "settle" if respond else "abandon")
        message = str(decision.payload.get("message") or "")
        if respond:
            return tool_message(message, call)
        told = f" They said: {message}" if message else ""
        text = GIVEN_UP.format(name=call["name"], message=told)
        return tool_message(text, call, status="error")

    def _intent(
        self, task: Task, key: str, tool: Tool, call: ToolCall, item: str
    ) -> Intent:
        found = task.record.intents.get(key)
        attempt = 1 if found is None else found.attempt + (0 if found.paused else 1)
        subject = {"name": call["name"], "args": plain(call["args"])}
        subject["call_id"] = call.get("id") or ""
        return Intent(attempt, tool.effect != "effect", subject, item)

    def _starting(self, task: Task, key: str, item: str) -> list[ItemChange]:
        own = task.run.items.get(item)
        if own is None:
            return []
        if own.state == "decided":
            return [then(move(own, "clear"), "start")]
        if own.state == "cleared":
            return [move(own, "start")]
        if own.state == "uncertain":
            return [move(own, "restart")]
        return []

    def _runtime(
        self, task: Task, ticket: Ticket, call: ToolCall, key: str, attempt: int
    ) -> ToolRuntime[Any, Any]:
        run = task.run
        return ToolRuntime(
            state=ticket.state,
            context=run.runtime.context,
            config=run.config,
            stream_writer=run.runtime.stream_writer,
            tool_call_id=call.get("id"),
            store=run.runtime.store,
            tools=list(self.tools.values()),
            idempotency_key=key if run.journal.saved else "",
            attempt=attempt,
        )


class Answered(Exception):
    """A human's answer stands in for the call; it does not run."""

    def __init__(self, message: ToolMessage) -> None:
        super().__init__()
        self.message = message


def _outcome(task: Task, intent: Intent | None) -> Decision | None:
    item: Item | None = task.run.items.get(intent.outcome) if intent is not None else None
    return item.decision if item is not None else None


def run(task: Task, steps: Steps) -> ToolMessage:
    """Carry out an execution in this thread."""
    reply: object = None
    error: Exception | None = None
    while True:
        try:
            effect = steps.throw(error) if error is not None else steps.send(reply)
        except StopIteration as stop:
            message: ToolMessage = stop.value
            return message
        reply, error = None, None
        if isinstance(effect, Begin):
            task.run.journal.intent(task.place, effect.key, effect.intent, effect.moves)
            task.record.intents[effect.key] = replace(effect.intent)
        else:
            try:
                reply = effect.tool.run(effect.arguments, effect.runtime)
            except Exception as raised:  # noqa: BLE001 - thrown into the execution
                error = raised


async def arun(task: Task, steps: Steps) -> ToolMessage:
    """Carry out an execution on an event loop."""
    reply: object = None
    error: Exception | None = None
    while True:
        try:
            effect = steps.throw(error) if error is not None else steps.send(reply)
        except StopIteration as stop:
            message: ToolMessage = stop.value
            return message
        reply, error = None, None
        if isinstance(effect, Begin):
            await task.run.journal.aintent(task.place, effect.key, effect.intent, effect.moves)
            task.record.intents[effect.key] = replace(effect.intent)
        else:
            try:
                reply = await effect.tool.arun(effect.arguments, effect.runtime)
            except Exception as raised:  # noqa: BLE001 - thrown into the execution
                error = raised
