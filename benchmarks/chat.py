"""A long chat: one message of 500 bytes a turn. Time and bytes must grow with its length only."""

from __future__ import annotations

import operator
from typing import Annotated, TypedDict

from benchmarks.bare import sqlite_log
from benchmarks.measure import Figure, Scale, Trace, timed
from hitl import END, START, SqliteSaver, StateGraph
from hitl.checkpoint import Checkpointer
from hitl.engine import CompiledStateGraph
from hitl.values import Config

__all__ = ["AIMS", "bare", "hitl"]

AIMS = {
    "chat, whole": "0.6 s and 1.2 MB for 1,000 turns",
    "chat, one of the last turns": "as the first",
    "chat, get_state, cold": "12 ms",
    "chat, history page of 20": "20 ms",
}

Message = dict[str, str]


class State(TypedDict):
    """The conversation."""

    messages: Annotated[list[Message], operator.add]


def listen(_state: State) -> None:
    """Take the message, and write nothing."""


def chatting(saver: Checkpointer) -> CompiledStateGraph:
    """Return a graph whose every run is one turn."""
    graph = StateGraph(State).add_node("listen", listen)
    return graph.add_edge(START, "listen").add_edge("listen", END).compile(saver)


def message(i: int) -> Message:
    """Return a message of 500 bytes."""
    return {"role": "user", "content": f"{i:0500d}"}


def hitl(scale: Scale) -> list[Figure]:
    """Measure ours."""
    trace = Trace(scale.file())
    saver = SqliteSaver(trace.connection)
    app = chatting(saver)
    config: Config = {"configurable": {"thread_id": "chat"}}
    app.invoke({"messages": []}, {"configurable": {"thread_id": "warm"}})
    turns, edge = range(scale.turns), scale.turns // 10
    parts: list[Figure] = []

    def talk(name: str, numbers: range) -> None:
        def run() -> None:
            for i in numbers:
                app.invoke({"messages": [message(i)]}, config)

        parts.append(timed(name, run, units=len(numbers)))

    def whole() -> None:
        talk("chat, one of the first turns", turns[:edge])
        talk("", turns[edge:-edge])
        talk("chat, one of the last turns", turns[-edge:])

    counts = trace.count(lambda: parts.append(timed("chat, whole", whole)), 1)
    first, _, last, total = parts
    cold = lambda: chatting(saver).get_state(config)  # noqa: E731
    page = lambda: list(chatting(saver).get_state_history(config, limit=20))  # noqa: E731
    times = 3 if scale.quick else 10
    return [
        Figure("chat, whole", total.cpu, total.cpu, total.wall, total.wall, counts),
        first,
        last,
        timed("chat, get_state, cold", cold, times=times),
        timed("chat, get_state, warm", lambda: app.get_state(config), times=times),
        timed("chat, history page of 20", page, times=times),
    ]


def bare(scale: Scale) -> list[Figure]:
    """Measure one row and one commit a message."""
    trace = Trace(scale.file())
    log = sqlite_log(trace)

    def run() -> None:
        for i in range(scale.turns):
            log("chat", {"messages": [message(i)]})

    parts: list[Figure] = []
    counts = trace.count(lambda: parts.append(timed("chat, whole", run)), 1)
    total = parts[0]
    return [Figure(total.name, total.cpu, total.cpu, total.wall, total.wall, counts)]
