"""The hash chain of a thread's log: each entry's hash covers the one before.

It finds accidents and partial edits. Someone who can write the store can also write a whole
new chain; only a head that was exported elsewhere shows that.

A pruned log begins with a *base*: it stands in the place of the last removed entry, and its hash
is that entry's followed by its own, so that the chain goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from hitl.checkpoint.door import storable
from hitl.values import Entry

__all__ = ["BASE", "base_entry", "head_hash", "link", "verify"]

BASE = "base"
"""The kind of the entry that stands for those that were pruned."""

_DIGITS = 32


def link(previous: str, seq: int, kind: str, parent: int, at: float, body: str) -> str:
    """Return the hash (32 hex digits) of an entry that follows one with hash ``previous``."""
    text = f"{previous}\n{seq}\n{kind}\n{parent}\n{at!r}\n{body}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def head_hash(entry: Entry) -> str:
    """Return the hash that the next entry covers."""
    return entry.hash[:_DIGITS]


def base_entry(last: Entry, body: str) -> Entry:
    """Return the base that stands for all entries up to ``last``.

    Args:
        last: The last entry that goes.
        body: JSON text with all that is kept of them.
    """
    anchor, body = head_hash(last), storable(body)
    own = link(anchor, last.seq, BASE, 0, last.at, body)
    return Entry(last.seq, BASE, 0, last.at, body, anchor + own)


def verify(entries: Iterable[Entry], previous: Entry | None = None) -> int | None:
    """Return the number at which a log is first not what was written, or None if it is whole.

    Args:
        entries: A thread's entries in order, from its first one or from the one after
            ``previous``.
        previous: The last entry of the page before, where the log is checked by pages.
    """
    seq, before = (previous.seq, head_hash(previous)) if previous else (0, "")
    for number, kind, parent, at, body, found in entries:
        seq += 1
        if kind == BASE:
            if seq == 1:
                seq, before = number, found[:_DIGITS]
            expected = before + link(before, seq, kind, parent, at, body)
        else:
            expected = link(before, seq, kind, parent, at, body)
        if number != seq or found != expected:
            return seq
        before = found[:_DIGITS]
    return None
