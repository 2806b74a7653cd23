"""Floor 2: where threads are kept. The port, its stores, and who holds a thread's lease."""

from typing import TYPE_CHECKING

from hitl.checkpoint.chain import verify
from hitl.checkpoint.door import check_store, check_thread_id
from hitl.checkpoint.memory import InMemorySaver, MemorySaver
from hitl.checkpoint.owner import activate, is_gone, new_owner, retire
from hitl.checkpoint.port import Checkpointer

if TYPE_CHECKING:
    from hitl.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver

__all__ = [
    "AsyncSqliteSaver",
    "Checkpointer",
    "InMemorySaver",
    "MemorySaver",
    "SqliteSaver",
    "activate",
    "check_store",
    "check_thread_id",
    "is_gone",
    "new_owner",
    "retire",
    "verify",
]


def __getattr__(name: str) -> object:
    """Load the SQLite store when it is first asked for: most imports never do."""
    if name in ("AsyncSqliteSaver", "SqliteSaver"):
        from hitl.checkpoint import sqlite

        return getattr(sqlite, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
