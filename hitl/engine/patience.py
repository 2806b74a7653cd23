"""How long a run waits for another one that holds its thread, and in which steps."""

from __future__ import annotations

__all__ = ["Patience"]

_FIRST, _LONGEST, _GROWTH = 0.005, 0.5, 1.6


class Patience:
    """Pauses that grow, until their sum is used up.

    Args:
        seconds: The sum.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._left = seconds
        self._next = _FIRST

    def pause(self) -> float | None:
        """Return how long to wait before the next try, None where it is time to give up."""
        if self._left <= 0:
            return None
        now = min(self._next, self._left)
        self._left -= now
        self._next = min(self._next * _GROWTH, _LONGEST)
        return now
