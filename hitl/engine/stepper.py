"""The one loop of the engine: what happens next, and what is committed together.

Theory of operation. ``steps`` is a generator that does no I/O. It yields effects and is sent
their replies; a sync and an async hand carry the same effects out. A run is

    Load, one opening commit, then per superstep: Start, Settle until all tasks have settled,
    one commit; and the last commit gives the thread's lease back.

The opening commit holds the lease and either the input or the decisions of an answer. Where
the thread has moved between Load and that commit, nothing was stored and both are done anew,
with an answer bound to the ids that it was first read for. Tasks that settle before the last
one of their superstep are committed as they come (``result``), so that finished work is not
run again; the last one shares its commit with the superstep's end (``step``). A superstep that
cannot end leaves a ``pause`` with what was asked, or a ``result`` with what failed. Whatever is
committed is changed in the ``Standing`` at the same place, so that a run that is cut after any
effect is continued from the log as if it had not been; and watchers are told of it only then.

No clock, randomness, logging or ``finally`` here: times come with receipts and from ``facts``,
salts come with the standing, and errors of nodes arrive as facts of settled tasks.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace

from hitl.engine.begin import begin
from hitl.engine.commits import (
    Overtaken,
    Part,
    ask_outcomes,
    blame,
    checkpoint_draft,
    commit_draft,
    commit_tasks,
)
from hitl.engine.effects import SETTLE, Effect, Emit, Ending, Load, Request, Start
from hitl.engine.plan import advance
from hitl.engine.shape import Shape
from hitl.engine.standing import Done, Due, Standing
from hitl.engine.streaming import know_messages, whole_messages
from hitl.engine.task import RunFacts, Task
from hitl.engine.waits import delivered, has_lost, interrupts, ready, waiting
from hitl.engine.wrote import Wrote
from hitl.errors import Conflict, GraphRecursionError, InvalidUpdateError, Stale
from hitl.ledger import move, then
from hitl.values import INTERRUPT, Command, Draft, ItemChange

__all__ = ["Steps", "steps"]

Steps = Generator[Effect, object, Ending]

_TRIES = 20  # to open a run on a thread that moves each time it has been read


def steps(shape: Shape, request: Request, facts: RunFacts) -> Steps:
    """Run a graph until it ends or pauses.

    Args:
        shape: The graph.
        request: What the run is asked to do.
        facts: What the tasks share; completed here with the thread's salt and items.

    Returns:
        How it ended.

    Raises:
        HitlError: Wrong use, before anything runs; or what a node raised, after everything
            that its siblings finished has been committed.
    """
    standing = yield from _open(shape, request, facts)
    going_on = request.input is None or isinstance(request.input, Command)
    left = request.limit
    yield from _first(request, facts, standing)
    while standing.due:
        if not going_on and request.before and _meets(request.before, standing.due):
            yield from _stop(request)
            return Ending(standing)
        going_on = False
        if standing.records:
            yield from ask_outcomes(standing, facts)
        places = ready(standing) if standing.records else range(len(standing.due))
        if not places:
            yield from _remind(standing, request)
            break
        if left == 0:
            raise _limit(request, standing)
        left -= 1
        tasks = _tasks(shape, standing, facts, places)
        yield Start(tasks)
        if len(standing.due) == 1:
            last = yield SETTLE
            assert isinstance(last, list)
        else:
            last = yield from _settle(shape, tasks, standing, request, saved=facts.journal.saved)
        ran = standing.due
        ended = yield from _end_step(shape, standing, request, facts, tasks, last)
        if not ended:
            held = frozenset(task.place for task in tasks if task.held)
            if held and has_lost(standing):
                # A tool did not know either; what siblings did is known, and committed below.
                yield from ask_outcomes(standing, facts, places=held)
            yield from _leave(standing, request, tasks, last, saved=facts.journal.saved)
            break
        if standing.due and request.after and _meets(request.after, ran):
            yield from _stop(request)
            return Ending(standing)
    return Ending(standing, interrupts(standing))


def _first(request: Request, facts: RunFacts, standing: Standing) -> Part:
    """Tell tasks and those who watch where the run begins."""
    facts.standing = standing
    if "messages" in request.modes:
        know_messages(facts, standing)
    if "values" in request.modes:
        yield Emit("values", standing)


def _open(shape: Shape, request: Request, facts: RunFacts) -> Generator[Effect, object, Standing]:
    """Read the thread and commit what the run was given; anew where it moved in between."""
    error: Conflict | Stale | None = None
    for _ in range(_TRIES):
        standing = yield Load()
        assert isinstance(standing, Standing)
        facts.salt, facts.thread, facts.items = standing.salt, standing.thread, standing.items
        seen = standing.checkpoint
        try:
            begun = yield from begin(shape, request, facts, standing)
            if "checkpoints" in request.modes and begun.checkpoint != seen:
                yield Emit("checkpoints", begun)
            return begun
        except Overtaken as overtaken:
            error = overtaken.error
            if overtaken.answer is not None and isinstance(request.input, Command):
                # What was meant for the one open question must not reach the next one.
                bound = replace(request.input, resume=overtaken.answer)
                request = replace(request, input=bound)
    assert error is not None
    raise error


def _meets(nodes: frozenset[str], due: Iterable[Due]) -> bool:
    return any(node in nodes for node, _ in due)


def _stop(request: Request) -> Part:
    """Tell of a static pause, which asks nothing."""
    if "updates" in request.modes:
        yield Emit("updates", {INTERRUPT: ()})


def _limit(request: Request, standing: Standing) -> GraphRecursionError:
    names = ", ".join(sorted({node for node, _ in standing.due}))
    return GraphRecursionError(
        f"The run took {request.limit} supersteps without an end; due next: {names}.",
        hint='Look for a loop without exit, or raise config["recursion_limit"].',
        limit=request.limit,
    )


def _tasks(shape: Shape, standing: Standing, facts: RunFacts, places: Iterable[int]) -> list[Task]:
    due, values, checkpoint = standing.due, standing.values, standing.checkpoint
    tasks: list[Task] = []
    for place in places:
        node, arg = due[place]
        record = standing.record(place)
        task = Task(place, shape.nodes[node], arg, values, checkpoint, record, facts, due)
        tasks.append(task)
    return tasks


def _settle(
    shape: Shape, tasks: Sequence[Task], standing: Standing, request: Request, *, saved: bool
) -> Generator[Effect, object, list[Task]]:
    """Wait for all tasks; commit those that settle early; return those that are uncommitted."""
    open_tasks = len(tasks)
    uncommitted: list[Task] = []
    while True:
        settled = yield SETTLE
        assert isinstance(settled, list)
        open_tasks -= len(settled)
        _refuse_clashes(shape, standing, settled)
        uncommitted.extend(settled)
        if not open_tasks:
            return uncommitted
        done = [task for task in uncommitted if task.good] if saved else ()
        if done:
            uncommitted = [task for task in uncommitted if not task.good]
            yield from commit_tasks(standing, "result", done, None)
            yield from _tell(request, done)


def _refuse_clashes(shape: Shape, standing: Standing, settled: Sequence[Task]) -> None:
    """Let a task fail that writes what a sibling has written and no reducer can join.

    It is found before either is committed, so that no superstep is kept that cannot end.
    """
    new = [
        (task, keys)
        for task in sorted(settled, key=lambda task: task.place)
        if task.good
        and (keys := {key for key, _ in task.writes if shape.channels[key].reducer is None})
    ]
    if not new:
        return  # as in a wide fan-out, where to look at all siblings each time would be slow
    written: dict[str, str] = {}
    for place, record in standing.records.items():
        if record.done is not None:
            written.update((key, standing.due[place][0]) for key, _ in record.done.writes)
    for task, keys in new:
        for key in sorted(keys & written.keys()):
            task.error = InvalidUpdateError(
                f"Nodes {written[key]!r} and {task.node.name!r} wrote the key {key!r} in the "
                "same step, and it has no reducer.",
                hint=f"Annotate it: {key}: Annotated[list, operator.add].",
                key=key,
            )
        if task.good:
            written.update(dict.fromkeys(keys, task.node.name))


def _tell(request: Request, tasks: Iterable[Task]) -> Part:
    """Tell what tasks wrote, once it is committed: nobody sees what may still be lost."""
    if not request.modes:
        return
    for task in tasks:
        if task.good:
            if "messages" in request.modes:
                for message, about in whole_messages(task):
                    yield Emit("messages", (message, about))
                    yield Emit("message_ends", (getattr(message, "id", None), message))
            if "updates" in request.modes:
                yield Emit("updates", {task.node.name: _shown(task)})


def _shown(task: Task) -> object:
    if isinstance(task.raw, dict):
        return task.raw
    return dict(task.writes) if task.writes else None


def _end_step(
    shape: Shape,
    standing: Standing,
    request: Request,
    facts: RunFacts,
    tasks: Sequence[Task],
    last: Sequence[Task],
) -> Generator[Effect, object, bool]:
    """Merge what all tasks wrote, and commit the superstep's end; return whether it has one."""
    for task in tasks:
        if not task.good:
            return False
    due, left = standing.due, _left(standing, last)
    if left is None:
        return False
    moves = _moves(standing, last) if standing.items else {}
    try:
        changed = advance(shape, standing, left)
        saved = facts.journal.saved
        draft = _draft(shape, standing, request, changed, last, len(left)) if saved else None
    except Exception as error:  # noqa: BLE001 - of a user's reducer or a value's own code
        blame(last, error)
        return False
    stop = not standing.due or (
        (request.before or request.after) and _stops(request, due, standing.due)
    )
    if not standing.due and standing.items and not facts.nested:
        _sweep(standing, moves)
    yield from commit_draft(standing, draft, tuple(moves.values()), "release" if stop else None)
    if request.modes:
        yield from _tell(request, last)
        if "values" in request.modes:
            yield Emit("values", standing)
        if "checkpoints" in request.modes:
            yield Emit("checkpoints", standing)
    return True


def _draft(
    shape: Shape,
    standing: Standing,
    request: Request,
    changed: Sequence[str],
    last: Sequence[Task],
    tasks: int,
) -> Draft:
    """Return the entry that ends a superstep of so many tasks."""
    wrote = Wrote({task.place: task.writes for task in last}, shape.folded, tasks == 1)
    told = standing.metadata != request.metadata
    if told:
        standing.metadata = dict(request.metadata)
    return checkpoint_draft(standing, "step", changed, wrote=wrote, told=told)


def _left(standing: Standing, last: Sequence[Task]) -> list[tuple[str, Done]] | None:
    """Return what every task of the superstep leaves, None where one has not finished."""
    if len(standing.due) == 1:
        return [(standing.due[0][0], last[0].done())]
    finished = {task.place: task.done() for task in last}
    if len(finished) < len(standing.due):
        for place, record in standing.records.items():
            if record.done is not None:
                finished[place] = record.done
        if len(finished) < len(standing.due):
            return None
    return [(node, finished[place]) for place, (node, _) in enumerate(standing.due)]


def _moves(standing: Standing, last: Sequence[Task]) -> dict[str, ItemChange]:
    """Return the moves of items that belong to a superstep's end."""
    moves: dict[str, ItemChange] = {}
    for task in last:
        moves.update(task.moves)
    for record in standing.records.values():
        moves.update((c.item.id, c) for c in delivered(standing, record, moves))
    return moves


def _stops(request: Request, ran: Iterable[Due], due: Iterable[Due]) -> bool:
    """Return whether the run stops between what ran and what is due."""
    return (bool(request.after) and _meets(request.after, ran)) or (
        bool(request.before) and _meets(request.before, due)
    )


_SWEEP = {
    "pending": "supersede",
    "decided": "withdraw",
    "cleared": "withdraw",
    "expired": "withdraw",
}


def _sweep(standing: Standing, moves: dict[str, ItemChange]) -> None:
    """Close what a finished run leaves open: nothing may be decided or run any more."""
    for item in standing.items.values():
        moved = moves.get(item.id)
        state = item.state if moved is None else moved.item.state
        if state in _SWEEP:
            name = _SWEEP[state]
            moves[item.id] = move(item, name) if moved is None else then(moved, name)


def _leave(
    standing: Standing, request: Request, tasks: Sequence[Task], last: list[Task], *, saved: bool
) -> Part:
    """Commit a superstep that cannot end: what was asked, what failed, what is done."""
    if saved:
        kind = "pause" if any(task.paused for task in tasks) else "result"
        yield from commit_tasks(standing, kind, last, "release")
    yield from _tell(request, last)
    paused = [task for task in tasks if task.paused]
    if paused or standing.items:
        yield from _remind(standing, request)
    if paused and "values" in request.modes:
        yield Emit("values", standing)
    if paused and "checkpoints" in request.modes:
        yield Emit("checkpoints", standing)
    for task in paused:
        if task.swallowed:
            warnings.warn(
                f"Node {task.node.name!r} went on after interrupt() had paused it; what it "
                "returned or raised is dropped.",
                RuntimeWarning,
                stacklevel=2,
            )
    errors = [task.error for task in tasks if task.error is not None and not task.paused]
    if errors:
        raise errors[0]


def _remind(standing: Standing, request: Request) -> Part:
    """Tell of everything that waits for a human, whichever run has asked it."""
    if "updates" not in request.modes:
        return
    for place in sorted(standing.records):
        record = standing.records[place]
        asked = waiting(standing.items, record) if record.done is None else ()
        if asked:
            shown = tuple(one.shown() for one in asked)
            yield Emit("updates", {INTERRUPT: shown})
