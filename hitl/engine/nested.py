"""Graphs inside graphs: a run inside a task of another run, on the same thread and writer.

The inner run has a stepper and a standing of its own. What it commits goes to the outer run's
writer as part of the outer task's record (entries of kind ``sub``), so that it is saved with
the outer thread, pauses with it, and goes on where it stopped when the outer task runs again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from hitl.checkpoint import Checkpointer
from hitl.codec import dumps
from hitl.engine.effects import Append
from hitl.engine.journal import Entries, TaskJournal
from hitl.engine.merge import initial
from hitl.engine.shape import Shape
from hitl.engine.standing import KEPT, Standing
from hitl.engine.task import Task
from hitl.errors import Misuse
from hitl.values import ItemChange, Receipt, derive

__all__ = ["NestedWriter", "open_nested"]

_OPENING = threading.Lock()


class NestedWriter(TaskJournal):
    """The journal of a run inside a task.

    Args:
        outer: The writer of the run around.
        place: The place of the outer task.
        key: Which of the runs inside that task it is.
        inner: Where that run stands.
    """

    holds = False

    def __init__(self, outer: TaskJournal, place: int, key: str, inner: Standing) -> None:
        self.outer = outer
        self.blocking = outer.blocking
        self._place = place
        self._key = key
        self._inner = inner

    @property
    def kept_in(self) -> Checkpointer:
        """Return the store of the run around."""
        return self.outer.kept_in

    def append(self, effect: Append) -> Receipt:
        """Commit what the inner stepper wants committed; the lease is the outer run's.

        Raises:
            Misuse: It is an answer of a human, which only the outermost graph takes.
            Stale, Conflict, StoreFailed: See ``Checkpointer.append``.
        """
        if effect.decision:
            raise Misuse(
                "Command(resume=...) was given to a graph inside another one.",
                hint="Give answers to the outermost graph; they reach the question by its id.",
            )
        if not effect.entries:
            return Receipt((), 0.0, 1)
        return self.write([(draft.kind, draft.body) for draft in effect.entries], effect.items)

    def write(self, entries: Entries, moves: Sequence[ItemChange]) -> Receipt:
        """Commit entries as part of the outer task's record.

        Raises:
            Stale, Conflict, StoreFailed: See ``Checkpointer.append``.
        """
        inner = ",".join(f"[{dumps(kind)},{body}]" for kind, body in entries)
        body = f'{{"tasks":{{"{self._place}":{{"sub":{{{dumps(self._key)}:[{inner}]}}}}}}}}'
        receipt = self.outer.write([("sub", body)], moves)
        self._inner.begun = True
        return Receipt(receipt.seqs * len(entries), receipt.at, receipt.fence)

    def release(self) -> None:
        """Do nothing: the outer run holds the lease."""


def open_nested(task: Task, shape: Shape, *, kept: bool) -> tuple[str, Standing]:
    """Return the key and the standing of the next run inside a task, a new one at first.

    Runs inside a task are told apart by their order, as its questions are. One that is kept is
    found by the node's name and that order, whichever task of the node it runs in.

    Raises:
        Misuse: A sibling task runs it at the same time, and there is one state for both.
    """
    around = task.run.standing
    assert around is not None
    key = f"{task.subs}:{shape.name}"
    if kept:
        key = f"{KEPT}{task.node.name}:{key}"
    task.subs += 1
    with _OPENING:
        if kept:
            _refuse_siblings(task, around, key)
        inner = around.inside(task.record, key)
    if not inner.salt:
        position: Sequence[str | int] = (task.checkpoint, task.node.name, task.place, key)
        inner.salt = derive(task.run.salt, "sub", *position)
    inner.thread = task.run.thread
    inner.items = task.run.items
    for name, value in initial(shape.channels).items():
        inner.values.setdefault(name, value)
    return key, inner


def _refuse_siblings(task: Task, around: Standing, key: str) -> None:
    for place, record in around.records.items():
        if place != task.place and key in record.subs:
            raise Misuse(
                f"Two tasks of node {task.node.name!r} run the same graph side by side, which was "
                "compiled with checkpointer=True and has one state.",
                hint="Compile it without, so that each run has a state of its own.",
                node=task.node.name,
            )
