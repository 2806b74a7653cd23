"""Every provider's own wire form, against a real HTTP server on loopback."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hitl.agent.messages import AIMessage, SystemMessage, ToolMessage, add_messages
from hitl.agent.model import ModelInput, StreamingModel, ToolSpec
from hitl.agent.providers import init_chat_model

pytestmark = pytest.mark.models

TOOL = ToolSpec(
    "delete_file",
    "Delete a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
CALLS = (("c1", "delete_file", '{"path": "/a"}'), ("c2", "delete_file", '{"path": "/b"}'))
USAGE = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}


def model_of(server: Any, provider: str, **settings: Any) -> StreamingModel:
    given = {"api_key": "k", "base_url": server.url(provider), "max_retries": 0} | settings
    return init_chat_model(f"{provider}:tiny-1", **given)


def ask(*messages: object, tools: tuple[ToolSpec, ...] = ()) -> ModelInput:
    return ModelInput(tuple(add_messages([], list(messages))), tools)  # type: ignore[arg-type]


def answer_of(model: StreamingModel, request: ModelInput, way: str) -> AIMessage:
    """Return the answer in one of the four ways in which it can be had."""

    async def pieces() -> list[Any]:
        return [piece async for piece in model.astream(request)]

    if way == "generate":
        return model.generate(request)
    if way == "agenerate":
        return asyncio.run(model.agenerate(request))
    told = list(model.stream(request)) if way == "stream" else asyncio.run(pieces())
    whole = told[0]
    for piece in told[1:]:
        whole = whole + piece
    return whole.whole()


WAYS = pytest.mark.parametrize("way", ["generate", "agenerate", "stream", "astream"])


@WAYS
def test_an_answer_arrives_with_its_usage(server: Any, provider: str, way: str) -> None:
    server.says("Hel", "lo.")
    request = ask(SystemMessage("Be brief."), "Hi")
    answer = answer_of(model_of(server, provider, max_tokens=50), request, way)
    assert (answer.text, answer.tool_calls, answer.usage_metadata) == ("Hello.", [], USAGE)
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.response_metadata["model_name"] == "tiny-1"
    sent = json.dumps(server.bodies[0])
    assert "Be brief." in sent
    assert "50" in sent


@WAYS
def test_calls_arrive_and_their_results_go_back(server: Any, provider: str, way: str) -> None:
    model = model_of(server, provider)
    server.says("I will.", calls=CALLS)
    server.says("Done.")
    first = answer_of(model, ask("Delete both.", tools=(TOOL,)), way)
    assert first.text == "I will."
    assert [(call["id"], call["name"], call["args"]) for call in first.tool_calls] == [
        ("c1", "delete_file", {"path": "/a"}),
        ("c2", "delete_file", {"path": "/b"}),
    ]
    assert first.usage_metadata == USAGE
    again = ask(
        "Delete both.",
        first,
        ToolMessage("gone", name="delete_file", tool_call_id="c1"),
        ToolMessage("refused by the user", tool_call_id="c2", status="error"),
        tools=(TOOL,),
    )
    assert answer_of(model, again, way).text == "Done."
    assert SENT[provider](server.bodies[1]) == [
        ("call", "c1", {"path": "/a"}),
        ("call", "c2", {"path": "/b"}),
        ("result", "c1", True),
        ("result", "c2", True),
    ]
    assert "refused by the user" in json.dumps(server.bodies[1])
    assert "Delete a file." in json.dumps(server.bodies[0])


def test_pieces_arrive_as_the_provider_sends_them(server: Any, provider: str) -> None:
    server.says("One ", "two ", "three.")
    pieces = [piece.text for piece in model_of(server, provider).stream(ask("Count."))]
    assert [text for text in pieces if text] == ["One ", "two ", "three."]


@pytest.mark.parametrize("way", ["generate", "stream"])
def test_what_google_signs_goes_back_with_the_call(server: Any, way: str) -> None:
    pytest.importorskip("google.genai")
    model = model_of(server, "google")
    server.says(calls=CALLS[:1])
    server.says("Done.")
    first = answer_of(model, ask("Delete it.", tools=(TOOL,)), way)
    model.generate(ask("Delete it.", first, ToolMessage("gone", tool_call_id="c1")))
    (part,) = server.bodies[1]["contents"][1]["parts"]
    assert part["thoughtSignature"] == "c2lnbmVk"


@pytest.mark.parametrize("name", ["openai", "openai-responses"])
@pytest.mark.parametrize("way", ["generate", "stream"])
def test_arguments_that_cannot_be_read_are_told_apart(server: Any, name: str, way: str) -> None:
    pytest.importorskip("openai")
    server.says(calls=(("c1", "delete_file", '{"path": '),))
    answer = answer_of(model_of(server, name), ask("x", tools=(TOOL,)), way)
    assert answer.tool_calls == []
    assert answer.invalid_tool_calls[0]["args"] == '{"path": '


# --- what was sent, in one form ---------------------------------------------------------


def chat_sent(body: dict) -> list[tuple]:
    calls = [call for message in body["messages"] for call in message.get("tool_calls", ())]
    sent: list[tuple] = [
        ("call", call["id"], json.loads(call["function"]["arguments"])) for call in calls
    ]
    results = [message for message in body["messages"] if message["role"] == "tool"]
    return sent + [("result", each["tool_call_id"], bool(each["content"])) for each in results]


def responses_sent(body: dict) -> list[tuple]:
    sent: list[tuple] = []
    for item in body["input"]:
        if item.get("type") == "function_call":
            sent.append(("call", item["call_id"], json.loads(item["arguments"])))
        elif item.get("type") == "function_call_output":
            sent.append(("result", item["call_id"], bool(item["output"])))
    return sent


def anthropic_sent(body: dict) -> list[tuple]:
    sent: list[tuple] = []
    for block in (block for message in body["messages"] for block in message["content"]):
        if block["type"] == "tool_use":
            sent.append(("call", block["id"], block["input"]))
        elif block["type"] == "tool_result":
            assert block.get("is_error", False) == (block["tool_use_id"] == "c2")
            sent.append(("result", block["tool_use_id"], bool(block["content"])))
    return sent


def google_sent(body: dict) -> list[tuple]:
    sent: list[tuple] = []
    for part in (part for content in body["contents"] for part in content["parts"]):
        if "functionCall" in part:
            sent.append(("call", part["functionCall"]["id"], part["functionCall"]["args"]))
        elif "functionResponse" in part:
            answer = part["functionResponse"]
            sent.append(("result", answer["id"], bool(answer["response"])))
    return sent


SENT = {
    "openai": chat_sent,
    "openai-responses": responses_sent,
    "anthropic": anthropic_sent,
    "google": google_sent,
}
