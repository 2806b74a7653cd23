"""Graphs inside graphs whose state outlives the task: compile(checkpointer=True)."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from hitl.checkpoint import InMemorySaver
from hitl.engine import StateGraph, interrupt, prune
from hitl.engine import record as record_module
from hitl.errors import Misuse, NoCheckpointer
from hitl.values import START, Command, Config, Send

CONFIG: Config = {"configurable": {"thread_id": "t"}}


class Outer(TypedDict):
    log: Annotated[list, operator.add]


class Inner(TypedDict):
    seen: Annotated[list, operator.add]


def remembers(*, asks=False, name="inner", persistence: Any = True):
    def see(state):
        said = interrupt(f"{len(state['seen'])}?") if asks else "-"
        return {"seen": [said]}

    graph = StateGraph(Inner).add_node(see).add_edge(START, "see")
    return graph.compile(persistence, name=name)


def build(store, *, loops=0, **more):
    inner = remembers(**more)

    def outer(state):
        return {"log": [len(inner.invoke({"seen": ["in"]})["seen"])]}

    graph = StateGraph(Outer).add_node(outer).add_edge(START, "outer")
    graph.add_conditional_edges("outer", lambda s: "outer" if len(s["log"]) <= loops else "__end__")
    return graph.compile(store)


def test_its_state_goes_on_from_run_to_run_of_the_thread(hand, store):
    for _ in range(3):
        result = hand.invoke(build(store), {"log": []}, CONFIG)
    assert result["log"] == [2, 4, 6]
    other: Config = {"configurable": {"thread_id": "other"}}
    assert hand.invoke(build(store), {"log": []}, other)["log"] == [2]


def test_without_it_each_run_begins_anew(hand, store):
    for _ in range(2):
        result = hand.invoke(build(store, persistence=None), {"log": []}, CONFIG)
    assert result["log"] == [2, 2]


def test_its_state_goes_on_within_a_run(hand, store):
    assert hand.invoke(build(store, loops=2), {"log": []}, CONFIG)["log"] == [2, 4, 6]


def test_it_pauses_and_goes_on_as_others_do(hand, store):
    for number in range(3):
        result = hand.invoke(build(store, asks=True), {"log": []}, CONFIG)
        (one,) = result.interrupts
        assert one.value == f"{2 * number + 1}?"
        result = hand.invoke(build(store, asks=True), Command(resume="yes"), CONFIG)
    assert result["log"] == [2, 4, 6]


def test_new_input_while_it_waits_leaves_what_it_has_taken_in(hand, store):
    hand.invoke(build(store, asks=True), {"log": []}, CONFIG)
    result = hand.invoke(build(store, asks=True), {"log": []}, CONFIG)
    assert [one.value for one in result.interrupts] == ["2?"]
    assert hand.invoke(build(store, asks=True), Command(resume="yes"), CONFIG)["log"] == [3]


def test_a_fork_begins_with_the_state_that_was_kept_then(hand, store):
    for _ in range(3):
        hand.invoke(build(store), {"log": []}, CONFIG)
    second = [
        one for one in hand.history(build(store), CONFIG) if one.metadata["source"] == "input"
    ][1]
    assert hand.invoke(build(store), None, second.config)["log"] == [2, 4]
    assert hand.invoke(build(store), {"log": []}, CONFIG)["log"] == [2, 4, 6]


def test_whole_states_hold_what_is_kept(hand, store, monkeypatch):
    monkeypatch.setattr(record_module, "_SPARE", 1)
    for _ in range(6):
        result = hand.invoke(build(store), {"log": ["x" * 9]}, CONFIG)
    assert [one for one in result["log"] if isinstance(one, int)] == [2, 4, 6, 8, 10, 12]


def test_an_input_that_fails_leaves_its_state_as_it_was(hand, store):
    bad = [False]
    app_inner = remembers()

    def outer(state):
        return {"log": [len(app_inner.invoke({"no": 1} if bad[0] else {"seen": ["in"]})["seen"])]}

    app = StateGraph(Outer).add_node(outer).add_edge(START, "outer").compile(store)
    hand.invoke(app, {"log": []}, CONFIG)
    bad[0] = True
    with pytest.raises(Misuse):
        hand.invoke(app, {"log": []}, CONFIG)
    bad[0] = False
    assert hand.invoke(app, None, CONFIG)["log"] == [2, 4]


def test_two_tasks_cannot_share_it_at_once(hand, store):
    inner = remembers(asks=True)

    def one(arg):
        return {"log": [inner.invoke({"seen": []})]}

    graph = StateGraph(Outer).add_node(one)
    graph.add_conditional_edges(START, lambda s: [Send("one", {}), Send("one", {})])
    with pytest.raises(Misuse, match="side by side"):
        hand.invoke(graph.compile(store), {"log": []}, CONFIG)


def test_it_cannot_be_the_outermost_graph(hand):
    with pytest.raises(NoCheckpointer):
        hand.invoke(remembers(), {"seen": []}, CONFIG)


def _seen(result):
    """Return what can be compared of a result: ids and configs differ from store to store."""
    return result.value, [one.value for one in result.interrupts]


def _deep(store):
    """Return a graph with a kept graph in a kept graph, and one that loops over it."""
    inmost = remembers(asks=True, name="inmost")

    def middle(state):
        return {"seen": [len(inmost.invoke({"seen": ["deep"]})["seen"])]}

    graph = StateGraph(Inner).add_node(middle).add_edge(START, "middle")
    kept = graph.compile(True, name="middle")

    def outer(state):
        return {"log": [kept.invoke({"seen": ["in"]})["seen"]]}

    built = StateGraph(Outer).add_node(outer).add_edge(START, "outer")
    built.add_conditional_edges("outer", lambda s: "outer" if len(s["log"]) % 2 else "__end__")
    return built.compile(store)


@pytest.mark.parametrize("keep_last", [1, 2, 3])
def test_a_thread_that_is_pruned_at_every_turn_goes_on_as_one_that_is_not(store, keep_last):
    plain = InMemorySaver()
    shorter = 0
    for turn in range(4):
        inputs: list = [{"log": []}, Command(resume=f"a{turn}"), Command(resume=f"b{turn}")]
        for given in inputs:
            results = [_deep(saver).invoke(given, CONFIG) for saver in (plain, store)]
            assert _seen(results[1]) == _seen(results[0])
            shorter += prune(store, "t", keep_last=keep_last)
    states = [_deep(saver).get_state(CONFIG) for saver in (plain, store)]
    assert states[0].values == states[1].values
    assert shorter > 20
    assert len(store.entries("t")) < len(plain.entries("t")) / 2


@pytest.mark.parametrize("warm", [True, False])
def test_a_thread_on_which_two_tasks_wanted_it_goes_on(hand, store, warm):
    inner = remembers(asks=True)

    def one(arg):
        return {"log": [len(inner.invoke({"seen": ["in"]})["seen"])]}

    graph = StateGraph(Outer).add_node(one)
    graph.add_conditional_edges(
        START, lambda s: "one" if s["log"] else [Send("one", {}), Send("one", {})], ["one"]
    )
    known = graph.compile(store)

    def app():
        return known if warm else graph.compile(store)

    for _ in range(2):  # it is no better the second time
        with pytest.raises(Misuse, match="side by side"):
            hand.invoke(app(), {"log": []}, CONFIG)
    failed = hand.state(app(), CONFIG)
    assert [task.error is None for task in failed.tasks] == [True, False]
    app().update_state(CONFIG, None, as_node="__end__")
    assert hand.state(app(), CONFIG).next == ()
    paused = hand.invoke(app(), {"log": ["x"]}, CONFIG)
    assert [one.value for one in paused.interrupts] == ["3?"]  # two inputs before were taken in
    assert hand.invoke(app(), Command(resume="yes"), CONFIG)["log"] == ["x", 4]
