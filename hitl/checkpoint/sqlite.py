"""The checkpointer that keeps threads in one SQLite file, for any number of processes.

Owns the statements and the transactions; what a commit needs and makes is in ``advance``, the
tables are in ``tables``, and how a file is opened is in ``opening``.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Literal, Self

from hitl.checkpoint import statements as sql
from hitl.checkpoint.advance import Standing, advance, check_item, conflict, permit
from hitl.checkpoint.chain import verify
from hitl.checkpoint.door import check_thread_id
from hitl.checkpoint.forking import watch
from hitl.checkpoint.opening import check_path, connect, failed, prepare
from hitl.checkpoint.rows import ItemRow, pack_item, show_item, unpack_item
from hitl.errors import Damaged, Misuse, StoreFailed
from hitl.values import (
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

__all__ = ["AsyncSqliteSaver", "SqliteSaver"]

Synchronous = Literal["FULL", "EXTRA", "NORMAL"]

_MAX = 2**63 - 1


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
        with self._transaction("BEGIN IMMEDIATE") as cursor:
            now = self.clock.now()
            found = cursor.execute(sql.THREAD, (name,)).fetchone()
            row = Standing(*found[1:]) if found else Standing(name)
            grant = permit(row, commit, now, self.lease_seconds)
            entries = advance(row, commit, grant, now)
            num = _move(cursor, row, found[0] if found else None)
            for change in commit.items:
                _change(cursor, num, name, change)
            for draft, e in zip(commit.entries, entries, strict=True):
                cursor.execute(
                    sql.ADD_ENTRY, (num, e.seq, e.kind, e.parent, e.at, e.body, e.hash, draft.base)
                )
            return Receipt(tuple([entry.seq for entry in entries]), now, grant.held)

    def load(self, thread: str, after: int = 0, *, whole: bool = False) -> Loaded:
        """Return a thread's mark, entries and live items; see ``Checkpointer.load``.

        Raises:
            StoreFailed: The file could not be read.
            Damaged: An entry that is read is not what was written, or a live item is broken.
        """
        thread = check_thread_id(thread)
        with self._transaction("BEGIN") as cursor:
            found = cursor.execute(sql.THREAD, (thread,)).fetchone()
            if found is None:
                return Loaded(Mark(thread))
            row = Standing(*found[1:])
            mark = row.mark()
            start = min(after if whole else max(after, mark.base - 1), mark.seq)
            # One entry more than asked for: the hash of the next one covers it.
            entries = _read(cursor, found[0], max(start, 1) - 1, _MAX)
            items = cursor.execute(sql.LIVE_ITEMS, (found[0],)).fetchall()
        previous = entries.pop(0) if start and entries else None
        bad = verify(entries, previous)
        last = entries[-1] if entries else previous
        if bad or (last.hash if last else "") != row.hash:
            raise self._damaged(thread, bad or mark.seq)
        live = {item[0]: unpack_item(ItemRow(*item)) for item in items}
        return Loaded(mark, tuple(entries), live)

    def items(
        self,
        *,
        ids: Sequence[str] | None = None,
        thread: str | None = None,
        states: Iterable[str] | None = None,
        after: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> list[Item]:
        """Return a page of items over all threads; see ``Checkpointer.items``.

        Raises:
            StoreFailed: The file could not be read.
        """
        among = None if states is None else sorted(set(states))
        kind = "all" if among is None else "pending" if among == ["pending"] else "some"
        values = {
            "ids": json.dumps(list(ids or ())),
            "thread": None if thread is None else check_thread_id(thread),
            "states": json.dumps(among),
            "asked_at": after and after[0],
            "id": after and after[1],
            "limit": _clamp(limit),
        }
        query = sql.page_of_items(
            ids=ids is not None, thread=thread is not None, states=kind, after=after is not None
        )
        with self._transaction("BEGIN") as cursor:
            rows = cursor.execute(query, values).fetchall()
        return [show_item(ItemRow(*row)) for row in rows]

    def threads(self, *, after: str | None = None, limit: int = 100) -> list[Mark]:
        """Return a page of the marks of threads; see ``Checkpointer.threads``.

        Raises:
            StoreFailed: The file could not be read.
        """
        with self._transaction("BEGIN") as cursor:
            rows = cursor.execute(sql.THREADS, (after or "", _clamp(limit))).fetchall()
        return [Standing(*row).mark() for row in rows]

    def entries(self, thread: str, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return a page of a thread's log; see ``Checkpointer.entries``.

        Raises:
            StoreFailed: The file could not be read.
        """
        thread = check_thread_id(thread)
        with self._transaction("BEGIN") as cursor:
            found = cursor.execute(sql.THREAD, (thread,)).fetchone()
            return _read(cursor, found[0], after, _clamp(limit)) if found else []

    def delete_thread(self, thread: str) -> bool:
        """Remove a thread but for its tombstone; see ``Checkpointer.delete_thread``.

        Raises:
            StoreFailed: The file could not be written.
        """
        thread = check_thread_id(thread)
        with self._transaction("BEGIN IMMEDIATE") as cursor:
            found = cursor.execute(sql.THREAD, (thread,)).fetchone()
            row = Standing(*found[1:]) if found else None
            if row is None or row.deleted:
                return False
            row.bury()
            cursor.execute("DELETE FROM entries WHERE thread = ?", (found[0],))
            cursor.execute("DELETE FROM items WHERE thread = ?", (found[0],))
            _move(cursor, row, found[0])
            return True

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

    def _damaged(self, thread: str, seq: int) -> Damaged:
        return Damaged(
            f"Entry {seq} of thread {thread!r} in {self._path!r} is not what was written.",
            hint="The file was damaged or changed; restore the thread from a copy.",
            thread=thread,
            seq=seq,
            path=self._path,
        )

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Cursor]:
        """Make everything that is done with the cursor one transaction, or nothing of it."""
        with self._lock:
            if self._ended:
                raise StoreFailed(
                    f"The store {self._path!r} {self._ended}.",
                    hint="Open another one.",
                    path=self._path,
                )
            cursor = self._cursor or self._open()
            if cursor.connection.in_transaction:
                raise Misuse(
                    "The given connection has a transaction open.", hint="Commit it first."
                )
            try:
                cursor.execute(begin)
                yield cursor
                cursor.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    if cursor.connection.in_transaction:
                        cursor.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error | UnicodeEncodeError | OverflowError):
                    raise failed(error, self._path) from error
                raise


def _clamp(limit: int) -> int:
    return max(0, min(limit, _MAX))


def _move(cursor: sqlite3.Cursor, row: Standing, num: int | None) -> int:
    """Write a thread's row, as a new one where it has no number yet; return the number."""
    place = (row.seq, row.head, row.base, row.fence, row.owner, row.until)
    rest = (row.hash, row.created_at, row.updated_at, row.deleted)
    if num is None:
        cursor.execute(sql.ADD_THREAD, (row.thread, *place, *rest))
        return int(cursor.lastrowid or 0)
    cursor.execute(sql.MOVE_THREAD, (*place, *rest, num))
    return num


def _read(cursor: sqlite3.Cursor, num: int, after: int, limit: int) -> list[Entry]:
    return [Entry(*row) for row in cursor.execute(sql.ENTRIES, (num, after, limit))]


def _change(cursor: sqlite3.Cursor, num: int, thread: str, change: ItemChange) -> None:
    """Compare an item with what is stored, and set it."""
    is_now = cursor.execute(sql.ITEM_NOW, (change.item.id,)).fetchone()
    why = check_item(thread, change, is_now)
    if why:
        rows = cursor.execute(sql.ITEM, (change.item.id,)).fetchall()
        stored = unpack_item(ItemRow(*rows[0])) if rows else None
        raise conflict(thread, change, why, stored)
    row = pack_item(change.item)
    cursor.execute(
        sql.ADD_ITEM if change.expect is None else sql.CHANGE_ITEM, (num, *row[2:], row.id)
    )


AsyncSqliteSaver = SqliteSaver
