"""The one loop of the engine: what happens next, and what is committed together.

Theory of operation. ``steps`` is a generator that does no I/O. It yields effects and is sent
their replies; a sync and an async hand carry the same effects out. A run is

    Load, one opening commit, then per superstep: Start, Settle until all tasks have settled,
    one commit; and the last commit gives the thread's lease back.

The opening commit holds the lease and either the input or the decisions of an answer. Tasks
that settle before the last one of their superstep are committed as they come (``result``), so
that finished work is not run again; the last one shares its commit with the superstep's end
(``step``). A superstep that cannot end leaves a ``pause`` with what was asked, or a ``result``
with what failed. Whatever is committed is changed in the ``Standing`` at the same place, so
that a run that is cut after any effect is continued from the log as if it had not been.

No clock, randomness, logging or ``finally`` here: times come with receipts and from ``facts``,
salts come with the standing, and errors of nodes arrive as facts of settled tasks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence

from hitl.engine.begin import begin
from hitl.engine.commits import Part, ask_outcomes, commit_checkpoint, commit_tasks
from hitl.engine.effects import Effect, Emit, Ending, Load, Request, Settle, Start
from hitl.engine.plan import advance
from hitl.engine.shape import Shape
from hitl.engine.standing import Done, Standing
from hitl.engine.task import RunFacts, Task
from hitl.engine.waits import delivered, interrupts, ready
from hitl.errors import GraphRecursionError
from hitl.ledger import move
from hitl.values import INTERRUPT, Command, Interrupt, ItemChange

__all__ = ["steps"]

Steps = Generator[Effect, object, Ending]


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
    standing = yield Load()
    assert isinstance(standing, Standing)
    facts.salt, facts.thread, facts.items = standing.salt, standing.thread, standing.items
    yield from begin(shape, request, facts, standing)
    fresh = request.input is not None and not isinstance(request.input, Command)
    left, saved = request.limit, facts.journal.saved
    if "values" in request.modes:
        yield Emit("values", standing)
    while standing.due:
        if fresh and not request.before.isdisjoint(node for node, _ in standing.due):
            return Ending(standing)
        fresh = True
        if standing.records:
            yield from ask_outcomes(standing, facts)
        places = ready(standing)
        if not places:
            break
        if left == 0:
            raise _limit(request, standing)
        left -= 1
        tasks = [_task(shape, standing, facts, place) for place in places]
        yield Start(tasks)
        last = yield from _settle(tasks, standing, request, saved)
        done_nodes = [node for node, _ in standing.due]
        if all(task.error is None and task.asked is None for task in tasks) and (
            len(places) + _finished_before(standing, places) == len(standing.due)
        ):
            yield from _end_step(shape, standing, request, facts, tasks)
            if not request.after.isdisjoint(done_nodes):
                return Ending(standing)
            continue
        yield from _leave(standing, request, saved, tasks, last)
        break
    return Ending(standing, interrupts(standing))


def _limit(request: Request, standing: Standing) -> GraphRecursionError:
    names = ", ".join(sorted({node for node, _ in standing.due}))
    return GraphRecursionError(
        f"The run took {request.limit} supersteps without an end; due next: {names}.",
        hint='Look for a loop without exit, or raise config["recursion_limit"].',
        limit=request.limit,
    )


def _task(shape: Shape, standing: Standing, facts: RunFacts, place: int) -> Task:
    node, arg = standing.due[place]
    return Task(
        place,
        shape.nodes[node],
        arg,
        standing.values,
        standing.checkpoint,
        standing.record(place),
        facts,
    )


def _finished_before(standing: Standing, places: Sequence[int]) -> int:
    now = set(places)
    return sum(
        record.done is not None for place, record in standing.records.items() if place not in now
    )


def _settle(
    tasks: Sequence[Task], standing: Standing, request: Request, saved: bool
) -> Generator[Effect, object, list[Task]]:
    """Wait for all tasks; commit those that settle early; return those that are uncommitted."""
    open_tasks = len(tasks)
    uncommitted: list[Task] = []
    while True:
        settled = yield Settle()
        assert isinstance(settled, list)
        open_tasks -= len(settled)
        for task in settled:
            if task.error is None and task.asked is None and "updates" in request.modes:
                yield Emit("updates", {task.node.name: _shown(task)})
        uncommitted.extend(settled)
        if not open_tasks:
            return uncommitted
        done = [task for task in uncommitted if task.error is None and task.asked is None]
        if saved and done:
            yield from commit_tasks(standing, "result", done, None)
            uncommitted = [task for task in uncommitted if task not in done]


def _shown(task: Task) -> object:
    if isinstance(task.raw, dict):
        return task.raw
    return dict(task.writes) if task.writes else None


def _end_step(
    shape: Shape, standing: Standing, request: Request, facts: RunFacts, tasks: Sequence[Task]
) -> Part:
    """Merge what all tasks wrote, and commit the superstep's end."""
    moves = {id: change for task in tasks for id, change in task.moves.items()}
    left: list[tuple[str, Done]] = []
    for task in tasks:
        task.record.done = task.done()
    for place, (node, _) in enumerate(standing.due):
        record = standing.records[place]
        if record.done is not None:
            left.append((node, record.done))
        if standing.items:
            moves.update((c.item.id, c) for c in delivered(standing, record, moves))
    changed = advance(shape, standing, left)
    stop = (
        not standing.due
        or not request.before.isdisjoint(node for node, _ in standing.due)
        or not request.after.isdisjoint(node for node, _ in left)
    )
    if not standing.due and standing.items:
        moves.update((c.item.id, c) for c in _sweep(standing, moves))
    yield from commit_checkpoint(
        standing,
        "step",
        changed,
        tuple(moves.values()),
        "release" if stop else None,
        saved=facts.journal.saved,
    )
    if "values" in request.modes:
        yield Emit("values", standing)


_SWEEP = {"pending": "supersede", "decided": "withdraw", "cleared": "withdraw"}


def _sweep(standing: Standing, moved: Iterable[str]) -> list[ItemChange]:
    """Close what a finished run leaves open: nothing may be decided or run any more."""
    done = set(moved)
    return [
        move(item, _SWEEP[item.state])
        for item in standing.items.values()
        if item.state in _SWEEP and item.id not in done
    ]


def _leave(
    standing: Standing, request: Request, saved: bool, tasks: Sequence[Task], last: list[Task]
) -> Part:
    """Commit a superstep that cannot end: what was asked, what failed, what is done."""
    paused = [task.asked for task in tasks if task.asked is not None]
    errors = [task.error for task in tasks if task.error is not None and task.asked is None]
    if saved:
        yield from commit_tasks(standing, "pause" if paused else "result", last, "release")
    if "updates" in request.modes:
        for asked in paused:
            yield Emit("updates", {INTERRUPT: (Interrupt(asked.value, asked.id),)})
    if "values" in request.modes and paused:
        yield Emit("values", standing)
    if errors:
        raise errors[0]
