"""The checkpointer that keeps threads in memory: the reference the others are compared with.

It keeps the same texts as a file would, so that what passes in a test passes on SQLite, and
nothing that a caller still holds can change what was stored.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from hitl.checkpoint.advance import (
    Standing,
    advance,
    check_item,
    conflict,
    cut,
    permit,
    revive,
)
from hitl.checkpoint.chain import base_entry
from hitl.checkpoint.door import check_filters, check_limit, check_thread_id
from hitl.checkpoint.rows import ItemRow, pack_item, show_item, unpack_item
from hitl.values import (
    LIVE,
    Clock,
    Commit,
    Entry,
    Item,
    ItemChange,
    Loaded,
    Mark,
    Receipt,
    SystemClock,
)

__all__ = ["InMemorySaver", "MemorySaver"]


class _Thread:
    """A thread: its row, its log, and the ids of its live items."""

    __slots__ = ("entries", "live", "row")

    def __init__(self, row: Standing) -> None:
        self.row = row
        self.entries: list[Entry] = []
        self.live: set[str] = set()

    def after(self, seq: int) -> int:
        """Return the place of the first entry beyond a number; a pruned log begins later."""
        return max(seq - self.entries[0].seq + 1, 0) if self.entries else 0


class InMemorySaver:
    """A checkpointer whose threads live as long as it does.

    Args:
        clock: By which entries are dated and leases end.
        lease_seconds: How long a lease lasts that nobody renews.
    """

    blocking = False

    def __init__(self, *, clock: Clock | None = None, lease_seconds: float = 60.0) -> None:
        self.clock: Clock = clock or SystemClock()
        self.lease_seconds = lease_seconds
        self._lock = threading.Lock()
        self._threads: dict[str, _Thread] = {}
        self._items: dict[str, ItemRow] = {}

    def append(self, commit: Commit) -> Receipt:
        """Make everything in a commit true together; see ``Checkpointer.append``.

        Raises:
            Busy: The lease is another owner's.
            Stale: The fence is old, the head has moved, or the thread was deleted.
            Conflict: An item is not as expected.
        """
        name = check_thread_id(commit.thread)
        with self._lock:
            now = self.clock.now()
            thread = self._threads.get(name) or _Thread(Standing(name))
            grant = permit(thread.row, commit, now, self.lease_seconds)
            changed = self._changed(name, commit.items, now)
            # Nothing below this line can fail.
            self._threads[name] = thread
            entries = advance(thread.row, commit, grant, now)
            thread.entries += entries
            for row in changed:
                self._items[row.id] = row
                (thread.live.add if row.state in LIVE else thread.live.discard)(row.id)
            return Receipt(tuple([entry.seq for entry in entries]), now, grant.held)

    def _changed(
        self, thread: str, changes: tuple[ItemChange, ...], now: float
    ) -> Iterable[ItemRow]:
        """Return the rows that a commit's items come to, each compared with what is there."""
        rows: dict[str, ItemRow] = {}
        for change in changes:
            old = rows.get(change.item.id) or self._items.get(change.item.id)
            is_now = old and (old.thread, old.version, old.state, old.fingerprint)
            row = pack_item(change.item)
            why = check_item(thread, change, is_now, now)
            if why:
                raise conflict(thread, change, why, unpack_item(old) if old else None)
            rows[row.id] = row
        return rows.values()

    def load(self, thread: str, after: int = 0, *, whole: bool = False) -> Loaded:
        """Return a thread's mark, entries and live items; see ``Checkpointer.load``."""
        thread = check_thread_id(thread)
        with self._lock:
            found = self._threads.get(thread)
            if found is None:
                return Loaded(Mark(thread))
            start = after if whole else max(after, found.row.base - 1)
            rows = [self._items[id] for id in found.live]
            mark, entries = found.row.mark(), tuple(found.entries[found.after(start) :])
        rows.sort(key=_age)
        return Loaded(mark, entries, {row.id: unpack_item(row) for row in rows})

    def items(
        self,
        *,
        ids: Sequence[str] | None = None,
        thread: str | None = None,
        states: Iterable[str] | None = None,
        due: float | None = None,
        after: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> list[Item]:
        """Return a page of items over all threads; see ``Checkpointer.items``."""
        thread = None if thread is None else check_thread_id(thread)
        check_filters(ids, states, after)
        limit = check_limit(limit)
        wanted = None if ids is None else frozenset(ids)
        among = None if states is None else frozenset(states)
        with self._lock:
            rows = [
                row
                for row in self._items.values()
                if (wanted is None or row.id in wanted or row.interrupt in wanted)
                and (thread is None or row.thread == thread)
                and (among is None or row.state in among)
                and (due is None or (row.deadline is not None and row.deadline <= due))
                and (after is None or _age(row) > after)
            ]
        rows.sort(key=_age)
        return [show_item(row) for row in rows[:limit]]

    def threads(self, *, after: str | None = None, limit: int = 100) -> list[Mark]:
        """Return a page of the marks of threads; see ``Checkpointer.threads``."""
        limit = check_limit(limit)
        with self._lock:
            rows = [t.row for t in self._threads.values() if not t.row.deleted]
            rows = [row for row in rows if after is None or row.thread > after]
            rows.sort(key=lambda row: row.thread)
            return [row.mark() for row in rows[:limit]]

    def entries(self, thread: str, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return a page of a thread's log; see ``Checkpointer.entries``."""
        thread, limit = check_thread_id(thread), check_limit(limit)
        with self._lock:
            found = self._threads.get(thread)
            if found is None:
                return []
            start = found.after(after)
            return found.entries[start : start + limit]

    def delete_thread(self, thread: str) -> bool:
        """Remove a thread but for its tombstone; see ``Checkpointer.delete_thread``."""
        thread = check_thread_id(thread)
        with self._lock:
            found = self._threads.get(thread)
            if found is None or found.row.deleted:
                return False
            found.row.bury()
            found.entries.clear()
            found.live.clear()
            for id in [row.id for row in self._items.values() if row.thread == thread]:
                del self._items[id]
            return True

    def prune(self, thread: str, last: Entry, body: str) -> int:
        """Put a base in the place of the entries up to ``last``; see ``Checkpointer.prune``.

        Raises:
            Busy: A run holds the thread's lease.
            Stale: The log is not as it was read.
        """
        thread = check_thread_id(thread)
        base = base_entry(last, body)
        with self._lock:
            found = self._threads.get(thread) or _Thread(Standing(thread))
            end = found.after(last.seq)
            stored = found.entries[end - 1].hash if 0 < end <= len(found.entries) else None
            cut(found.row, last, stored, self.clock.now())
            found.entries[:end] = [base]
            return end - 1

    def restore(self, mark: Mark, entries: Sequence[Entry], items: Sequence[Item]) -> None:
        """Take in a thread of another store; see ``Checkpointer.restore``.

        Raises:
            Conflict: There is such a thread already, or an item of the same id.
            Damaged: The entries are not a whole log.
        """
        name = check_thread_id(mark.thread)
        with self._lock:
            thread = self._threads.get(name) or _Thread(Standing(name))
            rows = tuple(self._changed(name, tuple(map(ItemChange, items)), mark.updated_at))
            revive(thread.row, mark, entries)
            self._threads[name] = thread
            thread.entries[:] = entries
            for row in rows:
                self._items[row.id] = row
            thread.live.update(row.id for row in rows if row.state in LIVE)

    def close(self) -> None:
        """Do nothing: there is nothing to give back, and the threads stay readable."""


def _age(row: ItemRow) -> tuple[float, str]:
    return row.asked_at, row.id


MemorySaver = InMemorySaver
