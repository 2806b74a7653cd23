"""Changing a thread by hand: as if a node had written it, now or at an earlier point."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Literal

from hitl.engine.begin import check_code, close, take_finished, take_input
from hitl.engine.commits import Overtaken, Part, checkpoint_draft, commit_checkpoint
from hitl.engine.effects import SETTLE, Effect, Ending, Load, Request, Start
from hitl.engine.merge import merge
from hitl.engine.plan import advance
from hitl.engine.record import record_body, task_tree
from hitl.engine.shape import Branch, Node, Shape
from hitl.engine.standing import NO_ARG, Done, Record, Standing
from hitl.engine.stepper import Steps
from hitl.engine.task import RunFacts, Task
from hitl.errors import Conflict, InvalidUpdateError, Misuse, Stale
from hitl.ledger import near
from hitl.values import END, START, Draft, ItemChange, StateUpdate

__all__ = ["updating"]

_INPUT = "__input__"
_COPY = "__copy__"
_TRIES = 20  # to take a thread that moves each time it has been read


def updating(
    shape: Shape,
    request: Request,
    facts: RunFacts,
    supersteps: Sequence[Sequence[StateUpdate]],
) -> Steps:
    """Write checkpoints as if nodes had run; return where the thread stands then.

    What waits on the thread is closed: the checkpoint is a new one, and its questions are asked
    anew when it is run.

    Args:
        shape: The graph.
        request: Names the checkpoint to begin from, if it is not the newest.
        facts: What tasks share.
        supersteps: For each checkpoint the updates that make it.

    Raises:
        InvalidUpdateError: An update does not fit, or it is not clear whose it is.
        Misuse: There are no updates.
    """
    if not supersteps or not all(supersteps):
        raise Misuse("There is nothing to update.", hint="Give [[StateUpdate(values)]].")
    shape = facts.shape = _with_ways(shape)
    error: Conflict | Stale | None = None
    for _ in range(_TRIES):
        try:
            standing = yield from _first(shape, request, facts, supersteps[0])
            break
        except Overtaken as overtaken:
            error = overtaken.error
    else:
        assert error is not None
        raise error
    for updates in supersteps[1:]:
        try:
            yield from _superstep(shape, request, facts, standing, updates)
        except Overtaken as overtaken:
            raise overtaken.error from None
    return Ending(standing)


def _first(
    shape: Shape, request: Request, facts: RunFacts, updates: Sequence[StateUpdate]
) -> Generator[Effect, object, Standing]:
    """Write the first checkpoint, which closes what waits and takes the thread."""
    standing = yield Load()
    assert isinstance(standing, Standing)
    facts.salt, facts.thread, facts.items = standing.salt, standing.thread, standing.items
    fork = bool(request.checkpoint) and request.checkpoint != standing.checkpoint
    closing = yield from close(request, facts, standing)
    if fork:
        standing = yield Load(request.checkpoint)
        assert isinstance(standing, Standing)
    facts.standing = standing
    yield from _superstep(shape, request, facts, standing, updates, closing, fork=fork)
    return standing


def _superstep(
    shape: Shape,
    request: Request,
    facts: RunFacts,
    standing: Standing,
    updates: Sequence[StateUpdate],
    closing: tuple[ItemChange, ...] = (),
    *,
    fork: bool = False,
) -> Part:
    first = updates[0]
    authors = [_author(shape, standing, update) for update in updates]
    special = [author for author in authors if author not in shape.nodes or author == START]
    if special and len(updates) > 1:
        raise InvalidUpdateError(
            f"An update with as_node={special[0]!r} is a superstep of its own.",
            hint="Give [[update], [update]].",
        )
    author = authors[0]
    if author in (_INPUT, START):
        given = {} if first.values is None else first.values
        yield from take_input(shape, request, facts, standing, given, closing, fork=fork)
        return
    kind: Literal["update", "fork"] = "update"
    kept: dict[int, Done] = {}
    changed: Sequence[str] = ()
    if special and first.values is not None:
        raise InvalidUpdateError(
            f"as_node={author!r} writes nothing, but values were given.", hint="Give None."
        )
    if author == _COPY:
        # A sibling of the checkpoint: it has the same parent.
        standing.checkpoint, fork, kind = standing.before, True, "fork"
        _stay(shape, standing)
    elif author == END:
        changed = take_finished(shape, standing)
        standing.due = []
        standing.drop_records()
        _stay(shape, standing)
    elif author is None:
        kept = _stay(shape, standing)
    else:
        changed, kept = yield from _written(shape, facts, standing, authors, updates)
    standing.source, standing.signature = kind, shape.signature
    standing.metadata = dict(request.metadata)
    drafts = [checkpoint_draft(standing, kind, changed, fork=fork, closed=closing)]
    if kept:
        standing.records = {place: Record(done=done) for place, done in kept.items()}
        trees = {p: task_tree(r, standing.due[p][0]) for p, r in standing.records.items()}
        drafts.append(Draft("result", record_body(trees)))
    yield from commit_checkpoint(standing, tuple(drafts), closing, "acquire")


def _stay(shape: Shape, standing: Standing) -> dict[int, Done]:
    """Begin the superstep that is due anew; return what its finished tasks left.

    Raises:
        Stale: Code has changed, and what is due is gone.
    """
    check_code(shape, standing)
    done = {p: record.done for p, record in standing.records.items() if record.done is not None}
    standing.drop_records()
    standing.step += 1
    return done


def _written(
    shape: Shape,
    facts: RunFacts,
    standing: Standing,
    authors: Sequence[str | None],
    updates: Sequence[StateUpdate],
) -> Generator[Effect, object, tuple[Sequence[str], dict[int, Done]]]:
    """Let nodes write; return the changed channels, and what stays of the superstep.

    What is due next follows from their edges, asked anew. A node without edges that ran last has
    chosen its way with a command, which nobody can ask for again: then that way is kept.
    """
    tasks = [
        _task(shape, standing, facts, place, str(author), update)
        for place, (author, update) in enumerate(zip(authors, updates, strict=True))
    ]
    yield from _run(tasks)
    left = [(task.node.name, task.done()) for task in tasks]
    names = {name for name, _ in left}
    leads = any(_leads(shape, name) for name in names) or any(done.goto for _, done in left)
    if not leads and names <= set(standing.ran):
        merged = merge(shape.channels, standing.values, [w for _, d in left for w in d.writes])
        kept = _stay(shape, standing)
        standing.values.update(merged)
        return list(merged), kept
    changed = take_finished(shape, standing)
    return list(dict.fromkeys([*changed, *advance(shape, standing, left)])), {}


def _with_ways(shape: Shape) -> Shape:
    """Return a graph in which nodes that choose their way by commands have edges in their place."""
    ways = {n.name: (Branch(n.onward, None),) for n in shape.nodes.values() if n.onward}
    return replace(shape, branches={**shape.branches, **ways}) if ways else shape


def _leads(shape: Shape, name: str) -> bool:
    """Return whether a node's edges say where to go after it."""
    return bool(shape.edges.get(name) or shape.branches.get(name) or shape.joins.get(name))


def _author(shape: Shape, standing: Standing, update: StateUpdate) -> str | None:
    """Return whose write an update is taken for; None for one that writes nothing."""
    name = update.as_node
    if name is not None:
        if name not in shape.nodes and name not in (_INPUT, _COPY, START, END):
            raise InvalidUpdateError(
                f"as_node={name!r} is no node of this graph.{near(name, shape.nodes)}",
                hint=f"Nodes: {', '.join(shape.nodes)}.",
                node=name,
            )
        return name
    if update.values is None:
        return None
    nodes = [node for node in shape.nodes if node != START]
    if not standing.checkpoint or (not standing.ran and len(nodes) > 1):
        return _INPUT
    if len(nodes) == 1:
        return nodes[0]
    if len(set(standing.ran)) == 1 and standing.ran[0] in shape.nodes:
        return standing.ran[0]
    raise InvalidUpdateError(
        "It is not clear which node the update is taken for.",
        hint=f"Give as_node=, one of: {', '.join(nodes)}.",
    )


def _task(
    shape: Shape,
    standing: Standing,
    facts: RunFacts,
    place: int,
    name: str,
    update: StateUpdate,
) -> Task:
    """Return a task that writes the update in place of what the node would have written."""

    def written(_: object) -> object:
        return update.values

    node: Node = replace(
        shape.nodes[name],
        fn=written,
        afn=None,
        injects=(),
        is_async=False,
        schema=None,
        retry=(),
        timeout=None,
    )
    return Task(place, node, NO_ARG, standing.values, standing.checkpoint, Record(), facts)


def _run(tasks: list[Task]) -> Generator[Effect, object, None]:
    yield Start(tasks)
    todo = len(tasks)
    while todo:
        settled = yield SETTLE
        assert isinstance(settled, list)
        todo -= len(settled)
    for task in tasks:
        if task.error is not None:
            raise task.error
