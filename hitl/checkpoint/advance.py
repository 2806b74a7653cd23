"""The rules that all stores share: what a commit needs, and what it makes of a thread's row.

Pure: a store reads a row, asks here, and writes what it is told. Knows nothing of files,
locks or SQL, and nothing of what a body means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hitl.checkpoint.chain import BASE, head_hash, link, verify
from hitl.checkpoint.door import storable
from hitl.checkpoint.owner import describe, is_gone
from hitl.errors import Busy, Conflict, Damaged, Misuse, Stale
from hitl.values import RUN_KINDS, Commit, Entry, Item, ItemChange, Mark

__all__ = [
    "Grant",
    "Standing",
    "advance",
    "check_item",
    "conflict",
    "cut",
    "in_time",
    "permit",
    "revive",
]


@dataclass(slots=True)
class Standing:
    """A thread's row while a store works on it: a ``Mark`` that can move.

    Attributes:
        hash: Hash of the newest entry.
        deleted: True for a tombstone, of which only the fence counts.
    """

    thread: str
    seq: int = 0
    head: int = 0
    base: int = 0
    fence: int = 0
    owner: str = ""
    until: float = 0.0
    hash: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    deleted: bool = False

    def mark(self) -> Mark:
        """Return what a reader may see of it; a tombstone looks like an unknown thread."""
        if self.deleted:
            return Mark(self.thread)
        return Mark(
            self.thread,
            self.seq,
            self.head,
            self.base,
            self.fence,
            self.owner,
            self.until,
            self.created_at,
            self.updated_at,
        )

    def bury(self) -> None:
        """Make it a tombstone; the fence moves, so that a run in progress is refused."""
        self.__init__(self.thread, fence=self.fence + 1, deleted=True)  # type: ignore[misc]


@dataclass(slots=True)  # not frozen, which takes three times as long: one is made a commit
class Grant:
    """What a permitted commit leaves in the row, and the fence its writer holds after it."""

    fence: int
    owner: str
    until: float
    held: int | None


def permit(row: Standing, commit: Commit, now: float, lease_seconds: float) -> Grant:
    """Return what becomes of the lease if a commit may be made on a thread.

    Raises:
        Stale: The fence is old, the head has moved, or the thread was deleted.
        Busy: The lease is another owner's, and the commit needs it.
        Misuse: The lease is to be given back or renewed without a fence.
    """
    if row.deleted and commit.lease != "acquire":
        raise _stale(row, "was deleted", "Start it afresh with a new input.")
    if commit.fence is not None and commit.fence != row.fence:
        raise _stale(
            row,
            f"was taken over by another run (fence {row.fence}, this run has {commit.fence})",
            "Drop this run; load the thread to go on from where it stands.",
            fence=row.fence,
        )
    if commit.lease is None:  # as nearly always
        grant = Grant(row.fence, row.owner, row.until, commit.fence)
    else:
        grant = _lease(row, commit, now, lease_seconds)
    waits = commit.lease == "acquire" and grant.held is None
    if commit.expect is not None and commit.expect != row.head and not waits:
        raise _stale(
            row,
            f"has moved on (newest run entry {row.head}, expected {commit.expect})",
            "Load the thread again and repeat the call.",
            head=row.head,
            expect=commit.expect,
        )
    return grant


def _lease(row: Standing, commit: Commit, now: float, lease_seconds: float) -> Grant:
    if commit.lease == "acquire":
        if row.owner == commit.owner or _is_free(row, now):
            fence = row.fence + 1
            return Grant(fence, commit.owner, now + lease_seconds, fence)
        # Decisions stand on their own; an entry of a run without the lease would be a second
        # writer.
        if not commit.lenient or any(draft.kind in RUN_KINDS for draft in commit.entries):
            raise _busy(row)
        return Grant(row.fence, row.owner, row.until, None)
    if commit.fence is None:
        raise Misuse(
            f"A lease on thread {row.thread!r} is to be {commit.lease}d without its fence.",
            hint="Give the fence of the receipt with which the lease was acquired.",
            thread=row.thread,
        )
    if commit.lease == "release":
        return Grant(row.fence, "", 0.0, None)
    return Grant(row.fence, row.owner, now + lease_seconds, commit.fence)


def _is_free(row: Standing, now: float) -> bool:
    return not row.owner or row.until <= now or is_gone(row.owner)


def cut(row: Standing, last: Entry, stored: str | None, now: float) -> None:
    """Let a row's log begin with a base in the place of ``last``, if that may be.

    Args:
        row: The thread's row.
        last: The last entry that goes, as the caller has read it.
        stored: The hash that is stored under its number, if there is one.
        now: The store's time.

    Raises:
        Busy: A run holds the thread's lease.
        Stale: The log is not as it was read.
    """
    if not _is_free(row, now):
        raise _busy(row)
    if stored != last.hash or last.seq >= row.seq:
        raise _stale(row, "is not as it was read", "Read it again and repeat the call.")
    row.base = max(row.base, last.seq)


def revive(row: Standing, mark: Mark, entries: Sequence[Entry]) -> None:
    """Let an unknown thread's row, or a tombstone, be that of a thread which is taken in.

    Raises:
        Conflict: There is such a thread.
        Damaged: The entries are not a whole log.
    """
    if row.seq or row.created_at:
        raise Conflict(
            f"Thread {row.thread!r} exists already.",
            hint="Delete it first, or leave it out.",
            thread=row.thread,
        )
    bad = verify(entries) if entries else 1
    heads = [entry.seq for entry in entries if entry.kind in RUN_KINDS]
    if bad or mark.base not in {0, *(entry.seq for entry in entries)}:
        raise Damaged(
            f"What is to be thread {row.thread!r} is not a whole log (entry {bad or mark.base}).",
            hint="It was cut or changed on its way; take it from its source again.",
            thread=row.thread,
            seq=bad or mark.base,
        )
    last = entries[-1]
    row.seq, row.hash, row.head = last.seq, head_hash(last), heads[-1] if heads else 0
    row.base = max(mark.base, entries[0].seq if entries[0].kind == BASE else 0)
    row.fence = max(row.fence, mark.fence)
    row.created_at, row.updated_at, row.deleted = mark.created_at, mark.updated_at, False


def _stale(row: Standing, what: str, hint: str, **facts: object) -> Stale:
    return Stale(f"Thread {row.thread!r} {what}.", hint=hint, thread=row.thread, **facts)


def _busy(row: Standing) -> Busy:
    who = describe(row.owner)
    name = f" (process {who['pid']} on {who['host']})" if len(who) == 2 else ""
    return Busy(
        f"Thread {row.thread!r} is held by another run{name}.",
        hint="Wait until it has ended or paused, then try again.",
        thread=row.thread,
        owner=who,
        until=row.until,
    )


def advance(row: Standing, commit: Commit, grant: Grant, now: float) -> list[Entry]:
    """Move a row to where a permitted commit brings it; return the new entries."""
    row.fence, row.owner, row.until = grant.fence, grant.owner, grant.until
    row.deleted = False
    if not row.created_at:
        row.created_at = row.updated_at = now
    entries = []
    for draft in commit.entries:
        row.seq = seq = row.seq + 1
        kind, body, parent, base = draft
        body = storable(body)
        row.hash = link(row.hash, seq, kind, parent, now, body)
        if kind in RUN_KINDS:
            row.head = seq
        if base:
            row.base = seq
        row.updated_at = now
        entries.append(Entry(seq, kind, parent, now, body, row.hash))
    return entries


def in_time(change: ItemChange, now: float) -> bool:
    """Return whether an item may be changed at this time; see ``ItemChange.within``."""
    return change.within is None or change.within[0] <= now < change.within[1]


def check_item(
    thread: str, change: ItemChange, stored: tuple[str, int, str, str] | None, now: float
) -> str | None:
    """Return why an item may not be changed as asked, or None where it may.

    Args:
        thread: The thread of the commit.
        change: The item as it shall stand, and what it must be now.
        stored: Thread, version, state and fingerprint of the stored row, if there is one.
        now: The store's time.
    """
    new, expect = change.item, change.expect
    if new.thread != thread or (stored is not None and stored[0] != thread):
        return "belongs to another thread"
    if expect is None:
        return None if stored is None else "exists already"
    if stored is None:
        return "does not exist any more"
    if stored[1:3] != expect:
        return f"is {stored[2]} in version {stored[1]}, not {expect[1]} in version {expect[0]}"
    if stored[3] != new.fingerprint and new.version <= stored[1]:
        return "was changed since it was shown"
    if not in_time(change, now):
        return "is changed too early or too late"
    return None


def conflict(thread: str, change: ItemChange, why: str, stored: Item | None) -> Conflict:
    """Return the error for an item that is not as expected.

    The row of another thread is not shown: who asks here may not be allowed to see it.
    """
    visible = stored if stored is not None and stored.thread == thread else None
    return Conflict(
        f"Item {change.item.id} of thread {thread!r} {why}.",
        hint="Load the item again; nothing was stored.",
        thread=thread,
        id=change.item.id,
        item=visible,
    )
