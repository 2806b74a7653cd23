"""langgraph: a long chat, one message of 500 bytes a turn."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.measure import Figure, Scale, Trace, timed
from benchmarks.rivals.tell import tell


class State(TypedDict):
    """The conversation."""

    messages: Annotated[list[dict[str, str]], operator.add]


def listen(_state: State) -> None:
    """Take the message, and write nothing."""


def chatting(saver: Any) -> Any:
    """Return a graph whose every run is one turn."""
    graph = StateGraph(State)
    graph.add_node("listen", listen)
    graph.add_edge(START, "listen")
    graph.add_edge("listen", END)
    return graph.compile(checkpointer=saver)


def message(i: int) -> dict[str, str]:
    """Return a message of 500 bytes."""
    return {"role": "user", "content": f"{i:0500d}"}


def figures(scale: Scale) -> list[Figure]:
    """Measure the peer."""
    trace = Trace(scale.file())
    saver = SqliteSaver(trace.connection)
    app = chatting(saver)
    config: Any = {"configurable": {"thread_id": "chat"}}
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
    return [
        Figure("chat, whole", total.cpu, total.cpu, total.wall, total.wall, counts),
        first,
        last,
        timed("chat, get_state, cold", cold, times=3),
        timed("chat, history page of 20", page, times=2),
    ]


if __name__ == "__main__":
    tell(figures, "langgraph", "langgraph-checkpoint-sqlite")
