"""One trivial node of a chain or a loop: without a store, in memory, in SQLite; sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import TypedDict

from benchmarks import bare as by_hand
from benchmarks.measure import Figure, Scale, Trace, measure
from hitl import END, START, InMemorySaver, SqliteSaver, StateGraph
from hitl.checkpoint import Checkpointer
from hitl.engine import CompiledStateGraph
from hitl.values import Config

__all__ = ["AIMS", "LENGTH", "bare", "chain", "hitl", "thread"]

LENGTH = 10
LOOPS = 100

AIMS = {
    "step, no store": "5 µs, 60 calls",
    "step, memory": "15 µs",
    "step, SQLite (RAM)": "35 µs, 120 calls, 1.1 commits",
    "async step, no store": "8 µs",
}


class State(TypedDict):
    """What the chain counts."""

    n: int


def add_one(state: State) -> State:
    """Add one."""
    return {"n": state["n"] + 1}


async def add_one_async(state: State) -> State:
    """Add one."""
    return {"n": state["n"] + 1}


def loop(saver: Checkpointer | None) -> CompiledStateGraph:
    """Return a graph that runs one node again and again."""
    graph = StateGraph(State).add_node("n", add_one).add_edge(START, "n")
    graph.add_conditional_edges("n", lambda state: END if state["n"] >= LOOPS else "n")
    return graph.compile(saver)


def chain(
    saver: Checkpointer | None,
    length: int = LENGTH,
    node: Callable[[State], object] = add_one,
) -> CompiledStateGraph:
    """Return a graph of nodes that follow one another."""
    graph = StateGraph(State).add_sequence([(f"n{i}", node) for i in range(length)])
    graph.add_edge(START, "n0").add_edge(f"n{length - 1}", END)
    return graph.compile(saver)


_numbers = count()


def thread() -> Config:
    """Return the config of a new thread."""
    return {"configurable": {"thread_id": f"t{next(_numbers)}"}}


def hitl(scale: Scale) -> list[Figure]:
    """Measure ours."""
    plain, looping = chain(None), loop(None)
    memory = chain(InMemorySaver())
    found = [
        measure("step, no store", lambda: plain.invoke({"n": 0}), scale, units=LENGTH),
        measure("step of a loop, no store", lambda: looping.invoke({"n": 0}), scale, units=LOOPS),
        measure("step, memory", lambda: memory.invoke({"n": 0}, thread()), scale, units=LENGTH),
    ]
    for where, disk in (("RAM", False), ("disk", True)):
        trace = Trace(scale.file(disk=disk))
        app = chain(SqliteSaver(trace.connection))
        run = lambda app=app: app.invoke({"n": 0}, thread())  # noqa: E731
        found.append(measure(f"step, SQLite ({where})", run, scale, units=LENGTH, trace=trace))
    return found + _async(scale)


def _async(scale: Scale) -> list[Figure]:
    found = []
    trace = Trace(scale.file())
    savers = {"no store": None, "memory": InMemorySaver(), "SQLite (RAM)": trace}
    with asyncio.Runner() as runner:
        for name, saver in savers.items():
            store = SqliteSaver(saver.connection) if isinstance(saver, Trace) else saver
            app = chain(store, node=add_one_async)
            run = lambda app=app: runner.run(app.ainvoke({"n": 0}, thread()))  # noqa: E731
            counted = trace if saver is trace else None
            title = f"async step, {name}"
            found.append(measure(title, run, scale, units=LENGTH, trace=counted))
    return found


def bare(scale: Scale) -> list[Figure]:
    """Measure the loop written by hand."""
    return by_hand.chain(scale, LENGTH)
