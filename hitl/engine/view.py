"""What callers are shown of a standing: outputs, snapshots, configs. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from hitl.engine.schema import ROOT, Schema
from hitl.engine.shape import Shape
from hitl.engine.standing import Record, Standing
from hitl.engine.waits import interrupts, waiting
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

__all__ = ["config_of", "output", "result", "snapshot", "values_of"]

_COPIED = (list, dict, set)


def config_of(thread: str, seq: int) -> Config:
    """Return the config that reads one checkpoint of a thread."""
    place: dict[str, object] = {"thread_id": thread, "checkpoint_ns": ""}
    if seq:
        place["checkpoint_id"] = checkpoint_id(seq)
    return {"configurable": place}


def values_of(schema: Schema, values: Mapping[str, object], *, hidden: bool) -> object:
    """Return the state's public values; lists, dicts and sets are the caller's own."""
    if schema.form == "root":
        return values.get(ROOT)
    return {
        name: values[name].copy() if type(values[name]) in _COPIED else values[name]  # type: ignore[attr-defined]
        for name in schema.channels
        if name in values and (hidden or name not in schema.hidden)
    }


def output(shape: Shape, standing: Standing) -> object:
    """Return what a run gives back."""
    return values_of(shape.output, standing.values, hidden=False)


def result(
    shape: Shape, standing: Standing, waits: tuple[Interrupt, ...], version: str
) -> GraphOutput | Output | object:
    """Return a run's result in the form that the caller asked for."""
    value = output(shape, standing)
    config = config_of(standing.thread, standing.checkpoint) if standing.thread else None
    if version == "v2":
        if shape.output.form in ("dataclass", "model"):
            value = shape.output.build(standing.values)
        return GraphOutput(value, waits, config)
    if shape.output.form == "root" and not waits and not isinstance(value, dict):
        return value
    return Output(value, waits, config)


def snapshot(shape: Shape, standing: Standing) -> StateSnapshot:
    """Return a thread at its checkpoint, as a caller sees it."""
    tasks = tuple(
        _task(standing, place, node)
        for place, (node, _) in enumerate(standing.due)
    )
    open_tasks = [
        task.name
        for place, task in enumerate(tasks)
        if (record := standing.records.get(place)) is None or record.done is None
    ]
    before = standing.before
    return StateSnapshot(
        values=values_of(shape.schema, standing.values, hidden=True),
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
        interrupts=interrupts(standing),
    )


def _task(standing: Standing, place: int, node: str) -> PregelTask:
    record = standing.records.get(place) or Record()
    asked: list[Interrupt] = []
    if record.done is None:
        asked = [Interrupt(one.value, one.id) for one in waiting(standing, record)]
    return PregelTask(
        id=derive(standing.salt, "task", standing.checkpoint, node, place),
        name=node,
        path=("__pregel_pull", node),
        error=record.error,
        interrupts=tuple(asked),
        result=dict(record.done.writes) if record.done is not None else None,
    )
