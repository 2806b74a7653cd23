"""langgraph: one trivial node of a chain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.measure import Figure, Scale, Trace, measure
from benchmarks.rivals.tell import tell

__all__ = ["thread"]

LENGTH = 10
LOOPS = 100


class State(TypedDict):
    """What the chain counts."""

    n: int


def add_one(state: State) -> State:
    """Add one."""
    return {"n": state["n"] + 1}


async def add_one_async(state: State) -> State:
    """Add one."""
    return {"n": state["n"] + 1}


def chain(saver: Any, node: Callable[[State], object] = add_one) -> Any:
    """Return a graph of nodes that follow one another."""
    graph = StateGraph(State)
    graph.add_sequence([(f"n{i}", node) for i in range(LENGTH)])
    graph.add_edge(START, "n0")
    graph.add_edge(f"n{LENGTH - 1}", END)
    return graph.compile(checkpointer=saver)


def loop() -> Any:
    """Return a graph that runs one node again and again."""
    graph = StateGraph(State)
    graph.add_node("n", add_one)
    graph.add_edge(START, "n")
    graph.add_conditional_edges("n", lambda state: END if state["n"] >= LOOPS else "n", ["n", END])
    return graph.compile()


_numbers = count()


def thread() -> Any:
    """Return the config of a new thread."""
    return {"configurable": {"thread_id": f"t{next(_numbers)}"}}


def figures(scale: Scale) -> list[Figure]:
    """Measure the peer."""
    plain, looping, memory = chain(None), loop(), chain(InMemorySaver())
    once: Any = {"recursion_limit": LOOPS * 2}
    found = [
        measure("step, no store", lambda: plain.invoke({"n": 0}), scale, units=LENGTH),
        measure(
            "step of a loop, no store", lambda: looping.invoke({"n": 0}, once), scale, units=LOOPS
        ),
        measure("step, memory", lambda: memory.invoke({"n": 0}, thread()), scale, units=LENGTH),
    ]
    for where, disk in (("RAM", False), ("disk", True)):
        trace = Trace(scale.file(disk=disk))
        app = chain(SqliteSaver(trace.connection))
        run = lambda app=app: app.invoke({"n": 0}, thread())  # noqa: E731
        found.append(measure(f"step, SQLite ({where})", run, scale, units=LENGTH, trace=trace))
    with asyncio.Runner() as runner:
        for name, saver in (("no store", None), ("memory", InMemorySaver())):
            app = chain(saver, add_one_async)
            run = lambda app=app: runner.run(app.ainvoke({"n": 0}, thread()))  # noqa: E731
            found.append(measure(f"async step, {name}", run, scale, units=LENGTH))
    return found


if __name__ == "__main__":
    tell(figures, "langgraph", "langgraph-checkpoint-sqlite")
