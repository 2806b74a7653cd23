"""``interrupt`` and ``step`` inside nodes, and pauses that user code gets in its hands."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import operator
import threading
from typing import Annotated, TypedDict

import pytest

from hitl.checkpoint import InMemorySaver
from hitl.engine import StateGraph, astep, interrupt, step
from hitl.engine.ask import current_config, current_task, running_task
from hitl.errors import Misuse, NoCheckpointer, NotStorable, OutsideRun, Stale
from hitl.values import START, Command, Config


class Log(TypedDict, total=False):
    log: Annotated[list, operator.add]


def single(fn):
    return StateGraph(Log).add_node("a", fn).add_edge(START, "a")


CONFIG: Config = {"configurable": {"thread_id": "t"}}


def test_outside_a_node_nothing_can_be_asked_or_kept():
    for call in (lambda: interrupt("x"), lambda: step(int), lambda: current_task("It")):
        with pytest.raises(OutsideRun):
            call()
    assert running_task() is None
    assert current_config() == {}


def test_a_node_sees_its_task_and_config(hand):
    seen: list = []

    def node(state):
        seen.append((current_task("It").node.name, str(current_config()["configurable"])))

    hand.invoke(single(node).compile(InMemorySaver()), {}, CONFIG)
    assert seen == [("a", str(CONFIG["configurable"]))]
    assert running_task() is None


def test_a_question_that_cannot_be_stored_is_an_error_at_the_call(hand):
    def node(state):
        with pytest.raises(NotStorable, match=r"interrupt\(value\)"):
            interrupt(object())

    hand.invoke(single(node).compile(InMemorySaver()), {}, CONFIG)


def test_a_question_without_checkpointer_is_misuse_at_the_call(hand):
    def node(state):
        with pytest.raises(NoCheckpointer):
            interrupt("x")

    hand.invoke(single(node).compile(), {})


# A pause that is swallowed or wrapped ---------------------------------------------------------


def swallow_exceptions(state):
    try:
        return {"log": [interrupt("ok?")]}
    except Exception:  # noqa: BLE001
        return {"log": ["swallowed"]}


def swallow_everything(state):
    try:
        return {"log": [interrupt("ok?")]}
    except BaseException:  # noqa: BLE001
        return {"log": ["swallowed"]}


def wrap(state):
    try:
        return {"log": [interrupt("ok?")]}
    except BaseException as error:
        raise RuntimeError("wrapped") from error


def retry(state):
    for _ in range(3):
        try:
            return {"log": [interrupt("ok?")]}
        except BaseException:  # noqa: BLE001
            continue
    return {"log": ["gave up"]}


def go_on_with_a_step(state):
    try:
        return {"log": [interrupt("ok?")]}
    except BaseException:  # noqa: BLE001
        step(pytest.fail, "a step ran after the pause")
    return None


def cleans_up(state):
    try:
        return {"log": [interrupt("ok?")]}
    finally:
        state.clear()


@pytest.mark.parametrize(
    ("node", "warned"),
    [
        (swallow_exceptions, False),
        (swallow_everything, True),
        (wrap, True),
        (retry, True),
        (go_on_with_a_step, False),
        (cleans_up, False),
    ],
)
def test_a_pause_is_recorded_whatever_the_node_does_with_it(hand, store, node, warned):
    graph = single(node)
    if warned:
        with pytest.warns(RuntimeWarning, match="Node 'a' went on after interrupt"):
            hand.invoke(graph.compile(store), {}, CONFIG)
    else:
        hand.invoke(graph.compile(store), {}, CONFIG)
    state = hand.state(graph.compile(store), CONFIG)
    assert [one.value for one in state.interrupts] == ["ok?"]
    assert hand.invoke(graph.compile(store), Command(resume=7), CONFIG)["log"] == [7]


async def in_a_task_group(state):
    async with asyncio.TaskGroup() as group:
        one = group.create_task(ask_async("ok?"))
        group.create_task(asyncio.Event().wait())
        await asyncio.wait([one])
        raise RuntimeError("while the other still waits")


async def ask_async(question):
    return interrupt(question)


async def gathered(state):
    (answer,) = await asyncio.gather(ask_async("ok?"))
    return {"log": [answer]}


async def in_a_thread(state):
    return {"log": [await asyncio.to_thread(interrupt, "ok?")]}


async def in_a_timeout(state):
    async with asyncio.timeout(60):
        return {"log": [await ask_async("ok?")]}


@pytest.mark.parametrize("node", [gathered, in_a_thread, in_a_timeout])
def test_async_code_may_ask_from_tasks_and_threads_of_its_own(store, node):
    graph = single(node)
    paused = asyncio.run(graph.compile(store).ainvoke({}, CONFIG))
    assert [one.value for one in paused.interrupts] == ["ok?"]
    done = asyncio.run(graph.compile(store).ainvoke(Command(resume=0), CONFIG))
    assert done["log"] == [0]


def test_a_pause_within_a_task_group_is_a_pause(store):
    paused = asyncio.run(single(in_a_task_group).compile(store).ainvoke({}, CONFIG))
    assert [one.value for one in paused.interrupts] == ["ok?"]


def test_asking_in_a_thread_that_knows_no_run_is_told(hand):
    said = []

    def ask():
        try:
            interrupt("x")
        except OutsideRun as error:
            said.append(error)

    def node(state):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()

    hand.invoke(single(node).compile(InMemorySaver()), {}, CONFIG)
    assert len(said) == 1


# step ----------------------------------------------------------------------------------------


def test_a_step_before_a_pause_runs_once_and_gives_what_it_gave(hand, store):
    calls: list = []
    entered = []

    def fetch(n):
        calls.append(n)
        return (n, {"rows": [n]})

    def node(state):
        entered.append(1)
        first = step(fetch, 1)
        second = step(functools.partial(fetch, n=2))
        third = step(lambda: len(calls))
        return {"log": [first, second, third, interrupt("ok?"), step(fetch, 3)]}

    graph = single(node)
    hand.invoke(graph.compile(store), {}, CONFIG)
    done = hand.invoke(graph.compile(store), Command(resume=True), CONFIG)
    assert done["log"] == [(1, {"rows": [1]}), (2, {"rows": [2]}), 2, True, (3, {"rows": [3]})]
    assert calls == [1, 2, 3]
    assert len(entered) == 2


def test_an_async_step_is_awaited_and_kept(store):
    calls: list = []

    async def fetch(n):
        await asyncio.sleep(0)
        calls.append(n)
        return (n,)

    async def node(state):
        kept = [await step(fetch, 1), await step(functools.partial(fetch, 2))]
        return {"log": [*kept, interrupt("ok?")]}

    graph = single(node)
    asyncio.run(graph.compile(store).ainvoke({}, CONFIG))
    done = asyncio.run(graph.compile(store).ainvoke(Command(resume=0), CONFIG))
    assert done["log"] == [(1,), (2,), 0]
    assert calls == [1, 2]


def test_a_step_that_is_awaited_takes_sync_and_async_functions_and_blocks_no_loop(store):
    ran: list[bool] = []

    def where(value):
        ran.append(threading.current_thread() is threading.main_thread())
        return value

    async def fetch(value):
        return value

    async def node(state):
        pairs = asyncio.gather(astep(where, 1), astep(fetch, 2), astep(where, 3))
        return {"log": [*await pairs, await astep(lambda: fetch(4)), interrupt("?")]}

    app = StateGraph(Log).add_node("n", node).add_edge(START, "n").compile(store)

    async def run():
        await app.ainvoke({"log": []}, CONFIG)
        return await app.ainvoke(Command(resume=5), CONFIG)

    assert asyncio.run(run())["log"] == [1, 2, 3, 4, 5]
    assert ran == [False, False]


@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_a_sync_step_on_the_event_loop_is_refused_and_elsewhere_taken(store):
    async def node(state):
        step(str, 1)

    async def hops(state):
        return {"log": [await asyncio.to_thread(step, str, 1)]}

    def sync(state):
        return {"log": [step(str, 2)]}

    def graph(fn):
        return StateGraph(Log).add_node("n", fn).add_edge(START, "n").compile(store)

    with pytest.raises(Misuse, match="await astep"):
        asyncio.run(graph(node).ainvoke({}, {"configurable": {"thread_id": "a"}}))

    async def inside():  # as in a notebook, whose loop is not this run's
        return graph(sync).invoke({}, {"configurable": {"thread_id": "c"}})

    assert asyncio.run(graph(hops).ainvoke({}, {"configurable": {"thread_id": "b"}})) == {
        "log": ["1"]
    }
    assert asyncio.run(inside()) == {"log": ["2"]}


def test_a_step_that_hides_its_being_async_is_told_so(store):
    async def fetch():
        return 1

    def node(state):
        return {"log": [step(lambda: fetch())]}  # noqa: PLW0108

    with pytest.raises(Misuse, match="Give the async function itself"):
        single(node).compile(store).invoke({}, CONFIG)


def test_steps_in_another_order_are_refused_and_the_thread_is_left_intact(hand, store):
    def one():
        return 1

    def two():
        return 2

    def node(first, second):
        return lambda state: {"log": [step(first), interrupt("ok?"), step(second)]}

    hand.invoke(single(node(one, two)).compile(store), {}, CONFIG)
    with pytest.raises(Misuse, match="number 0 of node 'a'"):
        hand.invoke(single(node(two, one)).compile(store), Command(resume=1), CONFIG)
    assert hand.invoke(single(node(one, two)).compile(store), None, CONFIG)["log"] == [1, 1, 2]


def test_a_step_whose_result_cannot_be_stored_is_an_error(hand, store):
    with pytest.raises(NotStorable, match="step"):
        hand.invoke(single(lambda s: {"log": [step(object)]}).compile(store), {}, CONFIG)


def test_a_step_works_without_checkpointer(hand):
    assert hand.invoke(single(lambda s: {"log": [step(len, "abc")]}).compile(), {})["log"] == [3]


def test_a_step_that_fails_is_not_kept_and_runs_again(hand, store):
    calls: list = []

    def flaky():
        calls.append(1)
        if len(calls) == 1:
            raise OSError("once")
        return "fine"

    graph = single(lambda s: {"log": [step(flaky)]})
    with pytest.raises(OSError, match="once"):
        hand.invoke(graph.compile(store), {}, CONFIG)
    assert hand.invoke(graph.compile(store), None, CONFIG)["log"] == ["fine"]


@pytest.mark.parametrize("swallow", [False, True])
def test_an_answer_never_reaches_a_question_that_nobody_saw(hand, store, swallow):
    what = ["A"]

    def ask(state):
        try:
            return {"log": [what[0], interrupt(f"delete {what[0]}?")]}
        except Exception:
            if not swallow:
                raise
            return {"log": ["went on"]}

    app = StateGraph(Log).add_node(ask).add_edge(START, "ask").compile(store)
    first = hand.invoke(app, {"log": []}, CONFIG)
    what[0] = "B"
    with pytest.raises(Stale, match="asks something else"):
        hand.invoke(app, Command(resume="yes"), CONFIG)
    again = hand.state(app, CONFIG)
    assert again.next == ("ask",)
    app.update_state(CONFIG, None)
    second = hand.invoke(app, None, CONFIG)
    assert second.interrupts[0].value == "delete B?"
    assert second.interrupts[0].id != first.interrupts[0].id
    assert hand.invoke(app, Command(resume="no"), CONFIG)["log"] == ["B", "no"]


def test_code_that_outlives_its_task_asks_outside_a_run(hand, store):
    contexts = []

    def node(state):
        contexts.append(contextvars.copy_context())
        return {"log": ["done"]}

    hand.invoke(single(node).compile(store), {"log": []}, CONFIG)
    with pytest.raises(OutsideRun):
        contexts[0].run(interrupt, "too late?")
