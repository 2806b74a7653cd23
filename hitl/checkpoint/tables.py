"""The tables of a SQLite store, as numbered steps that are applied once each.

Meant to be read by people too: ``sqlite-utils`` and Datasette show threads, logs and the view
``pending``. A step that was released is never changed; a new one is added below it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

__all__ = ["APPLICATION_ID", "STEPS", "VERSION", "migrate"]

APPLICATION_ID = int.from_bytes(b"hitl", "big")
"""Marks a SQLite file as ours; kept at bytes 68 to 71 of the file."""

# Not WITHOUT ROWID: with bodies of 3 to 20 KB that cost half as much time again a commit.
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "001_threads",
        (
            """
            CREATE TABLE threads (
                num INTEGER PRIMARY KEY,
                id TEXT NOT NULL UNIQUE,
                seq INTEGER NOT NULL,
                head INTEGER NOT NULL,
                base INTEGER NOT NULL,
                fence INTEGER NOT NULL,
                owner TEXT NOT NULL,
                until REAL NOT NULL,
                hash TEXT NOT NULL,
                created_at REAL NOT NULL,
                updated_at REAL NOT NULL,
                deleted INTEGER NOT NULL
            )
            """,
            """
            CREATE TABLE entries (
                thread INTEGER NOT NULL REFERENCES threads (num),
                seq INTEGER NOT NULL,
                kind TEXT NOT NULL,
                parent INTEGER NOT NULL,
                at REAL NOT NULL,
                base INTEGER NOT NULL,
                body TEXT NOT NULL,
                hash TEXT NOT NULL,
                PRIMARY KEY (thread, seq)
            )
            """,
            """
            CREATE TABLE items (
                id TEXT NOT NULL PRIMARY KEY,
                thread INTEGER NOT NULL REFERENCES threads (num),
                interrupt TEXT NOT NULL,
                idx INTEGER NOT NULL,
                kind TEXT NOT NULL,
                state TEXT NOT NULL,
                version INTEGER NOT NULL,
                fingerprint TEXT NOT NULL,
                asked_at REAL NOT NULL,
                path TEXT NOT NULL,
                call_id TEXT NOT NULL,
                subject TEXT NOT NULL,
                allowed TEXT NOT NULL,
                rules TEXT NOT NULL,
                decision TEXT
            )
            """,
            "CREATE INDEX items_pending ON items (asked_at, id) WHERE state = 'pending'",
            "CREATE INDEX items_of_thread ON items (thread, state)",
            "CREATE INDEX items_of_interrupt ON items (interrupt)",
            """
            CREATE VIEW pending AS
            SELECT
                items.id,
                threads.id AS thread,
                datetime(items.asked_at, 'unixepoch') AS asked_at,
                items.kind,
                items.path,
                items.subject,
                items.allowed,
                items.version
            FROM items JOIN threads ON threads.num = items.thread
            WHERE items.state = 'pending'
            ORDER BY items.asked_at, items.id
            """,
        ),
    ),
    (
        "002_votes_and_deadlines",
        (
            "ALTER TABLE items ADD COLUMN deadline REAL",
            "ALTER TABLE items ADD COLUMN votes TEXT NOT NULL DEFAULT '[]'",
            """
            CREATE INDEX items_with_deadline ON items (deadline, id)
            WHERE state = 'pending' AND deadline IS NOT NULL
            """,
            "CREATE INDEX items_granted ON items (asked_at, id) WHERE state = 'granted'",
            "DROP VIEW pending",
            """
            CREATE VIEW pending AS
            SELECT
                items.id,
                threads.id AS thread,
                datetime(items.asked_at, 'unixepoch') AS asked_at,
                datetime(items.deadline, 'unixepoch') AS deadline,
                items.kind,
                items.path,
                items.subject,
                items.allowed,
                json_array_length(items.votes) AS votes,
                items.version
            FROM items JOIN threads ON threads.num = items.thread
            WHERE items.state = 'pending'
            ORDER BY items.asked_at, items.id
            """,
        ),
    ),
)

VERSION = len(STEPS)
"""The schema that this library writes, kept as the file's ``user_version``."""


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the steps that a database has not seen; the caller holds the write transaction.

    Raises:
        sqlite3.Error: A step failed; the caller rolls back.
    """
    # Loaded here, since it takes ten times as long as sqlite3 and most opens have no use for it.
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    steps = Migrations("hitl")
    for name, statements in STEPS:
        steps(name=name)(_step(statements))
    steps.apply(Database(connection, recursive_triggers=False, execute_plugins=False))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _step(statements: tuple[str, ...]) -> Callable[[Database], None]:
    def apply(db: Database) -> None:
        for statement in statements:
            db.conn.execute(statement)

    return apply
