"""What the SQLite store does inside a transaction: find and move a thread's row, set its items.

Every function takes the cursor of an open transaction; the store begins and ends it. A row that
a store remembers from its last commit spares it a query, and is compared in full by the very
statement that moves it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

from hitl.checkpoint import statements as sql
from hitl.checkpoint.advance import (
    Standing,
    advance,
    check_item,
    conflict,
    cut,
    in_time,
    permit,
    revive,
)
from hitl.checkpoint.chain import base_entry
from hitl.checkpoint.rows import ItemRow, pack_item, unpack_item
from hitl.errors import HitlError
from hitl.values import Commit, Entry, Item, ItemChange, Mark

__all__ = ["Known", "Moved", "bury", "find", "move", "prune", "restore", "set_item"]

_columns: Callable[[Standing], tuple[object, ...]] = attrgetter(
    "seq", "head", "base", "fence", "owner", "until", "hash", "created_at", "updated_at", "deleted"
)
"""Return what a row holds beside its number and id, in the order of the statements."""


class Known(NamedTuple):
    """A thread's number and row, as a store has read or written them."""

    num: int
    row: Standing


Moved = tuple[Known, list[Entry], int | None]
"""What a commit made of a thread: its row, the new entries, the fence its writer holds."""


def find(cursor: sqlite3.Cursor, thread: str) -> Known | None:
    """Return a thread's row as it is stored, if there is one."""
    found = cursor.execute(sql.THREAD, (thread,)).fetchone()
    return Known(found[0], Standing(*found[1:])) if found else None


def move(
    cursor: sqlite3.Cursor,
    thread: str,
    known: Known | None,
    commit: Commit,
    now: float,
    lease_seconds: float,
) -> Moved:
    """Move a thread's row to where a commit brings it; a new thread gets one.

    Args:
        cursor: Of an open transaction that writes.
        thread: The thread's id.
        known: The row as this store saw it last, which may have changed since; it is used up.
        commit: What is to become true.
        now: The store's time.
        lease_seconds: How long a lease lasts.

    Raises:
        Busy: The lease is another owner's.
        Stale: The fence is old, the head has moved, or the thread was deleted.
        Misuse: A lease is to be given back or renewed without a fence.
    """
    moved = known and _go_on(cursor, known, commit, now, lease_seconds)
    if moved:
        return moved
    found = find(cursor, thread)
    row = found.row if found else Standing(thread)
    grant = permit(row, commit, now, lease_seconds)
    entries = advance(row, commit, grant, now)
    if found:
        cursor.execute(sql.MOVE_THREAD, (*_columns(row), found.num))
    else:
        cursor.execute(sql.ADD_THREAD, (row.thread, *_columns(row)))
        found = Known(int(cursor.lastrowid or 0), row)
    return found, entries, grant.held


def _go_on(
    cursor: sqlite3.Cursor, known: Known, commit: Commit, now: float, lease_seconds: float
) -> Moved | None:
    """Move a row that is known, or return None where another look at it is needed.

    A row from memory decides nothing by itself: where it speaks against the commit, and where
    the stored one differs in any column, as after another process's commit, nothing was done.
    """
    num, row = known
    before = _columns(row)
    try:
        grant = permit(row, commit, now, lease_seconds)
    except HitlError:
        return None
    entries = advance(row, commit, grant, now)
    cursor.execute(sql.MOVE_KNOWN, (*_columns(row), num, row.thread, *before))
    return (known, entries, grant.held) if cursor.rowcount == 1 else None


def bury(cursor: sqlite3.Cursor, thread: str) -> bool:
    """Remove all that a thread has, and make its row a tombstone; return whether it was there."""
    known = find(cursor, thread)
    if known is None or known.row.deleted:
        return False
    known.row.bury()
    cursor.execute("DELETE FROM entries WHERE thread = ?", (known.num,))
    cursor.execute("DELETE FROM items WHERE thread = ?", (known.num,))
    cursor.execute(sql.MOVE_THREAD, (*_columns(known.row), known.num))
    return True


def prune(cursor: sqlite3.Cursor, thread: str, last: Entry, body: str, now: float) -> int:
    """Put a base in the place of a thread's entries up to ``last``; return how many fewer.

    Raises:
        Busy: A run holds the thread's lease.
        Stale: The log is not as it was read.
    """
    known = find(cursor, thread) or Known(0, Standing(thread))
    stored = cursor.execute(sql.HASH, (known.num, last.seq)).fetchone()
    cut(known.row, last, stored and stored[0], now)
    removed = cursor.execute(sql.CUT, (known.num, last.seq)).rowcount
    _add_entry(cursor, known, base_entry(last, body), base=True)
    cursor.execute(sql.MOVE_THREAD, (*_columns(known.row), known.num))
    return removed - 1


def restore(
    cursor: sqlite3.Cursor, mark: Mark, entries: Sequence[Entry], items: Sequence[Item]
) -> None:
    """Write a thread that another store has given out.

    Raises:
        Conflict: There is such a thread already, or an item of the same id.
        Damaged: The entries are not a whole log.
    """
    known = find(cursor, mark.thread)
    row = known.row if known else Standing(mark.thread)
    revive(row, mark, entries)
    if known:
        cursor.execute(sql.MOVE_THREAD, (*_columns(row), known.num))
    else:
        cursor.execute(sql.ADD_THREAD, (row.thread, *_columns(row)))
        known = Known(int(cursor.lastrowid or 0), row)
    for entry in entries:
        _add_entry(cursor, known, entry, base=entry.seq == row.base)
    for item in items:
        set_item(cursor, known, ItemChange(item), mark.updated_at)


def _add_entry(cursor: sqlite3.Cursor, known: Known, entry: Entry, *, base: bool) -> None:
    cursor.execute(sql.ADD_ENTRY, (known.num, *entry, base))


def set_item(cursor: sqlite3.Cursor, known: Known, change: ItemChange, now: float) -> None:
    """Compare an item with what is stored, and set it, in one statement.

    Raises:
        Conflict: It is not as expected.
        NotStorable: It holds something that is not plain JSON.
    """
    thread, row = known.row.thread, pack_item(change.item)
    if row.thread == thread and in_time(change, now):
        values = (known.num, *row[2:], row.id)
        if change.expect is None:
            cursor.execute(sql.ADD_ITEM, values)
        else:
            compared = (known.num, *change.expect, row.fingerprint, row.version)
            cursor.execute(sql.CHANGE_ITEM, values + compared)
        if cursor.rowcount == 1:
            return
    stored = cursor.execute(sql.ITEM, (row.id,)).fetchone()
    is_now = cursor.execute(sql.ITEM_NOW, (row.id,)).fetchone()
    why = check_item(thread, change, is_now, now) or "cannot be set"
    raise conflict(thread, change, why, unpack_item(ItemRow(*stored)) if stored else None)
