from __future__ import annotations

import pytest

from hitl.agent.messages import AIMessage, AIMessageChunk, HumanMessage
from hitl.agent.model import ChatModel, ModelInput, StreamingModel, as_model
from hitl.agent.scripted import ScriptedModel
from hitl.errors import Misuse

REQUEST = ModelInput((HumanMessage("hi"),))


def echo(messages: list) -> str:
    return f"you said {messages[-1].text}"


async def slow_echo(messages: list) -> AIMessage:
    return AIMessage(echo(messages))


@pytest.mark.parametrize("function", [echo, slow_echo])
async def test_a_function_is_a_model_in_async_code(function: object) -> None:
    model = as_model(function)
    assert isinstance(model, ChatModel)
    assert await model.agenerate(REQUEST) == AIMessage("you said hi")


@pytest.mark.parametrize("function", [echo, slow_echo])
def test_a_function_is_a_model_in_sync_code(function: object) -> None:
    model = as_model(function)
    assert model.generate(REQUEST) == AIMessage("you said hi")
    assert model.name in repr(model)


async def test_an_async_function_is_refused_in_sync_code_of_a_running_loop() -> None:
    with pytest.raises(Misuse, match="model slow_echo is async"):
        as_model(slow_echo).generate(REQUEST)


def test_a_model_stays_itself() -> None:
    model = ScriptedModel([])
    assert as_model(model) is model
    assert isinstance(model, StreamingModel)


def test_a_finished_stream_may_be_an_answer() -> None:
    answer = as_model(lambda _: AIMessageChunk("a") + AIMessageChunk("b")).generate(REQUEST)
    assert answer == AIMessage("ab")
    assert type(answer) is AIMessage


@pytest.mark.parametrize("wrong", [None, 5, object(), ScriptedModel, {"model": "x"}])
def test_what_is_no_model_is_refused(wrong: object) -> None:
    with pytest.raises(Misuse, match="is not a model"):
        as_model(wrong)


def test_an_answer_of_another_kind_is_refused() -> None:
    with pytest.raises(Misuse, match="answered with a int"):
        as_model(lambda _: 5).generate(REQUEST)


@pytest.mark.parametrize("name", ["", "qwen-plus", "my-model", ":x", "openai:", "gpt"])
def test_a_name_without_a_clear_provider_is_refused(name: str) -> None:
    with pytest.raises(Misuse, match="provider:"):
        as_model(name)
