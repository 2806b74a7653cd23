"""What a checkpointer promises of logs that are pruned, and of threads that are taken in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hitl.checkpoint import BASE, Checkpointer, verify
from hitl.errors import Busy, Conflict, Damaged, Stale
from hitl.testing.store_case import HOUR, StoreCase, an_item, approve, step
from hitl.values import Commit, Entry, ItemChange, Loaded, ManualClock

__all__ = ["RetentionPromises"]


def _filled(store: Checkpointer) -> list[Entry]:
    """Write a thread of five entries and two items; return its entries."""
    store.append(Commit("t", (step('"a"', "input"), step('"b"')), (ItemChange(an_item(1)),)))
    store.append(Commit("t", (step('"c"', "decide"),), (approve(an_item(1)),)))
    store.append(Commit("t", (step('"d"'), step('"e"')), (ItemChange(an_item(2)),), fence=None))
    return store.entries("t")


class RetentionPromises(StoreCase):
    """A pruned log goes on as it was; a thread that is taken in is the one that was given out."""

    def test_a_base_takes_the_place_of_what_was_pruned(self, store: Checkpointer) -> None:
        """The entries behind it, the mark and the items stay as they are."""
        entries = _filled(store)
        before = store.load("t")
        assert store.prune("t", entries[2], '"all of it"') == 2
        kept = store.entries("t")
        assert [(e.seq, e.kind, e.body) for e in kept] == [
            (3, BASE, '"all of it"'),
            (4, "step", '"d"'),
            (5, "step", '"e"'),
        ]
        assert kept[1:] == entries[3:]
        assert kept[0].at == entries[2].at
        loaded = store.load("t")
        assert loaded.mark == before.mark._replace(base=3)
        assert loaded.items == before.items
        assert loaded.entries == tuple(kept)

    def test_a_pruned_log_is_verified_from_its_base(self, store: Checkpointer) -> None:
        """The base holds the last removed hash, and its own body cannot be changed unseen."""
        entries = _filled(store)
        store.prune("t", entries[2], '"all"')
        base, *rest = store.entries("t")
        assert verify([base, *rest]) is None
        assert verify(rest, base) is None
        assert base.hash.startswith(entries[2].hash)
        assert verify([base._replace(body='"other"'), *rest]) == 3
        assert verify([base._replace(hash="0" * 64), *rest]) == 3
        assert verify([base, *rest[1:]]) == 4
        assert verify(rest) is not None

    def test_a_pruned_log_is_read_from_anywhere(self, store: Checkpointer) -> None:
        """Numbers mean what they meant."""
        entries = _filled(store)
        store.prune("t", entries[2], '"all"')
        for after, seqs in (
            (0, [3, 4, 5]),
            (2, [3, 4, 5]),
            (3, [4, 5]),
            (4, [5]),
            (5, []),
            (9, []),
        ):
            assert [e.seq for e in store.load("t", after).entries] == seqs
            assert [e.seq for e in store.load("t", after, whole=True).entries] == seqs
            assert [e.seq for e in store.entries("t", after=after)] == seqs
        assert [e.seq for e in store.entries("t", after=3, limit=1)] == [4]

    def test_a_pruned_log_goes_on_and_is_pruned_again(self, store: Checkpointer) -> None:
        """New entries get the next numbers, and a base can be folded into the next one."""
        entries = _filled(store)
        store.prune("t", entries[2], '"one"')
        assert store.append(Commit("t", (step('"f"'),), expect=5)).seqs == (6,)
        assert store.prune("t", store.entries("t")[2], '"two"') == 2
        kept = store.entries("t")
        assert [(e.seq, e.body) for e in kept] == [(5, '"two"'), (6, '"f"')]
        assert verify(kept) is None
        assert store.load("t").entries == tuple(kept)

    def test_a_newer_base_stays_where_reading_starts(self, store: Checkpointer) -> None:
        """Pruning before a base does not make reads longer."""
        store.append(Commit("t", (step(), step(), step(), step(base=True), step())))
        store.prune("t", store.entries("t")[1], "{}")
        assert store.load("t").mark.base == 4
        assert [e.seq for e in store.load("t").entries] == [4, 5]

    def test_a_log_that_is_not_as_it_was_read_is_not_pruned(self, store: Checkpointer) -> None:
        """Another hash, the newest entry, an unknown thread, a number beyond: all refused."""
        entries = _filled(store)
        for last in (
            entries[2]._replace(hash="0" * 32),
            entries[4],
            entries[4]._replace(seq=9),
            entries[0]._replace(seq=0),
        ):
            with pytest.raises(Stale):
                store.prune("t", last, "{}")
        with pytest.raises(Stale):
            store.prune("nobody", entries[2], "{}")
        assert store.entries("t") == entries

    def test_a_thread_that_runs_is_not_pruned(
        self, store: Checkpointer, clock: ManualClock
    ) -> None:
        """While its lease is held; not when it has run out."""
        self.acquire(store, "host:1:1:run")
        store.append(Commit("t", (step(), step()), fence=1))
        entries = store.entries("t")
        with pytest.raises(Busy):
            store.prune("t", entries[0], "{}")
        clock.advance(HOUR)
        store.prune("t", entries[1], "{}")
        assert [e.seq for e in store.entries("t")] == [2, 3]

    def test_a_thread_is_taken_in_as_it_was_given_out(
        self, store: Checkpointer, clock: ManualClock, tmp_path: Path
    ) -> None:
        """Pruned or not: numbers, dates, hashes and items are the same, and it goes on."""
        entries = _filled(store)
        folder = tmp_path / "other"
        folder.mkdir()
        other = self.make(clock, folder)
        if other.load("t").mark.seq:  # it is the same store: make room
            return
        for _ in range(2):
            given = store.load("t", whole=True)
            items = store.items(thread="t")
            clock.advance(5)
            other.restore(given.mark, given.entries, items)
            taken = other.load("t", whole=True)
            # A tombstone's fence counts on.
            assert taken.mark._replace(fence=given.mark.fence) == given.mark
            assert (taken.entries, taken.items) == (given.entries, given.items)
            assert other.items(thread="t") == items
            seqs = other.append(Commit("t", (step(),), expect=given.mark.head)).seqs
            assert seqs == (given.mark.seq + 1,)
            other.delete_thread("t")
            if store.load("t").mark.base == 0:
                store.prune("t", entries[2], "{}")
        other.close()

    def test_nothing_is_taken_in_over_what_is_there(self, store: Checkpointer) -> None:
        """A thread or an item of the same name stays; a damaged log is refused."""
        entries = _filled(store)
        given = store.load("t", whole=True)
        with pytest.raises(Conflict):
            store.restore(given.mark, entries, [])
        mark = given.mark._replace(thread="u")
        with pytest.raises(Conflict):
            store.restore(mark, entries, [replace(an_item(1), thread="u")])
        for broken in ([], entries[1:], [entries[0], entries[2]], [entries[0]._replace(body="1")]):
            with pytest.raises(Damaged):
                store.restore(mark, broken, [])
        with pytest.raises(Damaged):
            store.restore(mark._replace(base=9), entries, [])
        assert store.load("u") == Loaded(store.load("u").mark)
        assert store.load("t", whole=True) == given

    def test_a_run_from_before_cannot_write_to_a_thread_that_is_taken_in(
        self, store: Checkpointer
    ) -> None:
        """The tombstone's fence counts on."""
        self.acquire(store, "host:1:1:run")
        given = store.load("t", whole=True)
        store.delete_thread("t")
        store.restore(given.mark, given.entries, [])
        with pytest.raises(Stale):
            store.append(Commit("t", (step(),), fence=1))
        assert store.load("t").mark.owner == ""
