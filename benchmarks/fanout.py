"""One task of a 100-wide fan-out by ``Send``."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, TypedDict

from benchmarks import bare as by_hand
from benchmarks.measure import Figure, Scale, Trace, measure
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


def spread(_state: State) -> list[Send]:
    """Send each number to a task of its own."""
    return [Send("work", i) for i in range(WIDTH)]


def work(i: int) -> dict[str, list[int]]:
    """Say which number it was."""
    return {"seen": [i]}


async def work_async(i: int) -> dict[str, list[int]]:
    """Say which number it was."""
    return {"seen": [i]}


def fan(saver: Checkpointer | None, *, is_async: bool = False) -> CompiledStateGraph:
    """Return a graph that fans out and ends."""
    graph = StateGraph(State).add_node("work", work_async if is_async else work)
    return graph.add_conditional_edges(START, spread).add_edge("work", END).compile(saver)


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
    return found


def bare(scale: Scale) -> list[Figure]:
    """Measure the loop written by hand."""
    return by_hand.fan_out(scale, WIDTH)
