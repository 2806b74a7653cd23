"""Threads as the command line finds them: those that stopped in a run, and names like a name."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from difflib import get_close_matches

from hitl.checkpoint import Checkpointer, is_gone
from hitl.errors import UnknownId
from hitl.values import Mark

__all__ = ["stopped", "unknown_thread"]

_LOOKED_AT = 1000
_SHOWN = 5
_COMPARED = 64  # characters: likeness costs the product of the lengths


def stopped(store: Checkpointer, thread: str | None = None) -> list[str]:
    """Return threads whose run was cut off: it holds the lease, and its process is gone.

    Args:
        store: Where to look, at up to 1,000 threads.
        thread: Look at this one only.

    Raises:
        StoreFailed: The store could not be read.
    """
    marks: Iterable[Mark] = (
        store.threads(limit=_LOOKED_AT)
        if thread is None
        else [store.load(thread, after=sys.maxsize).mark]
    )
    return [mark.thread for mark in marks if mark.owner and is_gone(mark.owner)]


def unknown_thread(store: Checkpointer, thread: str, path: str) -> UnknownId:
    """Return the error that says that a thread is not in a store, and which ones are like it."""
    known = [mark.thread for mark in store.threads(limit=_LOOKED_AT)]
    short = [name for name in known if len(name) <= _COMPARED]
    like = [name for name in known if thread and name.startswith(thread)]
    like = like or get_close_matches(thread[:_COMPARED], short, n=_SHOWN)
    if like:
        hint = f"Did you mean {_named(like)}?"
    elif known:
        hint = f"It holds {_named(known)}. `--store FILE` names another file."
    else:
        hint = "It holds no thread at all. `--store FILE` names another file."
    return UnknownId(f"There is no thread {thread!r} in {path!r}.", hint=hint, thread=thread)


def _named(names: list[str]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more
