"""Models of providers, against a real HTTP server on loopback that speaks the chat protocol."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hitl.agent.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    add_messages,
)
from hitl.agent.model import ModelFailed, ModelInput, StreamingModel, ToolSpec, as_model
from hitl.agent.providers import init_chat_model, split_model_name
from hitl.errors import Misuse

pytestmark = pytest.mark.models

TOOL = ToolSpec(
    "delete_file",
    "Delete a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


class Provider(ThreadingHTTPServer):
    """Answers each request with what stands in ``answers`` and keeps what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, dict | list[dict]]] = []
        self.bodies: list[dict] = []
        self.keys: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def says(self, text: str | None = None, *calls: tuple[str, str, str]) -> None:
        message: dict = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": args}}
                for id, name, args in calls
            ]
        self.answers.append((200, completion({"message": message}, "chat.completion")))

    def fails(self, status: int, text: str) -> None:
        self.answers.append((status, {"error": {"message": text, "type": "x", "code": None}}))

    def streams(self, *deltas: dict) -> None:
        chunks = [completion({"delta": delta}, "chat.completion.chunk") for delta in deltas]
        self.answers.append((200, chunks))


def completion(choice: dict, kind: str) -> dict:
    reason = "tool_calls" if choice.get("message", {}).get("tool_calls") else "stop"
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 1,
        "model": "tiny-1",
        "choices": [{"index": 0, "finish_reason": reason, **choice}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(json.loads(body))
        self.server.keys.append(self.headers["Authorization"])
        status, answer = self.server.answers.pop(0)
        streamed = isinstance(answer, list)
        lines = [f"data: {json.dumps(each)}\n\n" for each in answer] if streamed else []
        text = "".join([*lines, "data: [DONE]\n\n"]) if streamed else json.dumps(answer)
        self.send_response(status if self.path == "/v1/chat/completions" else 404)
        kind = "text/event-stream" if streamed else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[Provider]:
    pytest.importorskip("pydantic_ai", reason="the extra hitl[models] is not installed")
    pytest.importorskip("openai", reason="the extra hitl[models] is not installed")
    with Provider() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def model_of(provider: Provider, **settings: object) -> StreamingModel:
    return init_chat_model(
        model="qwen-plus",
        model_provider="openai",
        api_key="secret-1",
        base_url=provider.url,
        max_retries=0,
        **settings,  # type: ignore[arg-type]
    )


def ask(*messages: object, tools: tuple[ToolSpec, ...] = ()) -> ModelInput:
    return ModelInput(tuple(add_messages([], list(messages))), tools)  # type: ignore[arg-type]


def test_a_plain_answer_arrives_with_its_usage(provider: Provider) -> None:
    provider.says("Hello.")
    answer = model_of(provider, temperature=0).generate(ask(SystemMessage("Be brief."), "Hi"))
    assert (answer.text, answer.id) == ("Hello.", None)
    assert answer.usage_metadata == {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18}
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.response_metadata["id"] == "chatcmpl-1"
    assert provider.keys == ["Bearer secret-1"]
    sent = provider.bodies[0]
    assert (sent["model"], sent["temperature"]) == ("qwen-plus", 0)
    assert [(each["role"], each["content"]) for each in sent["messages"]] == [
        ("system", "Be brief."),
        ("user", "Hi"),
    ]


async def test_an_answer_arrives_in_async_code_too(provider: Provider) -> None:
    model = model_of(provider)
    provider.says("one")
    provider.says("two")
    assert (await model.agenerate(ask("Hi"))).text == "one"
    assert (await asyncio.to_thread(model.generate, ask("Hi"))).text == "two"


def test_sync_code_may_ask_inside_a_running_loop(provider: Provider) -> None:
    model = model_of(provider)

    async def main() -> str:
        return model.generate(ask("Hi")).text

    for text in ("a", "b"):
        provider.says(text)
        assert asyncio.run(main()) == text


def test_tool_calls_arrive_and_their_results_go_back(provider: Provider) -> None:
    model = model_of(provider)
    provider.says(
        None, ("c1", "delete_file", '{"path": "/a"}'), ("c2", "delete_file", '{"path": "/b"}')
    )
    provider.says("Done.")
    first = model.generate(ask("Delete both.", tools=(TOOL,)))
    assert [(call["id"], call["args"]) for call in first.tool_calls] == [
        ("c1", {"path": "/a"}),
        ("c2", {"path": "/b"}),
    ]
    assert first.content == ""
    assert first.response_metadata["finish_reason"] == "tool_call"
    results = [
        ToolMessage("gone", name="delete_file", tool_call_id="c1"),
        ToolMessage("refused by the user", tool_call_id="c2", status="error"),
    ]
    assert model.generate(ask("Delete both.", first, *results, tools=(TOOL,))).text == "Done."
    function = provider.bodies[0]["tools"][0]["function"]
    assert (function["name"], function["description"]) == ("delete_file", "Delete a file.")
    assert function["parameters"]["properties"] == {"path": {"type": "string"}}
    sent = provider.bodies[1]["messages"]
    assert [each["role"] for each in sent] == ["user", "assistant", "tool", "tool"]
    assert [call["id"] for call in sent[1]["tool_calls"]] == ["c1", "c2"]
    assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]) == {"path": "/a"}
    assert [(each["tool_call_id"], each["content"]) for each in sent[2:]] == [
        ("c1", "gone"),
        # The chat protocol has no mark for an error, so that the content must tell.
        ("c2", '{"error":"refused by the user"}'),
    ]


def test_a_call_that_cannot_be_read_is_told_apart_and_can_be_answered(provider: Provider) -> None:
    model = model_of(provider)
    provider.says(None, ("c1", "delete_file", '{"path": '))
    provider.says("Sorry.")
    first = model.generate(ask("Delete it.", tools=(TOOL,)))
    assert first.tool_calls == []
    assert first.invalid_tool_calls[0]["args"] == '{"path": '
    again = ask("Delete it.", first, ToolMessage("unreadable", tool_call_id="c1", status="error"))
    assert model.generate(again).text == "Sorry."
    call = provider.bodies[1]["messages"][1]["tool_calls"][0]
    assert json.loads(call["function"]["arguments"]) == {"INVALID_JSON": '{"path": '}


def test_a_tool_can_be_demanded(provider: Provider) -> None:
    provider.says(None, ("c1", "delete_file", "{}"))
    request = ModelInput((HumanMessage("x"),), (TOOL,), {"seed": 3}, "required")
    model_of(provider).generate(request)
    assert provider.bodies[0]["tool_choice"] == "required"
    assert provider.bodies[0]["seed"] == 3


def test_pictures_are_sent(provider: Provider) -> None:
    provider.says("A cat.")
    blocks = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
    ]
    model_of(provider).generate(ask(HumanMessage(blocks)))  # type: ignore[arg-type]
    kinds = [block["type"] for block in provider.bodies[0]["messages"][0]["content"]]
    assert kinds == ["text", "image_url", "image_url"]


def test_a_block_that_cannot_be_sent_is_refused(provider: Provider) -> None:
    with pytest.raises(Misuse, match="'hologram'"):
        model_of(provider).generate(ask(HumanMessage([{"type": "hologram"}])))
    assert provider.bodies == []


def test_a_provider_that_is_not_there_is_told() -> None:
    pytest.importorskip("pydantic_ai", reason="the extra hitl[models] is not installed")
    model = init_chat_model("openai:x", api_key="k", base_url="http://127.0.0.1:9", max_retries=0)
    with pytest.raises(ModelFailed, match="base_url"):
        model.generate(ask("Hi"))


def test_the_provider_is_asked_again_as_often_as_told(provider: Provider) -> None:
    provider.fails(500, "Busy.")
    provider.says("Now.")
    model = init_chat_model("openai:x", api_key="k", base_url=provider.url, max_retries=1)
    assert model.generate(ask("Hi")).text == "Now."
    assert len(provider.bodies) == 2


def test_an_answer_is_streamed(provider: Provider) -> None:
    provider.streams({"role": "assistant", "content": "One "}, {"content": "two."})
    pieces = list(model_of(provider).stream(ask("Count.")))
    assert [piece.text for piece in pieces if piece.text] == ["One ", "two."]
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    assert whole.whole().text == "One two."
    assert whole.usage_metadata is not None


async def test_an_answer_with_calls_is_streamed_in_async_code(provider: Provider) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "delete_file", "arguments": '{"path"'}}
    more = {"index": 0, "function": {"arguments": ': "/a"}'}}
    provider.streams({"content": "Well."}, {"tool_calls": [call]}, {"tool_calls": [more]})
    pieces = [piece async for piece in model_of(provider).astream(ask("x", tools=(TOOL,)))]
    assert "".join(piece.text for piece in pieces) == "Well."
    calls = [each for piece in pieces for each in piece.tool_calls]
    assert [(each["id"], each["args"]) for each in calls] == [("c1", {"path": "/a"})]


async def test_a_stream_that_fails_says_so(provider: Provider) -> None:
    provider.fails(401, "No.")
    with pytest.raises(ModelFailed, match="API key"):
        [piece async for piece in model_of(provider).astream(ask("x"))]
    provider.fails(401, "No.")
    with pytest.raises(ModelFailed, match="API key"):
        list(model_of(provider).stream(ask("x")))


def test_thoughts_are_kept_and_sent_back() -> None:
    pytest.importorskip("pydantic_ai", reason="the extra hitl[models] is not installed")
    from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart

    from hitl.agent.provider_messages import from_response, to_requests

    thought = ThinkingPart("Hm.", signature="s", provider_name="anthropic")
    answer = from_response(ModelResponse([thought, TextPart("Yes.")]))
    assert answer.text == "Yes."
    back = to_requests([answer])
    assert list(back[0].parts) == [thought, TextPart("Yes.")]


def test_a_message_that_says_nothing_is_not_sent() -> None:
    pytest.importorskip("pydantic_ai", reason="the extra hitl[models] is not installed")
    from hitl.agent.provider_messages import to_requests

    sent = to_requests([HumanMessage("a"), AIMessage(""), HumanMessage("b")])
    assert [len(each.parts) for each in sent] == [2]


# --- names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        ("openai:gpt-5.5", None, ("openai", "gpt-5.5")),
        ("gpt-5.5", None, ("openai", "gpt-5.5")),
        ("o3-mini", None, ("openai", "o3-mini")),
        ("claude-opus-5", None, ("anthropic", "claude-opus-5")),
        ("gemini-3-pro", None, ("google", "gemini-3-pro")),
        ("qwen-plus", "openai", ("openai", "qwen-plus")),
        ("ollama:qwen3:8b", None, ("ollama", "qwen3:8b")),
        ("qwen3:8b", "ollama", ("ollama", "qwen3:8b")),
        ("openai:gpt-5.5", "openai", ("openai", "gpt-5.5")),
    ],
)
def test_a_name_tells_its_provider(
    model: str, given: str | None, expected: tuple[str, str]
) -> None:
    assert split_model_name(model, given) == expected


@pytest.mark.parametrize("model", ["qwen-plus", "opus", "gpt", "", None, ":x", "x:"])
def test_a_name_that_does_not_tell_is_refused_with_what_to_write(model: str | None) -> None:
    with pytest.raises(Misuse, match=r'Write "provider:'):
        init_chat_model(model)


def test_what_a_provider_does_not_know_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pydantic_ai", reason="the extra hitl[models] is not installed")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(Misuse, match="Did you mean 'temperature'"):
        init_chat_model("openai:x", api_key="k", temprature=0)
    with pytest.raises(Misuse, match="cannot be used"):
        init_chat_model("nowhere:x")
    with pytest.raises(Misuse, match="takes no base_url"):
        init_chat_model("deepseek:x", api_key="k", base_url="http://127.0.0.1:9")
    with pytest.raises(Misuse, match="OPENAI_API_KEY"):
        init_chat_model("gpt-5.5")


def test_a_name_becomes_a_model_of_its_provider() -> None:
    pytest.importorskip("pydantic_ai", reason="the extra hitl[models] is not installed")
    model = init_chat_model("anthropic:claude-opus-5", api_key="k", max_tokens=100)
    assert as_model(model) is model
    assert model.name == "anthropic:claude-opus-5"


def test_without_the_extra_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "hitl.agent.provider_model", raising=False)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(Misuse, match=r"\.\[models\]"):
        init_chat_model("openai:x")
