"""The run's one writer: it holds the thread's lease and knows the head that it extends.

Everything that a run commits goes through it, from the stepper and from inside tasks, so that
parallel tasks never compete. It lives as long as one run.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Literal

from hitl.checkpoint import Checkpointer, activate, log_moves, new_owner, retire
from hitl.engine.effects import Append
from hitl.engine.journal import Entries, TaskJournal
from hitl.engine.keeper import keep, let_go
from hitl.engine.standing import Intent
from hitl.engine.trace import RunTrace
from hitl.errors import HitlError, NoCheckpointer, Stale
from hitl.values import LIVE, RUN_KINDS, Commit, Draft, Item, ItemChange, Json, Receipt

__all__ = ["NoJournal", "Writer"]


class NoJournal:
    """The journal of a run that is not saved: there is nothing to write intents to."""

    kept_in = None
    saved = False
    blocking = False
    holds = False

    def intent(self, place: int, key: str, intent: Intent, moves: Sequence[ItemChange]) -> None:
        """Do nothing."""

    def note(self, place: int, key: str, value: Json) -> None:
        """Do nothing."""

    async def aintent(
        self, place: int, key: str, intent: Intent, moves: Sequence[ItemChange]
    ) -> None:
        """Do nothing."""

    async def anote(self, place: int, key: str, value: Json) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""

    def append(self, _: Append) -> Receipt:
        """Refuse: a run that is not saved commits nothing.

        Raises:
            NoCheckpointer: Always.
        """
        raise NoCheckpointer("This graph was compiled without a checkpointer.")


class Writer(TaskJournal):
    """The journal of a run that is saved.

    Args:
        store: Where the thread is kept.
        thread: Its id.
    """

    def __init__(self, store: Checkpointer, thread: str) -> None:
        self.store = store
        self.thread = thread
        self.blocking = store.blocking
        self.head = 0
        self.seq = 0
        self.born = 0.0
        self.fence: int | None = None
        self.items: dict[str, Item] = {}
        self.trace: RunTrace | None = None
        self._owner = ""
        self._closed = False
        self._lock = threading.Lock()

    @property
    def holds(self) -> bool:
        """Return whether the thread's lease is still to be given back."""
        return self.fence is not None

    @property
    def kept_in(self) -> Checkpointer:
        """Return the store that it writes to."""
        return self.store

    def append(self, effect: Append) -> Receipt:
        """Commit what the stepper wants committed together.

        Raises:
            Busy, Stale, Conflict, StoreFailed: See ``Checkpointer.append``.
        """
        with self._lock:
            return self._append(effect.entries, effect.items, effect.lease, effect.decision)

    def write(self, entries: Entries, moves: Sequence[ItemChange]) -> Receipt:
        """Commit entries of a running task: their kinds and bodies.

        Raises:
            Stale: The run is over.
            Stale, Conflict, StoreFailed: See ``Checkpointer.append``.
        """
        with self._lock:
            if self._closed or self.fence is None:
                raise Stale(
                    f"The run of thread {self.thread!r} is over; a task of it still goes on.",
                    hint="What it was about to start has not been started.",
                    thread=self.thread,
                )
            drafts = tuple([Draft(kind, body) for kind, body in entries])
            receipt = self._append(drafts, tuple(moves), None, False)
            for change in moves:
                if change.item.state in LIVE:
                    self.items[change.item.id] = change.item
                else:
                    self.items.pop(change.item.id, None)
            return receipt

    def _append(
        self,
        entries: tuple[Draft, ...],
        items: tuple[ItemChange, ...],
        lease: Literal["acquire", "release"] | None,
        decision: bool,
    ) -> Receipt:
        if lease == "acquire":
            if self.fence is not None:
                lease = None
            elif not self._owner:
                self._owner = new_owner()
                activate(self._owner)
        runs = False
        for draft in entries:
            runs = runs or draft.kind in RUN_KINDS
        # Taking the lease compares the head as well: what was read must be what is there.
        compared = runs or lease == "acquire"
        receipt = self.store.append(
            Commit(
                self.thread,
                tuple([Draft(d.kind, d.body, d.parent or self.head, d.base) for d in entries]),
                items,
                self.head if compared else None,
                self.fence,
                lease,
                self._owner,
                decision,
            )
        )
        self.born = self.born or receipt.at
        if receipt.seqs:
            self.seq = receipt.seqs[-1]
            if runs:
                self.head = self.seq
        self.fence = None if lease == "release" else receipt.fence
        if lease == "acquire" and self.fence is not None:
            keep(self)
        if items:
            log_moves(items)
            if self.trace is not None:
                self.trace.moved(items)
        return receipt

    def renew(self) -> None:
        """Move the end of the lease, while a task takes long."""
        with self._lock:
            if self.fence is not None:
                commit = Commit(self.thread, fence=self.fence, lease="renew", owner=self._owner)
                self.store.append(commit)

    def release(self) -> None:
        """Give the lease back if it is still held, and let no task write any more."""
        with self._lock:
            self._closed = True
            fence, self.fence = self.fence, None
            owner, self._owner = self._owner, ""
            try:
                if fence is not None:
                    commit = Commit(self.thread, fence=fence, lease="release", owner=owner)
                    self.store.append(commit)
            except HitlError as error:
                # The run's own end matters more. The owner is retired, so that the next run of
                # this process takes the lease over; for others it ends when its time is up.
                logging.getLogger("hitl").warning("a lease could not be given back: %s", error)
            finally:
                if owner:
                    retire(owner)
                let_go(self)
