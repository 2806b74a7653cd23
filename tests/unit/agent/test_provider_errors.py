"""What goes wrong at a provider is told with what to do, and never with its key."""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from typing import Any

import pytest

from hitl.agent.messages import HumanMessage
from hitl.agent.model import ModelFailed, ModelInput, StreamingModel
from hitl.agent.providers import init_chat_model
from hitl.errors import Misuse

pytestmark = pytest.mark.models

KEY = "sk-secret-123"
HI = ModelInput((HumanMessage("Hi"),))


def model_of(server: Any, provider: str, **settings: Any) -> StreamingModel:
    given = {"api_key": KEY, "base_url": server.url(provider), "max_retries": 0} | settings
    return init_chat_model(f"{provider}:tiny-1", **given)


def body(provider: str, status: int, message: str, code: str | None = None) -> dict:
    """Return an error in the form of its provider."""
    if provider == "anthropic":
        types = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}
        types |= {429: "rate_limit_error", 400: "invalid_request_error"}
        return {
            "type": "error",
            "error": {"type": types.get(status, "api_error"), "message": message},
        }
    if provider == "google":
        names = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
        names |= {429: "RESOURCE_EXHAUSTED", 400: "INVALID_ARGUMENT", 503: "UNAVAILABLE"}
        name = names.get(status, "INTERNAL")
        return {"error": {"code": status, "message": message, "status": name}}
    return {"error": {"message": message, "type": "x", "code": code, "param": None}}


def failure(model: StreamingModel, way: str = "generate") -> ModelFailed:
    """Return how a request failed, in one of the four ways in which it can be made."""

    async def pieces() -> object:
        return [piece async for piece in model.astream(HI)]

    ask = {
        "generate": lambda: model.generate(HI),
        "agenerate": lambda: asyncio.run(model.agenerate(HI)),
        "stream": lambda: list(model.stream(HI)),
        "astream": lambda: asyncio.run(pieces()),
    }[way]
    with pytest.raises(ModelFailed) as caught:
        ask()
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize("way", ["generate", "astream"])
@pytest.mark.parametrize(
    ("status", "kind", "hint"),
    [
        (400, "rejected", "message says why"),
        (401, "authentication", "Check the API key"),
        (403, "authentication", "Check the API key"),
        (404, "not_found", "Check the model's name and base_url"),
        (429, "rate_limit", "max_retries="),
        (500, "server", "try again later"),
        (503, "unavailable", "try again later"),
    ],
)
def test_an_error_says_what_to_do(
    server: Any, provider: str, status: int, kind: str, hint: str, way: str
) -> None:
    server.fails(status, body(provider, status, "It went wrong."))
    error = failure(model_of(server, provider), way)
    assert f"(status {status}): It went wrong." in error.message
    assert hint in error.hint
    assert error.fields == {
        "provider": provider,
        "model": f"{provider}:tiny-1",
        "status": status,
        "kind": kind,
        "retry_after": None,
    }


def test_how_long_to_wait_is_told(server: Any, provider: str) -> None:
    server.fails(429, body(provider, 429, "Slow down."), retry_after="17")
    error = failure(model_of(server, provider))
    assert "It asks to wait 17 seconds." in error.message
    assert error.fields["retry_after"] == 17


@pytest.mark.parametrize(
    ("name", "message", "code"),
    [
        ("openai", "This model's maximum context length is 8 tokens.", "context_length_exceeded"),
        (
            "openai-responses",
            "Your input exceeds the context window of this model.",
            "context_length_exceeded",
        ),
        ("anthropic", "prompt is too long: 212345 tokens > 200000 maximum", None),
        (
            "google",
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            None,
        ),
    ],
)
def test_a_conversation_that_is_too_long_is_told_apart(
    server: Any, name: str, message: str, code: str | None
) -> None:
    pytest.importorskip("google.genai" if name == "google" else name.partition("-")[0])
    server.fails(400, body(name, 400, message, code))
    error = failure(model_of(server, name))
    assert (error.fields["kind"], error.fields["status"]) == ("context_length", 400)
    assert "summarize old messages" in error.hint


def test_a_used_up_quota_is_no_matter_of_waiting(server: Any) -> None:
    pytest.importorskip("openai")
    server.fails(429, body("openai", 429, "You exceeded your quota.", "insufficient_quota"))
    error = failure(model_of(server, "openai"))
    assert (error.fields["kind"], "does not help" in error.hint) == ("quota", True)


@pytest.mark.parametrize("way", ["generate", "agenerate", "stream", "astream"])
def test_a_provider_that_does_not_answer_in_time_is_told(
    server: Any, provider: str, way: str
) -> None:
    server.says("late")
    server.turns[0].wait = release = threading.Event()
    try:
        error = failure(model_of(server, provider, timeout=0.1), way)
    finally:
        release.set()
    assert (error.fields["kind"], error.fields["status"]) == ("timeout", None)
    assert "longer timeout=" in error.hint


def test_a_provider_that_is_not_there_is_told(server: Any, provider: str) -> None:
    model = model_of(server, provider, base_url="http://127.0.0.1:9")
    error = failure(model)
    assert error.fields["kind"] == "connection"
    assert "base_url" in error.hint


def test_an_answer_that_breaks_off_is_told(server: Any, provider: str) -> None:
    server.says("One ", "two ", "three ", "four.")
    server.turns[0].cut = True
    error = failure(model_of(server, provider), "stream")
    assert error.fields["kind"] == "connection"


@pytest.mark.parametrize("page", ['{"hello": "world"}', "<html>Hello</html>", "[]", "null"])
def test_a_page_that_is_no_answer_is_told(server: Any, provider: str, page: str) -> None:
    server.fails(200, page)
    error = failure(model_of(server, provider))
    assert error.fields["kind"] == "unreadable"
    assert "base_url" in error.hint


def test_the_provider_is_asked_again_as_often_as_told(server: Any, provider: str) -> None:
    server.fails(503, body(provider, 503, "Busy."), retry_after="0")
    server.says("Now.")
    assert model_of(server, provider, max_retries=1).generate(HI).text == "Now."
    assert len(server.bodies) == 2


# --- keys -------------------------------------------------------------------------------


def test_a_key_that_the_server_repeats_is_not_told(server: Any, provider: str) -> None:
    server.fails(401, body(provider, 401, f"Incorrect API key provided: {KEY}."))
    error = failure(model_of(server, provider))
    assert "Incorrect API key provided: [API key]." in error.message
    assert KEY not in repr(error.fields)


def test_a_key_of_the_environment_is_not_told_either(
    server: Any, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = provider.partition("-")[0].upper() + "_API_KEY"
    monkeypatch.setenv(variable, KEY)
    server.fails(401, body(provider, 401, f"Wrong: {KEY}."))
    assert "Wrong: [API key]." in failure(model_of(server, provider, api_key=None)).message
    assert KEY in "".join(server.headers[0].values())


def test_no_log_line_holds_the_key(
    server: Any, provider: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model = model_of(server, provider)
    server.says("Hello.")
    server.fails(500, body(provider, 500, "Oh."))
    model.generate(HI)
    failure(model)
    assert caplog.records
    assert KEY not in caplog.text
    assert KEY not in repr(model)


@pytest.mark.parametrize("key", ["sk-secret-123\n", "sk secret-123", "sk-secret-123\N{EN DASH}"])
def test_a_key_that_cannot_be_sent_is_refused_at_once(server: Any, provider: str, key: str) -> None:
    with pytest.raises(Misuse, match="line break") as caught:
        model_of(server, provider, api_key=key)
    assert "secret" not in "".join(traceback.format_exception(caught.value))
