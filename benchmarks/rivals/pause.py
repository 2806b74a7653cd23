"""langgraph: a run that asks a human, is answered, and ends."""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from benchmarks.measure import Figure, Scale, Trace, measure
from benchmarks.rivals.steps import thread
from benchmarks.rivals.tell import tell


class State(TypedDict):
    """What was answered."""

    answer: object


def ask(_state: State) -> dict[str, object]:
    """Ask, and keep the answer."""
    return {"answer": interrupt("go on?")}


def asking(saver: Any) -> Any:
    """Return a graph with one question."""
    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


def round_trip(app: Any) -> object:
    """Pause on a new thread, answer, and return what comes out."""
    config = thread()
    app.invoke({"answer": None}, config)
    return app.invoke(Command(resume=True), config)


def figures(scale: Scale) -> list[Figure]:
    """Measure the peer."""
    memory = asking(InMemorySaver())
    found = [measure("pause and resume, memory", lambda: round_trip(memory), scale)]
    for where, disk in (("RAM", False), ("disk", True)):
        trace = Trace(scale.file(disk=disk))
        app = asking(SqliteSaver(trace.connection))
        run = lambda app=app: round_trip(app)  # noqa: E731
        found.append(measure(f"pause and resume, SQLite ({where})", run, scale, trace=trace))
    return found


if __name__ == "__main__":
    tell(figures, "langgraph", "langgraph-checkpoint-sqlite")
