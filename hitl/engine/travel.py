"""Changing a thread by hand: as if a node had written it, now or at an earlier point."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from hitl.engine.begin import close, take_finished, take_input
from hitl.engine.commits import Part, checkpoint_draft, commit_draft
from hitl.engine.effects import SETTLE, Effect, Ending, Load, Request, Start
from hitl.engine.plan import advance
from hitl.engine.shape import Node, Shape
from hitl.engine.standing import NO_ARG, Record, Standing
from hitl.engine.stepper import Steps
from hitl.engine.task import RunFacts, Task
from hitl.errors import InvalidUpdateError, Misuse
from hitl.ledger import near
from hitl.values import END, START, ItemChange, StateUpdate

__all__ = ["updating"]

_INPUT = "__input__"
_COPY = "__copy__"


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
    standing = yield Load()
    assert isinstance(standing, Standing)
    facts.salt, facts.thread, facts.items = standing.salt, standing.thread, standing.items
    fork = bool(request.checkpoint) and request.checkpoint != standing.checkpoint
    closing = yield from close(request, facts, standing)
    if fork:
        standing = yield Load(request.checkpoint)
        assert isinstance(standing, Standing)
    for updates in supersteps:
        yield from _superstep(shape, request, facts, standing, updates, closing, fork)
        closing, fork = (), False
    return Ending(standing)


def _superstep(
    shape: Shape,
    request: Request,
    facts: RunFacts,
    standing: Standing,
    updates: Sequence[StateUpdate],
    closing: tuple[ItemChange, ...],
    fork: bool,
) -> Part:
    first = updates[0]
    authors = [_author(shape, standing, update) for update in updates]
    if authors[0] in (_INPUT, START):
        if len(updates) > 1:
            raise InvalidUpdateError("An input is a superstep of its own.")
        given = {} if first.values is None else first.values
        yield from take_input(shape, request, facts, standing, given, closing, fork=fork)
        return
    changed: list[str] = []
    if authors[0] in (_COPY, END, None):
        if len(updates) > 1 or first.values is not None:
            raise InvalidUpdateError(
                f"as_node={authors[0]!r} writes nothing and stands alone.", hint="Give None."
            )
        if authors[0] == _COPY:
            # A sibling of the checkpoint: it has the same parent.
            standing.checkpoint, fork = standing.before, True
        elif authors[0] == END:
            changed = take_finished(shape, standing)
            standing.due = []
        standing.records = {}
        standing.step += 1
    else:
        changed = take_finished(shape, standing)
        tasks = [
            _task(shape, standing, facts, place, str(author), update)
            for place, (author, update) in enumerate(zip(authors, updates, strict=True))
        ]
        yield from _run(tasks)
        left = [(task.node.name, task.done()) for task in tasks]
        changed = list(dict.fromkeys([*changed, *advance(shape, standing, left)]))
    kind = "fork" if authors[0] == _COPY else "update"
    standing.source, standing.signature = kind, shape.signature
    draft = checkpoint_draft(standing, kind, changed, fork=fork)
    yield from commit_draft(standing, draft, closing, "acquire")


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
    if not standing.checkpoint or (standing.source == "input" and len(nodes) > 1):
        return _INPUT
    if len(nodes) == 1:
        return nodes[0]
    if len(set(standing.ran)) == 1:
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
