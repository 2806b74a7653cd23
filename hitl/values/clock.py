"""The time, as a port: seconds since 1970 in UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "ManualClock", "SystemClock", "iso"]


class Clock(Protocol):
    """Something that tells the time."""

    def now(self) -> float:
        """Return seconds since 1970-01-01T00:00Z."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """Return seconds since 1970-01-01T00:00Z."""
        return time.time()


class ManualClock:
    """A clock that a test winds by hand."""

    def __init__(self, start: float = 1_000_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        """Return the time it was set to."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the hands forward (or, with a negative number, back)."""
        self._now += seconds

    def sleep(self, seconds: float) -> None:
        """Let the time pass at once; what waits by this clock does not wait in truth."""
        self.advance(seconds)


def iso(at: float) -> str:
    """Return a time as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
