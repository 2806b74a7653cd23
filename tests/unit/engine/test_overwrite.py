"""``Overwrite``: a write that a reducer does not see."""

from __future__ import annotations

import operator
from typing import Annotated, TypedDict

import pytest

from hitl import (
    START,
    Command,
    HumanMessage,
    InvalidUpdateError,
    MessagesState,
    Overwrite,
    StateGraph,
    interrupt,
)


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]
    last: str


def graph_of(store, *nodes):
    """Return a graph whose nodes all run in the first superstep."""
    builder = StateGraph(State)
    for index, node in enumerate(nodes):
        name = "abc"[index]
        builder.add_node(name, node).add_edge(START, name)
    return builder.compile(checkpointer=store)


def writes(**update):
    return lambda state: update


def test_an_overwrite_becomes_the_value_as_it_is(hand, store, config):
    graph = graph_of(store, writes(log=Overwrite(["new"])))
    assert hand.invoke(graph, {"log": ["old"]}, config)["log"] == ["new"]
    assert hand.state(graph, config).values == {"log": ["new"]}


def test_what_a_sibling_writes_beside_an_overwrite_is_dropped_whatever_the_order(
    hand, store, config
):
    nodes = writes(log=[1]), writes(log=Overwrite(["only"])), writes(log=[2])
    assert hand.invoke(graph_of(store, *nodes), {"log": [0]}, config)["log"] == ["only"]


def test_the_next_step_is_reduced_again(hand, store, config):
    graph = (
        StateGraph(State)
        .add_sequence([("a", writes(log=Overwrite([]))), ("b", writes(log=["b"]))])
        .add_edge(START, "a")
        .compile(checkpointer=store)
    )
    assert hand.invoke(graph, {"log": ["old"]}, config)["log"] == ["b"]


def test_two_overwrites_of_a_key_in_one_step_do_not_fit_together(hand, store, config):
    graph = graph_of(store, writes(log=Overwrite([1])), writes(log=Overwrite([2])))
    with pytest.raises(InvalidUpdateError, match="'log' was overwritten twice"):
        hand.invoke(graph, {"log": []}, config)


def test_a_key_without_a_reducer_takes_one_too(hand, store, config):
    graph = graph_of(store, writes(last=Overwrite("b")))
    assert hand.invoke(graph, {"last": "a"}, config)["last"] == "b"


def test_a_key_without_a_reducer_is_still_written_once_a_step(hand, store, config):
    graph = graph_of(store, writes(last=Overwrite("b")), writes(last="c"))
    with pytest.raises(InvalidUpdateError):
        hand.invoke(graph, {"last": "a"}, config)


def test_it_keeps_its_meaning_while_a_sibling_waits(hand, store, config):
    def asks(state):
        return {"log": [interrupt("?")]}

    graph = graph_of(store, writes(log=Overwrite(["only"])), asks)
    hand.invoke(graph, {"log": ["old"]}, config)
    assert hand.state(graph, config).values == {"log": ["only"]}
    assert hand.invoke(graph, Command(resume=1), config)["log"] == ["only"]


def test_an_input_an_update_and_a_command_take_one(hand, store, config):
    graph = graph_of(store, writes(log=["node"]))
    hand.invoke(graph, {"log": ["first"]}, config)
    assert hand.invoke(graph, {"log": Overwrite(["in"])}, config)["log"] == ["in", "node"]
    graph.update_state(config, {"log": Overwrite(["by hand"])})
    assert hand.state(graph, config).values["log"] == ["by hand"]


def test_the_list_that_was_given_stays_the_nodes_own(hand, store, config):
    mine = ["new"]
    graph = graph_of(store, writes(log=Overwrite(mine)))
    hand.invoke(graph, {"log": []}, config)
    mine.append("later")
    assert hand.state(graph, config).values == {"log": ["new"]}


def test_a_conversation_can_be_overwritten(hand, store, config):
    graph = (
        StateGraph(MessagesState)
        .add_node("cut", lambda state: {"messages": Overwrite(state["messages"][-1:])})
        .add_edge(START, "cut")
        .compile(checkpointer=store)
    )
    for text in ("one", "two"):
        left = hand.invoke(graph, {"messages": [HumanMessage(text)]}, config)["messages"]
    assert [message.content for message in left] == ["two"]
