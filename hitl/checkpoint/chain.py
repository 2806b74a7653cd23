"""The hash chain of a thread's log: each entry's hash covers the one before.

It finds accidents and partial edits. Someone who can write the store can also write a whole
new chain; only a head that was exported elsewhere shows that.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from hitl.values import Entry

__all__ = ["link", "verify"]


def link(previous: str, seq: int, kind: str, parent: int, at: float, body: str) -> str:
    """Return the hash (32 hex digits) of an entry that follows one with hash ``previous``."""
    text = f"{previous}\n{seq}\n{kind}\n{parent}\n{at!r}\n{body}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def verify(entries: Iterable[Entry], previous: Entry | None = None) -> int | None:
    """Return the number at which a log is first not what was written, or None if it is whole.

    Args:
        entries: A thread's entries in order, from its first one or from the one after
            ``previous``.
        previous: The last entry of the page before, where the log is checked by pages.
    """
    seq, before = (previous.seq, previous.hash) if previous else (0, "")
    for entry in entries:
        seq += 1
        expected = link(before, seq, entry.kind, entry.parent, entry.at, entry.body)
        if entry.seq != seq or entry.hash != expected:
            return seq
        before = entry.hash
    return None
