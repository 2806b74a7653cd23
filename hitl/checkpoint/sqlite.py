"""The checkpointer that keeps threads in one SQLite file, for any number of processes.

Owns the connection and the transactions; what is written in one is in ``writing``, what a commit
needs and makes in ``advance``, the tables are in ``tables``, and opening a file is in ``opening``.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Literal, Self, TypeAlias, TypeVar

from hitl.checkpoint import statements as sql
from hitl.checkpoint.advance import Standing
from hitl.checkpoint.chain import verify
from hitl.checkpoint.door import check_filters, check_limit, check_thread_id
from hitl.checkpoint.forking import watch
from hitl.checkpoint.opening import check_path, connect, failed, prepare
from hitl.checkpoint.rows import ItemRow, show_item, unpack_item
from hitl.checkpoint.writing import Known, bury, find, move, prune, restore, set_item
from hitl.errors import Damaged, Misuse, StoreFailed
from hitl.values import (
    Clock,
    Commit,
    Entry,
    Item,
    Loaded,
    Mark,
    Receipt,
    SystemClock,
)

__all__ = ["AsyncSqliteSaver", "SqliteSaver"]

Synchronous = Literal["FULL", "EXTRA", "NORMAL"]

_MOST_KNOWN = 256

T = TypeVar("T")
_Values: TypeAlias = Sequence[str | float] | dict[str, object]


class SqliteSaver:
    """A checkpointer on a SQLite file; safe to share between threads, processes and forks.

    Works as ``with`` and as ``async with``, and without either. Async code that uses it runs
    its verbs in threads.

    Args:
        path_or_connection: The path of the file, which is made with mode 0600 where it is
            missing; ``":memory:"`` for none; or an open connection, which is used as it is
            and left open (open it with ``check_same_thread=False`` to use more than one
            thread).
        clock: By which entries are dated and leases end.
        synchronous: What a commit waits for. ``FULL``: the disk has it. ``NORMAL``: a loss of
            power may take the last commits, a killed process takes nothing. ``EXTRA``: as
            FULL, and the folder as well.
        timeout: Seconds to wait for another process's transaction.
        lease_seconds: How long a lease lasts that nobody renews.

    Raises:
        Misuse: The path is a URI or no path, or the connection cannot be used.
        StoreFailed: The file cannot be opened, or is not a store.
        NewerStore: A newer version of this library wrote the file.
    """

    blocking = True

    def __init__(
        self,
        path_or_connection: str | os.PathLike[str] | sqlite3.Connection,
        *,
        clock: Clock | None = None,
        synchronous: Synchronous = "FULL",
        timeout: float = 30.0,
        lease_seconds: float = 60.0,
    ) -> None:
        self._connection: sqlite3.Connection | None = None
        self._cursor: sqlite3.Cursor | None = None
        self._known: dict[str, Known] = {}
        self._lock = threading.RLock()
        self._owned = not isinstance(path_or_connection, sqlite3.Connection)
        self._ended = ""
        self.clock: Clock = clock or SystemClock()
        self.lease_seconds = lease_seconds
        if synchronous not in ("FULL", "EXTRA", "NORMAL"):
            raise Misuse(
                f"synchronous={synchronous!r} is not a way to keep data.",
                hint='Choose "FULL", "EXTRA" or "NORMAL".',
            )
        self._synchronous, self._timeout = synchronous, timeout
        if isinstance(path_or_connection, sqlite3.Connection):
            self._path = "given connection"
            self._adopt(path_or_connection)
        else:
            self._path = check_path(path_or_connection)
            self._open()
        watch(self)

    @classmethod
    def from_conn_string(cls, conn_string: str | os.PathLike[str]) -> Self:
        """Return a store on a path or ``":memory:"``, to be used in ``with``.

        Raises:
            StoreFailed: The file cannot be opened, or is not a store.
        """
        return cls(conn_string)

    def append(self, commit: Commit) -> Receipt:
        """Make everything in a commit true together; see ``Checkpointer.append``.

        Raises:
            Busy: The lease is another owner's.
            Stale: The fence is old, the head has moved, or the thread was deleted.
            Conflict: An item is not as expected.
            StoreFailed: The file could not be written; nothing was.
        """
        name = check_thread_id(commit.thread)
        with self._lock:
            cursor = self._ready()
            # Gone until the commit is made, so that a failure leaves nothing half right behind.
            known = self._known.pop(name, None)
            try:
                cursor.execute("BEGIN IMMEDIATE")
                now = self.clock.now()
                known, entries, held = move(cursor, name, known, commit, now, self.lease_seconds)
                for change in commit.items:
                    set_item(cursor, known, change, now)
                for draft, e in zip(commit.entries, entries, strict=True):
                    cursor.execute(sql.ADD_ENTRY, (known.num, *e, draft.base))
                cursor.execute("COMMIT")
            except BaseException as error:
                self._roll_back(cursor, error)
                raise
            self._remember(known)
        return Receipt(tuple([entry.seq for entry in entries]), now, held)

    def load(self, thread: str, after: int = 0, *, whole: bool = False) -> Loaded:
        """Return a thread's mark, entries and live items; see ``Checkpointer.load``.

        Raises:
            StoreFailed: The file could not be read.
            Damaged: An entry that is read is not what was written, or a live item is broken.
        """
        thread = check_thread_id(thread)
        with self._lock:
            cursor = self._ready()
            try:
                cursor.execute("BEGIN")
                known = find(cursor, thread)
                if known is not None:
                    row = known.row
                    start = min(after if whole else max(after, row.base - 1), row.seq)
                    # One entry more than asked for: the hash of the next one covers it.
                    rows = cursor.execute(sql.ENTRIES, (known.num, max(start, 1) - 1)).fetchall()
                    items = cursor.execute(sql.LIVE_ITEMS, (known.num,)).fetchall()
                cursor.execute("COMMIT")
            except BaseException as error:
                self._roll_back(cursor, error)
                raise
            if known is None:
                return Loaded(Mark(thread))
            mark, newest = row.mark(), row.hash
            self._known.pop(thread, None)
            self._remember(known)
        entries = list(map(Entry._make, rows))
        # There is none before the base of a pruned log.
        known_before = bool(start and entries) and entries[0].seq == start
        previous = entries.pop(0) if known_before else None
        bad = verify(entries, previous)
        last = entries[-1] if entries else previous
        if bad or (last.hash if last else "") != newest:
            raise self._damaged(thread, bad or mark.seq)
        live = {item[0]: unpack_item(ItemRow(*item)) for item in items}
        return Loaded(mark, tuple(entries), live)

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
        """Return a page of items over all threads; see ``Checkpointer.items``.

        Raises:
            StoreFailed: The file could not be read.
        """
        check_filters(ids, states, after)
        among = None if states is None else sorted(set(states))
        alone = among[0] if among in (["pending"], ["granted"]) else "some"
        values: dict[str, object] = {
            "ids": json.dumps(list(ids or ())),
            "thread": None if thread is None else check_thread_id(thread),
            "states": json.dumps(among),
            "due": due,
            "asked_at": after and after[0],
            "id": after and after[1],
            "limit": check_limit(limit),
        }
        query = sql.page_of_items(
            ids=ids is not None,
            thread=thread is not None,
            states="all" if among is None else alone,
            due=due is not None,
            after=after is not None,
        )
        return list(map(show_item, self._select(query, values, ItemRow)))

    def threads(self, *, after: str | None = None, limit: int = 100) -> list[Mark]:
        """Return a page of the marks of threads; see ``Checkpointer.threads``.

        Raises:
            StoreFailed: The file could not be read.
        """
        rows = self._select(sql.THREADS, (after or "", check_limit(limit)), Standing)
        return [row.mark() for row in rows]

    def entries(self, thread: str, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return a page of a thread's log; see ``Checkpointer.entries``.

        Raises:
            StoreFailed: The file could not be read.
        """
        values = (check_thread_id(thread), after, check_limit(limit))
        return self._select(sql.PAGE_OF_ENTRIES, values, Entry)

    def delete_thread(self, thread: str) -> bool:
        """Remove a thread but for its tombstone; see ``Checkpointer.delete_thread``.

        Raises:
            StoreFailed: The file could not be written.
        """
        thread = check_thread_id(thread)
        return self._write(thread, lambda cursor: bury(cursor, thread))

    def prune(self, thread: str, last: Entry, body: str) -> int:
        """Put a base in the place of the entries up to ``last``; see ``Checkpointer.prune``.

        Raises:
            Busy: A run holds the thread's lease.
            Stale: The log is not as it was read.
            StoreFailed: The file could not be written.
        """
        thread, now = check_thread_id(thread), self.clock.now()
        return self._write(thread, lambda cursor: prune(cursor, thread, last, body, now))

    def restore(self, mark: Mark, entries: Sequence[Entry], items: Sequence[Item]) -> None:
        """Take in a thread of another store; see ``Checkpointer.restore``.

        Raises:
            Conflict: There is such a thread already, or an item of the same id.
            Damaged: The entries are not a whole log.
            StoreFailed: The file could not be written.
        """
        thread = check_thread_id(mark.thread)
        self._write(thread, lambda cursor: restore(cursor, mark, entries, items))

    def vacuum(self) -> None:
        """Give back to the disk what deleting and pruning have freed; nobody can write meanwhile.

        Raises:
            StoreFailed: The file could not be written, or the disk has no room for a copy.
        """
        for statement in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            self._select(statement, (), lambda *row: row)

    def close(self) -> None:
        """Close the file; calling it again does nothing. A given connection stays open."""
        with self._lock:
            self._ended = self._ended or "was closed"
            if self._owned and self._connection is not None:
                self._connection.close()
            self._connection = self._cursor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    def __del__(self) -> None:
        # Not closing a store is no fault; the driver would warn about its connection.
        with suppress(Exception):
            self.close()

    def _open(self) -> sqlite3.Cursor:
        self._connection = connect(self._path, timeout=self._timeout, synchronous=self._synchronous)
        self._cursor = self._connection.cursor()
        return self._cursor

    def _adopt(self, connection: sqlite3.Connection) -> None:
        """Use a connection that the caller opened, leaving its settings alone."""
        legacy = getattr(sqlite3, "LEGACY_TRANSACTION_CONTROL", None)
        if getattr(connection, "autocommit", legacy) != legacy or connection.in_transaction:
            raise Misuse(
                "The given connection does not leave transactions to the store.",
                hint="Open it without autocommit=, and commit before handing it over.",
            )
        try:
            prepare(connection, self._path)
        except sqlite3.Error as error:
            raise failed(error, self._path) from error
        self._connection = connection
        self._cursor = connection.cursor()
        self._cursor.row_factory = None

    def _lose(self) -> None:
        """Give up what a fork inherited; a file is opened again on next use."""
        if not self._owned or self._path == ":memory:":
            self._ended = self._ended or "belongs to the process that this one was forked from"
        if self._owned and self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = self._cursor = None
        self._known.clear()

    def _damaged(self, thread: str, seq: int) -> Damaged:
        return Damaged(
            f"Entry {seq} of thread {thread!r} in {self._path!r} is not what was written.",
            hint="The file was damaged or changed; restore the thread from a copy.",
            thread=thread,
            seq=seq,
            path=self._path,
        )

    def _ready(self) -> sqlite3.Cursor:
        """Return the cursor for a new transaction; the caller holds the lock."""
        if self._ended:
            raise StoreFailed(
                f"The store {self._path!r} {self._ended}.",
                hint="Open another one.",
                path=self._path,
            )
        cursor = self._cursor or self._open()
        if cursor.connection.in_transaction:
            raise Misuse("The given connection has a transaction open.", hint="Commit it first.")
        return cursor

    def _select(self, query: str, values: _Values, make: Callable[..., T]) -> list[T]:
        """Return what is made of the rows of one statement; it sees one moment by itself."""
        with self._lock:
            cursor = self._ready()
            try:
                return [make(*row) for row in cursor.execute(query, values)]
            except BaseException as error:
                self._roll_back(cursor, error)
                raise

    def _write(self, thread: str, work: Callable[[sqlite3.Cursor], T]) -> T:
        """Do some work on one thread in a transaction."""
        with self._lock:
            cursor = self._ready()
            self._known.pop(thread, None)
            try:
                cursor.execute("BEGIN IMMEDIATE")
                done = work(cursor)
                cursor.execute("COMMIT")
            except BaseException as error:
                self._roll_back(cursor, error)
                raise
            return done

    def _roll_back(self, cursor: sqlite3.Cursor, error: BaseException) -> None:
        """End a transaction that failed; raise our error for one of SQLite or its driver."""
        with suppress(sqlite3.Error):
            if cursor.connection.in_transaction:
                cursor.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error | UnicodeEncodeError | OverflowError):
            raise failed(error, self._path) from error

    def _remember(self, known: Known) -> None:
        """Keep a thread's row for its next commit, in place of the one used longest ago."""
        if len(self._known) >= _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[known.row.thread] = known


AsyncSqliteSaver = SqliteSaver
