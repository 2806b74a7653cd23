"""One call of a run, in all its forms, and many runs at once."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, TypedDict

import pytest
from pydantic import BaseModel, ValidationError

from hitl.checkpoint import InMemorySaver
from hitl.engine import StateGraph, interrupt
from hitl.errors import Misuse
from hitl.values import START, Command, GraphOutput


class State(TypedDict, total=False):
    a: int
    log: Annotated[list, operator.add]


def one(state):
    return {"a": 1, "log": ["one"]}


def two(state):
    return None


def three(state):
    return {"log": ["three"]}


@pytest.fixture
def graph(store):
    return StateGraph(State).add_sequence([one, two, three]).set_entry_point("one").compile(store)


def test_another_mode_gives_the_parts_of_the_stream(hand, graph, config):
    assert hand.invoke(graph, {"a": 0}, config, stream_mode="updates") == [
        {"one": {"a": 1, "log": ["one"]}},
        {"two": None},
        {"three": {"log": ["three"]}},
    ]
    parts = hand.invoke(graph, {"a": 0}, config, stream_mode=["updates"], version="v2")
    assert parts[1] == {"type": "updates", "ns": (), "data": {"two": None}}


def test_keys_narrow_results_values_and_updates(hand, graph, config):
    assert hand.invoke(graph, {"a": 0}, config, output_keys="log") == ["one", "three"]
    assert hand.invoke(graph, {"a": 0}, config, output_keys=["a"]) == {"a": 1}
    two = hand.invoke(graph, {"a": 0}, config, output_keys=["a"], version="v2")
    assert (type(two), two.value) == (GraphOutput, {"a": 1})
    modes = ["updates", "values"]
    assert hand.stream(graph, {"a": 0}, config, output_keys=["a"], stream_mode=modes)[1:] == [
        ("updates", {"one": {"a": 1}}),
        ("values", {"a": 1}),
        ("updates", {"two": None}),
        ("values", {"a": 1}),
        ("updates", {"three": None}),
        ("values", {"a": 1}),
    ]
    told = hand.stream(graph, {"a": 0}, config, output_keys="a")
    assert told == [{"one": 1}, {"two": None}, {"three": None}]


def test_a_pause_shows_whatever_keys_are_wanted(hand, store, config):
    builder = StateGraph(State).add_node("ask", lambda _: {"log": [interrupt("?")]})
    graph = builder.add_edge(START, "ask").compile(store)
    paused = hand.invoke(graph, {"a": 3}, config, output_keys="a")
    assert (paused.value, [one.value for one in paused.interrupts]) == (3, ["?"])
    (told,) = hand.stream(graph, None, config, output_keys="a")
    assert told["__interrupt__"] == paused.interrupts


def test_a_key_that_the_state_does_not_have_is_refused(hand, graph, config):
    with pytest.raises(Misuse, match="'lok', which is no key of the state"):
        hand.invoke(graph, {"a": 0}, config, output_keys=["lok"])
    assert hand.state(graph, config).values == {}


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ({"print_mode": "values"}, 4),
        ({"print_mode": ["updates"]}, 3),
        ({"debug": True}, 7),
        ({}, 0),
    ],
)
def test_what_is_printed_is_beside_what_is_returned(hand, graph, config, capsys, more, lines):
    assert hand.invoke(graph, {"a": 0}, config, **more)["a"] == 1
    assert len(hand.stream(graph, {"a": 0}, config, **more)) == 3
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2 * lines
    if lines == 3:
        assert printed[1] == "[updates] {'two': None}"


class Model(BaseModel):
    a: int = 0


def test_parts_of_version_two_have_the_class_of_the_state(hand, store, config):
    builder = StateGraph(Model).add_node("one", lambda _: {"a": 5}).add_edge(START, "one")
    graph = builder.compile(store)
    modes = ["values", "checkpoints"]
    parts = hand.stream(graph, {"a": 1}, config, stream_mode=modes, version="v2")
    values = [part["data"] for part in parts if part["type"] == "values"]
    points = [part["data"]["values"] for part in parts if part["type"] == "checkpoints"]
    assert values == [Model(a=1), Model(a=5)]
    assert points == [{"a": 1}, Model(a=5)]
    assert hand.stream(graph, {"a": 1}, config, stream_mode="values") == [{"a": 1}, {"a": 5}]


def test_parts_of_runs_inside_have_the_class_of_their_own_state(hand, config):
    inner = StateGraph(Model).add_node("one", lambda _: {"a": 5}).add_edge(START, "one").compile()
    graph = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile()
    parts = hand.stream(graph, {"a": 1}, stream_mode="values", version="v2", subgraphs=True)
    told = [part["data"] for part in parts]
    assert told == [{"a": 1, "log": []}, Model(a=1), Model(a=5), {"a": 5, "log": []}]


def test_what_does_not_fit_the_class_is_told_in_version_two_only(hand, store, config):
    builder = StateGraph(Model).add_node("one", lambda _: {"a": "x"}).add_edge(START, "one")
    graph = builder.compile(store)
    assert hand.invoke(graph, {"a": 0}, config) == {"a": "x"}
    with pytest.raises(ValidationError):
        hand.invoke(graph, {"a": 0}, config, version="v2")
    with pytest.raises(ValidationError):
        hand.stream(graph, {"a": 0}, config, version="v2", stream_mode="values")


def test_a_bound_config_lies_beneath_the_one_that_is_given(hand, store):
    seen = []

    def node(state, config):
        seen.append(config)
        return {"a": 1}

    graph = StateGraph(State).add_node("one", node).add_edge(START, "one").compile(store)
    bound = graph.with_config({"configurable": {"thread_id": "t", "x": 1}}, recursion_limit=7)
    hand.invoke(bound, {"a": 0})
    hand.invoke(bound, {"a": 0}, {"configurable": {"thread_id": "u"}})
    assert [one["configurable"] for one in seen] == [
        {"thread_id": "t", "x": 1},
        {"thread_id": "u", "x": 1},
    ]
    assert seen[1]["recursion_limit"] == 7
    assert hand.state(bound, None).values["a"] == 1
    with pytest.raises(Misuse, match="recursion_limit"):
        graph.with_config(recursion_limit=0)


def _batch(hand, graph, inputs, config=None, **more):
    if hand.name == "sync":
        return graph.batch(inputs, config, **more)
    return asyncio.run(graph.abatch(inputs, config, **more))


def test_a_batch_gives_its_results_in_order(hand, graph):
    configs = [{"configurable": {"thread_id": str(n)}} for n in range(20)]
    found = _batch(hand, graph, [{"log": [n]} for n in range(20)], configs)
    assert [result["log"] for result in found] == [[n, "one", "three"] for n in range(20)]
    with pytest.raises(Misuse, match="2 inputs and 1 configs"):
        _batch(hand, graph, [{}, {}], configs[:1])
    assert _batch(hand, graph, []) == []


def test_an_error_in_a_batch_is_raised_or_stands_in_its_place(hand):
    def node(state):
        if state["a"]:
            raise KeyError(state["a"])
        return {"log": ["fine"]}

    graph = StateGraph(State).add_node("n", node).add_edge(START, "n").compile()
    with pytest.raises(KeyError):
        _batch(hand, graph, [{"a": 0}, {"a": 1}])
    fine, error = _batch(hand, graph, [{"a": 0}, {"a": 1}], return_exceptions=True)
    assert (fine["log"], type(error)) == (["fine"], KeyError)


def test_questions_of_a_batch_inside_a_node_keep_their_order(hand, store, config):
    ask = StateGraph(State).add_node("ask", lambda s: {"log": [(s["a"], interrupt(s["a"]))]})
    inner = ask.add_edge(START, "ask").compile()

    def many(state):
        return {"log": [r["log"][0] for r in inner.batch([{"a": n} for n in range(3)])]}

    async def amany(state):
        return {"log": [r["log"][0] for r in await inner.abatch([{"a": n} for n in range(3)])]}

    node = many if hand.name == "sync" else amany
    graph = StateGraph(State).add_node("many", node).add_edge(START, "many").compile(store)
    result = hand.invoke(graph, {}, config)
    for _ in range(3):
        (asked,) = result.interrupts
        result = hand.invoke(graph, Command(resume=f"to {asked.value}"), config)
    assert result["log"] == [(n, f"to {n}") for n in range(3)]


def test_the_names_of_what_is_given_out_are_known():
    graph = StateGraph(State).add_node("one", one).add_edge(START, "one")
    assert graph.compile(InMemorySaver()).stream_channels == ["a", "log"]
