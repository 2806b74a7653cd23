"""Tokens of real providers, from the wire through an agent's run to its reader."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hitl import Command, HumanInTheLoopMiddleware, InMemorySaver, create_agent, tool
from hitl.agent.messages import AIMessage, ToolMessage
from hitl.agent.model import ModelFailed
from hitl.agent.providers import init_chat_model

pytestmark = pytest.mark.models

USAGE = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
CALL = ("c1", "delete_file", '{"path": "/a"}')
PLACE = {"configurable": {"thread_id": "1"}}
YES = Command(resume={"decisions": [{"type": "approve"}]})


@tool
def delete_file(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


def agent_of(server: Any, provider: str) -> Any:
    model = init_chat_model(
        f"{provider}:tiny-1", api_key="k", base_url=server.url(provider), max_retries=0
    )
    return create_agent(
        model,
        [delete_file],
        middleware=[HumanInTheLoopMiddleware({"delete_file": True})],
        checkpointer=InMemorySaver(),
    )


def test_tokens_reach_the_messages_of_a_run_through_a_pause(server: Any, provider: str) -> None:
    agent = agent_of(server, provider)
    server.says("I will ", "delete it.", calls=(CALL,))
    run = agent.stream_events({"messages": "Delete /a."}, PLACE, version="v3")
    (message,) = [(list(each.text), each.tool_calls, each.output) for each in run.messages]
    assert message[0] == ["I will ", "delete it."]
    assert [call["args"] for call in message[1]] == [{"path": "/a"}]
    assert message[2].usage_metadata == USAGE
    assert run.interrupted
    server.says("It ", "is ", "gone.")
    run = agent.stream_events(YES, PLACE, version="v3")
    assert [list(each.text) for each in run.messages] == [["It ", "is ", "gone."]]
    assert not run.interrupted
    assert "deleted /a" in str(server.bodies[1])


async def test_tokens_reach_the_messages_of_an_async_run(server: Any, provider: str) -> None:
    agent = agent_of(server, provider)
    server.says("I will ", "delete it.", calls=(CALL,))
    run = await agent.astream_events({"messages": "Delete /a."}, PLACE, version="v3")
    told = []
    async for message in run.messages:
        words = [token async for token in message.text]
        told.append((words, [call["id"] for call in await message.tool_calls]))
    assert told == [(["I will ", "delete it."], ["c1"])]
    assert await run.interrupted()
    server.says("It ", "is ", "gone.")
    run = await agent.astream_events(YES, PLACE, version="v3")
    assert [[t async for t in m.text] async for m in run.messages] == [["It ", "is ", "gone."]]


@pytest.mark.parametrize("hand", ["sync", "async"])
def test_tokens_are_parts_of_the_messages_mode(server: Any, provider: str, hand: str) -> None:
    agent = agent_of(server, provider)

    async def read(given: Any) -> list[Any]:
        return [part async for part in agent.astream(given, PLACE, stream_mode="messages")]

    def parts(given: Any) -> list[Any]:
        if hand == "async":
            return asyncio.run(read(given))
        return list(agent.stream(given, PLACE, stream_mode="messages"))

    server.says("I ", "will.", calls=(CALL,))
    said = [(piece.text, about["langgraph_node"]) for piece, about in parts({"messages": "Go."})]
    assert [each for each in said if each[0]] == [("I ", "model"), ("will.", "model")]
    server.says("It is ", "gone.")
    said = [(type(piece), piece.text) for piece, _ in parts(YES)]
    assert (ToolMessage, "deleted /a") in said
    assert [text for kind, text in said if text and kind is not ToolMessage] == [
        "It is ",
        "gone.",
    ]
    last = agent.get_state(PLACE).values["messages"][-1]
    assert (last.text, last.usage_metadata) == ("It is gone.", USAGE)


def test_a_run_that_nobody_watches_asks_for_whole_answers(server: Any, provider: str) -> None:
    server.says("Hel", "lo.")
    result = agent_of(server, provider).invoke({"messages": "Hi"}, PLACE)
    assert result["messages"][-1].text == "Hello."
    assert "stream" not in {key for key, value in server.bodies[0].items() if value}


def test_a_stream_that_breaks_off_ends_the_run_and_can_be_asked_again(
    server: Any, provider: str
) -> None:
    agent = agent_of(server, provider)
    server.says("One ", "two ", "three ", "four.")
    server.turns[0].cut = True
    with pytest.raises(ModelFailed, match="connection"):
        list(agent.stream({"messages": "Count."}, PLACE, stream_mode="messages"))
    assert [type(each).__name__ for each in agent.get_state(PLACE).values["messages"]] == [
        "HumanMessage"
    ]
    server.says("One.")
    assert agent.invoke(None, PLACE)["messages"][-1].text == "One."


@pytest.mark.parametrize("name", ["openai", "openai-responses"])
def test_a_model_whose_arguments_cannot_be_read_is_told_so(server: Any, name: str) -> None:
    pytest.importorskip("openai")
    agent = agent_of(server, name)
    server.says(calls=(("c1", "delete_file", '{"path": '),))
    server.says("Sorry.")
    result = agent.invoke({"messages": "Delete /a."}, PLACE)
    first = next(each for each in result["messages"] if isinstance(each, AIMessage))
    assert first.invalid_tool_calls
    assert result["messages"][-1].text == "Sorry."
    told = next(each for each in result["messages"] if isinstance(each, ToolMessage))
    assert told.status == "error"
