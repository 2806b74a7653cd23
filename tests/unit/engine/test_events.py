"""Runs that are read by what they hold, sync and async."""

from __future__ import annotations

import asyncio
import threading
from operator import add
from typing import Annotated, TypedDict

import pytest

from hitl.checkpoint import InMemorySaver
from hitl.engine import Runtime, StateGraph, interrupt, message_writer
from hitl.errors import HitlError, Misuse, NoThreadId
from hitl.values import END, START, Command


class State(TypedDict, total=False):
    log: Annotated[list, add]


class Note:
    """What the engine takes for a message."""

    def __init__(self, text, id=None, type="ai", tool_calls=()):
        self.content = self.text = text
        self.id = id
        self.type = type
        self.tool_calls = tool_calls


def chain(**nodes):
    graph = StateGraph(State)
    before = START
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    graph.add_edge(before, END)
    return graph


def says(word):
    return lambda _: {"log": [word]}


def asks(question):
    return lambda _: {"log": [interrupt(question)]}


def talks(*words, id="m", calls=()):
    def node(_):
        writer = message_writer()
        if writer is not None:
            for word in words:
                writer.put(Note(word, id), id)
            writer.end(id, Note("".join(words), id, tool_calls=calls))
        return {"log": ["".join(words)]}

    return node


@pytest.fixture
def saver():
    return InMemorySaver()


# Sync -----------------------------------------------------------------------------------------


def test_nothing_runs_until_something_is_read():
    ran: list = []
    run = chain(a=lambda _: ran.append(1)).compile().stream_events({}, version="v3")
    assert ran == []
    assert run.output == {"log": []}
    assert ran == [1]


def test_messages_come_one_by_one_with_their_tokens():
    app = chain(a=talks("one ", "two", id="1", calls=["c"]), b=talks("three", id="2")).compile()
    run = app.stream_events({})
    seen = [(message.id, message.node, list(message.text)) for message in run.messages]
    assert seen == [("1", "a", ["one ", "two"]), ("2", "b", ["three"])]


def test_a_message_that_is_not_read_can_still_be_read_afterwards():
    app = chain(a=talks("one ", "two", id="1", calls=["c"]), b=talks("three", id="2")).compile()
    first, second = list(app.stream_events({}).messages)
    assert str(first.text) == "one two"
    assert first.output is not None
    assert first.output.text == "one two"
    assert first.tool_calls == ["c"]
    assert list(second.text) == ["three"]


def test_a_token_is_read_while_its_node_still_runs():
    read = threading.Event()

    def node(_):
        writer = message_writer()
        assert writer is not None
        writer.put(Note("first ", "1"), "1")
        assert read.wait(30)
        writer.put(Note("second", "1"), "1")
        writer.end("1", Note("first second", "1"))

    for message in chain(a=node).compile().stream_events({}).messages:
        tokens = iter(message.text)
        assert next(tokens) == "first "
        read.set()
        assert list(tokens) == ["second"]


def test_a_whole_message_that_a_node_returns_is_one_token_and_those_of_tools_are_left_out():
    app = chain(a=says(Note("whole", "1")), b=says(Note("result", "2", type="tool"))).compile()
    (message,) = app.stream_events({}).messages
    assert list(message.text) == ["whole"]


def test_the_end_of_a_run_is_known_after_its_messages(saver, config):
    app = chain(a=talks("hi"), b=asks("?")).compile(saver)
    run = app.stream_events({}, config, version="v3")
    assert len(list(run.messages)) == 1
    assert run.interrupted
    assert [one.value for one in run.interrupts] == ["?"]
    assert run.interrupts == list(app.get_state(config).interrupts)
    again = app.stream_events(Command(resume="!"), config, version="v3")
    assert list(again.messages) == []
    assert not again.interrupted
    assert again.interrupts == []
    assert again.output["log"][1:] == ["!"]  # type: ignore[index]


def test_a_static_pause_is_no_interruption(saver, config):
    run = chain(a=says("a"), b=says("b")).compile(saver, interrupt_before=["b"])
    events = run.stream_events({}, config)
    assert not events.interrupted
    assert events.output == {"log": ["a"]}


def test_values_are_the_runs_own(saver, config):
    app = chain(sub=chain(deep=says("d")).compile(), last=says("l")).compile(saver)
    assert list(app.stream_events({}, config).values) == [
        {"log": []},
        {"log": ["d"]},
        {"log": ["d", "l"]},
    ]


def test_events_say_what_where_and_when(saver, config):
    app = chain(sub=chain(deep=asks("?")).compile()).compile(saver)
    events = list(app.stream_events({}, config))
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {event["type"] for event in events} == {"event"}
    assert {event["method"] for event in events} == {"values", "updates", "lifecycle"}
    last = events[-1]["params"]
    assert isinstance(last, dict)
    assert last["namespace"] == []
    assert last["interrupts"][0].value == "?"
    assert any(event["params"]["namespace"] for event in events)  # type: ignore[index]


def test_interleaved_parts_come_in_the_order_in_which_they_arrive():
    app = chain(a=talks("one", id="1"), b=talks("two", id="2")).compile()
    names = []
    for name, item in app.stream_events({}).interleave("values", "messages"):
        names.append(name if name == "values" else str(item.text))  # type: ignore[attr-defined]
    assert names == ["values", "one", "values", "two", "values"]


def test_each_part_has_one_reader():
    run = chain(a=talks("hi")).compile().stream_events({})
    iter(run.values)
    with pytest.raises(RuntimeError, match="already has a subscriber"):
        iter(run.values)
    (message,) = run.messages
    iter(message.text)
    with pytest.raises(RuntimeError, match="already has a subscriber"):
        iter(message.text)
    with pytest.raises(HitlError):
        run.interleave("messages")


def test_an_unknown_part_an_unknown_version_and_stream_arguments_are_refused(saver):
    app = chain(a=says("a")).compile()
    with pytest.raises(KeyError):
        app.stream_events({}).interleave("valves")
    with pytest.raises(Misuse, match="v3"):
        app.stream_events({}, version="v2")
    with pytest.raises(TypeError, match="stream_mode"):
        app.stream_events({}, stream_mode="values")
    with pytest.raises(TypeError, match="subgraphs"):
        app.stream_events({}, subgraphs=True)
    with pytest.raises(Misuse):
        app.stream_events({}, contxt=1)
    with pytest.raises(NoThreadId):
        chain(a=says("a")).compile(saver).stream_events({})


def test_an_error_is_raised_wherever_the_run_is_read():
    def broken(_):
        raise ValueError("no")

    run = chain(a=talks("hi"), b=broken).compile().stream_events({})
    messages = iter(run.messages)
    assert next(messages).id == "m"
    with pytest.raises(ValueError, match="no"):
        next(messages)
    with pytest.raises(ValueError, match="no"):
        _ = run.output
    with pytest.raises(ValueError, match="no"):
        _ = run.interrupted


def test_a_message_that_its_model_did_not_finish_ends_with_its_run():
    def broken(_):
        writer = message_writer()
        assert writer is not None
        writer.put(Note("half", "1"), "1")
        raise ValueError("no")

    run = chain(a=broken).compile().stream_events({})
    message = next(iter(run.messages))
    with pytest.raises(ValueError, match="no"):
        list(message.text)
    assert message.output is None
    assert str(message.text) == "half"


def test_leaving_a_run_cancels_it_and_leaves_a_thread_that_can_be_resumed(saver, config):
    ran: list = []

    def node(_):
        writer = message_writer()
        if writer is None:
            return {"log": ["b"]}
        for number in range(100_000):
            writer.put(Note(str(number), "1"), "1")
        ran.append("ended")
        return None

    app = chain(a=says("a"), b=node).compile(saver)
    with app.stream_events({}, config) as run:
        message = next(iter(run.messages))
        assert next(iter(message.text)) == "0"
    assert ran == []
    assert run.output == {"log": ["a"]}
    assert app.invoke(None, config) == {"log": ["a", "b"]}


def test_a_run_can_be_aborted_before_it_has_begun():
    ran: list = []
    run = chain(a=lambda _: ran.append(1)).compile().stream_events({})
    run.abort()
    assert list(run.values) == []
    assert ran == []


# Async ----------------------------------------------------------------------------------------


async def test_an_async_run_is_read_the_same_way(saver, config):
    app = chain(a=talks("one ", "two", calls=["c"]), b=asks("?")).compile(saver)
    run = await app.astream_events({}, config, version="v3")
    async for message in run.messages:
        assert [token async for token in message.text] == ["one ", "two"]
        assert await message.tool_calls == ["c"]
        whole = await message.output
        assert whole is not None
        assert whole.text == "one two"
        assert await message.text == "one two"
    assert await run.interrupted()
    assert [one.value for one in await run.interrupts()] == ["?"]
    again = await app.astream_events(Command(resume="!"), config)
    assert (await again.output())["log"][1:] == ["!"]  # type: ignore[index]
    assert not await again.interrupted()


async def test_messages_and_values_of_an_async_run_can_be_read_side_by_side():
    app = chain(a=talks("one", id="1"), b=talks("two", id="2")).compile()
    run = await app.astream_events({})

    async def texts():
        return [await message.text async for message in run.messages]

    async def values():
        return [len(value["log"]) async for value in run.values]  # type: ignore[index]

    told, lengths = await asyncio.gather(texts(), values())
    assert told == ["one", "two"]
    assert lengths == [0, 1, 2]


async def test_events_and_interleaved_parts_of_an_async_run():
    app = chain(a=talks("one", id="1")).compile()
    names = []
    run = await app.astream_events({})
    async for name, _ in run.interleave("values", "messages"):
        names.append(name)
    assert names == ["values", "messages", "values"]
    methods = [event["method"] async for event in await app.astream_events({})]
    assert methods == ["values", "messages", "updates", "values"]
    with pytest.raises(KeyError):
        run.interleave("valves")
    with pytest.raises(RuntimeError, match="already has a subscriber"):
        run.interleave("values")


async def test_an_error_is_raised_wherever_an_async_run_is_read():
    def broken(_):
        raise ValueError("no")

    run = await chain(a=broken).compile().astream_events({})
    with pytest.raises(ValueError, match="no"):
        async for _ in run.messages:
            pass
    with pytest.raises(ValueError, match="no"):
        await run.output()


async def test_aborting_wakes_an_async_reader_and_leaves_a_thread_that_can_be_resumed(
    saver, config
):
    started = asyncio.Event()
    ended: list = []

    async def node(_):
        if ended:
            return {"log": ["b"]}
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    app = chain(a=says("a"), b=node).compile(saver)
    run = await app.astream_events({}, config)

    async def read():
        return [value async for value in run.values]

    reader = asyncio.create_task(read())
    await started.wait()
    await run.abort()
    assert (await reader)[0] == {"log": []}
    assert ended == ["cancelled"]
    assert await app.ainvoke(None, config) == {"log": ["a", "b"]}


async def test_an_async_run_is_left_at_the_end_of_its_with_block(saver, config):
    ended: list = []

    async def node(_, runtime: Runtime):
        if ended:
            return {"log": ["a"]}
        writer = message_writer()
        assert writer is not None
        await writer.aput(Note("x", "1"), "1")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    app = chain(a=node).compile(saver)
    async with await app.astream_events({}, config) as run:
        async for message in run.messages:
            async for token in message.text:
                assert token == "x"
                break
            break
    assert ended == ["cancelled"]
    assert await app.ainvoke(None, config) == {"log": ["a"]}
