"""Renews leases of runs whose tasks take long, so that a live run is not taken for a dead one.

One daemon thread for the whole process, started by the first run that may need it. A run that
is over within ``EVERY`` seconds is never renewed and costs no commit.
"""

from __future__ import annotations

import logging
import threading
import weakref
from typing import Protocol

from hitl.errors import HitlError

__all__ = ["EVERY", "Held", "keep", "let_go"]

EVERY = 15.0
"""Seconds between renewals; a lease of the SQLite store lasts four times as long."""


class Held(Protocol):
    """A writer that holds a lease."""

    def renew(self) -> None:
        """Move the end of the lease."""
        ...


_held: weakref.WeakSet[Held] = weakref.WeakSet()
_lock = threading.Lock()
_runs: threading.Thread | None = None
_never = threading.Event()


def keep(writer: Held) -> None:
    """Renew a writer's lease from now on."""
    global _runs
    with _lock:
        _held.add(writer)
        if _runs is None or not _runs.is_alive():  # not alive in a forked child
            _runs = threading.Thread(target=_run, name="hitl-keeper", daemon=True)
            _runs.start()


def let_go(writer: Held) -> None:
    """Leave a writer's lease alone from now on."""
    with _lock:
        _held.discard(writer)


def _run() -> None:
    while not _never.wait(EVERY):
        with _lock:
            writers = list(_held)
        for writer in writers:
            try:
                writer.renew()
            except HitlError as error:
                # The run itself learns of it at its next commit, which the fence refuses.
                logging.getLogger("hitl").warning("a lease could not be renewed: %s", error)
