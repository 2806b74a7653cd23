"""Streams: what is told, when it is told, and what leaving early leaves behind."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from operator import add
from typing import Annotated, TypedDict

import pytest

from hitl.checkpoint import InMemorySaver
from hitl.engine import Runtime, StateGraph, get_stream_writer, interrupt
from hitl.engine.channel import SIZE
from hitl.errors import Misuse, NoCheckpointer, OutsideRun
from hitl.values import END, START, Command

MODES = ["values", "updates", "messages", "custom", "checkpoints"]


class State(TypedDict, total=False):
    log: Annotated[list, add]


class Note:
    """What the engine takes for a message."""

    type = "ai"

    def __init__(self, content, id=None):
        self.content = self.text = content
        self.id = id


def says(word):
    return lambda _: {"log": [word]}


def asks(question):
    def node(_):
        return {"log": [interrupt(question)]}

    return node


def writes(*parts):
    def node(_, runtime: Runtime):
        for part in parts:
            runtime.stream_writer(part)
        return {"log": ["wrote"]}

    return node


def chain(**nodes):
    graph = StateGraph(State)
    before = START
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    return graph


def fan(**nodes):
    graph = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
    return graph


# What is told ---------------------------------------------------------------------------------


def test_the_custom_stream_has_what_nodes_write(hand, store, config):
    app = chain(a=writes(1, {"two": 2}), b=writes(3)).compile(store)
    assert hand.stream(app, {}, config, stream_mode="custom") == [1, {"two": 2}, 3]


def test_the_writer_can_be_got_inside_a_node_and_not_outside(hand, store, config):
    def node(_):
        get_stream_writer()("here")

    assert hand.stream(chain(a=node).compile(store), {}, config, stream_mode="custom") == ["here"]
    with pytest.raises(OutsideRun):
        get_stream_writer()


def test_what_nodes_write_goes_nowhere_if_nobody_reads_it(hand, store, config):
    app = chain(a=writes(1)).compile(store)
    assert hand.invoke(app, {}, config) == {"log": ["wrote"]}
    assert hand.stream(app, {}, config) == [{"a": {"log": ["wrote"]}}]


def test_several_modes_come_with_their_names_in_the_order_of_what_happens(hand, store, config):
    app = chain(a=writes("x")).compile(store)
    parts = hand.stream(app, {}, config, stream_mode=["custom", "updates", "values"])
    assert parts == [
        ("values", {"log": []}),
        ("custom", "x"),
        ("updates", {"a": {"log": ["wrote"]}}),
        ("values", {"log": ["wrote"]}),
    ]


def test_parts_of_version_two_tell_their_kind_and_place(hand, store, config):
    app = chain(a=writes("x")).compile(store)
    parts = hand.stream(app, {}, config, stream_mode=["custom", "values"], version="v2")
    assert parts[:2] == [
        {"type": "values", "ns": (), "data": {"log": []}, "interrupts": ()},
        {"type": "custom", "ns": (), "data": "x"},
    ]


def test_a_message_that_a_node_returns_is_told_once_with_its_node(hand, config):
    said = Note("hello", "1")
    app = chain(a=says(said), b=lambda state: {"log": [state["log"][0]]}).compile()
    ((message, about),) = hand.stream(app, {}, stream_mode="messages")
    assert message is said
    assert about["langgraph_node"] == "a"
    assert about["langgraph_checkpoint_ns"].startswith("a:")


def test_what_goes_with_a_message_has_the_metadata_of_the_config(hand):
    app = chain(a=says(Note("hello"))).compile()
    ((_, about),) = hand.stream(app, {}, {"metadata": {"user": "u"}}, stream_mode="messages")
    assert about["user"] == "u"


def test_checkpoints_are_told_as_they_are_written_and_as_they_pause(hand, store, config):
    app = chain(a=says("a"), b=asks("?")).compile(store)
    parts = hand.stream(app, {}, config, stream_mode="checkpoints")
    assert [(part["next"], part["metadata"]["source"]) for part in parts] == [
        (["a"], "input"),
        (["b"], "loop"),
        (["b"], "loop"),
    ]
    (task,) = parts[-1]["tasks"]
    assert [one.value for one in task["interrupts"]] == ["?"]
    assert parts[-1]["config"] == hand.state(app, config).config
    assert parts[1]["parent_config"] == parts[0]["config"]
    assert parts[1]["values"] == {"log": ["a"]}
    answered = hand.stream(app, Command(resume=1), config, stream_mode="checkpoints")
    assert [part["next"] for part in answered] == [[]]


def test_checkpoints_cannot_be_told_of_a_graph_without_a_saver(hand):
    with pytest.raises(NoCheckpointer):
        hand.stream(chain(a=says("a")).compile(), {}, stream_mode="checkpoints")


def test_an_unknown_mode_is_refused(hand, config):
    with pytest.raises(Misuse, match="custom"):
        hand.stream(chain(a=says("a")).compile(), {}, stream_mode="costum")


def test_four_parallel_questions_are_all_told_once_in_every_mode_that_tells_pauses(
    hand, store, config
):
    app = fan(a=asks("a"), b=asks("b"), c=asks("c"), d=asks("d")).compile(store)
    told: dict[str, list] = {mode: [] for mode in MODES}
    for mode, data in hand.stream(app, {}, config, stream_mode=MODES):
        if mode == "checkpoints":
            told[mode] = [one for task in data["tasks"] for one in task["interrupts"]]
        else:
            told[mode].extend(data.get("__interrupt__", ()))
    waiting = sorted(one.id for one in hand.state(app, config).interrupts)
    assert len(waiting) == 4
    for mode in ("values", "updates", "checkpoints"):
        assert sorted(one.id for one in told[mode]) == waiting, mode


@pytest.mark.parametrize("mode", ["values", "updates"])
def test_who_reads_a_paused_thread_again_is_told_what_waits(hand, store, config, mode):
    app = fan(a=asks("a"), b=asks("b"), c=says("c")).compile(store)
    hand.stream(app, {}, config, stream_mode=mode)

    def told(parts):
        return {one.value for part in parts for one in part.get("__interrupt__", ())}

    assert told(hand.stream(app, None, config, stream_mode=mode)) == {"a", "b"}
    first = next(one for one in hand.state(app, config).interrupts if one.value == "a")
    answer = Command(resume={first.id: 1})
    assert told(hand.stream(app, answer, config, stream_mode=mode)) == {"b"}


def test_an_error_reaches_the_reader_after_what_was_told_before_it(hand, store, config):
    def broken(_, runtime: Runtime):
        runtime.stream_writer("before")
        raise ValueError("no")

    app = chain(a=broken).compile(store)
    seen: list = []

    async def read():
        async for part in app.astream({}, config, stream_mode="custom"):
            seen.append(part)  # noqa: PERF401 - what comes before the error is looked at

    def tell():
        if hand.name == "async":
            asyncio.run(read())
        for part in app.stream({}, config, stream_mode="custom"):
            seen.append(part)  # noqa: PERF402 - what comes before the error is looked at

    with pytest.raises(ValueError, match="no"):
        tell()
    assert seen == ["before"]


# Runs inside nodes ----------------------------------------------------------------------------


def outer_of(inner):
    return chain(sub=inner, last=says("last"))


def test_runs_inside_nodes_tell_their_parts_with_their_place(hand, store, config):
    app = outer_of(chain(deep=writes("x")).compile()).compile(store)
    parts = hand.stream(app, {}, config, stream_mode=["updates", "custom"], subgraphs=True)
    (place,) = {ns for ns, _, _ in parts if ns}
    assert len(place) == 1
    assert place[0].startswith("sub:")
    assert parts == [
        (place, "custom", "x"),
        (place, "updates", {"deep": {"log": ["wrote"]}}),
        ((), "updates", {"sub": {"log": ["wrote"]}}),
        ((), "updates", {"last": {"log": ["last"]}}),
    ]


def test_without_subgraphs_only_what_they_write_is_told(hand, store, config):
    app = outer_of(chain(deep=writes("x")).compile()).compile(store)
    parts = hand.stream(app, {}, config, stream_mode=["updates", "custom"])
    assert [mode for mode, _ in parts] == ["custom", "updates", "updates"]


def test_parts_of_version_two_say_where_they_come_from(hand, store, config):
    app = outer_of(chain(deep=says("d")).compile()).compile(store)
    parts = hand.stream(app, {}, config, stream_mode="updates", subgraphs=True, version="v2")
    assert [len(part["ns"]) for part in parts] == [1, 0, 0]


def test_a_run_two_floors_down_has_both_tasks_in_its_place(hand, store, config):
    middle = chain(mid=chain(deep=says("d")).compile()).compile()
    app = outer_of(middle).compile(store)
    parts = hand.stream(app, {}, config, stream_mode="updates", subgraphs=True)
    places = [[name.partition(":")[0] for name in ns] for ns, _ in parts]
    assert places == [["sub", "mid"], ["sub"], [], []]


def test_a_run_that_a_node_streams_itself_is_told_to_both_readers(store, config):
    inner = chain(deep=writes("x")).compile()
    own: list = []

    def node(_):
        own.extend(inner.stream({}, stream_mode=["custom", "updates"]))

    app = chain(a=node).compile(store)
    parts = list(app.stream({}, config, stream_mode="custom", subgraphs=True))
    assert [data for _, data in parts] == ["x"]
    assert own == [("custom", "x"), ("updates", {"deep": {"log": ["wrote"]}})]


def test_a_pause_inside_is_told_inside_and_outside(hand, store, config):
    app = outer_of(chain(deep=asks("?")).compile()).compile(store)
    parts = hand.stream(app, {}, config, stream_mode="updates", subgraphs=True)
    assert [(len(ns), data["__interrupt__"][0].value) for ns, data in parts] == [(1, "?"), (0, "?")]
    answered = hand.stream(app, Command(resume="!"), config, stream_mode="updates", subgraphs=True)
    assert [data for _, data in answered] == [
        {"deep": {"log": ["!"]}},
        {"sub": {"log": ["!"]}},
        {"last": {"log": ["last"]}},
    ]


@pytest.mark.parametrize("mode", ["values", "updates"])
def test_who_reads_again_is_told_what_waits_inside(hand, store, config, mode):
    app = outer_of(chain(deep=asks("?")).compile()).compile(store)
    hand.stream(app, {}, config, stream_mode=mode)
    (part,) = hand.stream(app, None, config, stream_mode=mode)[-1:]
    assert [one.value for one in part["__interrupt__"]] == ["?"]
    assert tuple(part["__interrupt__"]) == hand.state(app, config).interrupts


def test_a_pause_in_a_run_that_a_node_streams_itself_pauses_the_node(hand, store, config):
    inner = chain(deep=writes("x"), ask=asks("?")).compile()
    told: list = []

    def node(_):
        told.extend(inner.stream({}, stream_mode="custom"))
        return {"log": ["after"]}

    async def anode(_):
        told.extend([part async for part in inner.astream({}, stream_mode="custom")])
        return {"log": ["after"]}

    app = chain(a=anode if hand.name == "async" else node).compile(store)
    parts = hand.stream(app, {}, config, stream_mode="updates", subgraphs=True)
    assert [len(ns) for ns, _ in parts] == [1, 1, 0]
    assert [one.value for one in hand.state(app, config).interrupts] == ["?"]
    result = hand.invoke(app, Command(resume="!"), config)
    assert result["log"] == ["after"]


# While a node runs ----------------------------------------------------------------------------


def test_a_part_reaches_the_reader_while_its_node_still_runs(store, config):
    read = threading.Event()

    def node(_, runtime: Runtime):
        runtime.stream_writer("first")
        assert read.wait(30)
        return {"log": ["done"]}

    parts = chain(a=node).compile(store).stream({}, config, stream_mode=["custom", "updates"])
    assert next(parts) == ("custom", "first")
    read.set()
    assert list(parts) == [("updates", {"a": {"log": ["done"]}})]


async def test_a_part_reaches_the_reader_while_its_async_node_still_runs(store, config):
    read = asyncio.Event()

    async def node(_, runtime: Runtime):
        runtime.stream_writer("first")
        await read.wait()
        return {"log": ["done"]}

    parts = chain(a=node).compile(store).astream({}, config, stream_mode=["custom", "updates"])
    assert await anext(parts) == ("custom", "first")
    read.set()
    assert [part async for part in parts] == [("updates", {"a": {"log": ["done"]}})]


def test_a_slow_reader_holds_the_writer_up(config):
    written: list = []
    tasted = threading.Event()

    def node(_, runtime: Runtime):
        for number in range(1000):
            written.append(number)
            if number == SIZE:
                tasted.set()
            runtime.stream_writer(number)

    parts = chain(a=node).compile().stream({}, stream_mode="custom")
    for expected in range(1000):
        assert next(parts) == expected
        if expected == 0:
            assert tasted.wait(30)
        assert len(written) <= expected + SIZE + 2
    assert list(parts) == []


async def test_a_slow_reader_holds_an_async_writer_up_at_its_awaits(config):
    written: list = []

    async def node(_, runtime: Runtime):
        for number in range(1000):
            written.append(number)
            runtime.stream_writer(number)
            await asyncio.sleep(0)

    parts = chain(a=node).compile().astream({}, stream_mode="custom")
    for expected in range(1000):
        assert await anext(parts) == expected
        for _ in range(3 if expected % 100 else 100):
            await asyncio.sleep(0)
        assert len(written) <= expected + SIZE + 2
    assert [part async for part in parts] == []


async def test_a_slow_reader_holds_a_sync_writer_of_an_async_run_up(config):
    written: list = []

    def node(_, runtime: Runtime):
        for number in range(200):
            written.append(number)
            runtime.stream_writer(number)

    parts = chain(a=node).compile().astream({}, stream_mode="custom")
    async for part in parts:
        assert len(written) <= part + SIZE + 2


async def test_what_an_async_node_returns_raises_and_awaits_is_its_own_while_it_is_read():
    async def node(_, runtime: Runtime):
        runtime.stream_writer("x")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        assert sum(await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2))) == 3
        return {"log": ["done"]}

    app = chain(a=node).compile()
    parts = [part async for part in app.astream({}, stream_mode=["custom", "updates"])]
    assert parts == [("custom", "x"), ("updates", {"a": {"log": ["done"]}})]


def test_context_variables_of_the_reader_are_those_of_the_nodes(hand, config):
    who: contextvars.ContextVar = contextvars.ContextVar("who", default="nobody")

    def node(_, runtime: Runtime):
        runtime.stream_writer(who.get())

    token = who.set("reader")
    try:
        app = fan(a=node, b=node).compile()
        assert hand.stream(app, {}, stream_mode="custom") == ["reader", "reader"]
    finally:
        who.reset(token)


def test_nothing_runs_and_no_thread_starts_before_something_is_read(config):
    ran: list = []
    before = threading.active_count()
    parts = chain(a=lambda _: ran.append(1)).compile().stream({}, stream_mode="custom")
    assert threading.active_count() == before
    parts.close()
    assert ran == []


def test_plain_streams_start_no_thread(store, config):
    inside: list = []
    app = chain(a=lambda _: inside.append(threading.current_thread())).compile(store)
    list(app.stream({}, config, stream_mode=["values", "updates", "checkpoints"]))
    assert inside == [threading.current_thread()]


def test_a_run_that_nobody_watches_has_no_watch(config):
    seen: list = []

    def node(_):
        from hitl.engine import current_task

        seen.append(current_task("test").run.watch)

    chain(a=node).compile().invoke({})
    list(chain(a=node).compile().stream({}))
    assert seen == [None, None]


# Leaving early --------------------------------------------------------------------------------


def endless(ran):
    def node(_, runtime: Runtime):
        ran.append("started")
        for number in range(100_000):
            runtime.stream_writer(number)
        ran.append("ended")

    return node


def test_leaving_unwinds_the_node_and_leaves_a_thread_that_can_be_resumed(store, config):
    ran: list = []
    app = chain(a=says("a"), b=endless(ran), c=says("c")).compile(store)
    parts = app.stream({}, config, stream_mode="custom")
    assert next(parts) == 0
    parts.close()
    assert ran == ["started"]
    assert not [one for one in threading.enumerate() if one.name == "hitl-stream"]
    assert app.get_state(config).next == ("b",)
    # The lease is back: another run takes the thread at once.
    assert app.update_state(config, {"log": ["B"]}, as_node="b")
    assert app.invoke(None, config) == {"log": ["a", "B", "c"]}


def test_leaving_while_a_node_runs_on_keeps_what_it_finishes_and_starts_no_other(store, config):
    left = threading.Event()
    ran: list = []

    def node(_, runtime: Runtime):
        runtime.stream_writer("x")
        assert left.wait(30)
        return {"log": ["a"]}

    app = chain(a=node, b=lambda _: ran.append("b")).compile(store)
    parts = app.stream({}, config, stream_mode="custom")
    assert next(parts) == "x"
    threading.Timer(0.02, left.set).start()
    parts.close()
    assert ran == []
    snapshot = app.get_state(config)
    assert snapshot.values == {"log": ["a"]}
    assert snapshot.next == ("b",)
    assert app.invoke(None, config) == {"log": ["a"]}


def test_leaving_unwinds_siblings_and_runs_inside(store, config):
    ran: list = []
    inner = chain(deep=endless(ran)).compile()
    app = fan(a=inner, b=endless(ran)).compile(store)
    for _ in app.stream({}, config, stream_mode="custom", subgraphs=True):
        break
    assert "ended" not in ran
    assert app.get_state(config).next == ("a", "b")


async def test_leaving_an_async_stream_cancels_the_node_and_gives_the_lease_back(store, config):
    ended: list = []

    async def node(_, runtime: Runtime):
        if ended:
            return {"log": ["b"]}
        runtime.stream_writer("x")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    app = chain(a=says("a"), b=node).compile(store)
    parts = app.astream({}, config, stream_mode="custom")
    assert await anext(parts) == "x"
    await parts.aclose()
    assert ended == ["cancelled"]
    assert (await app.aget_state(config)).next == ("b",)
    assert await app.ainvoke(None, config) == {"log": ["a", "b"]}


async def test_cancelling_the_reader_cancels_the_run(store, config):
    started = asyncio.Event()
    ended: list = []

    async def node(_):
        if ended:
            return {"log": ["a"]}
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    app = chain(a=node).compile(store)

    async def read():
        return [part async for part in app.astream({}, config, stream_mode=["custom", "values"])]

    reader = asyncio.create_task(read())
    await started.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert ended == ["cancelled"]
    assert await app.ainvoke(None, config) == {"log": ["a"]}


async def test_leaving_an_async_stream_frees_a_sync_node_that_waits_for_room(store, config):
    gone = threading.Event()

    def node(_, runtime: Runtime):
        try:
            for number in range(100_000):
                runtime.stream_writer(number)
        finally:
            gone.set()

    parts = chain(a=node).compile(store).astream({}, config, stream_mode="custom")
    assert await anext(parts) == 0
    await parts.aclose()
    assert await asyncio.to_thread(gone.wait, 30)


def test_many_streams_at_once_do_not_leak_into_each_other():
    def node(state, runtime: Runtime):
        for _ in range(50):
            runtime.stream_writer(state["log"][0])

    app = chain(a=node).compile(InMemorySaver())
    seen: dict[int, list] = {}

    def read(number):
        config = {"configurable": {"thread_id": str(number)}}
        seen[number] = list(app.stream({"log": [number]}, config, stream_mode="custom"))

    threads = [threading.Thread(target=read, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {number: [number] * 50 for number in range(20)}


async def test_a_run_inside_that_blocks_the_event_loop_does_not_wait_for_itself(monkeypatch):
    monkeypatch.setattr("hitl.engine.achannel.BLOCKED", 0.001)
    inner = fan(a=writes(*range(SIZE * 2)), b=writes(*range(SIZE * 2))).compile()

    async def node(_):
        inner.invoke({})

    parts = chain(a=node).compile().astream({}, stream_mode="custom", subgraphs=True)
    assert len([part async for part in parts]) == SIZE * 4
