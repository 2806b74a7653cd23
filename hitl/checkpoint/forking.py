"""What a fork does to open SQLite connections.

A child inherits SQLite's belief that it holds locks, but not the locks: it could write to a
log that another process has removed. So nobody is inside a connection while its process forks,
and the child closes what it inherited at once; it opens its own when it needs one.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet

__all__ = ["watch"]


class Forkable(Protocol):
    """Something with a lock around a connection that no child may inherit."""

    _lock: threading.RLock

    def _lose(self) -> None:
        """Give up the connection, in a child."""


_watched: WeakSet[Forkable] = WeakSet()
_forking = threading.RLock()
_held: list[Forkable] = []


def watch(store: Forkable) -> None:
    """Take care of a store's connection at every fork, for as long as the store lives."""
    with _forking:
        _watched.add(store)


def _before() -> None:
    _forking.acquire()
    for store in _watched:
        store._lock.acquire()
        _held.append(store)


def _in_parent() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


def _in_child() -> None:
    for store in _held:
        store._lose()
    _in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
