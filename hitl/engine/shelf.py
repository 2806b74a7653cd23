"""Warm threads: where each stood when its last run here ended, so that less is read again.

A standing is taken off the shelf by the one run that uses it and put back when that run ends
well; what other processes have appended since is read and applied.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from hitl.checkpoint import Checkpointer
from hitl.engine.history import stood_at
from hitl.engine.merge import initial
from hitl.engine.record import apply
from hitl.engine.shape import Shape
from hitl.engine.standing import Standing
from hitl.engine.writer import Writer
from hitl.values import Item, Loaded, new_salt

__all__ = ["Shelf"]

_ROOM = 128

T = TypeVar("T")


class Shelf:
    """The threads of one graph and store that are known without reading them anew."""

    def __init__(self, shape: Shape, store: Checkpointer) -> None:
        self.shape = shape
        self.store = store
        self._warm: OrderedDict[str, tuple[float, int, Standing]] = OrderedDict()
        self._lock = threading.Lock()

    @staticmethod
    def fresh(shape: Shape, thread: str) -> Standing:
        """Return a thread before its first entry."""
        return Standing(thread, new_salt(), values=initial(shape.channels))

    def take(self, writer: Writer, checkpoint: int = 0) -> Standing:
        """Return where a thread stands now, for one run to work with.

        Args:
            writer: The run's writer, which learns of the thread's head.
            checkpoint: Return where it stood at this checkpoint instead, 0 for now.

        Raises:
            Misuse: The checkpoint is not one of this thread.
            StoreFailed: The store could not be read.
            Damaged: An entry could not be read.
        """
        if checkpoint:
            standing, past = stood_at(self.shape, self.store, writer.thread, checkpoint)
            standing.past = past
            standing.drop_records(keep=False)
            standing.items = writer.items
            return standing
        standing, loaded = self._load(writer.thread)
        writer.head, writer.seq = loaded.mark.head, loaded.mark.seq
        writer.items = standing.items
        writer.born = loaded.mark.created_at
        return standing

    def put(self, standing: Standing, writer: Writer) -> None:
        """Keep where a run's end has left a thread."""
        if standing.past:
            return
        with self._lock:
            self._warm[standing.thread] = (writer.born, writer.seq, standing)
            self._warm.move_to_end(standing.thread)
            self._trim()

    def _trim(self) -> None:
        while len(self._warm) > _ROOM:
            self._warm.popitem(last=False)

    def peek(self, thread: str, show: Callable[[Standing], T]) -> T:
        """Return what is shown of where a thread stands now.

        The standing is off the shelf while it is looked at: a run that begins meanwhile reads
        its own.

        Raises:
            StoreFailed: The store could not be read.
            Damaged: An entry could not be read.
        """
        standing, loaded = self._load(thread)
        shown = show(standing)
        if standing.checkpoint:
            mark = loaded.mark
            with self._lock:
                self._warm.setdefault(thread, (mark.created_at, mark.seq, standing))
                self._trim()
        return shown

    def look(self, ids: tuple[str, ...]) -> list[Item]:
        """Return items by their own or their interrupt's id, closed ones too.

        Raises:
            StoreFailed: The store could not be read.
        """
        return self.store.items(ids=ids, limit=10_000)

    def _load(self, thread: str) -> tuple[Standing, Loaded]:
        with self._lock:
            born, seq, standing = self._warm.pop(thread, (0.0, 0, None))
        loaded = self.store.load(thread, after=seq)
        if standing is not None and (loaded.mark.created_at != born or loaded.mark.seq < seq):
            standing = None  # another thread of the same name
            loaded = self.store.load(thread) if seq else loaded
        if standing is None:
            standing = self.fresh(self.shape, thread)
        for entry in loaded.entries:
            apply(standing, entry)
        for name, value in initial(self.shape.channels).items():
            standing.values.setdefault(name, value)
        standing.items = dict(loaded.items)
        return standing, loaded
