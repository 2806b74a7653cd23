"""Commits of the stepper: yield an append, then let what was committed show in the standing."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from hitl.engine.effects import Append, Effect
from hitl.engine.record import checkpoint_body, is_wasteful, record_body, task_tree
from hitl.engine.standing import Standing
from hitl.engine.task import RunFacts, Task
from hitl.engine.waits import delivered, outcome_asks
from hitl.engine.wrote import Wrote, unseen
from hitl.errors import Broken, Busy, Conflict, NotStorable, Stale
from hitl.values import CHECKPOINTS, LIVE, Draft, ItemChange, Json, Receipt

__all__ = [
    "Overtaken",
    "Part",
    "answer_kept",
    "ask_outcomes",
    "blame",
    "checkpoint_draft",
    "commit_checkpoint",
    "commit_draft",
    "commit_tasks",
    "receipt_of",
    "take_items",
]

Part = Generator[Effect, object, None]
Lease = Literal["acquire", "release"] | None


def answer_kept(thread: str) -> Busy:
    """Return the error for an answer that was stored, but cannot be delivered now."""
    return Busy(
        f"The answer is kept, but another run holds thread {thread!r}.",
        hint="When that run has ended or paused, invoke(None, config) delivers it.",
        thread=thread,
        kept=True,
    )


class Overtaken(Exception):
    """The thread moved between its reading and the opening commit, which stored nothing.

    Attributes:
        error: What the store said.
        answer: The answer that was to be committed, bound to the ids it was meant for.
    """

    def __init__(self, error: Conflict | Stale) -> None:
        super().__init__(str(error))
        self.error = error
        self.answer: object = None


def receipt_of(reply: object) -> Receipt:
    """Return the reply of an ``Append``.

    Raises:
        Overtaken: It was an opening commit, and the thread has moved since it was read.
        Broken: The hand replied with something else.
    """
    if isinstance(reply, Receipt):
        return reply
    if isinstance(reply, Conflict | Stale):
        raise Overtaken(reply)
    raise Broken(f"An Append was answered with {type(reply).__name__}.")


def take_items(standing: Standing, items: Iterable[ItemChange]) -> None:
    """Let committed changes of items show in where the thread stands."""
    for change in items:
        if change.item.state in LIVE:
            standing.items[change.item.id] = change.item
        else:
            standing.items.pop(change.item.id, None)


def checkpoint_draft(
    standing: Standing,
    kind: str,
    changed: Sequence[str],
    *,
    keep: bool = False,
    fork: bool = False,
    closed: Sequence[ItemChange] = (),
    wrote: Wrote | None = None,
    told: bool = False,
) -> Draft:
    """Return the entry that makes where the thread stands now its newest checkpoint.

    Args:
        standing: As it stands after the change.
        kind: ``input``, ``step`` or ``update``.
        changed: Names of the channels that changed.
        keep: Whether the records of the tasks that are due stay.
        fork: Whether it stands on an earlier checkpoint; then the whole state is written.
        closed: Items that are given up with it: the log tells what became of them.
        wrote: What the last tasks wrote of the superstep that ends with it.
        told: Whether the run has metadata that the log does not have yet.

    Raises:
        NotStorable: A value cannot be written.
        InvalidUpdateError: A committed element was changed in place.
    """
    base = fork or (is_wasteful(standing) and not keep)
    body = checkpoint_body(
        standing,
        changed,
        base=base,
        first=kind != "step" or told,
        keep=keep,
        closed=closed,
        wrote={} if wrote is None else unseen(standing, wrote, base=base),
    )
    return Draft(kind, body, standing.checkpoint if fork else 0, base)


def commit_checkpoint(
    standing: Standing, drafts: tuple[Draft, ...], items: tuple[ItemChange, ...], lease: Lease
) -> Part:
    """Commit a checkpoint, one of ``drafts``, with the changes of items that belong to it."""
    receipt = receipt_of((yield Append(drafts, items, lease)))
    standing.before = standing.checkpoint
    for seq, draft in zip(receipt.seqs, drafts, strict=True):
        if draft.kind in CHECKPOINTS:
            standing.checkpoint = seq
    standing.at, standing.past = receipt.at, False
    if items:
        take_items(standing, items)


def commit_draft(
    standing: Standing, draft: Draft | None, items: tuple[ItemChange, ...], lease: Lease
) -> Iterable[Effect]:
    """Commit a checkpoint; without a store, where there is no draft, only the count goes on."""
    if draft is None:
        standing.before, standing.checkpoint = standing.checkpoint, standing.checkpoint + 1
        return ()
    return commit_checkpoint(standing, (draft,), items, lease)


def commit_tasks(standing: Standing, kind: str, tasks: Sequence[Task], lease: Lease) -> Part:
    """Commit what settled tasks leave, and let it show in their records."""
    trees: dict[int, dict[str, Json]] = {}
    moves: dict[str, ItemChange] = {}
    for task in tasks:
        trees[task.place] = _leaves(standing, task, moves)
    yield from _append(standing, kind, trees, tuple(moves.values()), lease)
    for task in tasks:
        if task.asked is not None:
            task.record.asked.append(task.asked)


def _leaves(standing: Standing, task: Task, moves: dict[str, ItemChange]) -> dict[str, Json]:
    record = task.record
    if task.paused:
        record.error = None
        moves.update((item.id, ItemChange(item)) for item in task.new_items)
        return task_tree(record, task.node.name, [task.asked] if task.asked else [])
    if task.error is None:
        record.done = task.done()
        try:
            tree = task_tree(record, task.node.name)
        except NotStorable as error:
            record.done, task.error = None, _named(error, task)
        else:
            record.error = None
            moves.update(task.moves)
            moves.update((c.item.id, c) for c in delivered(standing, record, moves))
            return tree
    record.error = repr(task.error)
    return task_tree(record, task.node.name)


def _named(error: NotStorable, task: Task) -> NotStorable:
    fields = {**error.fields, "node": task.node.name}
    return NotStorable(f"Node {task.node.name!r}: {error.message}", hint=error.hint, **fields)


def blame(tasks: Sequence[Task], error: Exception) -> None:
    """Make a superstep's end that failed the fault of the tasks that caused it.

    A value that cannot be written is one task's fault, and the others keep their results; of
    writes that do not fit together all are to blame that are not committed yet.
    """
    found = False
    for task in tasks if isinstance(error, NotStorable) else ():
        task.record.done = task.done()
        try:
            task_tree(task.record, task.node.name)
        except NotStorable as own:
            task.error, found = _named(own, task), True
    for task in tasks:
        if not found:
            task.error = error
        if task.error is not None:
            task.record.done = None


def _append(
    standing: Standing,
    kind: str,
    trees: dict[int, dict[str, Json]],
    items: tuple[ItemChange, ...],
    lease: Lease,
) -> Part:
    receipt = receipt_of((yield Append((Draft(kind, record_body(trees)),), items, lease)))
    if kind == "pause":
        standing.pause = receipt.seqs[-1]
    take_items(standing, items)


def ask_outcomes(
    standing: Standing,
    facts: RunFacts,
    lease: Lease = None,
    *,
    places: Collection[int] | None = None,
) -> Part:
    """Ask a human about calls that were started and left no result.

    Args:
        standing: Where the thread stands.
        facts: What the run's tasks share.
        lease: What becomes of the lease.
        places: Only those of the tasks at these places; None for all, where none runs.
    """
    asked, changes = outcome_asks(standing, facts.now(), facts.path, places)
    if not asked:
        return
    trees = {
        place: task_tree(replace(standing.record(place), error=None), "outcome", questions)
        for place, questions in asked.items()
    }
    yield from _append(standing, "pause", trees, tuple(changes), lease)
    for place, questions in asked.items():
        record = standing.record(place)
        record.error = None
        for question in questions:
            record.asked.append(question)
            record.intents[question.lost].outcome = question.items[0]
