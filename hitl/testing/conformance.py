"""The promises of a checkpointer as tests, for the stores of this library and for your own.

Subclass in a test module and say how a store is made; pytest finds the rest::

    class TestMyStore(CheckpointerConformance):
        def make(self, clock, folder):
            return MyStore(folder / "threads", clock=clock)

Knows the port only. The rules by which items move are not a store's matter.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hitl.checkpoint import Checkpointer, activate, new_owner, retire, verify
from hitl.errors import Busy, Conflict, Misuse, Stale
from hitl.values import Clock, Commit, Decision, Draft, Item, ItemChange, ManualClock, Mark, Receipt

__all__ = ["CheckpointerConformance", "an_item", "step"]

HOUR = 3600.0
"""Longer than any lease may last that nobody renews."""


def step(body: str = "{}", kind: str = "step", *, parent: int = 0, base: bool = False) -> Draft:
    """Return an entry to append, one of a run unless told otherwise."""
    return Draft(kind, body, parent, base)


def an_item(number: int, thread: str = "t", *, interrupt: int | None = None) -> Item:
    """Return a pending item whose id follows from a number."""
    return Item(
        id=f"{number:032x}",
        thread=thread,
        interrupt=f"{number if interrupt is None else interrupt:032x}",
        kind="action",
        fingerprint=f"print {number}",
        subject={"name": "send", "args": {"to": ["a", "é\ud800"], "n": 1.5, "no": None}},
        allowed=("approve", "reject"),
        rules={"tools": ["send"]},
        path="agent/tools",
        call_id=f"call {number}",
        asked_at=float(number),
    )


def approve(item: Item, by: str = "ann") -> ItemChange:
    """Return the change that decides a pending item."""
    decision = Decision("approve", {"message": "go"}, by, 12.5)
    return ItemChange(replace(item, state="decided", decision=decision), (item.version, item.state))


class CheckpointerConformance:
    """What every checkpointer promises, one test each."""

    def make(self, clock: Clock, folder: Path) -> Checkpointer:
        """Return a new, empty store that tells the time by ``clock``; ``folder`` is its own."""
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The clock of the store under test."""
        return ManualClock()

    @pytest.fixture
    def store(self, clock: ManualClock, tmp_path: Path) -> Iterator[Checkpointer]:
        """The store under test, closed afterwards."""
        store = self.make(clock, tmp_path)
        yield store
        store.close()

    # -- the port

    def test_it_has_every_verb_of_the_port(self, store: Checkpointer) -> None:
        """The store is a checkpointer and says whether it may block."""
        assert isinstance(store, Checkpointer)
        assert store.blocking in (True, False)

    def test_an_unknown_thread_is_empty(self, store: Checkpointer) -> None:
        """Reading what is not there gives nothing, and makes nothing."""
        loaded = store.load("nobody")
        assert (loaded.mark, loaded.entries, dict(loaded.items)) == (Mark("nobody"), (), {})
        assert store.entries("nobody") == []
        assert store.items(thread="nobody") == []
        assert store.threads() == []

    @pytest.mark.parametrize("bad", ["", "a\0b", "\x1b[2J", "x" * 513, "\ud800", None, 7, b"t", {}])
    def test_a_value_that_is_no_thread_id_is_refused(self, store: Checkpointer, bad: str) -> None:
        """Nothing but a decent string names a thread."""
        with pytest.raises(Misuse):
            store.append(Commit(bad, (step(),)))
        with pytest.raises(Misuse):
            store.load(bad)
        assert store.threads() == []

    # -- the log

    def test_entries_are_numbered_dated_and_chained(
        self, store: Checkpointer, clock: ManualClock
    ) -> None:
        """Each entry gets the next number and the store's time, each hash covers the last."""
        first = store.append(Commit("t", (step(kind="input"), step(parent=1))))
        clock.advance(5)
        second = store.append(Commit("t", (step(parent=2),)))
        assert (first.seqs, second.seqs) == ((1, 2), (3,))
        entries = store.entries("t")
        assert [entry.at for entry in entries] == [first.at, first.at, second.at]
        assert [entry.parent for entry in entries] == [0, 1, 2]
        assert second.at == first.at + 5 == clock.now()
        assert verify(entries) is None
        mark = store.load("t").mark
        assert (mark.seq, mark.created_at, mark.updated_at) == (3, first.at, second.at)

    def test_threads_are_numbered_apart(self, store: Checkpointer) -> None:
        """The number of an entry counts within its thread."""
        assert store.append(Commit("a", (step(),))).seqs == (1,)
        assert store.append(Commit("b", (step(), step()))).seqs == (1, 2)

    def test_a_body_comes_back_as_it_was(self, store: Checkpointer) -> None:
        """Any JSON text is kept, long ones and other scripts too."""
        bodies = [
            '{"a":1}',
            '"ünï 漢字 🎉"',
            json.dumps("\ud800"),
            '"' + "x" * 300_000 + '"',
            "null",
        ]
        store.append(Commit("t", tuple(step(body) for body in bodies)))
        assert [entry.body for entry in store.entries("t")] == bodies

    def test_a_lone_surrogate_stays_the_same_json(self, store: Checkpointer) -> None:
        """What is not valid UTF-8 is written as an escape, which means the same."""
        store.append(Commit("t", (step('"a\ud800b"'),)))
        (entry,) = store.entries("t")
        assert json.loads(entry.body) == "a\ud800b"
        assert verify([entry]) is None

    @pytest.mark.parametrize("name", ["漢字", "a b", "../x", "%", "'; --", "🎉", "a\u00a0b"])
    def test_odd_thread_ids_are_just_names(self, store: Checkpointer, name: str) -> None:
        """A thread id is never part of a query or a path."""
        store.append(Commit(name, (step(),)))
        assert [mark.thread for mark in store.threads()] == [name]
        assert store.load(name).mark.seq == 1

    def test_only_entries_of_a_run_move_its_head(self, store: Checkpointer) -> None:
        """A decision is an entry, and leaves the newest run entry where it is."""
        store.append(Commit("t", (step(kind="input"), step(kind="pause"))))
        store.append(Commit("t", (step(kind="decide"), step(kind="withdraw"))))
        mark = store.load("t").mark
        assert (mark.seq, mark.head) == (4, 2)

    def test_a_moved_head_is_stale(self, store: Checkpointer) -> None:
        """Who writes a run must know its newest entry; a decision need not."""
        store.append(Commit("t", (step(),), expect=0))
        store.append(Commit("t", (step(kind="decide"),)))
        store.append(Commit("t", (step(),), expect=1))
        with pytest.raises(Stale):
            store.append(Commit("t", (step(),), expect=1))
        with pytest.raises(Stale):
            store.append(Commit("new", (step(),), expect=1))
        assert store.load("t").mark.seq == 3
        assert store.load("new").mark.seq == 0

    def test_reading_starts_at_the_newest_base(self, store: Checkpointer) -> None:
        """A base holds the whole state; older entries are read on demand, known ones never."""
        store.append(Commit("t", (step(), step(), step(base=True), step(), step())))
        assert store.load("t").mark.base == 3
        assert [e.seq for e in store.load("t").entries] == [3, 4, 5]
        assert [e.seq for e in store.load("t", after=1).entries] == [3, 4, 5]
        assert [e.seq for e in store.load("t", after=4).entries] == [5]
        assert store.load("t", after=5).entries == ()
        assert store.load("t", after=9).entries == ()
        assert [e.seq for e in store.load("t", whole=True).entries] == [1, 2, 3, 4, 5]
        assert [e.seq for e in store.load("t", after=2, whole=True).entries] == [3, 4, 5]

    def test_a_log_is_read_by_pages(self, store: Checkpointer) -> None:
        """Pages of a log follow each other without gap or overlap."""
        store.append(Commit("t", tuple(step(str(n)) for n in range(25))))
        seen: list[int] = []
        while page := store.entries("t", after=seen[-1] if seen else 0, limit=10):
            seen += [entry.seq for entry in page]
        assert seen == list(range(1, 26))
        assert store.entries("t", limit=0) == []

    def test_threads_are_listed_by_pages_in_order(self, store: Checkpointer) -> None:
        """Pages of threads follow each other in the order of their ids."""
        names = sorted(["b", "a", "Z", "é", "漢", "a2", "10", "9"])
        for name in reversed(names):
            store.append(Commit(name, (step(),)))
        seen: list[str] = []
        while page := store.threads(after=seen[-1] if seen else None, limit=3):
            seen += [mark.thread for mark in page]
        assert seen == names

    # -- items

    def test_an_item_comes_back_as_it_was(self, store: Checkpointer) -> None:
        """All fields of an item are kept, its decision too."""
        item = replace(an_item(1), index=3, version=2)
        store.append(Commit("t", (step(kind="pause"),), (ItemChange(item),)))
        assert store.items() == [item] == list(store.load("t").items.values())
        change = approve(item)
        store.append(Commit("t", (step(kind="decide"),), (change,)))
        assert store.items(ids=[item.id]) == [change.item]

    def test_a_stored_item_cannot_be_changed_from_outside(self, store: Checkpointer) -> None:
        """Neither what was given nor what was read is the stored item itself."""
        subject: dict[str, object] = {"args": {"to": "a"}}
        item = replace(an_item(1), subject=subject)  # type: ignore[arg-type]
        store.append(Commit("t", (), (ItemChange(item),)))
        subject["args"] = "changed"
        (first,) = store.items()
        first.rules["more"] = 1
        (second,) = store.items()
        assert second.subject == {"args": {"to": "a"}}
        assert "more" not in second.rules

    def test_a_providers_odd_call_id_is_no_obstacle(self, store: Checkpointer) -> None:
        """What is not valid UTF-8 in a label is shown as an escape."""
        item = replace(an_item(1), call_id="\ud800", path="\ud801")
        store.append(Commit("t", (), (ItemChange(item),)))
        (shown,) = store.items()
        assert (shown.call_id, shown.path) == ("\\ud800", "\\ud801")

    def test_one_decision_wins(self, store: Checkpointer) -> None:
        """The second decision is refused and told what was decided, and leaves nothing."""
        item = an_item(1)
        store.append(Commit("t", (step(kind="pause"),), (ItemChange(item),)))
        store.append(Commit("t", (step(kind="decide"),), (approve(item, "ann"),)))
        with pytest.raises(Conflict) as caught:
            store.append(Commit("t", (step(kind="decide"),), (approve(item, "bob"),)))
        stored = caught.value.fields["item"]
        assert isinstance(stored, Item)
        assert stored.decision is not None
        assert stored.decision.by == "ann"
        assert store.load("t").mark.seq == 2

    def test_threads_that_race_to_decide_have_one_winner_each(self, store: Checkpointer) -> None:
        """Of several threads that decide the same items, exactly one wins each."""
        items = [an_item(n) for n in range(1, 21)]
        store.append(Commit("t", (), tuple(map(ItemChange, items))))
        wins: list[str] = []

        def decide(name: str) -> None:
            for item in items:
                try:
                    store.append(Commit("t", (step(kind="decide"),), (approve(item, name),)))
                    wins.append(item.id)
                except Conflict:
                    pass

        threads = [threading.Thread(target=decide, args=(f"r{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(wins) == [item.id for item in items]
        assert store.load("t").mark.seq == len(items)
        assert verify(store.entries("t")) is None

    @pytest.mark.parametrize(
        ("now", "expect"),
        [
            (replace(an_item(1), version=2), (2, "pending")),
            (an_item(1), (1, "decided")),
            (replace(an_item(1), fingerprint="other"), (1, "pending")),
            (an_item(1), None),
            (an_item(2), (1, "pending")),
        ],
        ids=["other version", "other state", "other fingerprint", "id is taken", "no such item"],
    )
    def test_an_item_that_is_not_as_expected_is_a_conflict(
        self, store: Checkpointer, now: Item, expect: tuple[int, str] | None
    ) -> None:
        """Version, state and fingerprint are compared; a failed commit stores nothing."""
        store.append(Commit("t", (), (ItemChange(an_item(1)),)))
        before = store.items()
        with pytest.raises(Conflict):
            store.append(Commit("t", (step(),), (ItemChange(an_item(3)), ItemChange(now, expect))))
        assert store.items() == before
        assert store.load("t").mark.seq == 0

    def test_a_new_version_may_have_a_new_fingerprint(self, store: Checkpointer) -> None:
        """An edit that must be looked at again changes what the reviewer sees."""
        store.append(Commit("t", (), (ItemChange(an_item(1)),)))
        newer = replace(an_item(1), version=2, fingerprint="other")
        store.append(Commit("t", (), (ItemChange(newer, (1, "pending")),)))
        assert store.items()[0].fingerprint == "other"

    def test_items_of_other_threads_are_out_of_reach(self, store: Checkpointer) -> None:
        """An item of another thread is neither changed nor shown."""
        item = an_item(1, "a")
        store.append(Commit("a", (), (ItemChange(item),)))
        for change in (approve(item), approve(replace(item, thread="b"))):
            with pytest.raises(Conflict) as caught:
                store.append(Commit("b", (step(),), (change,)))
            assert caught.value.fields["item"] is None
        assert store.items() == [item]
        assert store.load("b").mark.seq == 0

    def test_items_are_listed_by_age_state_thread_and_id(self, store: Checkpointer) -> None:
        """A listing takes any mix of its filters, oldest question first."""
        mine = [an_item(n, "a", interrupt=9) for n in (3, 1, 2)]
        store.append(Commit("a", (), tuple(map(ItemChange, mine))))
        store.append(Commit("b", (), (ItemChange(an_item(4, "b")),)))
        store.append(Commit("a", (), (approve(an_item(2, "a", interrupt=9)),)))
        one, two, three, four = (f"{n:032x}" for n in (1, 2, 3, 4))

        def listed(**by: object) -> list[str]:
            return [item.id for item in store.items(**by)]  # type: ignore[arg-type]

        assert listed() == [one, two, three, four]
        assert listed(states={"pending"}) == [one, three, four]
        assert listed(states=["pending"], thread="a") == [one, three]
        assert listed(states=["decided", "pending"], thread="a") == [one, two, three]
        assert listed(states=[]) == []
        assert listed(ids=[f"{9:032x}"]) == [one, two, three]
        assert listed(ids=[two, four, "unknown"]) == [two, four]
        assert listed(ids=[]) == []
        assert listed(ids=[two, four], states=["pending"]) == [four]
        assert listed(after=(2.0, two)) == [three, four]
        assert listed(states=["pending"], after=(1.0, one), limit=1) == [three]
        assert listed(limit=0) == []

    def test_items_of_the_same_moment_are_paged_by_id(self, store: Checkpointer) -> None:
        """A page ends anywhere, and the next one goes on there."""
        items = [replace(an_item(n), asked_at=7.0) for n in range(1, 12)]
        store.append(Commit("t", (), tuple(map(ItemChange, items))))
        seen: list[Item] = []
        while page := store.items(
            states=["pending"], limit=4, after=(seen[-1].asked_at, seen[-1].id) if seen else None
        ):
            seen += page
        assert seen == items

    def test_a_load_has_the_live_items_only(self, store: Checkpointer) -> None:
        """What a run has done with stays out of the way, however much there is."""
        one, two = an_item(1), an_item(2)
        store.append(Commit("t", (), (ItemChange(one), ItemChange(two))))
        gone = replace(one, state="superseded")
        store.append(Commit("t", (), (ItemChange(gone, (1, "pending")),)))
        assert dict(store.load("t").items) == {two.id: two}
        assert len(store.items(thread="t")) == 2

    # -- the lease

    def test_taking_the_lease_gives_a_new_fence(self, store: Checkpointer) -> None:
        """Each lease has a higher fence; giving it back frees the thread for the next one."""
        first = self._acquire(store, "one")
        assert first.fence == 1
        assert store.load("t").mark.owner == "one"
        last = store.append(Commit("t", (step(),), fence=1, lease="release", owner="one"))
        assert last.fence is None
        assert store.load("t").mark.owner == ""
        assert self._acquire(store, "two").fence == 2

    def test_a_held_thread_is_busy(self, store: Checkpointer) -> None:
        """A second run is refused and stores nothing."""
        self._acquire(store, "one")
        with pytest.raises(Busy) as caught:
            self._acquire(store, "two")
        assert caught.value.fields["thread"] == "t"
        assert store.load("t").mark.seq == 1

    def test_a_decision_for_a_busy_thread_is_kept(self, store: Checkpointer) -> None:
        """A lenient commit that cannot have the lease stores the rest and has no fence."""
        item = an_item(1)
        self._acquire(store, "one")
        store.append(Commit("t", (step(kind="pause"),), (ItemChange(item),), fence=1))
        decide = Commit(
            "t", (step(kind="decide"),), (approve(item),), 1, None, "acquire", "two", lenient=True
        )
        assert store.append(decide).fence is None
        mark = store.load("t").mark
        assert (mark.seq, mark.head, mark.owner, mark.fence) == (3, 2, "one", 1)
        assert store.items()[0].state == "decided"

    def test_no_entry_of_a_run_gets_in_beside_the_lease(self, store: Checkpointer) -> None:
        """Being lenient keeps decisions, it does not make a second writer."""
        self._acquire(store, "one")
        with pytest.raises(Busy):
            store.append(Commit("t", (step(),), lease="acquire", owner="two", lenient=True))

    def test_a_lenient_commit_takes_a_free_lease(self, store: Checkpointer) -> None:
        """Deciding and going on are one commit where nobody else runs."""
        commit = Commit("t", (step(kind="decide"),), lease="acquire", owner="o", lenient=True)
        assert store.append(commit).fence == 1

    def test_a_lease_ends_by_the_stores_clock(
        self, store: Checkpointer, clock: ManualClock
    ) -> None:
        """After its end another run takes over, and the old one is refused from then on."""
        self._acquire(store, "one")
        clock.advance(HOUR)
        store.append(Commit("t", (step(),), fence=1))
        assert self._acquire(store, "two").fence == 2
        for lease in (None, "renew", "release"):
            with pytest.raises(Stale):
                store.append(Commit("t", (step(),), fence=1, lease=lease, owner="one"))  # type: ignore[arg-type]
        assert store.load("t").mark.owner == "two"

    def test_a_renewed_lease_lasts(self, store: Checkpointer, clock: ManualClock) -> None:
        """Renewing moves the end and keeps the fence."""
        self._acquire(store, "one")
        clock.advance(HOUR)
        assert store.append(Commit("t", fence=1, lease="renew", owner="one")).fence == 1
        assert store.load("t").mark.until > clock.now()
        with pytest.raises(Busy):
            self._acquire(store, "two")

    def test_a_run_that_is_gone_is_taken_over_at_once(self, store: Checkpointer) -> None:
        """No waiting for the end of the lease where it is known that nobody holds it."""
        owner = new_owner()
        activate(owner)
        self._acquire(store, owner)
        with pytest.raises(Busy) as caught:
            self._acquire(store, "two")
        assert owner not in str(caught.value.fields)
        retire(owner)
        assert self._acquire(store, "two").fence == 2

    def test_the_same_owner_may_take_its_lease_again(self, store: Checkpointer) -> None:
        """A repeated start of one run moves the fence, so that only the last one writes."""
        self._acquire(store, "one")
        assert self._acquire(store, "one").fence == 2
        with pytest.raises(Stale):
            store.append(Commit("t", (step(),), fence=1))

    def test_giving_back_needs_the_fence(self, store: Checkpointer) -> None:
        """A lease is not released or renewed by somebody who does not hold it."""
        self._acquire(store, "one")
        with pytest.raises(Misuse):
            store.append(Commit("t", lease="release", owner="one"))

    # -- deletion

    def test_a_deleted_thread_is_gone(self, store: Checkpointer) -> None:
        """Log and items go; other threads stay."""
        for name, number in (("t", 1), ("u", 2)):
            store.append(Commit(name, (step(),), (ItemChange(an_item(number, name)),)))
        assert store.delete_thread("t") is True
        assert store.delete_thread("t") is False
        assert store.delete_thread("nobody") is False
        assert store.load("t").mark == Mark("t")
        assert store.entries("t") == []
        assert [item.thread for item in store.items()] == ["u"]
        assert [mark.thread for mark in store.threads()] == ["u"]

    def test_a_late_run_cannot_bring_a_deleted_thread_back(self, store: Checkpointer) -> None:
        """What was in progress when the thread was deleted is refused."""
        self._acquire(store, "one")
        store.delete_thread("t")
        for fence in (1, 2, None):
            with pytest.raises(Stale):
                store.append(Commit("t", (step(),), fence=fence))
        with pytest.raises(Stale):
            store.append(Commit("t", (step(),), expect=1, lease="acquire", owner="one"))
        assert store.threads() == []

    def test_a_deleted_threads_id_may_be_used_again(
        self, store: Checkpointer, clock: ManualClock
    ) -> None:
        """A new run starts at 1, and the old one stays out."""
        self._acquire(store, "one")
        store.delete_thread("t")
        clock.advance(9)
        receipt = store.append(Commit("t", (step(),), expect=0, lease="acquire", owner="two"))
        assert receipt.seqs == (1,)
        assert receipt.fence == 3
        assert store.load("t").mark.created_at == clock.now()
        assert verify(store.entries("t")) is None
        with pytest.raises(Stale):
            store.append(Commit("t", (step(),), fence=1))

    # -- the end

    def test_closing_twice_does_nothing(self, store: Checkpointer) -> None:
        """Closing is always safe."""
        store.append(Commit("t", (step(),)))
        store.close()
        store.close()

    @staticmethod
    def _acquire(store: Checkpointer, owner: str) -> Receipt:
        return store.append(Commit("t", (step(kind="input"),), lease="acquire", owner=owner))
