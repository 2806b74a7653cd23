"""langgraph: one task of a 100-wide fan-out."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from benchmarks.measure import Figure, Scale, Trace, measure
from benchmarks.rivals.steps import thread
from benchmarks.rivals.tell import tell

WIDTH = 100


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


def fan(saver: Any, *, is_async: bool = False) -> Any:
    """Return a graph that fans out and ends."""
    graph = StateGraph(State)
    graph.add_node("work", work_async if is_async else work)
    graph.add_conditional_edges(START, spread, ["work"])
    graph.add_edge("work", END)
    return graph.compile(checkpointer=saver)


def figures(scale: Scale) -> list[Figure]:
    """Measure the peer."""
    empty: dict[str, list[int]] = {"seen": []}
    found = []
    trace = Trace(scale.file())
    savers = (None, InMemorySaver(), SqliteSaver(trace.connection))
    for name, saver in zip(("no store", "memory", "SQLite (RAM)"), savers, strict=True):
        app = fan(saver)
        run = lambda app=app: app.invoke(empty, thread())  # noqa: E731
        counted = trace if name.startswith("SQLite") else None
        title = f"fan-out task, {name}"
        found.append(measure(title, run, scale, units=WIDTH, trace=counted))
    with asyncio.Runner() as runner:
        app = fan(None, is_async=True)
        run = lambda: runner.run(app.ainvoke(empty))  # noqa: E731
        found.append(measure("async fan-out task, no store", run, scale, units=WIDTH))
    return found


if __name__ == "__main__":
    tell(figures, "langgraph")
