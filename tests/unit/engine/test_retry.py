"""Nodes that are tried again, and nodes that are given only so much time."""

from __future__ import annotations

import asyncio
import operator
from datetime import timedelta
from typing import Annotated, Any, TypedDict

import pytest

from hitl import (
    START,
    Command,
    InMemorySaver,
    Misuse,
    NodeTimeoutError,
    RetryPolicy,
    Send,
    SqliteSaver,
    StateGraph,
    interrupt,
    step,
)
from hitl.agent import AIMessage, HumanMessage, ScriptedModel, create_agent, tool
from hitl.engine.retry import wait_before_retry
from hitl.values import ManualClock


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]


class Flaky(Exception):
    """What a service throws now and then."""


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
def saver(request, tmp_path, clock):
    saver: Any
    if request.param == "memory":
        saver = InMemorySaver(clock=clock)
    else:
        saver = SqliteSaver(tmp_path / "runs.db", clock=clock)
    yield saver
    saver.close()


def graph_of(node, saver=None, **options):
    return (
        StateGraph(State)
        .add_node("node", node, **options)
        .add_edge(START, "node")
        .compile(checkpointer=saver)
    )


def failing(times, error=Flaky):
    """Return a node that fails a few times, and the list of its attempts."""
    attempts: list[int] = []

    def node(state):
        attempts.append(len(attempts) + 1)
        if len(attempts) <= times:
            raise error("not now")
        return {"log": [len(attempts)]}

    return node, attempts


def test_a_node_is_tried_again_until_it_works(hand, saver, config):
    node, attempts = failing(2)
    graph = graph_of(node, saver, retry_policy=RetryPolicy())
    assert hand.invoke(graph, {"log": []}, config)["log"] == [3]
    assert attempts == [1, 2, 3]


def test_the_waits_grow_and_pass_by_the_stores_clock(hand, saver, config, clock):
    node, _ = failing(4)
    policy = RetryPolicy(1.0, 3.0, max_interval=10.0, max_attempts=5, jitter=False)
    start = clock.now()
    hand.invoke(graph_of(node, saver, retry_policy=policy), {"log": []}, config)
    assert clock.now() - start == 1 + 3 + 9 + 10


def test_jitter_only_shortens_a_wait():
    waits = {RetryPolicy(8.0).wait(1) for _ in range(100)}
    assert len(waits) > 1
    assert all(4.0 <= wait <= 8.0 for wait in waits)


def test_the_last_error_is_raised_and_is_the_only_one_on_record(hand, saver, config):
    node, attempts = failing(9)
    graph = graph_of(node, saver, retry_policy=RetryPolicy(max_attempts=2))
    with pytest.raises(Flaky):
        hand.invoke(graph, {"log": []}, config)
    assert attempts == [1, 2]
    assert hand.state(graph, config).tasks[0].error == "Flaky('not now')"
    kinds = [entry.kind for entry in saver.load("t").entries]
    assert kinds == ["input", "result"]


def test_a_node_without_a_policy_is_not_tried_again(hand, saver, config):
    node, attempts = failing(1)
    with pytest.raises(Flaky):
        hand.invoke(graph_of(node, saver), {"log": []}, config)
    assert attempts == [1]


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, AttributeError, OSError])
def test_errors_of_the_program_are_not_tried_again_by_default(error):
    assert wait_before_retry([RetryPolicy()], error("x"), 1) is None


@pytest.mark.parametrize("error", [ConnectionResetError, TimeoutError, Flaky, Exception])
def test_errors_that_may_pass_are_tried_again_by_default(error):
    assert wait_before_retry([RetryPolicy()], error("x"), 1) is not None


@pytest.mark.parametrize(("status", "again"), [(503, True), (404, False)])
def test_an_error_of_a_server_is_tried_again_and_one_of_the_request_is_not(status, again):
    error: Any = Flaky("answered")
    error.response = type("Response", (), {"status_code": status})()
    assert (wait_before_retry([RetryPolicy()], error, 1) is not None) is again


@pytest.mark.parametrize(
    "retry_on", [KeyError, [OSError, KeyError], (KeyError,), lambda error: "not" in str(error)]
)
def test_retry_on_takes_classes_or_a_function(retry_on):
    node, _ = failing(1, KeyError)
    policy = RetryPolicy(0.0, retry_on=retry_on)
    assert graph_of(node, retry_policy=policy).invoke({"log": []})["log"] == [2]


def test_of_several_policies_the_first_that_takes_the_error_counts():
    never = RetryPolicy(max_attempts=1, retry_on=Flaky)
    often = RetryPolicy(max_attempts=5, retry_on=Exception)
    assert wait_before_retry([never, often], Flaky(), 1) is None
    assert wait_before_retry([never, often], KeyError(), 1) is not None


def test_what_the_library_refuses_is_not_tried_again():
    everything = RetryPolicy(retry_on=Exception)
    assert wait_before_retry([everything], Misuse("wrong"), 1) is None
    assert wait_before_retry([everything], NodeTimeoutError("late"), 1) is not None


def test_a_retry_never_swallows_a_pause(hand, saver, config):  # R147
    attempts = []

    def node(state):
        attempts.append(1)
        return {"log": [interrupt("go on?")]}

    graph = graph_of(node, saver, retry_policy=RetryPolicy(retry_on=lambda error: True))
    first = hand.invoke(graph, {"log": []}, config)
    assert [one.value for one in first.interrupts] == ["go on?"]
    assert attempts == [1]
    assert hand.invoke(graph, Command(resume="yes"), config)["log"] == ["yes"]


def test_a_failure_after_an_answer_is_tried_again_with_the_answer(hand, saver, config):
    failures = [Flaky("once"), Flaky("twice")]

    def node(state):
        answer = interrupt("first?")
        if failures:
            raise failures.pop()
        return {"log": [answer, interrupt("second?")]}

    graph = graph_of(node, saver, retry_policy=RetryPolicy())
    hand.invoke(graph, {"log": []}, config)
    second = hand.invoke(graph, Command(resume=1), config)
    assert [one.value for one in second.interrupts] == ["second?"]
    assert hand.invoke(graph, Command(resume=2), config)["log"] == [1, 2]


def test_a_step_that_is_done_is_not_done_again_by_a_retry(hand, saver, config):
    calls = []

    def charge():
        calls.append(1)
        return "charged"

    failures = [Flaky("once")]

    def node(state):
        done = step(charge)
        if failures:
            raise failures.pop()
        return {"log": [done]}

    graph = graph_of(node, saver, retry_policy=RetryPolicy())
    assert hand.invoke(graph, {"log": []}, config)["log"] == ["charged"]
    assert calls == [1]


def test_a_sibling_is_not_run_again_with_the_one_that_is(hand, saver, config):
    tries, others = [], []

    def flaky(state):
        tries.append(1)
        if len(tries) < 3:
            raise Flaky
        return {"log": ["flaky"]}

    def steady(state):
        others.append(1)
        return {"log": ["steady"]}

    graph = (
        StateGraph(State)
        .add_node("flaky", flaky, retry_policy=RetryPolicy())
        .add_node("steady", steady)
        .add_edge(START, "flaky")
        .add_edge(START, "steady")
        .compile(checkpointer=saver)
    )
    assert hand.invoke(graph, {"log": []}, config)["log"] == ["flaky", "steady"]
    assert (len(tries), len(others)) == (3, 1)


def test_each_task_of_a_fan_out_has_attempts_of_its_own(hand, saver, config):
    seen = []

    def worker(arg):
        seen.append(arg["n"])
        if seen.count(arg["n"]) < 2:
            raise Flaky
        return {"log": [arg["n"]]}

    graph = (
        StateGraph(State)
        .add_node("worker", worker, retry_policy=RetryPolicy(max_attempts=2))
        .add_conditional_edges(START, lambda _: [Send("worker", {"n": n}) for n in range(5)])
        .compile(checkpointer=saver)
    )
    assert hand.invoke(graph, {"log": []}, config)["log"] == [0, 1, 2, 3, 4]


def test_a_graph_inside_a_retried_node_goes_on_where_it_failed(hand, saver, config):
    first, failures = [], [Flaky("once")]

    def one(state):
        first.append(1)
        return {"log": ["one"]}

    def two(state):
        if failures:
            raise failures.pop()
        return {"log": ["two"]}

    inner = StateGraph(State).add_sequence([one, two]).add_edge(START, "one").compile()
    graph = graph_of(inner, saver, retry_policy=RetryPolicy())
    assert hand.invoke(graph, {"log": []}, config)["log"] == ["one", "two"]
    assert first == [1]


def test_an_update_written_in_a_nodes_name_is_not_its_execution(saver, config):
    node, attempts = failing(0)
    graph = graph_of(node, saver, retry_policy=RetryPolicy())
    graph.update_state(config, {"log": ["by hand"]}, as_node="node")
    assert graph.get_state(config).values == {"log": ["by hand"]}
    assert attempts == []


@pytest.mark.parametrize(
    "wrong",
    [{"max_attempts": 0}, {"initial_interval": -1}, {"backoff_factor": 0}, {"retry_on": "all"}],
)
def test_a_policy_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(Misuse):
        RetryPolicy(**wrong)


def test_something_else_than_a_policy_is_refused():
    with pytest.raises(Misuse, match="'node' has a int"):
        graph_of(lambda state: None, retry_policy=3)


# Timeouts ----------------------------------------------------------------------------------


async def forever(state):
    await asyncio.Event().wait()


def test_an_async_node_is_cancelled_when_its_time_is_up(saver, config):
    graph = graph_of(forever, saver, timeout=0.01)
    with pytest.raises(NodeTimeoutError, match=r"'node' took longer than its timeout of 0\.01 s"):
        asyncio.run(graph.ainvoke({"log": []}, config))
    assert graph.get_state(config).tasks[0].error.startswith("NodeTimeoutError")
    assert graph.get_state(config).next == ("node",)


def test_a_timeout_counts_for_each_attempt(saver, config):
    attempts = []

    async def node(state):
        attempts.append(1)
        if len(attempts) < 3:
            await forever(state)
        return {"log": ["done"]}

    graph = graph_of(node, saver, timeout=timedelta(milliseconds=10), retry_policy=RetryPolicy())
    assert asyncio.run(graph.ainvoke({"log": []}, config))["log"] == ["done"]


def test_a_nodes_own_timeout_error_stays_its_own(saver, config):
    async def node(state):
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine") as caught:
        asyncio.run(graph_of(node, saver, timeout=60).ainvoke({"log": []}, config))
    assert type(caught.value) is TimeoutError


def test_a_pause_inside_the_time_is_a_pause(saver, config):
    async def node(state):
        return {"log": [interrupt("?")]}

    graph = graph_of(node, saver, timeout=60)
    asyncio.run(graph.ainvoke({"log": []}, config))
    assert asyncio.run(graph.ainvoke(Command(resume=1), config))["log"] == [1]


@pytest.mark.parametrize("timeout", [0, -1, timedelta(0)])
def test_a_timeout_must_be_some_time(timeout):
    with pytest.raises(Misuse, match="must be seconds above 0"):
        graph_of(forever, timeout=timeout)


def test_a_timeout_of_a_sync_node_is_refused():
    with pytest.raises(Misuse, match="nothing can stop a thread"):
        graph_of(lambda state: None, timeout=1)


def test_a_call_with_an_effect_that_timed_out_is_not_made_again(saver, config):
    calls = []

    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        calls.append(amount)
        await asyncio.Event().wait()
        return "paid"

    call: Any = {"name": "pay", "args": {"amount": 3}, "id": "c1"}
    model = ScriptedModel([AIMessage("", tool_calls=[call]), AIMessage("done")])
    agent = create_agent(model, [pay])

    async def node(state):
        output = await agent.ainvoke({"messages": [HumanMessage("pay")]})
        return {"log": [output["messages"][-2].content]}

    graph = graph_of(node, saver, timeout=0.05, retry_policy=RetryPolicy(retry_on=Exception))
    with pytest.raises(NodeTimeoutError):
        asyncio.run(graph.ainvoke({"log": []}, config))
    assert calls == [3]
    waits = asyncio.run(graph.ainvoke(None, config)).interrupts
    assert "outcome_unknown" in waits[0].value
    asyncio.run(
        graph.ainvoke(Command(resume={waits[0].id: {"type": "respond", "message": "ok"}}), config)
    )
    assert calls == [3]
    assert graph.get_state(config).values == {"log": ["ok"]}
