"""What callers are shown of a standing: outputs, snapshots, configs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hitl.engine.merge import merge, own
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

__all__ = ["config_of", "fits", "output", "result", "snapshot", "values_of"]


def config_of(thread: str, seq: int, pause: int = 0) -> Config:
    """Return the config that reads one checkpoint of a thread.

    Args:
        thread: The thread's id.
        seq: Number of the checkpoint, 0 for none.
        pause: Number of the pause to which an answer by position belongs, 0 for none.
    """
    place: dict[str, object] = {"thread_id": thread, "checkpoint_ns": ""}
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
        if name in values and (hidden or name not in schema.hidden)
    }


def output(shape: Shape, standing: Standing) -> object:
    """Return what a run gives back."""
    return values_of(shape.output, standing.values, hidden=False)


def result(
    shape: Shape,
    standing: Standing,
    waits: tuple[Interrupt, ...],
    version: str,
    *,
    nested: bool = False,
) -> GraphOutput | Output | object:
    """Return a run's result in the form that the caller asked for."""
    value = output(shape, standing)
    config = None
    if standing.thread and not nested:  # a run inside a task has no place of its own
        pause = standing.pause if waits else 0
        config = config_of(standing.thread, standing.checkpoint, pause)
    if version == "v2":
        if shape.output.form in ("dataclass", "model"):
            value = shape.output.build(standing.values)
        return GraphOutput(value, waits, config)
    if shape.output.form == "root" and not waits and not isinstance(value, dict):
        return value
    return Output(value, waits, config)


def snapshot(shape: Shape, standing: Standing, *, past: bool = False) -> StateSnapshot:
    """Return a thread at its checkpoint, as a caller sees it.

    Args:
        shape: The graph.
        standing: The thread at the checkpoint.
        past: Whether the thread has gone on since: then everything that was due and asked
            there is shown, in place of what is left of it.
    """
    tasks = tuple(
        _task(standing, place, node, past=past) for place, (node, _) in enumerate(standing.due)
    )
    open_tasks = [
        task.name for place, task in enumerate(tasks) if past or not _is_done(standing, place)
    ]
    before = standing.before
    return StateSnapshot(
        values=values_of(shape.schema, _with_finished(shape, standing), hidden=True),
        next=tuple(open_tasks),
        config=config_of(standing.thread, standing.checkpoint),
        metadata={
            "source": standing.source,
            "step": standing.step,
            "parents": {},
            **standing.metadata,
        },
        created_at=iso(standing.at),
        parent_config=config_of(standing.thread, before) if before else None,
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


def _task(standing: Standing, place: int, node: str, *, past: bool) -> PregelTask:
    record = standing.records.get(place) or Record()
    asked: Sequence[Asked] = ()
    if past:
        asked = _everything(record)
    elif record.done is None:
        asked = waiting(standing.items, record)
    return PregelTask(
        id=derive(standing.salt, "task", standing.checkpoint, node, place),
        name=node,
        path=("__pregel_pull", node),
        error=record.error,
        interrupts=tuple(one.shown() for one in asked),
        result=dict(record.done.writes) if record.done is not None else None,
    )
