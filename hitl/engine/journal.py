"""What a running task commits besides its end: intents of calls, and results to keep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from hitl.checkpoint import Checkpointer
from hitl.engine.record import intent_tree, record_body
from hitl.engine.standing import Intent
from hitl.values import ItemChange, Json, Receipt

__all__ = ["Entries", "TaskJournal"]

Entries = Sequence[tuple[str, str]]
"""Kinds and bodies (JSON text) of entries to commit together."""


class TaskJournal(ABC):
    """The forms in which tasks commit, over one way to write entries."""

    saved = True
    blocking = False

    @property
    @abstractmethod
    def kept_in(self) -> Checkpointer:
        """Return the store that it writes to."""

    @abstractmethod
    def write(self, entries: Entries, moves: Sequence[ItemChange]) -> Receipt:
        """Commit entries of a running task.

        Raises:
            Stale: The run is over, or no longer holds the thread.
            Conflict, StoreFailed: See ``Checkpointer.append``.
        """

    def intent(self, place: int, key: str, intent: Intent, moves: Sequence[ItemChange]) -> None:
        """Commit that a call is about to start, together with the moves of its items."""
        body = record_body({place: {"intents": {key: intent_tree(intent)}}})
        self.write([("intent", body)], moves)

    def note(self, place: int, key: str, value: Json) -> None:
        """Commit the result of something that must not run twice."""
        self.write([("note", record_body({place: {"notes": {key: value}}}))], ())

    async def aintent(
        self, place: int, key: str, intent: Intent, moves: Sequence[ItemChange]
    ) -> None:
        """Commit that a call is about to start, without blocking the event loop."""
        await self._off_loop(lambda: self.intent(place, key, intent, moves))

    async def anote(self, place: int, key: str, value: Json) -> None:
        """Commit a result, without blocking the event loop."""
        await self._off_loop(lambda: self.note(place, key, value))

    async def _off_loop(self, commit: Callable[[], None]) -> None:
        if not self.blocking:
            commit()
            return
        import asyncio

        await asyncio.to_thread(commit)
