"""A store under load: decisions a second, pages of many pending items, resuming long threads."""

from __future__ import annotations

from typing import Literal, TypedDict

from benchmarks import bare as by_hand
from benchmarks.decider import decide_in
from benchmarks.measure import Figure, Scale, measure, timed
from benchmarks.pending import fill, item_id
from hitl import END, START, Command, Inbox, SqliteSaver, StateGraph, interrupt
from hitl.checkpoint import Checkpointer
from hitl.engine import CompiledStateGraph
from hitl.values import Config

__all__ = ["AIMS", "bare", "hitl", "looping"]

AIMS = {
    "pending items, first page of 100": "1 ms, of 1,000,000 too",
    "pending items, a page from the middle": "1 ms, of 1,000,000 too",
}


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


def looping(saver: Checkpointer) -> CompiledStateGraph:
    """Return a graph that makes many entries, and asks again whenever it is answered."""
    graph = StateGraph(State).add_node("step", step).add_node("ask", ask)
    graph.add_edge(START, "step").add_conditional_edges("step", onward)
    graph.add_conditional_edges("ask", lambda state: END if state["answer"] == "end" else "ask")
    return graph.compile(saver)


def hitl(scale: Scale) -> list[Figure]:
    """Measure ours."""
    return [*_decisions(scale), *_pages(scale), *_resumes(scale)]


def _decisions(scale: Scale) -> list[Figure]:
    """Measure decisions of different items, on the disk."""
    found = []
    count = 40 if scale.quick else 2000
    for synchronous in ("FULL", "NORMAL"):
        for processes in (1, 4):
            path = scale.file(disk=True)
            fill(path, count)
            pace = decide_in(processes, path, synchronous, count)
            cpu, wall = pace.cpu / count, pace.wall / count
            each = "one process" if processes == 1 else f"{processes} processes"
            title = f"decision, {synchronous} (disk), {each}"
            found.append(Figure(title, cpu, cpu, wall, wall, {"a second": 1e6 / wall}))
    return found


def _pages(scale: Scale) -> list[Figure]:
    """Measure what a reviewer's list shows, where very many threads wait."""
    count = 2000 if scale.quick else 1_000_000
    path = scale.file()
    fill(path, count)
    with SqliteSaver(path) as store:
        inbox = Inbox(store)
        middle = inbox.get(item_id(count // 2))
        after, thread = (middle.asked_at, middle.id), middle.thread
        works = {
            "pending items, first page of 100": inbox.pending,
            "pending items, a page from the middle": lambda: inbox.pending(after=after),
            "pending items, those of one thread": lambda: inbox.pending(thread=thread),
            "one pending item by its id": lambda: inbox.get(middle.id),
        }
        found = [measure(name, work, scale) for name, work in works.items()]
    path.unlink()
    for figure in found:
        figure.counts["items"] = count
    return found


def _resumes(scale: Scale) -> list[Figure]:
    """Measure an answer to a thread that this process has not seen yet, up to its next question."""
    found = []
    times = 3 if scale.quick else 15
    for entries in (10, 100) if scale.quick else (10, 1000, 100_000):
        with SqliteSaver(scale.file()) as store:
            config: Config = {"configurable": {"thread_id": "long"}, "recursion_limit": entries * 2}
            looping(store).invoke({"n": 0, "until": entries, "answer": None}, config)
            cold = [looping(store) for _ in range(times)]
            run = lambda: cold.pop().invoke(Command(resume=True), config)  # noqa: B023, E731
            title = f"resume, cold, a thread of {entries:,} entries"
            found.append(timed(title, run, times=times))
    return found


def bare(scale: Scale) -> list[Figure]:
    """Measure the decisions written by hand."""
    return by_hand.decisions(scale)
