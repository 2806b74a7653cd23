"""Tasks side by side: how many at once, in which order they count, and where a graph begins."""

from __future__ import annotations

import asyncio
import operator
import threading
from typing import Annotated, TypedDict

from hitl.engine import StateGraph
from hitl.values import END, START, Send


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]
    n: int


def fan(store, node, size, anode=None):
    graph = StateGraph(State).add_node("n", node, async_action=anode)
    graph.add_conditional_edges(START, lambda _: [Send("n", n) for n in range(size)], ["n"])
    return graph.compile(store)


def test_thousands_of_tasks_are_one_step_in_the_order_in_which_they_were_sent(hand, store, config):
    app = fan(store, lambda n: {"log": [n]}, 3000)
    assert hand.invoke(app, {"log": []}, config)["log"] == list(range(3000))
    steps = [shown.metadata["step"] for shown in hand.history(app, config)]
    assert len(steps) == 3  # the input, the choice at the start, the tasks


def test_writes_count_in_the_order_of_their_tasks_whichever_finishes_first(hand, store, config):
    turns = [threading.Event() for _ in range(4)]
    turns[3].set()

    def node(n):  # the last one finishes first
        turns[n].wait(30)
        if n:
            turns[n - 1].set()
        return {"log": [n]}

    app = fan(store, node, 4)
    config["max_concurrency"] = 4
    parts = hand.stream(app, {"log": []}, config)
    told = [part["n"]["log"][0] for part in parts if part.get("n")]
    assert sorted(told) == [0, 1, 2, 3]
    assert hand.state(app, config).values["log"] == [0, 1, 2, 3]


def test_no_more_run_at_once_than_the_config_says(hand, store, config):
    running, most, lock = 0, 0, threading.Lock()

    def begin():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)

    def end():
        nonlocal running
        with lock:
            running -= 1

    def node(n):
        begin()
        end()
        return {"log": [n]}

    async def anode(n):
        begin()
        for _ in range(3):
            await asyncio.sleep(0)
        end()
        return {"log": [n]}

    config["max_concurrency"] = 3
    app = fan(store, node, 40, anode)
    assert hand.invoke(app, {"log": []}, config)["log"] == list(range(40))
    assert most <= 3
    if hand.name == "async":
        assert most == 3


def test_a_graph_begins_and_ends_where_it_is_told(hand, store, config):
    graph = StateGraph(State).add_node("a", lambda _: {"log": ["a"]})
    graph.add_node("b", lambda _: {"log": ["b"]}).add_node("c", lambda _: {"log": ["c"]})
    graph.set_conditional_entry_point(
        lambda s: "left" if s["n"] else "right", {"left": "a", "right": "b"}
    )
    graph.add_edge("a", "c").add_edge("b", "c").set_finish_point("c")
    app = graph.compile(store)
    assert hand.invoke(app, {"n": 1}, config)["log"] == ["a", "c"]
    assert hand.invoke(app, {"n": 0}, config)["log"] == ["a", "c", "b", "c"]
    one = StateGraph(State).add_node("a", lambda _: {"log": ["a"]}).set_entry_point("a")
    assert hand.invoke(one.add_edge("a", END).compile(), {"log": []})["log"] == ["a"]


def test_a_static_pause_can_be_asked_for_at_every_node_and_at_one_call(hand, store, config):
    graph = StateGraph(State).add_sequence([(n, lambda _, n=n: {"log": [n]}) for n in "abc"])
    app = graph.set_entry_point("a").compile(store)
    seen = []
    inputs: list = [{"log": []}, None, None, None]
    for given in inputs:
        hand.invoke(app, given, config, interrupt_after="*")
        seen.append(hand.state(app, config).next)
    assert seen == [("b",), ("c",), (), ()]
    always = graph.compile(store, interrupt_before="*")
    hand.invoke(always, {"log": []}, config)
    assert hand.state(always, config).next == ("a",)
    assert hand.invoke(app, None, config)["log"][3:] == ["a", "b", "c"]
