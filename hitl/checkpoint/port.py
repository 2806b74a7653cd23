"""The checkpointer interface: nine verbs over threads that are logs.

A store numbers, compares, chains and keeps; it never looks into a body. All rules about what
may be written are in the floors above. A store is safe to use from many threads at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from hitl.values import Clock, Commit, Entry, Item, Loaded, Mark, Receipt

__all__ = ["Checkpointer"]


@runtime_checkable
class Checkpointer(Protocol):
    """Where threads are kept.

    Attributes:
        blocking: Whether a verb may wait for a disk or a network; async code then calls it
            in a thread.
        clock: The clock by which entries are dated and leases end.
    """

    blocking: bool
    clock: Clock

    def append(self, commit: Commit) -> Receipt:
        """Make everything in a commit true together, or nothing of it.

        Inside one transaction, in this order: the fence is compared (an old one raises), the
        lease is taken, given back or renewed, the head is compared, each item is compared (the
        time within which it may be changed with the clock's, too) and set, entries are numbered,
        dated, chained and kept.

        Returns:
            The numbers given to the entries, the store's time, and the fence that the
            writer holds after it.

        Raises:
            Busy: The lease is another owner's, and the commit is not ``lenient``.
            Stale: The fence is old, the head has moved, or the thread was deleted.
            Conflict: An item is not as expected, or it is too early or too late to change it;
                ``fields["item"]`` is the stored ``Item`` (None where a new
                item's id is taken or the row is gone).
            StoreFailed: The store could not write; nothing was.
        """
        ...

    def load(self, thread: str, after: int = 0, *, whole: bool = False) -> Loaded:
        """Return a thread's mark, its entries and its live items, as of one moment.

        Args:
            thread: The thread's id; an unknown one gives an empty result.
            after: Entries up to this number are known to the caller and left out.
            whole: Entries from the first one on, not only from the newest base.

        Raises:
            StoreFailed: The store could not be read.
        """
        ...

    def items(
        self,
        *,
        ids: Sequence[str] | None = None,
        thread: str | None = None,
        states: Iterable[str] | None = None,
        due: float | None = None,
        after: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> list[Item]:
        """Return items over all threads, oldest question first, a page at a time.

        Args:
            ids: Only these items; an id may also be that of an interrupt, which stands for
                all of its items.
            thread: Only this thread's.
            states: Only those in one of these states; None for all.
            due: Only those with a deadline, which is not later than this.
            after: ``(asked_at, id)`` of the last item of the page before.
            limit: How many at the most.

        Raises:
            Misuse: A filter or the limit is not of its type.
            StoreFailed: The store could not be read.
        """
        ...

    def threads(self, *, after: str | None = None, limit: int = 100) -> list[Mark]:
        """Return the marks of threads in the order of their ids, a page at a time.

        Raises:
            StoreFailed: The store could not be read.
        """
        ...

    def entries(self, thread: str, *, after: int = 0, limit: int = 1000) -> list[Entry]:
        """Return a page of a thread's log, from its beginning.

        Raises:
            StoreFailed: The store could not be read.
        """
        ...

    def delete_thread(self, thread: str) -> bool:
        """Remove a thread with all its entries and items; return whether there was one.

        A tombstone stays: a run that was in progress cannot bring it back (its fence is old),
        while a new run may use the same id again.

        Raises:
            StoreFailed: The store could not write.
        """
        ...

    def prune(self, thread: str, last: Entry, body: str) -> int:
        """Put one base entry in the place of all entries up to ``last``, in one transaction.

        The base has the number and date of ``last``, and a hash that the log goes on from; see
        ``hitl.checkpoint.base_entry``. Items stay as they are.

        Args:
            thread: The thread's id.
            last: The last entry that goes, as it was read; not the newest one.
            body: What is kept of them, JSON text; the floors above know how to read it.

        Returns:
            By how many entries the log is shorter.

        Raises:
            Busy: A run holds the thread's lease.
            Stale: The log is not as it was read.
            StoreFailed: The store could not write; nothing was changed.
        """
        ...

    def restore(self, mark: Mark, entries: Sequence[Entry], items: Sequence[Item]) -> None:
        """Take in a thread that another store has given out, as it stood there.

        Numbers, dates and hashes stay; nobody holds the lease. The chain is checked.

        Raises:
            Conflict: There is such a thread already, or an item of the same id.
            Damaged: The entries are not a whole log.
            StoreFailed: The store could not write; nothing was.
        """
        ...

    def close(self) -> None:
        """Give back what the store holds open; calling it again does nothing."""
        ...
