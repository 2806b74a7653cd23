"""A run that asks a human, is answered, and ends: the round trip."""

from __future__ import annotations

from typing import TypedDict

from benchmarks import bare as by_hand
from benchmarks.measure import Figure, Scale, Trace, measure
from benchmarks.steps import thread
from hitl import END, START, Command, InMemorySaver, SqliteSaver, StateGraph, interrupt
from hitl.checkpoint import Checkpointer
from hitl.engine import CompiledStateGraph

__all__ = ["AIMS", "bare", "hitl", "round_trip"]

AIMS = {
    "pause and resume, memory": "60 µs",
    "pause and resume, SQLite (RAM)": "150 µs, 4 commits",
}


class State(TypedDict):
    """What was answered."""

    answer: object


def ask(_state: State) -> dict[str, object]:
    """Ask, and keep the answer."""
    return {"answer": interrupt("go on?")}


def asking(saver: Checkpointer) -> CompiledStateGraph:
    """Return a graph with one question."""
    graph = StateGraph(State).add_node("ask", ask)
    return graph.add_edge(START, "ask").add_edge("ask", END).compile(saver)


def round_trip(app: CompiledStateGraph) -> object:
    """Pause on a new thread, answer, and return what comes out."""
    config = thread()
    app.invoke({"answer": None}, config)
    return app.invoke(Command(resume=True), config)


def hitl(scale: Scale) -> list[Figure]:
    """Measure ours."""
    memory = asking(InMemorySaver())
    found = [measure("pause and resume, memory", lambda: round_trip(memory), scale)]
    for where, disk in (("RAM", False), ("disk", True)):
        trace = Trace(scale.file(disk=disk))
        app = asking(SqliteSaver(trace.connection))
        run = lambda app=app: round_trip(app)  # noqa: E731
        found.append(measure(f"pause and resume, SQLite ({where})", run, scale, trace=trace))
    return found


def bare(scale: Scale) -> list[Figure]:
    """Measure the entries written by hand."""
    return by_hand.pause(scale)
