"""What one transaction carries: entries, changes of items, and the word about the lease.

A thread is a log of entries numbered 1, 2, 3 ...; everything else is a view of it. The store
knows nothing of what a body means: it numbers, compares, chains and keeps. These values are
named tuples, since some are made at every step and a frozen dataclass takes three times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from hitl.values.question import Item

__all__ = [
    "CHECKPOINTS",
    "LIVE",
    "RUN_KINDS",
    "Commit",
    "Draft",
    "Entry",
    "ItemChange",
    "Loaded",
    "Mark",
    "Receipt",
]

CHECKPOINTS = frozenset({"input", "step", "update", "fork"})
"""Kinds of entries that are checkpoints: a state to read, to resume from, to fork."""

RUN_KINDS = CHECKPOINTS | {"pause", "result", "intent", "note", "sub"}
"""Kinds that only the thread's one running writer appends; all others are decisions."""

LIVE = frozenset({"pending", "decided", "cleared", "started", "uncertain", "expired"})
"""States of items that a run still has to do with."""


class Draft(NamedTuple):
    """An entry before the store has numbered it.

    Attributes:
        kind: One of ``RUN_KINDS``; ``decide``, ``vote`` or ``expire`` of items; ``use`` or
            ``revoke`` of grants.
        body: JSON text.
        parent: Number of the run entry it follows on its branch; 0 for none.
        base: True where reading may start here: the body holds the whole state.
    """

    kind: str
    body: str
    parent: int = 0
    base: bool = False


class Entry(NamedTuple):
    """One record of a thread's log. ``hash`` covers the entry before (hex)."""

    seq: int
    kind: str
    parent: int
    at: float
    body: str
    hash: str


class ItemChange(NamedTuple):
    """An item as it shall stand, and what it must be now.

    Attributes:
        item: The new row, whole.
        expect: ``(version, state)`` that the stored row must have; None for a new item. The
            stored fingerprint must equal the new row's unless the version rises.
        within: From when, and until when, it may be made by the store's clock inside the
            transaction: ``from <= now < until``. None for any time.
    """

    item: Item
    expect: tuple[int, str] | None = None
    within: tuple[float, float] | None = None


class Commit(NamedTuple):
    """Everything that must become true together, or not at all.

    Attributes:
        thread: The thread's id.
        entries: Appended in order.
        items: Compared and set, all of them.
        expect: Number of the thread's newest run entry as the writer knows it (0 for none);
            None where the run's head is not compared (decisions).
        fence: The writer's fence; None where no run writes.
        lease: ``acquire`` takes the thread for ``owner`` and gives out a new fence,
            ``release`` gives it back, ``renew`` moves its end, None leaves it.
        owner: Who takes or holds the lease, see ``hitl.checkpoint.owner``.
        lenient: With ``acquire``: where another owner holds the lease, commit all the rest
            and return a receipt without a fence, in place of raising ``Busy``.
    """

    thread: str
    entries: tuple[Draft, ...] = ()
    items: tuple[ItemChange, ...] = ()
    expect: int | None = None
    fence: int | None = None
    lease: Literal["acquire", "release", "renew"] | None = None
    owner: str = ""
    lenient: bool = False


class Receipt(NamedTuple):
    """What a commit came to: the numbers of its entries, the time, the fence if one is held."""

    seqs: tuple[int, ...]
    at: float
    fence: int | None


class Mark(NamedTuple):
    """Where a thread stands in the store, without reading its entries.

    Attributes:
        thread: The thread's id.
        seq: Number of its newest entry.
        head: Number of its newest run entry.
        base: Number of the newest entry from which a read may start.
        fence: The newest fence given out.
        owner: Who holds the lease, empty for nobody.
        until: When the lease ends, by the store's clock.
        created_at: When its first entry came.
        updated_at: When its newest entry came.
    """

    thread: str
    seq: int = 0
    head: int = 0
    base: int = 0
    fence: int = 0
    owner: str = ""
    until: float = 0.0
    created_at: float = 0.0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """One consistent read of a thread: its mark, entries in order, its live items by id."""

    mark: Mark
    entries: tuple[Entry, ...] = ()
    items: Mapping[str, Item] = field(default_factory=dict)
