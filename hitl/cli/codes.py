"""Exit codes: one table for the commands, their help and the documents."""

from __future__ import annotations

from hitl.errors import Conflict, Misuse, Refused, Stale, StoreFailed, UnknownId

__all__ = [
    "CONFLICT",
    "DONE",
    "FAILED",
    "INTERRUPTED",
    "MEANINGS",
    "MISUSE",
    "REFUSED",
    "STORE_FAILED",
    "WAITS",
    "code_of",
]

DONE, FAILED, MISUSE, WAITS, CONFLICT, REFUSED, STORE_FAILED = range(7)
INTERRUPTED = 130

MEANINGS = {
    DONE: "done",
    FAILED: "the run failed with an error, or a check found something",
    MISUSE: "wrong use: an option, an id, a form",
    WAITS: "the run waits for a human",
    CONFLICT: "someone was first: already decided, or the thread is busy",
    REFUSED: "refused: not allowed, no longer open, or changed since it was shown",
    STORE_FAILED: "the store could not be opened, read or written",
    INTERRUPTED: "stopped by Ctrl-C",
}


def code_of(error: BaseException) -> int:
    """Return the exit code that tells an error."""
    if isinstance(error, UnknownId) and "state" in error.fields:
        return REFUSED  # the item is there, but closed
    for kinds, code in (
        ((Refused, Stale), REFUSED),
        ((Conflict,), CONFLICT),
        ((StoreFailed,), STORE_FAILED),
        ((Misuse,), MISUSE),
        ((KeyboardInterrupt,), INTERRUPTED),
    ):
        if isinstance(error, kinds):
            return code
    return FAILED
