"""Whether a call may run, just before its body, whatever route led there.

It may if the review of its turn says so, or humans said yes to exactly this call and their
yes has not been used, or every rule that has had no say yet lets it run. Where one of those
rules asks, it is asked here and now; what this task has asked before stays as it was decided,
whatever has become of the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.deciding import (
    alone,
    asked_before,
    denied,
    edited,
    made_of,
    put,
    same_ask,
)
from hitl.agent.messages import ToolMessage
from hitl.agent.policing import tightened
from hitl.agent.review import Review, accepted, mark
from hitl.agent.wording import NOT_APPROVED
from hitl.engine import Runtime, Task
from hitl.errors import Refused
from hitl.ledger import Ask, move
from hitl.policy import Verdict
from hitl.values import Item, Json, ToolCall

__all__ = ["Admission", "Answered", "Ticket", "intent_of", "passing"]

Admitted = tuple[ToolCall, tuple[str, ...]]
"""The call that may run, and the ids of the items that say so."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a task of the tools node is to run.

    Attributes:
        message: Id of the turn's message.
        index: The call's place in the turn.
        call: The call, as the model proposed it or as a middleware changed it.
        review: The newest review, of whatever turn.
        state: The state that the tool may read.
        changed: Whether a middleware changed the call, so that no review speaks of it.
        writes: What tools that ran for it write to the state; filled by the executor.
    """

    message: str
    index: int
    call: ToolCall
    review: Review | None
    state: Any
    changed: bool = False
    writes: list[tuple[str, object]] = field(default_factory=list)


class Answered(Exception):
    """A human's answer stands in for the call; it does not run."""

    def __init__(self, message: ToolMessage) -> None:
        super().__init__()
        self.message = message


def intent_of(task: Task, call: ToolCall) -> str:
    """Return the key of this task's intent for exactly this call, empty where it has none."""
    for key, intent in task.record.intents.items():
        subject = intent.subject
        if isinstance(subject, dict) and subject.get("fingerprint") == mark(call):
            return key
    return ""


def passing(call: ToolCall, items: Sequence[str]) -> tuple[str, Json]:
    """Return the note that a call got past the gates, and by which items: its key, its value.

    A task that pauses behind the gates leaves it, so that its rules are not called again. What
    has no note, and no intent, for exactly this call has not got past them.
    """
    return f"admitted:{mark(call)}", list(items)


def _passed(task: Task, call: ToolCall, items: Sequence[str]) -> bool:
    """Return whether exactly this call got past the gates in an earlier execution."""
    key, value = passing(call, items)
    if task.record.notes.get(key) == value:
        return True
    intent = task.record.intents.get(intent_of(task, call))
    return intent is not None and intent.item == (items[-1] if items else "")


class _Judge(Protocol):
    """Whoever has a say on whether a call gets in."""

    @property
    def name(self) -> str: ...

    def judge(self, call: ToolCall, state: Any, runtime: Runtime) -> Verdict: ...

    def by_policy(self, call: ToolCall) -> Verdict: ...

    def granted(self, ask: Ask) -> bool: ...

    def grounds(self, call: ToolCall, verdict: Verdict) -> str: ...
    def refusal(self, call: ToolCall, verdict: Verdict, state: Any) -> str: ...

    def ask_for(
        self, index: int, call: ToolCall, verdict: Verdict, state: Any, runtime: Runtime
    ) -> Ask: ...


class _ByPolicy:
    """A gate that has had its say, and whose policy of now demands more: its code has none."""

    def __init__(self, gate: _Judge) -> None:
        self.name = gate.name
        self.ask_for = gate.ask_for
        self.by_policy = gate.by_policy
        self.granted = gate.granted
        self.grounds = gate.grounds
        self.refusal = gate.refusal

    def judge(self, call: ToolCall, state: Any, runtime: Runtime) -> Verdict:  # noqa: ARG002
        return self.by_policy(call)


def _stricter(
    task: Task, heard: Sequence[_Judge], call: ToolCall, items: Sequence[str], granted: str = ""
) -> list[_Judge]:
    """Return those who have had their say, and whose policy of now demands more.

    A remembered answer frees a call while policy and tool are those for which it did.
    """
    approvals = [task.run.items[id] for id in items]
    stricter: list[_Judge] = []
    for gate in heard:
        verdict = gate.by_policy(call)
        still = bool(granted) and gate.grounds(call, verdict) == granted
        if not still and tightened(verdict, approvals):
            stricter.append(_ByPolicy(gate))
    return stricter


class Admission:
    """Lets calls in.

    Args:
        gates: The approval middleware, in the order in which they have their say.
    """

    def __init__(self, gates: Sequence[HumanInTheLoopMiddleware]) -> None:
        self.gates = gates

    def admit(self, task: Task, ticket: Ticket) -> Admitted:
        """Return the call that may run in place of the proposed one.

        Raises:
            Refused: It may not run; the message is written for the model.
            Answered: A human's answer stands in for it.
            Pause: A rule asks for it, and nobody has answered yet.
        """
        review = ticket.review
        known = None
        if review is not None and not ticket.changed:
            known = review.of(ticket.message, ticket.index)
        if review is None or known is None:
            return self._ask(task, ticket, (ticket.call, ()), self.gates)
        if known.verdict == "closed":
            raise _not_approved(ticket.call)
        call = accepted(known, ticket.call, task.run.items)
        if call is not None and self._outdated(task, known.items):
            _withdraw(task, known.items)
            call = None
        if call is not None:
            heard = [gate for gate in self.gates if gate.name in known.gates]
            silent = [gate for gate in self.gates if gate.name not in known.gates]
            waiting = [*_stricter(task, heard, call, known.items, known.granted), *silent]
            return self._ask(task, ticket, (call, known.items), waiting)
        # Its yes is used up, of another branch, or for a tool as it was: a human is asked anew.
        asked = known.gates if known.verdict == "asked" else ()
        admitted = self._ask(task, ticket, (ticket.call, ()), self.gates, asked)
        if known.verdict == "asked" and not admitted[1]:
            raise _not_approved(ticket.call)
        return admitted

    def _outdated(self, task: Task, items: Sequence[str]) -> bool:
        """Return whether a yes that has not been used yet is for a tool as it was before.

        Raises:
            Stale: The tool is gone; the decision is kept.
        """
        approvals = [task.run.items[id] for id in items]
        return any(
            gate.tool_change(item)
            for item in approvals
            for gate in self.gates
            if gate.name == item.rules.get("gate")
        )

    def _ask(
        self,
        task: Task,
        ticket: Ticket,
        admitted: Admitted,
        gates: Sequence[_Judge],
        must_ask: Sequence[str] = (),
    ) -> Admitted:
        """Let the gates that are still to be heard have their say, one after the other.

        Where ``must_ask`` names gates, one of them asks, even if its rules have become laxer.
        """
        allowing = [*admitted[1]]
        try:
            return self._heard(task, ticket, admitted, gates, must_ask, allowing)
        except (Refused, Answered):
            _withdraw(task, allowing)
            raise

    def _heard(
        self,
        task: Task,
        ticket: Ticket,
        admitted: Admitted,
        gates: Sequence[_Judge],
        must_ask: Sequence[str],
        allowing: list[str],
    ) -> Admitted:
        """Return the call that the gates let in; ``allowing`` grows with each yes to it."""
        call, items = admitted
        waiting = list(gates)
        mark(call)
        while True:
            ask = _asked_about(task, call)
            if ask is None:
                if _passed(task, call, items):
                    self._check_retry(task, call)
                    return call, items
                ask = _in_place(task, ticket, call) or self._next(task, ticket, call, waiting)
                if ask is None and must_ask and not items:
                    ask = self._insist(task, ticket, call, must_ask)
                if ask is None:
                    return call, items
            item = self._decided(task, ticket, ask)
            made = made_of(item, call)
            if isinstance(made, ToolMessage):
                raise Answered(made)
            call, items = made, (*items, item.id)
            allowing.append(item.id)
            names = [gate.name for gate in waiting]
            if item.rules.get("gate") in names:
                heard = names.index(str(item.rules["gate"])) + 1
                waiting[:heard] = _stricter(task, waiting[:heard], call, items)

    def _check_retry(self, task: Task, call: ToolCall) -> None:
        """Judge a lost call that a human wants run once more, by the policies of now.

        Raises:
            Refused: A policy denies it by now.
        """
        intent = task.record.intents.get(intent_of(task, call))
        lost = None if intent is None else task.run.items.get(intent.outcome)
        if lost is None or lost.decision is None or lost.decision.type != "retry":
            return
        for gate in self.gates:
            verdict = gate.by_policy(call)
            if verdict.effect == "deny":
                raise Refused(denied(call, verdict))

    def _next(
        self,
        task: Task,
        ticket: Ticket,
        call: ToolCall,
        waiting: Sequence[_Judge],
    ) -> Ask | None:
        """Return the question of the next gate that asks, None where none does."""
        runtime = task.runtime
        for gate in waiting:
            verdict = gate.judge(call, ticket.state, runtime)
            refusal = gate.refusal(call, verdict, ticket.state)
            if refusal:
                raise Refused(refusal)
            if verdict.effect == "ask":
                ask = gate.ask_for(ticket.index, call, verdict, ticket.state, runtime)
                if not gate.granted(ask):
                    return alone(ask)
        return None

    def _insist(
        self, task: Task, ticket: Ticket, call: ToolCall, names: Sequence[str]
    ) -> Ask | None:
        """Return a question by the first of these gates that has a rule for the tool."""
        for gate in self.gates:
            allowed = gate.map.allowed(call["name"]) if gate.name in names else None
            if allowed:
                verdict = Verdict("ask", allowed, "An earlier approval does not count here.")
                return alone(gate.ask_for(ticket.index, call, verdict, ticket.state, task.runtime))
        return None

    def _decided(self, task: Task, ticket: Ticket, ask: Ask) -> Item:
        """Ask, again where a yes turns out to be of no use; return the decided item."""
        gate = next((one for one in self.gates if one.name == ask.rules.get("gate")), None)
        while True:
            (item,) = put(task, [ask])
            again = asked_before(task)
            if again and _once_more(again[0], item):
                ask = same_ask(again[0])  # the yes was of no use when it was judged
                continue
            problem = ""
            if gate is not None:
                problem = gate.problem(item, ticket.state, task.runtime)
            if gate is None or not problem:
                return item
            ask = gate.ask_again(item, problem)


def _withdraw(task: Task, items: Sequence[str]) -> None:
    """Let go of what humans agreed to: the call does not run, and their yes is not used."""
    for id in items:
        item = task.run.items.get(id)
        if item is not None and item.state in ("decided", "cleared"):
            task.moves[id] = move(item, "withdraw")
        elif item is not None and item.state == "uncertain":
            task.moves[id] = move(item, "abandon")


def _asked_about(task: Task, call: ToolCall) -> Ask | None:
    """Return the question about this call that comes next, from an earlier execution."""
    items = asked_before(task)
    if len(items) == 1 and items[0].kind == "action" and items[0].fingerprint == mark(call):
        return same_ask(items[0])
    return None


def _in_place(task: Task, ticket: Ticket, call: ToolCall) -> Ask | None:
    """Make room for a call: pass over questions about what stood in its place before.

    A middleware changed the call otherwise then, or the turn was written anew since.

    Raises:
        Refused: The body or a middleware asked here then, and that answer is not for this; or
            what stood in the turn was turned down or answered, which closes its place.
    """
    while items := asked_before(task):
        found = _asked_about(task, call)
        if found is not None:
            return found
        if items[0].kind != "action" or not (ticket.changed or all(map(_agreed, items))):
            raise _not_approved(call)
        task.asks += 1
    return None


def _agreed(item: Item) -> bool:
    return item.decision is not None and item.decision.type in ("approve", "edit")


def _once_more(one: Item, before: Item) -> bool:
    """Return whether a question is another one about the same call, by the same gate.

    That is where an edit did not fit, and where the tool was another one by then.
    """
    if one.kind != "action" or one.fingerprint != before.fingerprint:
        return False
    if one.rules.get("gate") != before.rules.get("gate"):
        return False
    return edited(before) is not None or one.rules.get("schema") != before.rules.get("schema")


def _not_approved(call: ToolCall) -> Refused:
    return Refused(NOT_APPROVED.format(name=call["name"]))
