"""One task of a fan-out by ``Send``: 100, 1,000 and 10,000 wide, where it must cost the same."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, TypedDict

from benchmarks import bare as by_hand
from benchmarks.measure import Figure, Scale, Trace, measure, timed
from benchmarks.steps import thread
from hitl import END, START, InMemorySaver, Send, SqliteSaver, StateGraph
from hitl.checkpoint import Checkpointer
from hitl.engine import CompiledStateGraph

__all__ = ["AIMS", "WIDTH", "bare", "hitl"]

WIDTH = 100

AIMS = {"fan-out task, no store": "8 µs", "async fan-out task, no store": "8 µs"}


class State(TypedDict):
    """What the tasks have seen."""

    seen: Annotated[list[int], operator.add]


def work(i: int) -> dict[str, list[int]]:
    """Say which number it was."""
    return {"seen": [i]}


async def work_async(i: int) -> dict[str, list[int]]:
    """Say which number it was."""
    return {"seen": [i]}


def fan(
    saver: Checkpointer | None, *, is_async: bool = False, width: int = WIDTH
) -> CompiledStateGraph:
    """Return a graph that fans out and ends."""
    graph = StateGraph(State).add_node("work", work_async if is_async else work)
    graph.add_conditional_edges(START, lambda _: [Send("work", i) for i in range(width)])
    return graph.add_edge("work", END).compile(saver)


def hitl(scale: Scale) -> list[Figure]:
    """Measure ours."""
    plain, memory, trace = fan(None), fan(InMemorySaver()), Trace(scale.file())
    kept = fan(SqliteSaver(trace.connection))
    empty: dict[str, list[int]] = {"seen": []}
    found = [
        measure("fan-out task, no store", lambda: plain.invoke(empty), scale, units=WIDTH),
        measure("fan-out task, memory", lambda: memory.invoke(empty, thread()), scale, units=WIDTH),
        measure(
            "fan-out task, SQLite (RAM)",
            lambda: kept.invoke(empty, thread()),
            scale,
            units=WIDTH,
            trace=trace,
        ),
    ]
    with asyncio.Runner() as runner:
        app = fan(None, is_async=True)
        run = lambda: runner.run(app.ainvoke(empty))  # noqa: E731
        found.append(measure("async fan-out task, no store", run, scale, units=WIDTH))
    return found + _wide(scale)


def _wide(scale: Scale) -> list[Figure]:
    """Measure a task of fan-outs that are ten times as wide as one another."""
    found = []
    times = 2 if scale.quick else 7
    with asyncio.Runner() as runner:
        for width in (100, 1000) if scale.quick else (1000, 10_000):
            for name, work in _of_width(width, runner).items():
                found.append(timed(f"{name}, {width:,} wide", work, units=width, times=times))
    return found


def _of_width(width: int, runner: asyncio.Runner) -> dict[str, Callable[[], object]]:
    """Return fan-outs of one width, by hand and store."""
    empty: dict[str, list[int]] = {"seen": []}
    plain, kept = fan(None, width=width), fan(InMemorySaver(), width=width)
    awaited = fan(None, is_async=True, width=width)
    saved = fan(InMemorySaver(), is_async=True, width=width)
    return {
        "fan-out task, no store": lambda: plain.invoke(empty),
        "fan-out task, memory": lambda: kept.invoke(empty, thread()),
        "async fan-out task, no store": lambda: runner.run(awaited.ainvoke(empty)),
        "async fan-out task, memory": lambda: runner.run(saved.ainvoke(empty, thread())),
    }


def bare(scale: Scale) -> list[Figure]:
    """Measure the loop written by hand."""
    return by_hand.fan_out(scale, WIDTH)
