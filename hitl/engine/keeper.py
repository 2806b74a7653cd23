"""Renews leases of runs whose tasks take long, so that a live run is not taken for a dead one.

One daemon thread for the whole process, started by the first run that may need it. A run that
is over within ``EVERY`` seconds is never renewed and costs no commit.
"""

from __future__ import annotations

import logging
import threading
import weakref
from typing import Protocol

from hitl.errors import HitlError, Stale

__all__ = ["EVERY", "Held", "keep", "let_go"]

EVERY = 15.0
"""Seconds between renewals; a lease of the SQLite store lasts four times as long."""


class Held(Protocol):
    """A writer that holds a lease."""

    def renew(self) -> None:
        """Move the end of the lease."""
        ...


class _Keeper:
    """The writers whose leases are renewed, and the thread that does it."""

    def __init__(self) -> None:
        self.held: weakref.WeakSet[Held] = weakref.WeakSet()
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def run(self) -> None:
        """Renew for ever; the process's end ends it."""
        never = threading.Event()
        while not never.wait(EVERY):
            with self.lock:
                writers = list(self.held)
            for writer in writers:
                try:
                    writer.renew()
                except HitlError as error:
                    # The run itself learns of it at its next commit, which the fence refuses.
                    logging.getLogger("hitl").warning("a lease could not be renewed: %s", error)
                    if isinstance(error, Stale):  # taken over: it does not come back
                        let_go(writer)


_keeper = _Keeper()


def keep(writer: Held) -> None:
    """Renew a writer's lease from now on."""
    with _keeper.lock:
        _keeper.held.add(writer)
        if _keeper.thread is None or not _keeper.thread.is_alive():  # as in a forked child
            _keeper.thread = threading.Thread(target=_keeper.run, name="hitl-keeper", daemon=True)
            _keeper.thread.start()


def let_go(writer: Held) -> None:
    """Leave a writer's lease alone from now on."""
    with _keeper.lock:
        _keeper.held.discard(writer)
