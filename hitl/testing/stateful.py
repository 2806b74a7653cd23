"""Hypothesis drives the reference model beside stores, and compares them after every action.

For a store of your own::

    from hitl.testing.stateful import beside

    TestThreads = beside(lambda clock, folder: MyStore(folder / "threads", clock=clock))

Needs Hypothesis. How long it looks is said by Hypothesis' settings: ``TestThreads.settings``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hitl.errors import Stale
from hitl.testing.reference import Reference, allowed
from hitl.testing.subject import Maker, Subject
from hitl.values import Command, Commit, Draft

__all__ = ["ThreadMachine", "beside"]

WANTS = st.sampled_from(["a", "a", "ab"])
DIES = st.sampled_from(["", "before", "after"])
HOUR = 3600.0

DECISIONS: dict[str, dict[str, object]] = {
    "approve": {"type": "approve"},
    "reject": {"type": "reject"},
    "respond": {"type": "respond", "message": "said"},
    "retry": {"type": "retry"},
}


def decision(said: str, to: str) -> dict[str, object]:
    """Return a decision as people write it; an edit pays the same name in capitals."""
    edit: dict[str, object] = {
        "type": "edit",
        "edited_action": {"name": "pay", "args": {"to": to.upper()}},
    }
    return edit if said == "edit" else DECISIONS[said]


class ThreadMachine(RuleBasedStateMachine):
    """One thread, its reference, and the stores that are to agree with it."""

    makers: tuple[Maker, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.model = Reference()
        self.subjects: list[Subject] = []

    def teardown(self) -> None:
        """Close the stores and remove their files."""
        for subject in self.subjects:
            subject.store.close()
        self.folder.cleanup()

    def all(self, action: Callable[[Subject], object], want: object) -> None:
        """Do something on every store, a moment after the last thing."""
        for subject in self.subjects:
            subject.clock.advance(0.01)
            came = action(subject)
            assert came == want, f"it came to {came!r}, and should to {want!r}"

    @initialize(asynchronous=st.booleans())
    def open(self, asynchronous: bool) -> None:
        """Open the stores."""
        for place, make in enumerate(self.makers):
            folder = Path(self.folder.name) / str(place)
            folder.mkdir()
            self.subjects.append(Subject(make, folder, asynchronous=asynchronous))
        self.enter("a", tell=False)

    @rule(wants=WANTS, tell=st.booleans())
    def send(self, wants: str, tell: bool) -> None:
        """Send a message: on a paused thread, it closes what waits."""
        self.enter(wants, tell=tell)

    @precondition(lambda self: self.model.unsettled)
    @rule(said=st.sampled_from(["respond", "retry", "reject"]), dies=DIES)
    def settle(self, said: str, dies: str) -> None:
        """Ask about a lost payment where nobody has, say what came of it, and go on."""
        self.go_on("")
        if self.model.stage == "unknown":
            place = len(self.model.items) - 1
            want = self.model.decide(place, said)
            self.all(lambda one: one.decide(place, DECISIONS[said]), want)
            self.go_on(dies)

    def enter(self, wants: str, *, tell: bool) -> None:
        """Send a message, and keep where its turn began."""
        more = {"on_unknown": "tell_model"} if tell else {}
        starts = len(self.model.starts)
        want = self.model.enter(wants, tell=tell)
        self.all(lambda one: one.invoke({"messages": wants}, **more), want)
        if len(self.model.starts) > starts:
            for subject in self.subjects:
                subject.note_start()

    @precondition(lambda self: self.model.items)
    @rule(data=st.data(), old=st.booleans())
    def decide(self, data: st.DataObject, old: bool) -> None:
        """Decide as an inbox does: first, again, otherwise, wrongly, too late."""
        last = len(self.model.items) - 1
        place = data.draw(st.integers(0 if old else max(0, last - 1), last))
        item = self.model.items[place]
        kinds = ["approve", "edit", "reject", "respond", "retry"]
        said = data.draw(st.sampled_from(kinds if old else allowed(item)))
        want = self.model.decide(place, said)
        self.all(lambda one: one.decide(place, decision(said, item.to)), want)

    @precondition(lambda self: self.model.stage == "asked")
    @rule(data=st.data(), by_place=st.booleans(), dies=DIES)
    def answer(self, data: st.DataObject, by_place: bool, dies: str) -> None:
        """Decide the whole turn and go on, by ids or by position."""
        kinds = st.sampled_from(["approve", "edit", "reject", "respond"])
        said = {to: data.draw(kinds) for to in self.model.waiting}
        first = len(self.model.items) - len(said)
        payments = sum(one in ("approve", "edit") for one in said.values())
        dies = dies if payments == 1 else ""  # which of two has started would be chance
        want = self.model.answer(said, dies)
        decisions = [decision(one, to) for to, one in said.items()]

        def given(subject: Subject) -> object:
            if by_place:
                return {"decisions": decisions}
            ids = [item.id for item in subject.items()[first : first + len(said)]]
            return dict(zip(ids, decisions, strict=True))

        self.all(lambda one: one.invoke(Command(resume=given(one)), dies=dies), want)

    @rule(dies=DIES)
    def resume(self, dies: str) -> None:
        """Go on with whatever is decided, and sometimes die around the payment."""
        self.go_on(dies)

    def go_on(self, dies: str) -> None:
        """Go on, on every store."""
        dies = dies if len(self.model.runs) == 1 else ""
        want = self.model.go_on(dies)
        self.all(lambda one: one.invoke(None, dies=dies), want)

    @precondition(lambda self: self.model.starts)
    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        """Replay a turn from its beginning: it is asked anew, whatever was decided then."""
        place = data.draw(st.integers(0, len(self.model.starts) - 1))
        want = self.model.go_back(self.model.starts[place])
        self.all(lambda one: one.invoke(None, one.back_to(place)), want)

    @precondition(lambda self: self.model.starts)
    @rule(data=st.data(), wants=WANTS)
    def write(self, data: st.DataObject, wants: str) -> None:
        """Fork by ``update_state``: another message, and nothing runs yet."""
        place = data.draw(st.integers(0, len(self.model.starts) - 1))
        want = self.model.write(self.model.starts[place], wants)
        self.all(lambda one: one.write(one.back_to(place), wants), want)

    @rule()
    def crash(self) -> None:
        """The process dies between two commits, and another one opens the store."""
        for subject in self.subjects:
            subject.reopen()

    @precondition(lambda self: self.model.stage != "none" and not self.model.held)
    @rule()
    def hold(self) -> None:
        """A run elsewhere takes the thread, and stops moving."""
        self.model.held = True
        for subject in self.subjects:
            subject.hold()

    @precondition(lambda self: self.model.held)
    @rule()
    def revive(self) -> None:
        """That run's lease ends, another one comes and goes, and it wakes up: too late."""
        self.model.held = False
        for subject in self.subjects:
            old = subject.fence
            subject.clock.advance(2 * HOUR)
            subject.hold()
            free = Commit("t", fence=subject.fence, lease="release", owner="elsewhere")
            subject.store.append(free)
            try:
                subject.store.append(Commit("t", (Draft("step", "{}"),), fence=old))
            except Stale:
                continue
            raise AssertionError("a run that had lost its lease has written")

    @precondition(lambda self: not self.model.held)
    @rule()
    def prune(self) -> None:
        """Forget how the thread came to where it is; nobody can go back then."""
        self.model.starts.clear()
        for subject in self.subjects:
            subject.starts.clear()
            subject.prune()

    @precondition(lambda self: self.model.stage != "none")
    @rule()
    def delete(self) -> None:
        """Delete the thread, late writers and all."""
        want = self.model.delete()
        for subject in self.subjects:
            subject.starts.clear()
        self.all(lambda one: one.store.delete_thread("t"), want)

    @invariant()
    def agree(self) -> None:
        """Items, decisions, results and what truly ran are the same everywhere."""
        model = self.model
        want = {
            "items": [(one.kind, one.call, one.state, one.said) for one in model.items],
            "results": model.results,
            "answers": len(model.results),
            "ran": model.ran,
            "accepted": model.accepted,
            "damage": None,
        }
        for subject in self.subjects:
            seen = subject.seen()
            assert seen == want, f"{subject.store!r} says {seen}, and should {want}"


def beside(*makers: Maker) -> Any:
    """Return a ``unittest.TestCase`` that holds stores against the reference.

    Args:
        makers: Each opens a store on a clock and in a folder of its own; called again where the
            process is to have died, with the same folder.
    """
    machine: Any = type("Threads", (ThreadMachine,), {"makers": makers})
    return machine.TestCase
