"""Commits of the stepper: yield an append, then let what was committed show in the standing."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from hitl.engine.effects import Append, Effect
from hitl.engine.record import checkpoint_body, is_wasteful, record_body, task_tree
from hitl.engine.standing import Asked, Standing
from hitl.engine.task import RunFacts, Task
from hitl.engine.waits import delivered, outcome_asks
from hitl.errors import Broken
from hitl.values import LIVE, Draft, ItemChange, Json, Receipt

__all__ = [
    "Part",
    "ask_outcomes",
    "commit_checkpoint",
    "commit_tasks",
    "receipt_of",
    "take_items",
]

Part = Generator[Effect, object, None]
Lease = Literal["acquire", "release"] | None


def receipt_of(reply: object) -> Receipt:
    """Return the reply of an ``Append``.

    Raises:
        Broken: The hand replied with something else.
    """
    if not isinstance(reply, Receipt):
        raise Broken(f"An Append was answered with {type(reply).__name__}.")
    return reply


def take_items(standing: Standing, items: Iterable[ItemChange]) -> None:
    """Let committed changes of items show in where the thread stands."""
    for change in items:
        if change.item.state in LIVE:
            standing.items[change.item.id] = change.item
        else:
            standing.items.pop(change.item.id, None)


def commit_checkpoint(
    standing: Standing,
    kind: str,
    changed: Sequence[str],
    items: tuple[ItemChange, ...],
    lease: Lease,
    *,
    saved: bool,
    keep: bool = False,
    before: tuple[Draft, ...] = (),
) -> Part:
    """Make where the thread stands now its newest checkpoint.

    Args:
        standing: As it stands after the change.
        kind: ``input``, ``step`` or ``update``.
        changed: Names of the channels that changed.
        items: Changes of items that belong to it.
        lease: What becomes of the lease.
        saved: Whether there is a store; without one only the count goes on.
        keep: Whether the records of the tasks that are due stay.
        before: Other entries of the same commit.
    """
    if not saved:
        standing.before, standing.checkpoint = standing.checkpoint, standing.checkpoint + 1
        return
    base = is_wasteful(standing)
    first = kind != "step"
    body = checkpoint_body(standing, changed, base=base, first=first, keep=keep)
    draft = Draft(kind, body, standing.head, base and not keep)
    receipt = receipt_of((yield Append((*before, draft), items, lease)))
    standing.before, standing.checkpoint = standing.checkpoint, receipt.seqs[-1]
    standing.head, standing.at = receipt.seqs[-1], receipt.at
    take_items(standing, items)


def commit_tasks(standing: Standing, kind: str, tasks: Sequence[Task], lease: Lease) -> Part:
    """Commit what settled tasks leave, and let it show in their records."""
    trees: dict[int, dict[str, Json]] = {}
    moves: dict[str, ItemChange] = {}
    for task in tasks:
        trees[task.place] = _leaves(standing, task, moves)
    yield from _append(standing, kind, trees, tuple(moves.values()), lease)
    for task in tasks:
        task.moves.clear()  # they are committed; the superstep's end must not repeat them
        if task.asked is not None:
            task.record.asked.append(task.asked)


def _leaves(standing: Standing, task: Task, moves: dict[str, ItemChange]) -> dict[str, Json]:
    record = task.record
    if task.asked is not None:
        moves.update((item.id, ItemChange(item)) for item in task.new_items)
        return task_tree(record, task.node.name, [task.asked])
    if task.error is not None:
        record.error = f"{type(task.error).__name__}: {task.error}"
    else:
        record.done, record.error = task.done(), None
        moves.update(task.moves)
        moves.update((c.item.id, c) for c in delivered(standing, record, moves))
    return task_tree(record, task.node.name)


def _append(
    standing: Standing,
    kind: str,
    trees: dict[int, dict[str, Json]],
    items: tuple[ItemChange, ...],
    lease: Lease,
) -> Part:
    draft = Draft(kind, record_body(trees), standing.head)
    receipt = receipt_of((yield Append((draft,), items, lease)))
    standing.head = receipt.seqs[0]
    take_items(standing, items)


def ask_outcomes(standing: Standing, facts: RunFacts, lease: Lease = None) -> Part:
    """Ask a human about the calls that were started by a run that died."""
    asked, changes = outcome_asks(standing, facts.now())
    if not asked:
        return
    trees = {
        place: task_tree(replace(standing.record(place), error=None), "outcome", questions)
        for place, questions in asked.items()
    }
    yield from _append(standing, "pause", trees, tuple(changes), lease)
    for place, questions in asked.items():
        _remember(standing, place, questions)


def _remember(standing: Standing, place: int, questions: Sequence[Asked]) -> None:
    record = standing.record(place)
    for question in questions:
        record.asked.append(question)
        record.intents[question.lost].outcome = question.items[0]
