"""How a run begins: new input, an answer, a command, or going on. Part of the stepper."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from hitl.engine.commits import (
    Overtaken,
    Part,
    answer_kept,
    ask_outcomes,
    checkpoint_draft,
    commit_checkpoint,
    commit_draft,
    receipt_of,
    take_items,
)
from hitl.engine.effects import Append, Effect, Load, Look, Request
from hitl.engine.merge import merge
from hitl.engine.plan import check_input, read_goto
from hitl.engine.shape import Shape
from hitl.engine.standing import NO_ARG, Due, Standing
from hitl.engine.task import RunFacts
from hitl.engine.waits import has_lost, lost, ready, refuse_lost, unprobed
from hitl.errors import (
    EmptyInputError,
    InvalidUpdateError,
    Misuse,
    NoCheckpointer,
    Stale,
)
from hitl.ledger import bind, entries_of, is_map, move, near, overdue, resolve, then
from hitl.values import END, NO_ANSWER, START, Command, Item, ItemChange

__all__ = ["begin", "check_code", "close", "take_finished", "take_input"]


Begun = Generator[Effect, object, Standing]


def begin(shape: Shape, request: Request, facts: RunFacts, standing: Standing) -> Begun:
    """Take what the run was given and commit it; return where the run goes on from.

    Raises:
        HitlError: It cannot be taken; nothing was stored (but see ``Busy``).
    """
    given = request.input
    if request.checkpoint and request.checkpoint != standing.checkpoint:
        return (yield from _fork(shape, request, facts, standing))
    if given is None:
        yield from _go_on(shape, facts, standing)
    elif isinstance(given, Command):
        yield from _command(shape, request, facts, standing, given)
    else:
        closing = yield from close(request, facts, standing)
        yield from take_input(shape, request, facts, standing, given, closing)
    return standing


def _fork(shape: Shape, request: Request, facts: RunFacts, standing: Standing) -> Begun:
    """Go back to an earlier checkpoint and go on from there, on a branch of its own.

    Questions are asked anew, under new ids; what waits on the branch that is left is closed.
    """
    if isinstance(request.input, Command):
        raise Stale(
            f"Thread {standing.thread!r} stands at checkpoint {standing.checkpoint}, not at "
            f"{request.checkpoint}, which the config names.",
            hint="Leave checkpoint_id out to answer what waits now; invoke(None, config) goes "
            "back to it and asks again.",
            thread=standing.thread,
        )
    old = yield Load(request.checkpoint)
    assert isinstance(old, Standing)
    if request.input is None and not old.due:
        return old
    check_code(shape, old)
    closing = yield from close(request, facts, standing)
    if request.input is not None:
        yield from take_input(shape, request, facts, old, request.input, closing, fork=True)
        return old
    old.step += 1
    old.source = "fork"
    old.metadata = dict(request.metadata)
    old.signature = shape.signature
    draft = checkpoint_draft(old, "fork", (), fork=True, closed=closing)
    yield from commit_draft(old, draft, closing, "acquire")
    return old


def _go_on(shape: Shape, facts: RunFacts, standing: Standing) -> Part:
    if not standing.checkpoint:
        raise EmptyInputError(
            "There is nothing to run: the input is None and the thread is new.",
            hint="Give an input, or check the thread_id.",
            thread=standing.thread,
        )
    if not standing.due:
        return
    check_code(shape, standing)
    if not facts.journal.saved:
        return
    expired = _expired(facts, standing)
    if expired or ready(standing) or has_lost(standing):
        receipt_of((yield Append(entries_of(expired), tuple(expired), "acquire")))
        take_items(standing, expired)


def _expired(
    facts: RunFacts, standing: Standing, changes: Sequence[ItemChange] = ()
) -> list[ItemChange]:
    """Return the changes that expire what nobody decided in time, beside those being made.

    What waits on a thread is the outermost run's, which expires it for the runs inside it.
    """
    if facts.nested or not facts.journal.saved:
        return []
    changed = {change.item.id for change in changes}
    rest = (item for item in standing.items.values() if item.id not in changed)
    return overdue(rest, facts.now())


def check_code(shape: Shape, standing: Standing) -> None:
    """Refuse to go on with a graph that no longer has what is due; the thread stays as it is.

    Raises:
        Stale: A node or a state key is gone.
    """
    done = [record.done for record in standing.records.values() if record.done is not None]
    wanted = [*standing.due, *(due for left in done for due in left.goto)]
    for node, _ in wanted:
        if node not in shape.nodes and node != END:
            raise Stale(
                f"Thread {standing.thread!r} is to go on with node {node!r}, which this graph "
                f"does not have.{near(node, shape.nodes)}",
                hint=f"Its nodes: {', '.join(shape.nodes)}. Resume with code that still has "
                "the node; the thread is untouched.",
                thread=standing.thread,
                node=node,
            )
    if standing.signature == shape.signature or not standing.due:
        return
    keys = [*standing.values, *(key for left in done for key, _ in left.writes)]
    gone = sorted({key for key in keys if key not in shape.channels})
    if gone:
        raise Stale(
            f"Thread {standing.thread!r} has the state keys {', '.join(gone)}, which this "
            f"graph does not have.{near(gone[0], shape.channels)}",
            hint="Resume with code that still has them; the thread is untouched.",
            thread=standing.thread,
            keys=tuple(gone),
        )


def _command(
    shape: Shape, request: Request, facts: RunFacts, standing: Standing, command: Command
) -> Part:
    if command.graph is not None:
        raise InvalidUpdateError(
            f"Command(graph={command.graph!r}) was given to the outermost graph.",
            hint="It is for nodes of a graph inside another one.",
        )
    goto = read_goto(shape, command.targets(), "The command")
    if command.resume is NO_ANSWER and command.update is None and not goto:
        raise EmptyInputError("Command() says nothing.", hint="Give resume=, update= or goto=.")
    answer: Mapping[str, object] | None = None
    changes: list[ItemChange] = []
    if command.resume is not NO_ANSWER:
        answer = _bound(request, facts, standing, command.resume)
    check_code(shape, standing)
    try:
        if answer is not None:
            changes = yield from _answers(request, facts, standing, answer)
        if command.update is not None or goto:
            changes += _expired(facts, standing, changes)
            standing.metadata = dict(request.metadata)
            yield from _update(shape, facts, standing, command.update, goto, changes)
        elif changes:
            changes += _expired(facts, standing, changes)
            yield from _decide(request, standing, changes)
        else:
            yield from _go_on(shape, facts, standing)
    except Overtaken as overtaken:
        overtaken.answer = answer
        raise


def _bound(
    request: Request, facts: RunFacts, standing: Standing, given: object
) -> Mapping[str, object] | None:
    """Return an answer by the ids it is for, None where nothing is asked and it only goes on."""
    if request.pause and request.pause != standing.pause and not is_map(given):
        raise Stale(
            f"The config names a pause of thread {standing.thread!r} that has been answered; "
            "another question waits now.",
            hint="Look at the newest result, or answer by id.",
            thread=standing.thread,
        )
    if not facts.journal.saved:
        raise NoCheckpointer(
            "There is nothing to resume: the graph was compiled without a checkpointer.",
            hint="compile(checkpointer=SqliteSaver('runs.db')).",
        )
    if _stands(standing) and not is_map(given):
        return None
    return bind(standing.items, given, thread=standing.thread)


def _stands(standing: Standing) -> bool:
    """Return whether a run has stopped before a node and asks nothing: any answer goes on.

    Not so where a node has failed, nor where an update by hand has closed what was asked.
    """
    failed = any(record.error is not None for record in standing.records.values())
    by_run = standing.source in ("input", "loop")
    return bool(standing.due) and by_run and not standing.items and not failed


def _answers(
    request: Request, facts: RunFacts, standing: Standing, answer: Mapping[str, object]
) -> Generator[Effect, object, list[ItemChange]]:
    found: dict[str, list[Item]] = {}
    known = {item.interrupt for item in standing.items.values()} | standing.items.keys()
    strangers = tuple(id for id in answer if id not in known)
    if strangers:
        reply = yield Look(strangers)
        assert isinstance(reply, list)
        for item in reply:
            for id in {item.id, item.interrupt}:
                found.setdefault(id, []).append(item)
    return resolve(
        standing.items,
        answer,
        thread=standing.thread,
        lookup=lambda id: found.get(id, ()),
        by=request.by,
        at=facts.now(),
    )


def _update(
    shape: Shape,
    facts: RunFacts,
    standing: Standing,
    update: object,
    goto: Sequence[Due],
    changes: Sequence[ItemChange],
) -> Part:
    """Commit a command's update, and the answer that comes with it, as one transaction."""
    written: Sequence[str] = ()
    if update is not None:
        writes = shape.schema.writes(update, "Command(update=...)")
        changed = merge(shape.channels, standing.values, writes.items())
        standing.values.update(changed)
        written = list(changed)
    for due in goto:
        if due[0] in shape.nodes and not _awaits(standing, due):
            standing.due.append(due)
    standing.source = "update"
    standing.signature = shape.signature
    if not facts.journal.saved:
        yield from commit_draft(standing, None, (), None)
        return
    draft = checkpoint_draft(standing, "update", written, keep=True)
    drafts = (*entries_of(changes), draft)
    yield from commit_checkpoint(standing, drafts, tuple(changes), "acquire")


def _awaits(standing: Standing, due: Due) -> bool:
    """Return whether a node is to run in this superstep anyhow; each ``Send`` is a task more."""
    done = [place for place, record in standing.records.items() if record.done is not None]
    return due[1] is NO_ARG and any(
        known == due and place not in done for place, known in enumerate(standing.due)
    )


def _decide(request: Request, standing: Standing, changes: Sequence[ItemChange]) -> Part:
    drafts = entries_of(changes)
    receipt = receipt_of((yield Append(drafts, tuple(changes), "acquire", decision=True)))
    take_items(standing, changes)
    if receipt.fence is None:
        if not request.waits:
            raise answer_kept(standing.thread)
        # Where that run has delivered it meanwhile, the thread has moved: the run begins anew,
        # and finds the answer taken.
        receipt_of((yield Append((), (), "acquire")))


def take_input(
    shape: Shape,
    request: Request,
    facts: RunFacts,
    standing: Standing,
    given: object,
    closing: tuple[ItemChange, ...],
    *,
    fork: bool = False,
) -> Part:
    """Begin anew with an input, on top of the state as it stands.

    Raises:
        Misuse: The input does not fit the state.
    """
    check_input(given)
    writes = shape.input.writes(shape.input.check_input(given), "The input")
    marks = shape.input.hidden
    hidden = [name for name in writes if name in marks and marks[name].from_input]
    if hidden:
        raise Misuse(f"The input sets {', '.join(hidden)}, which only nodes may write.")
    # Siblings that finished before the pause have done their work: their results are kept.
    changed = take_finished(shape, standing)
    if shape.prepare is not None:
        writes = shape.prepare(standing.values, writes, facts.lost_calls)
    merged = merge(shape.channels, standing.values, writes.items())
    standing.values.update(merged)
    changed = list(dict.fromkeys([*changed, *merged]))
    standing.due = _first(shape)
    standing.ran = []
    standing.drop_records()
    standing.arrived = {}
    standing.step += 1
    standing.source = "input"
    standing.signature = shape.signature
    standing.metadata = dict(request.metadata)
    saved = facts.journal.saved
    draft = None
    if saved:
        draft = checkpoint_draft(standing, "input", changed, fork=fork, closed=closing)
    yield from commit_draft(standing, draft, closing, "acquire")


def take_finished(shape: Shape, standing: Standing) -> list[str]:
    """Merge what the finished tasks of an open superstep wrote; return the changed channels."""
    if not standing.records:
        return []
    writes = [
        write
        for place in sorted(standing.records)
        if (done := standing.records[place].done) is not None
        for write in done.writes
    ]
    changed = merge(shape.channels, standing.values, writes)
    standing.values.update(changed)
    return list(changed)


def _first(shape: Shape) -> list[tuple[str, object]]:
    if START in shape.nodes:
        return [(START, NO_ARG)]
    return [(name, NO_ARG) for name in sorted(shape.edges[START]) if name in shape.nodes]


_CLOSE = {
    "pending": "supersede",
    "decided": "withdraw",
    "cleared": "withdraw",
    "expired": "withdraw",
}


def close(
    request: Request, facts: RunFacts, standing: Standing
) -> Generator[Effect, object, tuple[ItemChange, ...]]:
    """Close what still waits, since the thread goes on without it.

    Raises:
        OutcomeUnknown: A call was started and left no result, and nobody has settled that.
    """
    if facts.nested:
        return ()  # what waits on the thread is the outermost run's
    if not standing.records and not standing.items:
        facts.lost_calls = frozenset()
        return ()  # nothing does
    if any(map(lost, standing.records.values())):
        receipt_of((yield Append((), (), "acquire")))
        yield from ask_outcomes(standing, facts, "release")
    unsettled = [item for item in standing.items.values() if item.kind == "outcome"]
    unasked = [intent.subject for intent in unprobed(standing)]
    if (unsettled or unasked or has_lost(standing)) and request.unknown == "refuse":
        raise refuse_lost(standing)
    ids = [str(one.get("call_id") or "") for one in unasked if isinstance(one, dict)]
    facts.lost_calls = frozenset([*ids, *(item.call_id for item in unsettled)])
    changes: list[ItemChange] = []
    for item in standing.items.values():
        if item.state in _CLOSE:
            changes.append(move(item, _CLOSE[item.state]))
        elif item.state == "uncertain":
            changes.append(move(item, "abandon"))
        elif item.state == "started":
            changes.append(then(move(item, "lose"), "abandon"))
    return tuple(changes)
