"""langgraph: resuming a long thread."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from benchmarks.measure import Figure, Scale, Trace, timed
from benchmarks.rivals.tell import tell


class State(TypedDict):
    """How far the loop has come, how far it goes, and what was answered last."""

    n: int
    until: int
    answer: object


def step(state: State) -> dict[str, int]:
    """Add one."""
    return {"n": state["n"] + 1}


def onward(state: State) -> Literal["step", "ask"]:
    """Go on until the loop has come far enough, then ask."""
    return "step" if state["n"] < state["until"] else "ask"


def ask(_state: State) -> dict[str, object]:
    """Ask, and keep the answer."""
    return {"answer": interrupt("go on?")}


def looping(saver: Any) -> Any:
    """Return a graph that makes many checkpoints, and asks again whenever it is answered."""
    graph = StateGraph(State)
    graph.add_node("step", step)
    graph.add_node("ask", ask)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", onward)
    graph.add_conditional_edges(
        "ask", lambda state: END if state["answer"] == "end" else "ask", ["ask", END]
    )
    return graph.compile(checkpointer=saver)


def figures(scale: Scale) -> list[Figure]:
    """Measure the peer; 100,000 checkpoints would take it minutes to make."""
    found = []
    times = 3 if scale.quick else 15
    for entries in (10, 100) if scale.quick else (10, 1000):
        saver = SqliteSaver(Trace(scale.file()).connection)
        config: Any = {"configurable": {"thread_id": "long"}, "recursion_limit": entries * 2 + 10}
        looping(saver).invoke({"n": 0, "until": entries, "answer": None}, config)
        cold = [looping(saver) for _ in range(times)]
        run = lambda: cold.pop().invoke(Command(resume=True), config)  # noqa: B023, E731
        title = f"resume, cold, a thread of {entries:,} entries"
        found.append(timed(title, run, times=times))
    return found


if __name__ == "__main__":
    tell(figures, "langgraph", "langgraph-checkpoint-sqlite")
