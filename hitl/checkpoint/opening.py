"""Opening a SQLite file with care.

It is made private, looked at before it is touched, and brought up to date; every error of SQLite
is told as one of ours.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from hitl.checkpoint.tables import APPLICATION_ID, VERSION, migrate
from hitl.errors import Damaged, HitlError, Misuse, NewerStore, StoreFailed

__all__ = ["check_path", "connect", "failed", "prepare"]

T = TypeVar("T")

# POSIX drops all of a process's locks on a file when it closes any handle of it, so nobody may
# open a database between the making of its file and the closing of that handle.
_making = threading.Lock()

_HINTS = {
    "SQLITE_BUSY": "Another connection holds the file; try again, or give a longer timeout.",
    "SQLITE_LOCKED": "Another connection holds the file; try again, or give a longer timeout.",
    "SQLITE_NOTADB": "It is not a SQLite database; give the path of another file.",
    "SQLITE_CORRUPT": "The file is damaged; restore it from a copy.",
    "SQLITE_FULL": "Make room on the disk; nothing of this call was stored.",
    "SQLITE_READONLY": "The process must be able to write to the file and its folder.",
    "SQLITE_CANTOPEN": "The process must be able to write to the file and its folder.",
    "SQLITE_IOERR": "Check the disk; what was committed before is intact.",
}


def check_path(path: str | os.PathLike[str]) -> str:
    """Return the path of a database as text.

    Raises:
        Misuse: It is a URI, empty, or no path at all.
        StoreFailed: Its folder does not exist.
    """
    name = os.fspath(path)
    if type(name) is not str or not name or "\0" in name:
        raise Misuse(f"{name!r} is not the path of a SQLite file.", hint="Give a str or a Path.")
    if name == ":memory:":
        return name
    if name.lower().startswith("file:"):
        raise Misuse(
            f"{name!r} is a URI, whose options could lead anywhere.",
            hint="Give a plain path, or open the connection yourself and hand it over.",
        )
    from pathlib import Path  # here and below: its import takes longer than that of sqlite3

    folder = Path(name).absolute().parent
    if not folder.is_dir():
        raise StoreFailed(
            f"The folder {str(folder)!r} of the store {name!r} does not exist.",
            hint="Make the folder first, or give another path.",
            path=name,
        )
    # Absolute, so that a later change of the working folder (or a fork) finds the same file.
    return str(Path(name).absolute())


def connect(path: str, *, timeout: float, synchronous: str) -> sqlite3.Connection:
    """Return a connection to a store that is there, private and of this version.

    Raises:
        StoreFailed: The file is not a store of ours, or cannot be opened or written.
        NewerStore: A newer version of this library wrote it.
    """
    try:
        if path != ":memory:":
            _make_private(path)
            _patiently(timeout, lambda: _look_first(path, timeout))
        return _patiently(timeout, lambda: _open(path, timeout, synchronous))
    except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
        raise failed(error, path) from error


def _make_private(path: str) -> None:
    """Make a missing file, for its owner only; the files beside it get the same mode."""
    with _making:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return
        os.close(handle)


def _look_first(path: str, timeout: float) -> None:
    """Refuse a foreign or newer file before anything is written, a journal's mode included."""
    from pathlib import Path

    with _making:
        connection = sqlite3.connect(f"{Path(path).as_uri()}?mode=ro", timeout=timeout, uri=True)
    try:
        _version(connection, path)
    finally:
        connection.close()


def _open(path: str, timeout: float, synchronous: str) -> sqlite3.Connection:
    with _making:
        connection = sqlite3.connect(
            path, timeout=timeout, isolation_level=None, check_same_thread=False
        )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        if path != ":memory:":
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _patiently(timeout: float, attempt: Callable[[], T]) -> T:
    """Repeat an attempt while the file is locked: SQLite does not wait for a change to WAL."""
    end = time.monotonic() + timeout
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if not _name_of(error).startswith("SQLITE_BUSY") or time.monotonic() >= end:
                raise
        time.sleep(0.005)


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Bring the tables of a database up to this version, which does nothing where they are.

    Raises:
        StoreFailed: The database is not a store of ours.
        NewerStore: A newer version of this library wrote it.
        sqlite3.Error: It cannot be read or written.
    """
    if _version(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been here while this one waited.
        if _version(connection, path) != VERSION:
            migrate(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, path: str) -> int:
    """Return the schema version of a store, 0 for a database without any table."""
    application = _number(connection, "PRAGMA application_id")
    version = _number(connection, "PRAGMA user_version")
    if application == APPLICATION_ID and version > VERSION:
        raise NewerStore(
            f"The store {path!r} has schema {version}; this version of hitl knows up to {VERSION}.",
            hint="Update hitl. The file was not touched.",
            path=path,
            schema=version,
        )
    if application == APPLICATION_ID and version > 0:
        return version
    if application or version or _number(connection, "SELECT count(*) FROM sqlite_master"):
        raise StoreFailed(
            f"The SQLite file {path!r} belongs to another application.",
            hint="Give the store a file of its own. This one was not touched.",
            path=path,
        )
    return 0


def _number(connection: sqlite3.Connection, sql: str) -> int:
    return int(connection.execute(sql).fetchone()[0])


def failed(error: Exception, path: str) -> HitlError:
    """Return the error of ours that tells an error of the system, SQLite or its driver."""
    if isinstance(error, UnicodeEncodeError | OverflowError):
        return Misuse(f"SQLite cannot hold a value that was given: {error}.")
    if isinstance(error, sqlite3.ProgrammingError) and "thread" in str(error):
        return Misuse(
            f"The connection to {path!r} is used outside the thread that opened it.",
            hint="Open it with check_same_thread=False, or give the path instead.",
            path=path,
        )
    if isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error):
        return Damaged(
            f"The store {path!r} holds a text that cannot be read: {error}.",
            hint="It was changed outside of this library; restore it from a copy.",
            path=path,
        )
    name = _name_of(error)
    hint = next((hint for start, hint in _HINTS.items() if name.startswith(start)), "")
    return StoreFailed(
        f"The store {path!r} failed: {error}.", hint=hint, path=path, sqlite=name or None
    )


def _name_of(error: Exception) -> str:
    return str(getattr(error, "sqlite_errorname", ""))
