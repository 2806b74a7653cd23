"""Graphs inside graphs: saved with the outer task, paused with it, and gone on with it."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, TypedDict

import pytest

from hitl.engine import StateGraph, interrupt, step
from hitl.errors import InvalidUpdateError, Misuse, NoCheckpointer
from hitl.values import START, Command

CONFIG = {"configurable": {"thread_id": "t"}}


class Outer(TypedDict):
    log: Annotated[list, operator.add]


class Inner(TypedDict):
    log: Annotated[list, operator.add]
    said: str


class World:
    """Counts what ran, and builds the graphs anew, as another process would."""

    def __init__(self):
        self.runs = {"first": 0, "outer": 0}

    def inner(self, name="inner"):
        def first(state):
            self.runs["first"] += 1
            return {"said": "-"}

        def ask(state):
            return {"said": state["said"] + interrupt("one?")}

        def again(state):
            said = state["said"] + interrupt("two?")
            return {"said": said, "log": [said]}

        graph = StateGraph(Inner).add_sequence([first, ask, again])
        return graph.add_edge(START, "first").compile(name=name)

    def as_node(self, store):
        graph = StateGraph(Outer).add_node("sub", self.inner())
        return graph.add_edge(START, "sub").compile(store)

    def in_function(self, store):
        inner = self.inner()

        def outer(state):
            self.runs["outer"] += 1
            before = inner.invoke({"log": []})["said"]
            between = interrupt("between?")
            after = inner.invoke({"log": []})["said"]
            return {"log": [before, between, after]}

        return StateGraph(Outer).add_node(outer).add_edge(START, "outer").compile(store)

    def side_by_side(self, store):
        graph = StateGraph(Outer).add_node("a", self.inner("a")).add_node("b", self.inner("b"))
        return graph.add_edge(START, "a").add_edge(START, "b").compile(store)


@pytest.fixture
def world():
    return World()


def values(result):
    return [one.value for one in result.interrupts]


def test_a_graph_as_a_node_pauses_the_outer_run_and_goes_on_where_it_stopped(hand, store, world):
    result = hand.invoke(world.as_node(store), {"log": []}, CONFIG)
    assert values(result) == ["one?"]
    result = hand.invoke(world.as_node(store), Command(resume="a"), CONFIG)
    assert values(result) == ["two?"]
    result = hand.invoke(world.as_node(store), Command(resume="b"), CONFIG)
    assert result == {"log": ["-ab"]}
    assert world.runs["first"] == 1  # finished work of the inner run is not run again


def test_several_runs_in_one_function_keep_their_answers_apart(hand, store, world):
    result = hand.invoke(world.in_function(store), {"log": []}, CONFIG)
    asked = []
    for answer in ["a", "b", "c", "d", "e"]:
        asked += values(result)
        result = hand.invoke(world.in_function(store), Command(resume=answer), CONFIG)
    assert asked == ["one?", "two?", "between?", "one?", "two?"]
    assert result == {"log": ["-ab", "c", "-de"]}
    assert world.runs == {"first": 2, "outer": 6}


def test_the_pauses_of_parallel_graphs_show_at_the_top_and_are_answered_by_id(hand, store, world):
    result = hand.invoke(world.side_by_side(store), {"log": []}, CONFIG)
    assert values(result) == ["one?", "one?"]
    state = hand.state(world.side_by_side(store), CONFIG)
    assert [len(task.interrupts) for task in state.tasks] == [1, 1]
    assert {item.path for item in store.items()} == {"a/ask", "b/ask"}
    both = {one.id: str(place) for place, one in enumerate(result.interrupts)}
    result = hand.invoke(world.side_by_side(store), Command(resume=both), CONFIG)
    assert values(result) == ["two?", "two?"]
    later, sooner = result.interrupts
    result = hand.invoke(world.side_by_side(store), Command(resume={sooner.id: "y"}), CONFIG)
    assert values(result) == ["two?"]
    assert result.interrupts[0].id == later.id
    result = hand.invoke(world.side_by_side(store), Command(resume={later.id: "x"}), CONFIG)
    assert result == {"log": ["-0x", "-1y"]}


def test_a_deeper_graph_is_found_through_all_levels(hand, store, world):
    middle = StateGraph(Inner).add_node("deep", world.inner()).add_edge(START, "deep")
    graph = StateGraph(Outer).add_node("middle", middle.compile(name="middle"))
    app = graph.add_edge(START, "middle").compile(store)
    result = hand.invoke(app, {"log": []}, CONFIG)
    assert [item.path for item in store.items()] == ["middle/deep/ask"]
    result = hand.invoke(graph.compile(store), Command(resume="a"), CONFIG)
    result = hand.invoke(graph.compile(store), Command(resume="b"), CONFIG)
    assert result == {"log": ["-ab"]}
    assert world.runs["first"] == 1


def test_a_task_shows_where_the_run_inside_it_stands(store, world):
    app = world.as_node(store)
    app.invoke({"log": []}, CONFIG)
    app.invoke(Command(resume="a"), CONFIG)
    for reader in (app, world.as_node(store)):
        (task,) = reader.get_state(CONFIG).tasks
        (deep,) = reader.get_state(CONFIG, subgraphs=True).tasks
        inner = deep.state
        assert (inner.values, inner.next) == ({"log": [], "said": "-a"}, ("again",))
        assert inner.interrupts == task.interrupts
        assert [one.value for one in inner.interrupts] == ["two?"]
        assert task.state["configurable"]["checkpoint_ns"] == f"sub:{task.id}"
        assert reader.get_state(task.state) == inner
        assert asyncio.run(reader.aget_state(CONFIG, subgraphs=True)).tasks == (deep,)
        with pytest.raises(Misuse, match="goes on with the outermost"):
            reader.update_state(task.state, {"said": "x"})
    app.invoke(Command(resume="b"), CONFIG)
    with pytest.raises(Misuse, match="Nothing waits"):
        app.get_state(task.state)


def test_a_run_in_a_function_shows_its_state_too(store, world):
    world.in_function(store).invoke({"log": []}, CONFIG)
    (task,) = world.in_function(store).get_state(CONFIG, subgraphs=True).tasks
    assert (task.state.values["said"], task.state.next) == ("-", ("ask",))


def test_graphs_that_are_nodes_can_be_listed(world):
    middle = StateGraph(Inner).add_node("deep", world.inner()).add_edge(START, "deep")
    graph = StateGraph(Outer).add_node("middle", middle.compile(name="middle"))
    app = graph.add_edge(START, "middle").compile()
    assert [name for name, _ in app.get_subgraphs()] == ["middle"]
    assert [name for name, _ in app.get_subgraphs(recurse=True)] == ["middle", "middle|deep"]
    ((name, found),) = app.get_subgraphs("middle|deep")
    assert (name, found.name) == ("middle|deep", "inner")


def test_new_input_closes_what_waits_inside_and_begins_anew(hand, store, world):
    hand.invoke(world.as_node(store), {"log": []}, CONFIG)
    result = hand.invoke(world.as_node(store), {"log": ["new"]}, CONFIG)
    assert values(result) == ["one?"]
    assert sorted(item.state for item in store.items()) == ["pending", "superseded"]


def test_an_inner_run_that_ends_leaves_the_questions_of_its_siblings_alone(hand, store, world):
    def quick(state):
        return {"log": ["quick"]}

    ends = StateGraph(Inner).add_node(quick).add_edge(START, "quick").compile(name="ends")

    def asks(state):
        return {"log": [interrupt("sibling?")]}

    graph = StateGraph(Outer).add_node(asks).add_node("ends", ends)
    graph.add_edge(START, "asks").add_edge(START, "ends")
    result = hand.invoke(graph.compile(store), {"log": []}, CONFIG)
    assert [item.state for item in store.items()] == ["pending"]
    result = hand.invoke(graph.compile(store), Command(resume="yes"), CONFIG)
    assert sorted(result["log"]) == ["quick", "yes"]


def test_a_step_inside_an_inner_run_is_kept(hand, store):
    calls = []

    def fetch():
        calls.append(1)
        return len(calls)

    def ask(state):
        return {"log": [step(fetch), interrupt("go on?")]}

    inner = StateGraph(Inner).add_node(ask).add_edge(START, "ask").compile(name="inner")
    graph = StateGraph(Outer).add_node("sub", inner).add_edge(START, "sub")
    hand.invoke(graph.compile(store), {"log": []}, CONFIG)
    result = hand.invoke(graph.compile(store), Command(resume="yes"), CONFIG)
    assert result["log"] == [1, "yes"]


def test_an_error_inside_is_the_outer_nodes_error_and_the_inner_run_goes_on_after_it(hand, store):
    fail = [True]
    runs = []

    def first(state):
        runs.append("first")

    def second(state):
        if fail:
            raise OSError("no luck")
        return {"log": ["second"]}

    inner = StateGraph(Inner).add_sequence([first, second]).add_edge(START, "first")
    graph = StateGraph(Outer).add_node("sub", inner.compile(name="inner")).add_edge(START, "sub")
    with pytest.raises(OSError, match="no luck"):
        hand.invoke(graph.compile(store), {"log": []}, CONFIG)
    fail.clear()
    assert hand.invoke(graph.compile(store), None, CONFIG) == {"log": ["second"]}
    assert runs == ["first"]


def test_a_command_for_the_parent_ends_the_inner_run(hand):
    def leaf(state):
        return Command(graph=Command.PARENT, update={"log": ["leaf"]}, goto="after")

    def after(state):
        return {"log": ["after"]}

    inner = StateGraph(Inner).add_node(leaf).add_edge(START, "leaf").compile(name="inner")
    graph = StateGraph(Outer).add_node("sub", inner).add_node(after).add_edge(START, "sub")
    assert hand.invoke(graph.compile(), {"log": []}) == {"log": ["leaf", "after"]}
    with pytest.raises(InvalidUpdateError, match="no graph around"):
        hand.invoke(inner, {"log": []})


def test_an_answer_given_to_the_inner_graph_is_misuse(hand, store, world):
    inner = world.inner()

    def outer(state):
        inner.invoke(Command(resume="x"))

    graph = StateGraph(Outer).add_node(outer).add_edge(START, "outer")
    with pytest.raises(Misuse):
        hand.invoke(graph.compile(store), {"log": []}, CONFIG)


def test_a_graph_that_is_compiled_without_persistence_cannot_pause_inside(hand, store):
    def ask(state):
        return {"log": [interrupt("?")]}

    inner = StateGraph(Inner).add_node(ask).add_edge(START, "ask").compile(False, name="inner")
    graph = StateGraph(Outer).add_node("sub", inner).add_edge(START, "sub")
    with pytest.raises(NoCheckpointer):
        hand.invoke(graph.compile(store), {"log": []}, CONFIG)


def test_inner_runs_that_are_awaited_together_are_each_answered(store, world):
    def build():
        one, two = world.inner("one"), world.inner("two")

        async def outer(state):
            results = await asyncio.gather(one.ainvoke({"log": []}), two.ainvoke({"log": []}))
            return {"log": [result["said"] for result in results]}

        return StateGraph(Outer).add_node(outer).add_edge(START, "outer").compile(store)

    async def go():
        result = await build().ainvoke({"log": []}, CONFIG)
        rounds = 0
        while result.interrupts:
            rounds += 1
            answers = {one.id: one.value[0] for one in result.interrupts}
            result = await build().ainvoke(Command(resume=answers), CONFIG)
            assert rounds < 10
        return result

    assert asyncio.run(go()) == {"log": ["-ot", "-ot"]}
