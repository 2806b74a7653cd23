"""The review of one model turn by one approval middleware, in the batched mode.

A turn is judged once. While it waits, its verdicts are frozen in the items that were asked;
when the node runs again they are read from there, and no rule is called a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from hitl.agent.deciding import (
    asked_before,
    made_of,
    put,
    refused,
    same_ask,
)
from hitl.agent.messages import AIMessage, ToolMessage
from hitl.agent.review import CLOSED, CallReview, Review, accepted, mark
from hitl.agent.turns import ENDS_RUN, result_id
from hitl.agent.wording import STOPPED
from hitl.engine import Runtime, current_task, running_task
from hitl.errors import Refused
from hitl.ledger import Ask
from hitl.policy import Verdict
from hitl.values import Item, Json, ToolCall

__all__ = ["Rules", "TurnReview"]


class Rules(Protocol):
    """What the approval middleware knows: its rules, and how it asks."""

    @property
    def name(self) -> str:
        """Return the name of the middleware."""
        ...

    def judge(self, call: ToolCall, state: Any, runtime: Runtime) -> Verdict:
        """Return what the rules say about a call."""
        ...

    def ask_for(
        self, index: int, call: ToolCall, verdict: Verdict, state: Any, runtime: Runtime
    ) -> Ask:
        """Return the question about a call."""
        ...

    def refusal(self, call: ToolCall, verdict: Verdict, state: Any) -> str:
        """Return what the model reads of a call that is not asked about, empty where it may be."""
        ...

    def granted(self, ask: Ask) -> bool:
        """Return whether a remembered answer lets the call go on."""
        ...

    def grounds(self, call: ToolCall, verdict: Verdict) -> str:
        """Return what stands for all that a remembered answer stands and falls with."""
        ...

    def problem(self, item: Item, state: Any, runtime: Runtime) -> str:
        """Return why a yes cannot be used, empty where it can."""
        ...

    def ask_again(self, item: Item, problem: str) -> Ask:
        """Return the question about a call once more."""
        ...


class TurnReview:
    """Judges the open calls of a turn, asks about them, and takes the decisions.

    Args:
        gate: Whose rules judge.
        turn: The model's message.
        old: What another middleware has found of this turn already.
        state: The agent's state, for rules that look at it.
        runtime: The run's surroundings.

    Attributes:
        answers: Messages that stand in for calls which do not run, by the call's index.
        gated: Whether a call waited or was refused.
    """

    def __init__(
        self,
        gate: Rules,
        turn: AIMessage,
        old: Review | None,
        state: Any,
        runtime: Runtime,
    ) -> None:
        self.gate, self.turn, self.old = gate, turn, old
        self.state, self.runtime = state, runtime
        self.answers: dict[int, ToolMessage] = {}
        self.gated = False
        self._stopped = False
        self._calls: dict[int, ToolCall] = {}
        self._reviews = [CLOSED] * len(turn.tool_calls) if old is None else list(old.calls)

    def run(self, open_calls: Sequence[tuple[int, ToolCall]]) -> Review:
        """Return the turn's review once every question is answered.

        Raises:
            Pause: Nobody has answered yet.
            OutsideRun, NoCheckpointer: It must ask, and cannot.
        """
        for index, proposed in open_calls:
            self._open(index, proposed)
        asks = self._asks()
        while asks:
            task = current_task("An approval")
            items = put(task, asks)
            asked = {_index(item): same_ask(item) for item in asked_before(task)}
            asks = [again for item in items if (again := self._take(item, asked)) is not None]
        if self._stopped:
            self._stop()
        for index in self._calls:
            review = self._reviews[index]
            if review.fingerprint:
                self._reviews[index] = replace(review, gates=(*review.gates, self.gate.name))
        return Review(self.turn.id or "", tuple(self._reviews))

    def _stop(self) -> None:
        """Close what no human has approved: a rejection ends the run."""
        for index, call in self._calls.items():
            review = self._reviews[index]
            if review.verdict == "free" and not review.items:
                self._close(index, call, STOPPED.format(name=call["name"]))

    def _open(self, index: int, proposed: ToolCall) -> None:
        """Start from the call as it stands: proposed, or as another middleware left it."""
        task = running_task()
        try:
            before = CallReview("free", mark(proposed))
            if self.old is not None:
                found = self.old.of(self.turn.id or "", index)
                items = {} if task is None else task.run.items
                if found is not None and (call := accepted(found, proposed, items)) is not None:
                    before, proposed = found, call
                elif found == CLOSED:
                    return
        except Refused as error:
            self._close(index, proposed, error.message)
            return
        self._calls[index], self._reviews[index] = proposed, before

    def _asks(self) -> list[Ask]:
        """Return what to ask about; what was asked before stays as it was."""
        frozen = asked_before(running_task())
        if frozen:
            self.gated = True
            self._close_all(frozen[0].rules.get("denied"))
            self._freed(frozen[0].rules.get("free"), {_index(item) for item in frozen})
            self._granted(frozen[0].rules.get("granted"))
            return [same_ask(item) for item in frozen]
        asks: list[Ask] = []
        refusals: dict[str, Json] = {}
        free: dict[str, Json] = {}
        granted: dict[str, Json] = {}
        for index, call in self._calls.items():
            verdict = self.gate.judge(call, self.state, self.runtime)
            refusal = self.gate.refusal(call, verdict, self.state)
            if refusal:
                refusals[str(index)] = refusal
            elif verdict.effect == "ask":
                ask = self.gate.ask_for(index, call, verdict, self.state, self.runtime)
                if not self.gate.granted(ask):
                    asks.append(ask)
                    continue
                free[str(index)], granted[str(index)] = mark(call), self.gate.grounds(call, verdict)
            else:
                free[str(index)] = mark(call)
        self._close_all(refusals)
        self.gated = bool(asks or self.answers)
        self._granted(granted)
        frozen_too = {"denied": refusals, "free": free, "granted": granted}
        for name, verdicts in frozen_too.items():
            if asks and verdicts:
                asks[0] = replace(asks[0], rules={**asks[0].rules, name: verdicts})
        return asks

    def _freed(self, free: Json, asked: set[int]) -> None:
        """Hold each call that was not asked about to what it was when the rules freed it.

        One that has changed since is free no more: the executor judges it anew.
        """
        known = free if isinstance(free, dict) else {}
        for index in self._calls.keys() - asked:
            before = self._reviews[index]
            if before.verdict != "closed" and known.get(str(index)) != before.fingerprint:
                self._reviews[index] = CallReview("free", "", before.items)

    def _granted(self, granted: Json) -> None:
        """Note which calls were freed by remembered answers, and on what grounds."""
        for index, grounds in (granted if isinstance(granted, dict) else {}).items():
            review = self._reviews[int(index)]
            if review.verdict == "free" and review.fingerprint:
                self._reviews[int(index)] = replace(review, granted=str(grounds))

    def _close_all(self, refusals: Json) -> None:
        if isinstance(refusals, dict):
            for index, text in refusals.items():
                if int(index) in self._calls:  # else the turn was written anew, or answered
                    self._close(int(index), self._calls[int(index)], str(text))

    def _close(self, index: int, call: ToolCall, text: str) -> None:
        self._answer(index, refused(call, text))

    def _answer(self, index: int, answer: ToolMessage) -> None:
        self._reviews[index] = CLOSED
        self.answers[index] = replace(answer, id=result_id(self.turn.id, index))

    def _take(self, item: Item, asked: Mapping[int, Ask]) -> Ask | None:
        """Take a decision; return the question once more where it cannot be used.

        What was asked once more in an earlier execution stays so.
        """
        index = _index(item)
        if index in asked:
            return asked[index]
        if index not in self._calls:
            return None  # the turn was written anew, or answered: the call is gone
        problem = self.gate.problem(item, self.state, self.runtime)
        if problem:
            return self.gate.ask_again(item, problem)
        made = made_of(item, self._calls[index])
        if isinstance(made, ToolMessage):
            self._stopped = self._stopped or ENDS_RUN in made.additional_kwargs
            self._answer(index, made)
        else:
            before = self._reviews[index]
            items = (*before.items, item.id)
            self._reviews[index] = CallReview("asked", mark(made), items, before.gates)
        return None


def _index(item: Item) -> int:
    """Return the place, in its turn, of the call that an item asks about."""
    return int(item.rules["call"])  # type: ignore[arg-type]
