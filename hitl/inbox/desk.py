"""A reviewer's desk over all threads of a store: see what waits, decide it.

It needs no graph and no agent: what an answer is checked against was frozen with the question.
The run that asked takes the decision when it is next resumed, in whatever process.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from hitl.checkpoint import Checkpointer, check_store, log_moves
from hitl.errors import Conflict, Misuse, Stale, UnknownId
from hitl.inbox.grants import Grants
from hitl.ledger import check_reviewer, decisions, entries_of, overdue, progress
from hitl.values import Commit, Item, ItemChange, is_id

__all__ = ["Inbox"]


class Inbox:
    """What waits for a human in one store.

    Args:
        store: The checkpointer that the runs use.

    Attributes:
        store: The same.
        grants: The answers that are remembered.

    Raises:
        Misuse: It is no checkpointer.
    """

    def __init__(self, store: Checkpointer) -> None:
        check_store(store, "store")
        self.store = store
        self.grants = Grants(store)

    def pending(
        self,
        *,
        thread: str | None = None,
        due: float | None = None,
        after: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> list[Item]:
        """Return a page of what waits, oldest first.

        Args:
            thread: Only this thread's.
            due: Only what has a deadline, which is not later than this.
            after: ``(asked_at, id)`` of the last item of the page before.
            limit: How many at the most.

        Raises:
            Misuse: A filter or the limit is not of its type.
            StoreFailed: The store could not be read.
        """
        return self.store.items(
            thread=thread, states=("pending",), due=due, after=after, limit=limit
        )

    def get(self, id: str) -> Item:
        """Return one item, decided or not; its interrupt's id will do where it is the only one.

        Raises:
            Misuse: The id is no text.
            UnknownId: There is no such item, or the id stands for several.
            StoreFailed: The store could not be read.
        """
        if not isinstance(id, str):
            raise Misuse(f"An item's id is a text, not {type(id).__name__}.", hint="See pending().")
        found = self.store.items(ids=[id], limit=1000) if is_id(id) else self._starting(id)
        found = [item for item in found if item.kind != "grant"]
        exact = [item for item in found if item.id == id] or found
        if len(exact) == 1:
            return exact[0]
        if not exact:
            raise UnknownId(
                f"There is no item {id!r} in this store.", hint="List what waits.", id=id
            )
        ids = tuple(item.id for item in exact)
        raise UnknownId(
            f"{id!r} stands for {len(ids)} items.", hint=f"Name one: {', '.join(ids)}.", id=id
        )

    def _starting(self, start: str) -> list[Item]:
        """Return pending items whose id begins with a few digits, as people type them."""
        if len(start) < 4:
            return []
        found: list[Item] = []
        page = self.pending(limit=1000)
        while page:
            found += [item for item in page if item.id.startswith(start)]
            last = page[-1]
            page = self.pending(after=(last.asked_at, last.id), limit=1000)
        return found

    def decide(self, id: str, decision: object, *, by: str | None = None) -> Item:
        """Decide one item, or vote on it, and return it as it stands then.

        Its ``state`` is ``decided``, or still ``pending`` where more people must say the same:
        ``progress`` tells how far it is. Sending the same decision again changes nothing and
        returns the same.

        Args:
            id: The item's id.
            decision: ``{"type": "approve"}`` and so on; the answer itself of a question.
            by: Who decides; an opaque id that your program vouches for.

        Raises:
            Misuse: ``id`` or ``by`` is not of its type.
            UnknownId: There is no such item, or it is closed.
            WrongAnswer, NotAllowed, Stale: See ``hitl.ledger.decide``; the item stays open.
            Expired: Its deadline has passed.
            AlreadyDecided: Someone was first; the error says who, what and when.
            StoreFailed: The store could not write; nothing was.
        """
        check_reviewer(by, "by")
        for _ in range(100):
            item = self.get(id)
            changes = decisions([(item, decision)], by=by, at=self.store.clock.now())
            if not changes:
                return item
            try:
                self._commit(item.thread, changes)
            except Conflict as conflict:
                # Someone decided in between: look again, and say who, or that it is the same.
                if "item" not in conflict.fields:
                    raise
                continue
            return changes[0].item
        raise Conflict(f"Item {id} does not come to rest.", hint="Try again.", id=id)

    @staticmethod
    def progress(item: Item) -> str:
        """Return how far the votes of an item have come: ``"1 of 2"``, empty where none are due.

        Args:
            item: As ``pending``, ``get`` or ``decide`` returns it.
        """
        return progress(item)

    def sweep(self) -> list[Item]:
        """Expire what nobody decided in time, and return it.

        Nothing depends on it: a late decision is refused, and a run that goes on expires what
        it meets. It only makes it show at once; call it from cron if you like.

        Raises:
            StoreFailed: The store could not be read or written.
        """
        expired: list[Item] = []
        page = self.pending(due=self.store.clock.now(), limit=1000)
        while page:
            for thread in dict.fromkeys(item.thread for item in page):
                expired += self._expire([item for item in page if item.thread == thread])
            last = page[-1]
            page = self.pending(
                due=self.store.clock.now(), after=(last.asked_at, last.id), limit=1000
            )
        return expired

    def _expire(self, items: Sequence[Item]) -> list[Item]:
        """Expire items of one thread; one that has moved meanwhile is left to whoever moved it."""
        expired: list[Item] = []
        for change in overdue(items, self.store.clock.now()):
            with suppress(Conflict, Stale):
                self._commit(change.item.thread, [change])
                expired.append(change.item)
        return expired

    def _commit(self, thread: str, changes: Sequence[ItemChange]) -> None:
        self.store.append(Commit(thread, entries_of(changes), tuple(changes)))
        log_moves(changes)
