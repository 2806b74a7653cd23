"""Graphs as pictures, and where a thread stands in them."""

from __future__ import annotations

import operator
from typing import Annotated, Literal, TypedDict

import pytest

from hitl import END, START, Command, Misuse, NoCheckpointer, Send, StateGraph, interrupt
from hitl.engine.draw import Edge


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]


def nothing(state):
    return None


def builder(*names):
    graph = StateGraph(State)
    for name in names:
        graph.add_node(name, nothing)
    return graph


def edges(graph):
    return set(graph.compile().get_graph().edges)


def test_a_chain_is_drawn_from_start_to_end():
    graph = builder("a", "b").add_edge(START, "a").add_edge("a", "b").add_edge("b", END)
    assert graph.compile().draw_mermaid() == (
        "graph TD\n"
        "    __start__([start])\n"
        "    a(a)\n"
        "    b(b)\n"
        "    __end__([end])\n"
        "    __start__ --> a\n"
        "    a --> b\n"
        "    b --> __end__\n"
    )


def test_a_node_from_which_nothing_leads_ends():
    assert Edge("a", END) in edges(builder("a").add_edge(START, "a"))


def test_the_answers_of_a_path_function_are_written_on_dashed_edges():
    graph = builder("a", "b").add_edge(START, "a")
    graph.add_conditional_edges("a", lambda _: True, {True: "b", "stop": END})
    text = graph.compile().draw_mermaid()
    assert "    a -. True .-> b\n" in text
    assert "    a -. stop .-> __end__\n" in text


def test_a_path_map_that_is_a_list_needs_no_labels():
    graph = builder("a", "b").add_conditional_edges(START, lambda _: "a", ["a", "b"])
    assert "    __start__ -.-> b\n" in graph.compile().draw_mermaid()


def test_a_literal_hint_says_where_a_path_function_leads():
    def path(state) -> Literal["a", "__end__"]:
        return "a"

    graph = builder("a", "b").add_edge("a", "b").add_conditional_edges(START, path)
    found = {edge.target for edge in edges(graph) if edge.source == START}
    assert found == {"a", END}


def test_a_path_function_that_does_not_say_may_lead_anywhere():
    graph = builder("a", "b").add_conditional_edges(START, lambda _: [Send("b", {})])
    found = {edge.target for edge in edges(graph) if edge.source == START}
    assert found == {"a", "b", END}


def test_a_command_hint_says_where_a_node_goes():
    def a(state) -> Command[Literal["b", "outside"]] | None:
        return Command(goto="b")

    graph = StateGraph(State).add_node(a).add_node("b", nothing).add_edge(START, "a")
    found = edges(graph)
    assert Edge("a", "b", None, conditional=True) in found
    assert not [edge for edge in found if edge.target == "outside"]


@pytest.mark.parametrize(
    ("destinations", "label"), [(("b",), None), (["b"], None), ({"b": "when ready"}, "when ready")]
)
def test_destinations_say_where_a_node_goes(destinations, label):
    graph = StateGraph(State).add_node("a", nothing, destinations=destinations)
    graph.add_node("b", nothing).add_edge(START, "a")
    assert Edge("a", "b", label, conditional=True) in edges(graph)


def test_a_destination_that_is_no_node_is_refused():
    graph = StateGraph(State).add_node("a", nothing, destinations=["bb"]).add_node("b", nothing)
    with pytest.raises(Misuse, match="Did you mean 'b'"):
        graph.add_edge(START, "a").compile()


def test_an_edge_from_a_list_says_that_it_waits_for_all():
    graph = builder("a", "b", "c").add_edge(START, "a").add_edge(START, "b")
    text = graph.add_edge(["a", "b"], "c").compile().draw_mermaid()
    assert "    a -- all --> c\n" in text
    assert "    b -- all --> c\n" in text


@pytest.mark.parametrize("name", ["end", "two words", 'a"b', "graph", "ü<b>", "Human.after_model"])
def test_any_name_can_be_drawn(name):
    text = builder(name).add_edge(START, name).compile().draw_mermaid()
    inner = text.removeprefix("graph TD\n").splitlines()
    assert inner[1].startswith("    node1(")
    assert text.count('"') == (0 if name == "two words" else 2)
    assert "<" not in text
    assert "    __start__ --> node1\n" in text


def test_a_made_up_id_never_is_another_nodes_name():
    graph = builder("two words", "node1").add_edge(START, "two words")
    text = graph.add_edge("two words", "node1").compile().draw_mermaid()
    assert "    node1_ --> node1\n" in text


def test_the_nodes_of_a_drawn_graph_carry_their_metadata():
    graph = StateGraph(State).add_node("a", nothing, metadata={"owner": "me"})
    shown = graph.add_edge(START, "a").compile().get_graph()
    assert dict(shown.nodes) == {START: {}, "a": {"owner": "me"}, END: {}}


def standing(store):
    def asks(state):
        return {"log": [interrupt("?")]}

    def fails(state):
        raise RuntimeError("no")

    graph = builder("a", "b").add_node("asks", asks).add_node("fails", fails)
    for name in ("a", "asks", "fails"):
        graph.add_edge(START, name)
    return graph.add_edge("a", "b").compile(store)


def test_a_drawing_shows_where_a_thread_stands(hand, store, config):
    graph = standing(store)
    with pytest.raises(RuntimeError):
        hand.invoke(graph, {"log": []}, config)
    text = graph.draw_mermaid(config)
    assert "    asks(asks):::paused\n" in text
    assert "    fails(fails):::failed\n" in text
    assert "    a(a)\n" in text  # it has finished
    assert "    b(b)\n" in text  # it is not due yet
    assert "classDef paused" in text
    assert ":::" not in graph.draw_mermaid()


def test_a_node_before_which_a_run_stopped_is_next(hand, store, config):
    graph = builder("a").add_edge(START, "a").compile(store, interrupt_before=["a"])
    hand.invoke(graph, {"log": []}, config)
    assert "    a(a):::next\n" in graph.draw_mermaid(config)
    hand.invoke(graph, None, config)
    assert ":::" not in graph.draw_mermaid(config)


def test_a_pause_in_a_graph_inside_a_node_marks_the_node(hand, store, config):
    inner = StateGraph(State).add_node("ask", lambda _: {"log": [interrupt("?")]})
    outer = StateGraph(State).add_node("team", inner.add_edge(START, "ask").compile())
    graph = outer.add_edge(START, "team").compile(store)
    hand.invoke(graph, {"log": []}, config)
    assert "    team(team):::paused\n" in graph.draw_mermaid(config)


def test_of_many_tasks_of_a_node_the_gravest_marks_it(hand, store, config):
    def worker(arg):
        return {"log": [interrupt(arg)]} if arg == 1 else None

    graph = StateGraph(State).add_node("worker", worker)
    graph.add_conditional_edges(START, lambda _: [Send("worker", n) for n in range(3)])
    compiled = graph.compile(store)
    hand.invoke(compiled, {"log": []}, config)
    assert "    worker(worker):::paused\n" in compiled.draw_mermaid(config)


def test_where_a_thread_stands_needs_a_thread():
    graph = builder("a").add_edge(START, "a").compile()
    with pytest.raises(NoCheckpointer):
        graph.draw_mermaid({"configurable": {"thread_id": "t"}})


# Nodes that can never run ------------------------------------------------------------------


def jump(target):
    return Command(goto=target)


def make(state):
    return jump("b")


def test_a_node_to_which_nothing_leads_is_refused_by_name():
    graph = builder("a", "lost").add_edge(START, "a").add_edge("lost", END)
    with pytest.raises(Misuse, match="Node 'lost' can never run"):
        graph.compile()


def test_a_join_of_which_one_source_never_runs_leads_nowhere():
    graph = builder("a", "b", "c").add_edge(START, "a").add_edge(["a", "b"], "c")
    with pytest.raises(Misuse, match="Node 'b' can never run"):
        graph.compile()


@pytest.mark.parametrize(
    "node",
    [
        lambda state: Command(goto="b"),
        make,
        lambda state: {**state} or make(state),
        lambda state, bound=make: bound(state),
        lambda state, *, bound=make: bound(state),
        lambda state: state["next"]() if state.get("next") else jump("b"),
    ],
)
def test_a_node_whose_code_can_make_a_command_may_go_anywhere(node):
    graph = StateGraph(State).add_node("a", node).add_node("b", nothing).add_edge(START, "a")
    assert "b" in graph.compile().nodes


def test_a_path_function_that_may_send_leads_anywhere():
    graph = builder("a", "b", "c").add_edge(START, "a")
    graph.add_conditional_edges("a", lambda _: Send("b", {}), {"c": "c"})
    assert "b" in graph.compile().nodes


def test_a_path_that_says_its_ends_leaves_out_the_others():
    graph = builder("a", "b", "c").add_edge(START, "a")
    graph.add_conditional_edges("a", lambda _: "c", ["c"])
    with pytest.raises(Misuse, match="Node 'b' can never run"):
        graph.compile()


def test_a_node_with_destinations_leads_there_and_nowhere_else():
    graph = StateGraph(State).add_node("a", make, destinations=("b",)).add_edge(START, "a")
    graph.add_node("b", nothing)
    graph.compile()
    with pytest.raises(Misuse, match="Node 'c' can never run"):
        graph.add_node("c", nothing).compile()


def test_a_graph_as_a_node_may_send_its_outer_graph_anywhere():
    def up(state):
        return Command(goto="b", graph=Command.PARENT)

    inner = StateGraph(State).add_node("up", up).add_edge(START, "up").compile()
    graph = StateGraph(State).add_node("a", inner).add_node("b", nothing).add_edge(START, "a")
    assert graph.compile().invoke({"log": []}) == {"log": []}
