"""What history tells of the tasks of a step that has ended."""

from __future__ import annotations

import operator
from typing import Annotated, TypedDict

import pytest

from hitl.engine import StateGraph, interrupt
from hitl.engine import record as texts
from hitl.values import END, START, Command, Overwrite, Send


class State(TypedDict, total=False):
    one: object
    rows: list
    log: Annotated[list, operator.add]
    total: Annotated[int, operator.add]
    count: Annotated[int, lambda old, new: old + len(new)]


def told(hand, graph, config):
    """Return what history tells of each step's tasks, oldest first."""
    found = reversed(hand.history(graph, config))
    return [[(task.name, task.result) for task in shown.tasks] for shown in found]


UPDATES = [
    {"one": {"a": 1}, "log": ["x", "y"]},
    None,
    {"rows": [1, 2], "total": 3},
    {"rows": [1, 2], "log": []},
    {"log": ["z"], "total": 4},
    {"total": Overwrite(9), "log": Overwrite(["new"])},
    {"one": None},
]


@pytest.mark.parametrize("spare", [0, 16_384])
def test_the_past_tells_what_each_node_wrote(hand, store, config, monkeypatch, spare):
    monkeypatch.setattr(texts, "_SPARE", spare)  # with whole states in between, and without
    graph = StateGraph(State)
    names = [f"n{place}" for place in range(len(UPDATES))]
    graph.add_sequence([(f"n{n}", lambda _, w=w: w) for n, w in enumerate(UPDATES)])
    app = graph.set_entry_point("n0").compile(store)
    hand.invoke(app, {}, config)
    assert told(hand, app, config) == [
        *([(name, update or {})] for name, update in zip(names, UPDATES, strict=True)),
        [],
    ]


def test_the_past_tells_what_siblings_wrote_whenever_they_finished(hand, store, config):
    graph = StateGraph(State).add_node("ask", lambda _: {"log": [interrupt("?")], "one": 1})
    graph.add_node("b", lambda _: {"log": ["b"], "total": 2}).add_node("c", lambda _: None)
    graph.add_node("s", lambda n: {"log": [n]})
    for name in ("ask", "b", "c"):
        graph.add_edge(START, name)
    graph.add_conditional_edges("b", lambda _: [Send("s", 1), Send("s", 2)], ["s"])
    app = graph.add_edge("s", END).compile(store)
    hand.invoke(app, {}, config)
    hand.invoke(app, Command(resume="yes"), config)
    assert told(hand, app, config) == [
        [
            ("ask", {"log": ["yes"], "one": 1}),
            ("b", {"log": ["b"], "total": 2}),
            ("c", {}),
        ],
        [("s", {"log": [1]}), ("s", {"log": [2]})],
        [],
    ]


def test_a_write_of_which_only_the_reducers_work_can_be_stored_is_not_told(hand, store, config):
    graph = StateGraph(State).add_node("n", lambda _: {"count": [object()], "one": 1})
    app = graph.add_edge(START, "n").compile(store)
    assert hand.invoke(app, {"count": [1]}, config)["count"] == 2
    assert told(hand, app, config)[0] == [("n", {"one": 1})]


def test_a_failed_task_shows_its_error_as_it_is_written_in_code(hand, store, config):
    def fails(state):
        raise ValueError("boom")

    app = StateGraph(State).add_node("n", fails).add_edge(START, "n").compile(store)
    with pytest.raises(ValueError, match="boom"):
        hand.invoke(app, {}, config)
    for shown in (hand.state(app, config), *hand.history(app, config)):
        assert (shown.tasks[0].error, shown.tasks[0].result) == ("ValueError('boom')", None)


def test_a_checkpoint_has_the_metadata_of_the_run_that_wrote_it(hand, store):
    graph = StateGraph(State).add_node("a", lambda _: {"one": interrupt("?")})
    app = graph.add_node("b", lambda _: None).add_edge(START, "a").add_edge("a", "b").compile(store)
    place = {"thread_id": "t", "reviewer": "r", "langgraph_step": 1, "__x": 1, "model": "m"}
    first = {"n": 1, "ratio": 0.5, "source": "mine", "list": [1], "thread_id": "no"}
    hand.invoke(app, {}, {"configurable": place, "metadata": first})
    second = {"configurable": {"thread_id": "t", "user": "u"}, "metadata": {"user": "first"}}
    hand.invoke(app, Command(resume="yes"), second)
    known = [shown.metadata for shown in reversed(hand.history(app, second))]
    own = {"n": 1, "ratio": 0.5, "model": "m", "parents": {}}
    assert known == [
        {"source": "input", "step": -1, **own},
        {"source": "loop", "step": 0, "user": "first", "parents": {}},
        {"source": "loop", "step": 1, "user": "first", "parents": {}},
    ]
    fresh = StateGraph(State).add_node("a", len).add_edge(START, "a").compile(store)
    assert hand.history(fresh, second, filter={"n": 1})[0].metadata == known[0]


def test_a_checkpoint_that_is_named_is_told_in_full(hand, store, config):
    graph = StateGraph(State)
    for name in ("a", "b"):
        graph.add_node(name, lambda _, name=name: {"log": [interrupt(name)]})
        graph.add_edge(START, name)
    app = graph.compile(store)
    paused = hand.invoke(app, {}, config)
    hand.invoke(app, Command(resume={paused.interrupts[0].id: "yes"}), config)
    now, named = hand.state(app, config), hand.state(app, paused.config)
    assert (now.values["log"], now.next) == (["yes"], ("b",))
    assert [one.value for one in now.interrupts] == ["b"]
    assert (named.values["log"], named.next) == ([], ("a", "b"))
    assert [one.value for one in named.interrupts] == ["a", "b"]
    assert [task.result for task in named.tasks] == [{"log": ["yes"]}, None]
    assert hand.history(app, config)[0] == named
