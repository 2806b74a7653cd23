"""A reviewer's desk over all threads of a store: see what waits, decide it.

It needs no graph and no agent: what an answer is checked against was frozen with the question.
The run that asked takes the decision when it is next resumed, in whatever process.
"""

from __future__ import annotations

from collections.abc import Sequence

from hitl.checkpoint import Checkpointer, check_store
from hitl.errors import Conflict, Misuse, UnknownId
from hitl.ledger import check_reviewer, decide, decision_entry
from hitl.values import Commit, Draft, Item, ItemChange, is_id

__all__ = ["Inbox"]


class Inbox:
    """What waits for a human in one store.

    Args:
        store: The checkpointer that the runs use.

    Raises:
        Misuse: It is no checkpointer.
    """

    def __init__(self, store: Checkpointer) -> None:
        check_store(store, "store")
        self.store = store

    def pending(
        self,
        *,
        thread: str | None = None,
        after: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> list[Item]:
        """Return a page of what waits, oldest first.

        Args:
            thread: Only this thread's.
            after: ``(asked_at, id)`` of the last item of the page before.
            limit: How many at the most.

        Raises:
            StoreFailed: The store could not be read.
        """
        return self.store.items(thread=thread, states=("pending",), after=after, limit=limit)

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
        """Decide one item, and return it as it stands then.

        Sending the same decision again changes nothing and returns the same.

        Args:
            id: The item's id.
            decision: ``{"type": "approve"}`` and so on; the answer itself of a question.
            by: Who decides; an opaque id that your program vouches for.

        Raises:
            Misuse: ``id`` or ``by`` is not of its type.
            UnknownId: There is no such item, or it is closed.
            WrongAnswer, NotAllowed, Stale: See ``hitl.ledger.decide``; the item stays open.
            AlreadyDecided: Someone was first; the error says who, what and when.
            StoreFailed: The store could not write; nothing was.
        """
        check_reviewer(by, "by")
        for _ in range(100):
            item = self.get(id)
            change = decide(item, decision, by=by, at=self.store.clock.now())
            if change is None:
                return item
            try:
                self._commit(item.thread, [change])
            except Conflict as conflict:
                # Someone decided in between: look again, and say who, or that it is the same.
                if "item" not in conflict.fields:
                    raise
                continue
            return change.item
        raise Conflict(f"Item {id} does not come to rest.", hint="Try again.", id=id)

    def _commit(self, thread: str, changes: Sequence[ItemChange]) -> None:
        draft = Draft("decide", decision_entry(changes))
        self.store.append(Commit(thread, (draft,), tuple(changes)))
