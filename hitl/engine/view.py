"""What callers are shown of a standing: outputs, snapshots, configs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hitl.engine.merge import initial, merge, own
from hitl.engine.schema import ROOT, Schema
from hitl.engine.shape import Shape
from hitl.engine.standing import Asked, Record, Standing
from hitl.engine.waits import waiting
from hitl.errors import InvalidUpdateError
from hitl.values import (
    Config,
    GraphOutput,
    Interrupt,
    Output,
    PregelTask,
    StateSnapshot,
    checkpoint_id,
    derive,
    iso,
)

__all__ = ["chosen", "config_of", "fits", "output", "result", "snapshot", "values_of"]


def config_of(thread: str, seq: int, pause: int = 0, *, space: str = "") -> Config:
    """Return the config that reads one checkpoint of a thread.

    Args:
        thread: The thread's id.
        seq: Number of the checkpoint, 0 for none.
        pause: Number of the pause to which an answer by position belongs, 0 for none.
        space: Of a run inside a task: the tasks around it.
    """
    place: dict[str, object] = {"thread_id": thread, "checkpoint_ns": space}
    if seq:
        place["checkpoint_id"] = checkpoint_id(seq)
    if pause:
        place["pause_id"] = checkpoint_id(pause)
    return {"configurable": place}


def values_of(schema: Schema, values: Mapping[str, object], *, hidden: bool) -> object:
    """Return the state's public values; lists, dicts and sets are the caller's own."""
    if schema.form == "root":
        return own(values.get(ROOT))
    return {
        name: own(values[name])
        for name in schema.channels
        if name in values and (hidden or schema.gives(name))
    }


def output(shape: Shape, standing: Standing) -> object:
    """Return what a run gives back."""
    return values_of(shape.output, standing.values, hidden=False)


def chosen(keys: str | tuple[str, ...], values: Mapping[str, object]) -> object:
    """Return the values of some keys, or the one of a key that is wanted by itself."""
    if isinstance(keys, str):
        return own(values.get(keys))
    return {key: own(values[key]) for key in keys if key in values}


def result(
    shape: Shape,
    standing: Standing,
    waits: tuple[Interrupt, ...],
    version: str,
    *,
    nested: bool = False,
    keys: str | tuple[str, ...] | None = None,
) -> GraphOutput | Output | object:
    """Return a run's result in the form that the caller asked for."""
    value = output(shape, standing) if keys is None else chosen(keys, standing.values)
    config = None
    if standing.thread and not nested:  # a run inside a task has no place of its own
        pause = standing.pause if waits else 0
        config = config_of(standing.thread, standing.checkpoint, pause)
    if version == "v2":
        if shape.output.typed and keys is None:
            value = shape.output.build(standing.values)
        return GraphOutput(value, waits, config)
    if not waits and not isinstance(value, dict):
        return value
    return Output(value, waits, config)


def snapshot(
    shape: Shape | None,
    standing: Standing,
    *,
    past: bool = False,
    inside: bool = False,
    space: str = "",
) -> StateSnapshot:
    """Return a thread at its checkpoint, as a caller sees it.

    Args:
        shape: The graph; None where it is not known, as of one that a function calls.
        standing: The thread at the checkpoint.
        past: Whether everything that was due and asked there is shown, with the values that a
            fork would begin from, in place of what is left of it now.
        inside: Whether a task shows where the run inside it stands, not only its config.
        space: Of a run inside a task: the tasks around it.
    """
    tasks = tuple(
        _task(shape, standing, place, past=past, inside=inside, space=space)
        for place in range(len(standing.due))
    )
    open_tasks = [
        task.name for place, task in enumerate(tasks) if past or not _is_done(standing, place)
    ]
    before = standing.before
    # In the past the values are those that a fork would begin from.
    known = standing.values if past or shape is None else _with_finished(shape, standing)
    values = {name: own(value) for name, value in known.items()}
    return StateSnapshot(
        values=values if shape is None else values_of(shape.schema, known, hidden=True),
        next=tuple(open_tasks),
        config=config_of(standing.thread, standing.checkpoint, space=space),
        metadata={
            **standing.metadata,
            "source": standing.source,
            "step": standing.step,
            "parents": {},
        },
        created_at=iso(standing.at),
        parent_config=config_of(standing.thread, before, space=space) if before else None,
        tasks=tasks,
        interrupts=tuple(one for task in tasks for one in task.interrupts),
    )


def fits(shown: StateSnapshot, wanted: Mapping[str, object]) -> bool:
    """Return whether a snapshot's metadata has all of these values."""
    metadata = shown.metadata or {}
    return all(key in metadata and metadata[key] == value for key, value in wanted.items())


def _is_done(standing: Standing, place: int) -> bool:
    record = standing.records.get(place)
    return record is not None and record.done is not None


def _with_finished(shape: Shape, standing: Standing) -> Mapping[str, object]:
    """Return the state with what finished tasks of an unfinished superstep have written."""
    done = [record.done for _, record in sorted(standing.records.items()) if record.done]
    if not done:
        return standing.values
    try:
        changed = merge(shape.channels, standing.values, [w for left in done for w in left.writes])
    except InvalidUpdateError:  # the superstep's end will say so
        return standing.values
    return {**standing.values, **changed}


def _everything(record: Record) -> list[Asked]:
    inner = [one for sub in record.subs.values() for one in sub.records.values()]
    return [*record.asked, *(asked for one in inner for asked in _everything(one))]


def _task(
    shape: Shape | None, standing: Standing, place: int, *, past: bool, inside: bool, space: str
) -> PregelTask:
    node = standing.due[place][0]
    record = standing.records.get(place) or Record()
    asked: Sequence[Asked] = ()
    if past:
        asked = _everything(record)
    elif record.done is None:
        asked = waiting(standing.items, record)
    id = derive(standing.salt, "task", standing.checkpoint, node, place)
    space = f"{space}|{node}:{id}" if space else f"{node}:{id}"
    return PregelTask(
        id=id,
        name=node,
        path=("__pregel_pull", node),
        error=record.error,
        interrupts=tuple(one.shown() for one in asked),
        state=_inside(shape, standing, place, past=past, inside=inside, space=space),
        result=dict(record.done.writes) if record.done is not None else None,
    )


def _inside(
    shape: Shape | None, standing: Standing, place: int, *, past: bool, inside: bool, space: str
) -> StateSnapshot | Config | None:
    """Return where the run inside a task stands: the first that has not ended."""
    record = standing.records.get(place)
    if record is None or record.done is not None:
        return None
    found = next((one for one in record.subs.items() if one[1].due and one[1].begun), None)
    if found is None:
        return None
    if not inside:
        return config_of(standing.thread, 0, space=space)
    key, inner = found
    node = None if shape is None else shape.nodes.get(standing.due[place][0])
    graph = None if node is None else node.graph
    known = graph.shape if graph is not None and key.endswith(f":{graph.name}") else None
    shown = replace(inner, thread=standing.thread, items=standing.items)
    if known is not None:
        shown.values = {**initial(known.channels), **inner.values}
    return snapshot(known, shown, past=past, inside=True, space=space)
