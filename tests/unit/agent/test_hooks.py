"""Hooks as functions, and what may stand around a call of the model."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest

from hitl import (
    AgentMiddleware,
    AIMessage,
    Command,
    ExtendedModelResponse,
    InMemorySaver,
    ModelResponse,
    ScriptedModel,
    SystemMessage,
    ToolMessage,
    after_agent,
    after_model,
    before_agent,
    before_model,
    create_agent,
    dynamic_prompt,
    hook_config,
    tool,
    wrap_model_call,
    wrap_tool_call,
)
from hitl.errors import Misuse

GO = {"messages": "go"}


@tool
def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


CALL = {"tool_calls": [{"name": "look", "args": {"n": 1}, "id": "1"}]}


class Counted(TypedDict, total=False):
    count: int


def run(agent: Any, hand: str) -> Any:
    return agent.invoke(GO) if hand == "sync" else asyncio.run(agent.ainvoke(GO))


@pytest.mark.parametrize("hand", ["sync", "async"])
def test_functions_become_hooks_in_their_places(hand):
    log: list[str] = []

    @before_agent
    def first(state, runtime):
        log.append("before_agent")

    @before_model(state_schema=Counted)
    def counts(state, runtime):
        log.append("before_model")
        return {"count": state.get("count", 0) + 1}

    @after_model(name="Other", tools=[look])
    def after(state, runtime):
        log.append("after_model")

    @after_agent
    def last(state, runtime):
        log.append("after_agent")

    assert after.name == "Other"
    assert first.name == "first"
    agent = create_agent(ScriptedModel([CALL, "done"]), middleware=[first, counts, after, last])
    output = run(agent, hand)
    once = ["before_model", "after_model"]
    assert log == ["before_agent", *once, *once, "after_agent"]
    assert output["count"] == 2
    assert "seen 1" in [m.text for m in output["messages"]]
    assert "Other.after_model" in agent.nodes


async def test_async_functions_become_async_hooks():
    log: list[str] = []

    @before_model
    async def first(state, runtime):
        log.append("hook")

    @wrap_model_call
    async def around(request, handler):
        log.append("model")
        return await handler(request)

    @wrap_tool_call
    async def tools(request, handler):
        log.append("tool")
        return await handler(request)

    agent = create_agent(ScriptedModel([CALL, "done"]), [look], middleware=[first, around, tools])
    await agent.ainvoke(GO)
    assert log == ["hook", "model", "tool", "hook", "model"]
    with pytest.raises(Misuse, match="ainvoke"):
        agent.invoke(GO)


def test_a_function_around_tool_calls_sees_and_replaces_results():
    @wrap_tool_call
    def louder(request, handler):
        result = handler(request)
        return ToolMessage(result.text.upper(), tool_call_id=request.tool_call["id"])

    output = create_agent(ScriptedModel([CALL, "ok"]), [look], middleware=[louder]).invoke(GO)
    assert output["messages"][2].text == "SEEN 1"


@pytest.mark.parametrize("hand", ["sync", "async"])
def test_a_prompt_may_follow_from_the_request(hand):
    @dynamic_prompt
    def prompt(request):
        return SystemMessage(f"{len(request.messages)} so far; was {request.system_prompt}")

    model = ScriptedModel(["hi"])
    run(create_agent(model, system_prompt="old", middleware=[prompt]), hand)
    assert model.calls[0].messages[0].text == "1 so far; was old"

    @dynamic_prompt
    async def later(request):
        return "later"

    if hand == "async":
        run(create_agent(model, middleware=[later]), hand)
        assert model.calls[1].messages[0].text == "later"


@pytest.mark.parametrize("place", ["end", "model"])
def test_a_hook_jumps_only_where_it_may(place):
    class Jumps(AgentMiddleware):
        @hook_config(can_jump_to=["end"])
        def before_model(self, state, runtime):
            return {"jump_to": place}

    agent = create_agent(ScriptedModel(["hi"]), middleware=[Jumps()])
    if place == "end":
        assert len(agent.invoke(GO)["messages"]) == 1
    else:
        with pytest.raises(Misuse, match="jumps to 'model'"):
            agent.invoke(GO)


def test_jumps_to_nowhere_are_refused_where_they_are_declared():
    with pytest.raises(Misuse, match="Did you mean 'end'"):
        hook_config(can_jump_to=["ende"])  # type: ignore[list-item]
    with pytest.raises(Misuse, match=r"\['end'\]"):
        before_model(can_jump_to="end")(  # type: ignore[arg-type]
            lambda state, runtime: None
        )
    with pytest.raises(Misuse, match="does not jump"):
        wrap_model_call(can_jump_to=["end"])
    with pytest.raises(Misuse, match="cannot be a hook"):
        before_model(AgentMiddleware)


@pytest.mark.parametrize("hand", ["sync", "async"])
def test_wraps_are_nested_and_the_first_is_outermost(hand):
    def wrap(name: str, log: list[str]) -> AgentMiddleware:
        class Wraps(AgentMiddleware):
            def wrap_model_call(self, request, handler):
                log.append(f"{name} in")
                response = handler(request)
                log.append(f"{name} out")
                return response

            async def awrap_model_call(self, request, handler):
                log.append(f"{name} in")
                response = await handler(request)
                log.append(f"{name} out")
                return response

        Wraps.__name__ = name
        return Wraps()

    log: list[str] = []
    run(create_agent(ScriptedModel(["hi"]), middleware=[wrap("a", log), wrap("b", log)]), hand)
    assert log == ["a in", "b in", "b out", "a out"]


def test_around_a_model_call_more_can_be_written_and_of_two_tries_the_last_counts():
    @wrap_model_call(state_schema=Counted)
    def inner(request, handler):
        tries.append(1)
        return ExtendedModelResponse(handler(request), Command(update={"count": len(tries)}))

    @wrap_model_call
    def outer(request, handler):
        handler(request)
        return handler(request)

    tries: list[int] = []
    output = create_agent(ScriptedModel(["hi"]), middleware=[outer, inner]).invoke(GO)
    assert output["count"] == 2
    assert [m.text for m in output["messages"]] == ["go", "hi"]


def test_a_model_call_may_be_answered_without_the_model():
    @wrap_model_call
    def cached(request, handler):
        return AIMessage("from the cache")

    model = ScriptedModel([])
    output = create_agent(model, middleware=[cached]).invoke(GO)
    assert output["messages"][-1].text == "from the cache"
    assert model.calls == []


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (None, "returned a NoneType"),
        (ModelResponse([]), "0 AIMessages"),
        (ModelResponse([AIMessage("x"), ToolMessage("y", tool_call_id="z")]), "answers none"),
        (ExtendedModelResponse(ModelResponse([AIMessage("x")]), Command(goto="end")), "more than"),
    ],
)
def test_what_is_no_answer_is_refused(result, text):
    wrong = wrap_model_call(lambda request, handler: result)
    with pytest.raises(Misuse, match=text):
        create_agent(ScriptedModel(["hi"]), middleware=[wrong]).invoke(GO)


def test_a_request_can_be_changed_and_its_tools_with_it():
    @wrap_model_call
    def bare(request, handler):
        return handler(
            request.override(tools=[], tool_choice="none", model_settings={"temperature": 1})
        )

    model = ScriptedModel(["hi"])
    create_agent(model, [look], middleware=[bare]).invoke(GO)
    assert model.calls[0].tools == ()
    assert model.calls[0].tool_choice == "none"
    assert model.calls[0].settings == {"temperature": 1}

    @wrap_model_call
    def both(request, handler):
        return handler(request.override(system_prompt="a", system_message=SystemMessage("b")))

    with pytest.raises(Misuse, match="system_prompt and system_message"):
        create_agent(model, middleware=[both]).invoke(GO)


def test_what_a_hook_changes_in_place_reaches_nothing_that_is_committed():
    class Notes(TypedDict, total=False):
        notes: list

    def spoil(state):
        state["notes"][0]["text"] = "spoilt"
        for message in state["messages"]:
            message.content = "spoilt"
            if message.type == "ai" and message.tool_calls:
                message.tool_calls[0]["args"]["n"] = 666

    @before_model(state_schema=Notes)
    def before(state, runtime):
        spoil(state)

    @after_model
    def after(state, runtime):
        spoil(state)

    @wrap_model_call
    def around(request, handler):
        response = handler(request)
        spoil(request.state)
        request.messages[0].content = "spoilt"
        return response

    @wrap_tool_call
    def tools(request, handler):
        spoil(request.state)
        return handler(request)

    agent = create_agent(
        ScriptedModel([CALL, "done"]),
        [look],
        middleware=[before, after, around, tools],
        checkpointer=InMemorySaver(),
    )
    config: dict = {"configurable": {"thread_id": "t"}}
    output = agent.invoke({**GO, "notes": [{"text": "mine"}]}, config)
    assert [m.text for m in output["messages"]] == ["go", "", "seen 1", "done"]
    assert output["notes"] == [{"text": "mine"}]
    values: Any = agent.get_state(config).values
    assert values["messages"] == output["messages"]


def test_calls_that_cannot_be_read_are_told_to_the_model_which_writes_them_anew():
    broken = AIMessage(
        "",
        invalid_tool_calls=[
            {"name": "look", "args": "{", "id": "1", "error": "cut", "type": "invalid_tool_call"}
        ],
    )
    output = create_agent(ScriptedModel([broken, "done"]), [look]).invoke(GO)
    assert [m.type for m in output["messages"]] == ["human", "ai", "tool", "ai"]
    assert "malformed" in output["messages"][2].text
