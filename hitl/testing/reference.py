"""The reference model of a thread: what must be true after each action, kept as plain data.

It is slow and obvious on purpose: no log, no lease rows, no tasks. One agent proposes payments
that need approval; this class says which of them wait, which may have run, and what each action
comes to. ``hitl.testing.stateful`` drives it beside real stores and compares.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["NOT_RUN", "Payment", "Reference", "Start"]

Stage = Literal["none", "asked", "lost", "unknown", "idle", "due"]
"""``none``: there is no thread; ``asked``: payments wait, or were decided and not taken up;
``lost``: one has started and left no result; ``unknown``: a human is asked about that;
``idle``: nothing is due; ``due``: a state was written by hand, and waits to be run."""

NOT_RUN = "not run"
"""What the model is told of a call that did not run, or of which nothing is known."""


@dataclass
class Payment:
    """One item: a payment to be approved, or one that was lost and is asked about.

    Attributes:
        kind: ``action`` or ``outcome``.
        call: Which call of which turn, as its id.
        to: Who is paid, as proposed.
        state: ``pending``, ``superseded``, ``withdrawn``, or ``taken``: a decision stands.
        said: The decision; empty where there is none.
    """

    kind: str
    call: str
    to: str
    state: str = "pending"
    said: str = ""


@dataclass(frozen=True)
class Start:
    """A point to go back to: the beginning of a turn.

    Attributes:
        turn: Which turn, counted along its branch.
        wants: Who is to be paid.
        results: What the model had been told by then.
    """

    turn: int
    wants: str
    results: dict[str, str]


@dataclass
class Reference:
    """A thread as it should be.

    Attributes:
        items: All items, in the order in which they were asked.
        waiting: Those of the turn that is open, by who is paid.
        results: What the model was told of each call, by the call's id.
        ran: Whom the tool has paid, in order; it must be the same on every store.
        starts: Where one may go back to.
        accepted: How many decisions were taken; the log must hold each of them once.
        held: Whether a run elsewhere holds the thread.
    """

    stage: Stage = "none"
    turn: int = 0
    wants: str = ""
    items: list[Payment] = field(default_factory=list)
    waiting: dict[str, Payment] = field(default_factory=dict)
    lost: Payment | None = None
    results: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    accepted: int = 0
    held: bool = False

    @property
    def unsettled(self) -> bool:
        """Whether a payment has started, and nobody knows what came of it."""
        return self.stage in ("lost", "unknown")

    @property
    def ready(self) -> bool:
        """Whether a run that goes on would do something."""
        if self.stage == "asked":
            return all(payment.said for payment in self.waiting.values())
        if self.stage == "unknown":
            return self.items[-1].said != ""
        return self.stage in ("lost", "due")

    @property
    def runs(self) -> list[str]:
        """Whom a run that goes on would pay."""
        if self.stage == "asked" and self.ready:
            return [paid(one) for one in self.waiting.values() if one.said in ("approve", "edit")]
        if self.stage == "unknown" and self.items[-1].said == "retry":
            return [paid(self.waiting[self.items[-1].to])]
        return []

    def enter(self, wants: str, *, tell: bool = False) -> str:
        """Take new input; ``tell`` closes a lost payment by telling the model."""
        if self.unsettled and not tell:
            return self._refuse()
        if self.held:
            return "Busy"
        self._close()
        self._open(self.turn + 1, wants)
        return "ok"

    def go_back(self, start: Start) -> str:
        """Run a turn anew from its beginning, on a branch of its own."""
        if self.unsettled:
            return self._refuse()
        if self.held:
            return "Busy"
        self._close()
        self.results = dict(start.results)
        self._ask(start.turn, start.wants)
        return "ok"

    def write(self, start: Start, wants: str) -> str:
        """Put a message of one's own behind the beginning of a turn, and run nothing yet."""
        if self.unsettled:
            return self._refuse()
        if self.held:
            return "Busy"
        self._close()
        self.results, self.waiting = dict(start.results), {}
        self.stage, self.turn, self.wants = "due", start.turn + 1, wants
        return "ok"

    def decide(self, place: int, said: str) -> str:
        """Decide one item, open or not, without running anything."""
        item = self.items[place]
        if said not in allowed(item):
            return "NotAllowed"
        if item.state in ("superseded", "withdrawn"):
            return "UnknownId"
        if item.said:
            return "ok" if item.said == said else "AlreadyDecided"
        item.state, item.said = "taken", said
        self.accepted += 1
        return "ok"

    def answer(self, said: dict[str, str], dies: str = "") -> str:
        """Decide all payments of the open turn at once, and go on; ``said`` by who is paid."""
        if any(self.waiting[to].said not in ("", one) for to, one in said.items()):
            return "AlreadyDecided"
        for to, one in said.items():
            if not self.waiting[to].said:
                self.waiting[to].state, self.waiting[to].said = "taken", one
                self.accepted += 1
        return self.go_on(dies)

    def go_on(self, dies: str = "") -> str:
        """Run what may run; ``dies`` kills the process ``before`` or ``after`` the payment."""
        if not self.ready:
            return "EmptyInputError" if self.stage == "none" else "ok"
        if self.held:
            return "Busy"
        if self.stage == "due":
            self._ask(self.turn, self.wants)
        elif self.stage == "lost":
            self._ask_outcome()
        else:
            return self._deliver(dies)
        return "ok"

    def delete(self) -> bool:
        """Forget the thread; return whether there was one. What ran, ran."""
        there = self.stage != "none"
        ran = self.ran
        self.__init__()  # type: ignore[misc]
        self.ran = ran
        return there

    def _deliver(self, dies: str) -> str:
        """Take the decisions up."""
        if self.stage == "asked":
            for one in self.waiting.values():
                self.results.update(_told(one))
        else:
            self.results.update(_told(self.items[-1]))
        runs = self.runs
        if runs and dies:
            self.ran += runs if dies == "after" else []
            (self.lost,) = (one for one in self.waiting.values() if one.said in ("approve", "edit"))
            self.stage = "lost"
            return "killed"
        self.ran += runs
        for one in self.waiting.values():
            if paid(one) in runs:
                self.results[one.call] = f"paid {paid(one)}"
        self.stage, self.waiting = "idle", {}
        return "ok"

    def _refuse(self) -> str:
        """Refuse to pass over a lost payment; where nobody was asked about it, ask now."""
        if self.stage == "lost":
            if self.held:
                return "Busy"
            self._ask_outcome()
        return "OutcomeUnknown"

    def _ask_outcome(self) -> None:
        assert self.lost is not None
        self.items.append(Payment("outcome", self.lost.call, self.lost.to))
        self.stage = "unknown"

    def _close(self) -> None:
        """Close what waits, since the thread goes on without it."""
        if self.stage == "lost":
            self._ask_outcome()
        for one in self.items:
            if one.state == "pending":
                one.state = "superseded"
        for one in self.waiting.values() if self.stage == "asked" else ():
            one.state = "withdrawn" if one.said else one.state
        for one in self.waiting.values():
            self.results.setdefault(one.call, NOT_RUN)
        if self.stage == "unknown" and self.items[-1].said:
            self.items[-1].state = "withdrawn"

    def _open(self, turn: int, wants: str) -> None:
        self.starts.append(Start(turn, wants, dict(self.results)))
        self._ask(turn, wants)

    def _ask(self, turn: int, wants: str) -> None:
        self.stage, self.turn, self.wants, self.lost = "asked", turn, wants, None
        self.waiting = {to: Payment("action", f"{turn}{to}", to) for to in wants}
        self.items += self.waiting.values()


def allowed(item: Payment) -> tuple[str, ...]:
    """Return which decisions an item takes."""
    if item.kind == "outcome":
        return ("respond", "retry", "reject")
    return ("approve", "edit", "reject", "respond")


def paid(payment: Payment) -> str:
    """Return who is paid in the end: an edit puts someone else in the place."""
    return payment.to.upper() if payment.said == "edit" else payment.to


def _told(payment: Payment) -> dict[str, str]:
    """Return what a decision by itself tells the model."""
    texts = {"reject": NOT_RUN, "respond": "said"}
    return {payment.call: texts[payment.said]} if payment.said in texts else {}
