"""A thread's past: one forward pass over its log, a standing for each checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hitl.checkpoint import Checkpointer
from hitl.engine.merge import initial
from hitl.engine.record import apply
from hitl.engine.shape import Shape
from hitl.engine.standing import Kept, Standing
from hitl.values import CHECKPOINTS, Item

__all__ = ["history"]


def history(shape: Shape, store: Checkpointer, thread: str) -> Iterator[Standing]:
    """Yield where a thread stood at each checkpoint, oldest first.

    Raises:
        StoreFailed: The store could not be read.
        Damaged: An entry could not be read.
    """
    loaded = store.load(thread, whole=True)
    standing = Standing(thread, values=initial(shape.channels))
    for entry in loaded.entries:
        if entry.kind in CHECKPOINTS and standing.checkpoint:
            yield _at(standing, {})
        apply(standing, entry)
    if standing.checkpoint:
        yield _at(standing, dict(loaded.items))


def _at(standing: Standing, items: dict[str, Item]) -> Standing:
    """Return a copy that later entries do not change."""
    return replace(
        standing,
        values=dict(standing.values),
        due=list(standing.due),
        records=dict(standing.records),
        kept={name: Kept([], "") for name in standing.kept},
        items=items,
        metadata=dict(standing.metadata),
    )
