"""C20: ``create_agent``, and models by object, by name and by endpoint."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from hitl import (
    AIMessage,
    Misuse,
    ProviderStrategy,
    ScriptedModel,
    ToolStrategy,
    create_agent,
    init_chat_model,
    tool,
)

INPUT = {"messages": [{"role": "user", "content": "What is it?"}]}


@tool
def look(key: str) -> str:
    """Look something up."""
    return f"{key} is blue"


def kinds(result):
    return [message.type for message in result["messages"]]


def test_c20_an_agent_asks_its_model_runs_the_tools_and_asks_again(run, saver):
    model = ScriptedModel([{"tool_calls": [{"name": "look", "args": {"key": "sky"}}]}, "Blue."])
    agent = create_agent(
        model=model, tools=[look], middleware=[], checkpointer=saver, system_prompt="Be brief."
    )
    result = run(agent, INPUT, {"configurable": {"thread_id": "t"}})
    assert kinds(result) == ["human", "ai", "tool", "ai"]
    assert result["messages"][2].content == "sky is blue"
    first = model.calls[0].messages
    assert (first[0].type, first[0].content) == ("system", "Be brief.")
    # The prompt is the model's to read; it is no part of the conversation.
    assert "system" not in kinds(result)


def test_c20_a_thread_remembers_the_conversation(run, saver):
    agent = create_agent(model=ScriptedModel(["one", "two"]), checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}
    run(agent, INPUT, config)
    assert [m.content for m in run(agent, INPUT, config)["messages"]] == [
        "What is it?", "one", "What is it?", "two",
    ]  # fmt: skip


def test_c20_a_model_may_be_a_plain_function_or_a_plain_tool(run):
    def model(messages):
        return AIMessage(f"{len(messages)} messages")

    def plain_tool(key: str) -> str:
        """Look."""
        return key

    agent = create_agent(model=model, tools=[plain_tool])
    assert run(agent, INPUT)["messages"][-1].content == "1 messages"


@pytest.mark.models
def test_c20_any_openai_compatible_endpoint_serves_as_a_model(run, chat_server):
    chat_server.calls(("look", {"key": "sky"}))
    chat_server.says("Blue.")
    model = init_chat_model(
        model="qwen-plus",
        model_provider="openai",
        api_key="secret",
        base_url=chat_server.url,
        temperature=0,
    )
    agent = create_agent(model=model, tools=[look], system_prompt="Be brief.")
    result = run(agent, INPUT)
    assert kinds(result) == ["human", "ai", "tool", "ai"]
    assert result["messages"][-1].content == "Blue."
    first, second = chat_server.bodies
    assert (first["model"], first["temperature"]) == ("qwen-plus", 0)
    assert chat_server.keys == ["Bearer secret"] * 2
    assert [m["role"] for m in first["messages"]] == ["system", "user"]
    assert first["tools"][0]["function"]["name"] == "look"
    assert [m["role"] for m in second["messages"]] == ["system", "user", "assistant", "tool"]


@pytest.mark.models
@pytest.mark.parametrize("name", ["openai:gpt-5.5", "gpt-5.5"])
def test_c20_a_model_may_be_a_name(run, chat_server, monkeypatch, name):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    chat_server.says("Hello.")
    assert run(create_agent(model=name), INPUT)["messages"][-1].content == "Hello."
    assert chat_server.bodies[0]["model"] == "gpt-5.5"


@pytest.mark.parametrize("name", ["qwen-plus", "mixtral", "olive", ""])
def test_c20_a_name_that_tells_no_provider_is_refused_before_anything_runs(name):
    with pytest.raises(Misuse):
        create_agent(model=name)
    with pytest.raises(Misuse):
        init_chat_model(name)


@pytest.mark.parametrize("bad", [None, 5, object()], ids=["None", "number", "object"])
def test_c20_what_is_no_model_is_refused_before_anything_runs(bad):
    with pytest.raises(Misuse, match="model"):
        create_agent(model=bad)


@pytest.mark.models
@pytest.mark.parametrize("way", ["provider", "tool"])
def test_c20_a_structured_answer_of_a_provider(run, chat_server, way):
    class City(BaseModel):
        name: str

    if way == "provider":
        chat_server.says('{"name": "Bonn"}')
    else:
        chat_server.calls(("City", {"name": "Bonn"}))
    model = init_chat_model(
        "gpt-4o", model_provider="openai", api_key="k", base_url=chat_server.url
    )
    wanted = ProviderStrategy(City) if way == "provider" else ToolStrategy(City)
    output = run(create_agent(model=model, response_format=wanted), INPUT)
    assert output["structured_response"] == City(name="Bonn")
    (body,) = chat_server.bodies
    if way == "provider":
        assert body["response_format"]["type"] == "json_schema"
        assert body["response_format"]["json_schema"]["name"] == "City"
    else:
        assert body["tools"][0]["function"]["name"] == "City"
        assert body["tool_choice"] == "required"
    assert model.structured_output
