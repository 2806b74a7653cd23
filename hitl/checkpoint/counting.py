"""What a SQLite store holds, counted: for people who look after it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from hitl.checkpoint.opening import failed

__all__ = ["Census", "census"]


@dataclass(frozen=True, slots=True)
class Census:
    """Counts of one file.

    Attributes:
        schema: The version of its tables.
        size: Bytes of the file and its write-ahead log.
        free: Bytes that ``vacuum`` would give back.
        threads: How many threads it has.
        deleted: How many tombstones it has.
        leased: How many threads a run holds, or held when it died.
        entries: How many entries it has.
        pruned: How many threads begin with a base.
        items: How many items there are in each state.
    """

    schema: int
    size: int
    free: int
    threads: int
    deleted: int
    leased: int
    entries: int
    pruned: int
    items: dict[str, int]


def census(path: str | os.PathLike[str]) -> Census:
    """Return what a store's file holds; it is only read.

    Raises:
        StoreFailed: It cannot be read.
    """
    uri = f"{Path(path).absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            return _count(connection, Path(path))
    except (OSError, sqlite3.Error) as error:
        raise failed(error, str(path)) from error


def _count(connection: sqlite3.Connection, path: Path) -> Census:
    def number(query: str) -> int:
        return int(connection.execute(query).fetchone()[0])

    log = path.with_name(f"{path.name}-wal")
    return Census(
        schema=number("PRAGMA user_version"),
        size=path.stat().st_size + (log.stat().st_size if log.exists() else 0),
        free=number("PRAGMA freelist_count") * number("PRAGMA page_size"),
        threads=number("SELECT count(*) FROM threads WHERE deleted = 0"),
        deleted=number("SELECT count(*) FROM threads WHERE deleted = 1"),
        leased=number("SELECT count(*) FROM threads WHERE owner <> ''"),
        entries=number("SELECT count(*) FROM entries"),
        pruned=number("SELECT count(*) FROM entries WHERE kind = 'base'"),
        items=dict(connection.execute("SELECT state, count(*) FROM items GROUP BY state")),
    )
