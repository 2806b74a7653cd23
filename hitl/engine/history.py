"""A thread's past: one forward pass over its log, a standing for each checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from hitl.checkpoint import Checkpointer
from hitl.engine.merge import initial
from hitl.engine.record import apply
from hitl.engine.shape import Shape
from hitl.engine.standing import Standing
from hitl.engine.wrote import complete
from hitl.errors import Misuse
from hitl.values import CHECKPOINTS

__all__ = ["history", "stood_at"]


def history(
    shape: Shape,
    store: Checkpointer,
    thread: str,
    last: int | None = None,
    limit: int | None = None,
) -> Iterator[tuple[Standing, bool]]:
    """Yield where a thread stood at each checkpoint, oldest first, and whether it has gone on.

    Args:
        shape: The graph.
        store: Where the thread is kept.
        thread: Its id.
        last: Number of the newest checkpoint that is wanted, None for all.
        limit: How many of the newest are wanted, None for all.

    What is yielded is good until the next one is asked for.

    Raises:
        StoreFailed: The store could not be read.
        Damaged: An entry could not be read.
    """
    loaded = store.load(thread, whole=True)
    standing = Standing(thread, values=initial(shape.channels))
    seqs = [
        e.seq for e in loaded.entries if e.kind in CHECKPOINTS and (last is None or e.seq <= last)
    ]
    wanted = set(seqs if limit is None else seqs[max(len(seqs) - limit, 0) :])
    for entry in loaded.entries:
        if entry.kind in CHECKPOINTS and standing.checkpoint in wanted:
            if entry.kind == "step":
                complete(standing, entry, shape.folded)
            yield _whole(shape, standing), True
        apply(standing, entry)
    if standing.checkpoint in wanted:
        standing.items = dict(loaded.items)
        yield _whole(shape, standing), False


def _whole(shape: Shape, standing: Standing) -> Standing:
    """Give a standing what its graph has gained since: channels that begin with a value."""
    for name, value in initial(shape.channels).items():
        standing.values.setdefault(name, value)
    return standing


def stood_at(
    shape: Shape, store: Checkpointer, thread: str, checkpoint: int
) -> tuple[Standing, bool]:
    """Return where a thread stood at one checkpoint, and whether it has gone on since.

    Raises:
        Misuse: The checkpoint is not one of this thread.
        StoreFailed: The store could not be read.
        Damaged: An entry could not be read.
    """
    for standing, past in history(shape, store, thread, checkpoint, 1):
        if standing.checkpoint == checkpoint:
            return standing, past
    raise Misuse(
        f"Thread {thread!r} has no checkpoint {checkpoint}.",
        hint="get_state_history lists them.",
    )
