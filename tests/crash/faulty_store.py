"""A store that fails as real ones do: busy, an acknowledgement that is lost, a full disk."""

from __future__ import annotations

from hitl.checkpoint import InMemorySaver
from hitl.errors import StoreFailed
from hitl.values import Commit, Receipt

__all__ = ["FaultyStore"]


class FaultyStore(InMemorySaver):
    """A store in memory whose n-th append, counted from 1, fails.

    Args:
        kind: ``busy`` (nothing is stored, once), ``lost`` (it is stored, and nobody is told),
            ``full`` (nothing is stored from then on, until ``mend``).
        number: Which append; 0 for none.
    """

    def __init__(self, kind: str, number: int = 0) -> None:
        super().__init__()
        self.kind, self.left = kind, number
        self.full = False

    def mend(self) -> None:
        """Work as it should from now on."""
        self.left, self.full = 0, False

    def append(self, commit: Commit) -> Receipt:
        """Commit, or fail as told."""
        self.left -= 1
        hit = self.left == 0
        self.full = self.full or (hit and self.kind == "full")
        if self.full:
            raise StoreFailed("The store failed: database or disk is full.")
        if hit and self.kind == "busy":
            raise StoreFailed("The store failed: database is locked.")
        receipt = super().append(commit)
        if hit:
            raise StoreFailed("The store failed: the connection was lost.")
        return receipt
