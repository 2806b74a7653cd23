"""What a checkpointer promises of its logs and their numbers."""

from __future__ import annotations

import json

import pytest

from hitl.checkpoint import Checkpointer, verify
from hitl.errors import Misuse, Stale
from hitl.testing.store_case import StoreCase, step
from hitl.values import Commit, ManualClock, Mark

__all__ = ["LogPromises"]


class LogPromises(StoreCase):
    """Entries: numbered, kept as they were, read from where one wants."""

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

    def test_closing_twice_does_nothing(self, store: Checkpointer) -> None:
        """Closing is always safe."""
        store.append(Commit("t", (step(),)))
        store.close()
        store.close()
