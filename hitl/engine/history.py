"""A thread's past: one forward pass over its log, a standing for each checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from hitl.checkpoint import Checkpointer
from hitl.engine.merge import initial
from hitl.engine.record import apply
from hitl.engine.shape import Shape
from hitl.engine.standing import Standing
from hitl.values import CHECKPOINTS

__all__ = ["history"]


def history(shape: Shape, store: Checkpointer, thread: str) -> Iterator[tuple[Standing, bool]]:
    """Yield where a thread stood at each checkpoint, oldest first, and whether it has gone on.

    What is yielded is good until the next one is asked for.

    Raises:
        StoreFailed: The store could not be read.
        Damaged: An entry could not be read.
    """
    loaded = store.load(thread, whole=True)
    standing = Standing(thread, values=initial(shape.channels))
    for entry in loaded.entries:
        if entry.kind in CHECKPOINTS and standing.checkpoint:
            yield standing, True
        apply(standing, entry)
    if standing.checkpoint:
        standing.items = dict(loaded.items)
        yield standing, False
