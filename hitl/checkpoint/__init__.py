"""Floor 2: where threads are kept. The port, its stores, and who holds a thread's lease."""

from typing import TYPE_CHECKING

from hitl.checkpoint.chain import BASE, base_entry, head_hash, verify
from hitl.checkpoint.copying import export_thread, import_threads
from hitl.checkpoint.door import check_store, check_thread_id
from hitl.checkpoint.memory import InMemorySaver, MemorySaver
from hitl.checkpoint.owner import activate, is_gone, new_owner, retire
from hitl.checkpoint.port import Checkpointer
from hitl.checkpoint.telling import log_moves

if TYPE_CHECKING:
    from hitl.checkpoint.counting import census
    from hitl.checkpoint.sqlite import AsyncSqliteSaver, SqliteSaver

__all__ = [
    "BASE",
    "AsyncSqliteSaver",
    "Checkpointer",
    "InMemorySaver",
    "MemorySaver",
    "SqliteSaver",
    "activate",
    "base_entry",
    "census",
    "check_store",
    "check_thread_id",
    "export_thread",
    "head_hash",
    "import_threads",
    "is_gone",
    "log_moves",
    "new_owner",
    "retire",
    "verify",
]


def __getattr__(name: str) -> object:
    """Load the SQLite store when it is first asked for: most imports never do."""
    if name in ("AsyncSqliteSaver", "SqliteSaver"):
        from hitl.checkpoint import sqlite

        return getattr(sqlite, name)
    if name == "census":
        from hitl.checkpoint.counting import census

        return census
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
