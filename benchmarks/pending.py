"""Stores with many pending items, made fast: one thread is asked, the others are its copies."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks.pause import asking
from hitl import SqliteSaver

__all__ = ["fill", "item_id"]

_COPIES = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count) "

_THREADS = """
INSERT INTO threads (num, id, seq, head, base, fence, owner, until, hash, created_at, updated_at,
deleted)
SELECT t.num + 1 + n.i, 'copy-' || n.i, t.seq, t.head, t.base, t.fence, t.owner, t.until, t.hash,
t.created_at, t.updated_at, t.deleted FROM threads t CROSS JOIN n WHERE t.id = 'asked'"""


def item_id(number: int) -> str:
    """Return the id of one of the copies."""
    return f"{number:032x}"


def fill(path: Path, count: int) -> None:
    """Make a store in which ``count`` threads wait, each for the answer to one question."""
    with SqliteSaver(path) as saver:
        asking(saver).invoke({"answer": None}, {"configurable": {"thread_id": "asked"}})
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(_COPIES + _THREADS, {"count": count})
        # Whatever other columns an item has are copied as they are.
        own = {"id": "printf('%032x', n.i)", "interrupt": "printf('%032x', n.i)"}
        own |= {"thread": "i.thread + 1 + n.i", "asked_at": "i.asked_at + n.i * 0.001"}
        names = [row[1] for row in connection.execute("PRAGMA table_info (items)")]
        values = ", ".join(own.get(name, f"i.{name}") for name in names)
        connection.execute(
            f"{_COPIES} INSERT INTO items ({', '.join(names)}) SELECT {values} FROM items i "
            "CROSS JOIN n WHERE i.thread = (SELECT num FROM threads WHERE id = 'asked')",
            {"count": count},
        )
