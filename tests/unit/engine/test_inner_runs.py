"""Runs inside nodes, as a run that is read by what it holds tells them."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, TypedDict

import pytest

from hitl.checkpoint import InMemorySaver
from hitl.engine import RetryPolicy, StateGraph, interrupt
from hitl.engine.fold import Subscribed
from hitl.values import START, Command, Config

CONFIG: Config = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]


def chain(*nodes, **more):
    return StateGraph(State).add_sequence(nodes).set_entry_point(nodes[0].__name__).compile(**more)


def work(state):
    return {"log": ["work"]}


def ask(state):
    return {"log": [interrupt("?")]}


def fails(state):
    raise ValueError("boom")


def around(inner, store=None):
    """Return a graph with a run inside a node, and that run's place."""
    return StateGraph(State).add_node("sub", inner).add_edge(START, "sub").compile(store)


class Sync:
    """Reads a run with the sync methods."""

    def runs(self, graph, input, read):
        run = graph.stream_events(input, CONFIG, version="v3")
        found = []
        for inner in run.subgraphs:
            row = {"node": inner.graph_name, "path": inner.path, "task": inner.trigger_call_id}
            found.append((inner, row))
            if read:
                row["values"] = list(inner.values)
                row["output"], row["paused"] = inner.output, inner.interrupted
                row["asks"] = [one.value for one in inner.interrupts]
        for inner, row in found:
            row["status"], row["error"] = inner.status, inner.error
        return [row for _, row in found]

    def life(self, graph, input):
        return list(graph.stream_events(input, CONFIG, version="v3").lifecycle)

    def mixed(self, graph, input, *names):
        run = graph.stream_events(input, CONFIG, version="v3")
        return [name for name, _ in run.interleave(*names)]

    def events(self, graph, input):
        return list(graph.stream_events(input, CONFIG, version="v3"))


class Async:
    """Reads a run with the async methods."""

    def runs(self, graph, input, read):
        async def all_runs():
            run = await graph.astream_events(input, CONFIG, version="v3")
            found = []
            async for inner in run.subgraphs:
                row = {"node": inner.graph_name, "path": inner.path, "task": inner.trigger_call_id}
                found.append((inner, row))
                if read:
                    row["values"] = [one async for one in inner.values]
                    row["output"], row["paused"] = await inner.output(), await inner.interrupted()
                    row["asks"] = [one.value for one in await inner.interrupts()]
            for inner, row in found:
                row["status"], row["error"] = inner.status, inner.error
            return [row for _, row in found]

        return asyncio.run(all_runs())

    def _collect(self, graph, input, part):
        async def collect():
            run = await graph.astream_events(input, CONFIG, version="v3")
            return [one async for one in part(run)]

        return asyncio.run(collect())

    def life(self, graph, input):
        return self._collect(graph, input, lambda run: run.lifecycle)

    def mixed(self, graph, input, *names):
        return [name for name, _ in self._collect(graph, input, lambda run: run.interleave(*names))]

    def events(self, graph, input):
        return self._collect(graph, input, lambda run: run)


@pytest.fixture(params=[Sync(), Async()], ids=["sync", "async"])
def reader(request):
    return request.param


def test_each_run_inside_is_read_by_what_it_holds(reader, store):
    graph = around(chain(work, ask), store)
    (run,) = reader.runs(graph, {"log": ["in"]}, read=True)
    assert (run["node"], run["path"]) == ("sub", (f"sub:{run['task']}",))
    assert run["values"] == [{"log": ["in"]}, {"log": ["in", "work"]}, {"log": ["in", "work"]}]
    assert (run["output"], run["paused"]) == ({"log": ["in", "work"]}, True)
    assert (run["asks"], run["status"]) == (["?"], "interrupted")
    (again,) = reader.runs(graph, Command(resume="yes"), read=True)
    assert again["task"] == run["task"]
    assert again["output"] == {"log": ["in", "work", "yes"]}
    assert (again["paused"], again["status"], again["error"]) == (False, "completed", None)


def test_a_run_inside_that_nobody_reads_still_tells_how_it_ended(reader, store):
    (run,) = reader.runs(around(chain(work), store), {}, read=False)
    assert (run["status"], "values" in run) == ("completed", False)


def test_the_lives_of_runs_inside_are_told_with_their_places(reader, store):
    deep = around(chain(ask))
    life = reader.life(around(deep, store), {})
    outer, inner = life[0]["namespace"], life[1]["namespace"]
    assert (len(outer), len(inner), inner[:1]) == (1, 2, outer)
    assert life[0] == {
        "event": "started",
        "namespace": outer,
        "graph_name": "sub",
        "trigger_call_id": outer[0].partition(":")[2],
    }
    assert [(one["event"], one["namespace"]) for one in life] == [
        ("started", outer),
        ("started", inner),
        ("interrupted", inner),
        ("interrupted", outer),
    ]


def test_a_run_inside_that_fails_says_with_what_and_may_be_tried_again(reader, store):
    tries: list = []

    def sometimes(state):
        tries.append(1)
        if len(tries) < 2:
            raise OSError("not now")
        return {"log": ["done"]}

    inner = chain(sometimes)
    graph = StateGraph(State)
    policy = RetryPolicy(initial_interval=0.001, retry_on=OSError)
    graph.add_node("sub", inner, retry_policy=policy).add_edge(START, "sub")
    events = [one["event"] for one in reader.life(graph.compile(store), {})]
    assert events == ["started", "failed", "started", "completed"]


def test_an_error_of_the_run_ends_those_inside_it(reader, store):
    with pytest.raises(ValueError, match="boom"):
        reader.runs(around(chain(work, fails), store), {}, read=True)
    run = around(chain(fails), InMemorySaver()).stream_events({}, CONFIG, version="v3")
    inner = next(iter(run.subgraphs))
    with pytest.raises(ValueError, match="boom"):
        _ = run.output
    assert (inner.status, inner.error) == ("failed", "ValueError('boom')")


def test_runs_inside_come_in_the_order_in_which_things_happen(reader, store):
    graph = around(chain(work), store)
    assert reader.mixed(graph, {}, "values", "subgraphs", "lifecycle") == [
        "values",
        "lifecycle",
        "subgraphs",
        "lifecycle",
        "values",
    ]
    lives = [one for one in reader.events(graph, {}) if one["method"] == "lifecycle"]
    assert [one["params"]["data"]["event"] for one in lives] == ["started", "completed"]
    assert [one["params"]["namespace"] for one in lives] == [[], []]


def test_several_runs_in_one_node_have_places_of_their_own(reader, store):
    inner = chain(work)

    def twice(state):
        return {"log": [*inner.invoke({})["log"], *inner.invoke({})["log"]]}

    async def atwice(state):
        first, second = await inner.ainvoke({}), await inner.ainvoke({})
        return {"log": [*first["log"], *second["log"]]}

    graph = StateGraph(State).add_node("sub", twice, async_action=atwice).add_edge(START, "sub")
    one, two = reader.runs(graph.compile(store), {}, read=True)
    assert (one["task"], two["path"]) == (two["task"], (*one["path"], "1"))
    assert [row["output"] for row in (one, two)] == [{"log": ["work"]}] * 2


def test_runs_inside_a_run_inside_are_read_from_it(store):
    run = around(around(chain(ask)), store).stream_events({}, CONFIG, version="v3")
    places = []
    for inner in run.subgraphs:
        for deeper in inner.subgraphs:
            places.append((inner.path, deeper.path))
            assert [one["method"] for one in deeper][-1] == "values"
    ((outer, deep),) = places
    assert deep[:1] == outer
    with pytest.raises(Subscribed):
        iter(run.subgraphs)


def test_all_parts_of_a_run_can_be_listed(store):
    run = around(chain(work), store).stream_events({}, CONFIG, version="v3")
    assert list(run.extensions) == ["values", "messages", "lifecycle", "subgraphs"]
    assert run.extensions["values"] is run.values
    with pytest.raises(TypeError):
        run.extensions["values"] = None  # type: ignore[index]
