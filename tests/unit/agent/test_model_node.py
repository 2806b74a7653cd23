"""The model node asks for pieces exactly where somebody watches messages."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from hitl.agent import (
    AgentMiddleware,
    AIMessage,
    AIMessageChunk,
    ModelFailed,
    ScriptedModel,
    create_agent,
)

GO = {"messages": "go"}


class Counting:
    """A model that notes how it was asked, and streams what it is told to."""

    name = "counting"

    def __init__(self, *pieces: AIMessageChunk, error: Exception | None = None) -> None:
        self.pieces = pieces or (AIMessageChunk("a "), AIMessageChunk("b"))
        self.error = error
        self.asked: list[str] = []

    def generate(self, request):
        self.asked.append("generate")
        return AIMessage("".join(piece.text for piece in self.pieces))

    async def agenerate(self, request):
        self.asked.append("agenerate")
        return AIMessage("".join(piece.text for piece in self.pieces))

    def stream(self, request):
        self.asked.append("stream")
        try:
            yield from self.pieces
            if self.error is not None:
                raise self.error
        finally:
            self.asked.append("closed")

    async def astream(self, request):
        self.asked.append("astream")
        try:
            for piece in self.pieces:
                await asyncio.sleep(0)
                yield piece
            if self.error is not None:
                raise self.error
        finally:
            self.asked.append("closed")


class Whole:
    """A model that cannot stream."""

    name = "whole"

    def generate(self, request):
        return AIMessage("all at once")

    async def agenerate(self, request):
        return AIMessage("all at once")


@pytest.fixture(params=["sync", "async"])
def stream(request):
    if request.param == "sync":
        return lambda agent, **more: list(agent.stream(GO, **more))

    async def collect(agent, **more):
        return [part async for part in agent.astream(GO, **more)]

    return lambda agent, **more: asyncio.run(collect(agent, **more))


def texts(parts):
    return [piece.text for piece, _ in parts]


def test_a_model_is_asked_for_all_at_once_where_nobody_watches_messages(stream):
    model = Counting()
    agent = create_agent(model)
    agent.invoke(GO)
    stream(agent, stream_mode=["values", "updates", "custom"])
    asyncio.run(agent.ainvoke(GO))
    assert {asked.removeprefix("a") for asked in model.asked} == {"generate"}


def test_a_model_that_streams_is_read_piece_by_piece_and_leaves_one_message(stream):
    model = Counting()
    parts = stream(create_agent(model), stream_mode=["messages", "values"])
    pieces = [data[0] for mode, data in parts if mode == "messages"]
    assert [piece.text for piece in pieces] == ["a ", "b"]
    answer = parts[-1][1]["messages"][-1]
    assert type(answer) is AIMessage
    assert answer.content == "a b"
    assert {piece.id for piece in pieces} == {answer.id}
    assert [asked.removeprefix("a") for asked in model.asked] == ["stream", "closed"]


def test_a_model_that_cannot_stream_is_told_as_a_whole(stream):
    assert texts(stream(create_agent(Whole()), stream_mode="messages")) == ["all at once"]
    assert texts(stream(create_agent(lambda _: "said"), stream_mode="messages")) == ["said"]


def test_an_id_that_another_message_has_is_not_used_again(stream):
    model = Counting(AIMessageChunk("x", id="same"))
    agent = create_agent(model)
    given = {"messages": [{"role": "user", "content": "go", "id": "same"}]}
    ((piece, _),) = list(agent.stream(given, stream_mode="messages"))
    assert piece.id != "same"


def test_calls_without_an_id_get_one_that_the_message_has_too():
    def look(key: str) -> str:
        """Look."""
        return key

    call: Any = {"name": "look", "args": {"key": "k"}, "id": None}

    class Once(Counting):
        def stream(self, request):
            if len(request.messages) == 1:
                yield AIMessageChunk("", tool_calls=[call])
            else:
                yield AIMessageChunk("done")

    run: Any = create_agent(Once(), [look]).stream_events(GO)
    first, second = run.messages
    assert first.tool_calls == run.output["messages"][1].tool_calls
    assert first.tool_calls[0]["id"]
    assert list(second.text) == ["done"]


def test_an_answer_that_middleware_changes_is_told_as_it_is_kept(stream):
    class Louder(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            answer = handler(request).message
            return replace(answer, content=answer.text.upper(), id="louder")

        async def awrap_model_call(self, request, handler):
            answer = (await handler(request)).message
            return replace(answer, content=answer.text.upper(), id="louder")

    agent = create_agent(Counting(), middleware=[Louder()])
    assert texts(stream(agent, stream_mode="messages")) == ["a ", "b", "A B"]


def test_a_second_try_is_another_message():
    class Flaky(Counting):
        def stream(self, request):
            self.error = ModelFailed("no") if not self.asked else None
            return super().stream(request)

    class Retry(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            try:
                return handler(request)
            except ModelFailed:
                return handler(request)

    run = create_agent(Flaky(), middleware=[Retry()]).stream_events(GO)
    first, second = run.messages
    assert first.output is None
    assert list(first.text) == list(second.text) == ["a ", "b"]
    assert second.output is not None
    assert first.id != second.id


def test_a_model_that_fails_in_the_middle_fails_the_run(stream):
    model = Counting(error=ModelFailed("gone"))
    with pytest.raises(ModelFailed, match="gone"):
        stream(create_agent(model), stream_mode="messages")


def test_a_model_that_streams_nothing_at_all_has_failed(stream):
    class Empty(Counting):
        def stream(self, request):
            return iter(())

        async def astream(self, request):
            for _ in ():
                yield AIMessageChunk("")

    with pytest.raises(ModelFailed, match="nothing"):
        stream(create_agent(Empty()), stream_mode="messages")


def test_leaving_the_stream_closes_that_of_the_model():
    model = Counting(*[AIMessageChunk(str(number)) for number in range(100_000)])
    parts = create_agent(model).stream(GO, stream_mode="messages")
    next(parts)
    parts.close()
    assert model.asked == ["stream", "closed"]


async def test_leaving_an_async_stream_closes_that_of_the_model():
    model = Counting(*[AIMessageChunk(str(number)) for number in range(100_000)])
    parts = create_agent(model).astream(GO, stream_mode="messages")
    await anext(parts)
    await parts.aclose()
    assert model.asked == ["astream", "closed"]


def test_an_agent_inside_a_node_streams_its_tokens_to_who_wants_runs_inside():
    inner = create_agent(ScriptedModel(["inner words"]), name="inner")

    def ask(key: str) -> str:
        """Ask the other agent."""
        return str(inner.invoke({"messages": key})["messages"][-1].text)

    script: list = [{"tool_calls": [{"name": "ask", "args": {"key": "k"}}]}, "outer"]
    agent = create_agent(ScriptedModel(script), [ask])
    parts = list(agent.stream(GO, stream_mode="messages", subgraphs=True))
    assert [(bool(ns), piece.text) for ns, (piece, _) in parts] == [
        (False, ""),
        (True, "inner "),
        (True, "words"),
        (False, "inner words"),
        (False, "outer"),
    ]
