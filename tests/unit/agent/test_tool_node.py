"""``ToolNode`` in a graph of one's own."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

import pytest

from hitl import (
    END,
    START,
    TOOL_CALL_ERROR_TEMPLATE,
    AIMessage,
    Command,
    HumanMessage,
    InjectedState,
    InjectedToolCallId,
    InMemorySaver,
    MessagesState,
    ScriptedModel,
    StateGraph,
    ToolException,
    ToolInvocationError,
    ToolMessage,
    ToolNode,
    ToolRuntime,
    interrupt,
    tool,
    tools_condition,
)
from hitl.agent.model_port import ModelInput
from hitl.errors import Misuse

CONFIG: dict = {"configurable": {"thread_id": "t"}}


class State(MessagesState, total=False):
    user: str


ran: list = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    ran.clear()


@tool
def look(n: int) -> str:
    """Look."""
    ran.append(n)
    if n == 13:
        raise ToolException("unlucky")
    if n == 66:
        raise ValueError("broken")
    return f"seen {n}"


@tool
def ask(text: str) -> str:
    """Ask a human."""
    return f"they said {interrupt(text)}"


@tool
async def alook(n: int) -> str:
    """Look, async."""
    return f"aseen {n}"


@tool
def who(
    state: Annotated[dict, InjectedState],
    user: Annotated[str, InjectedState("user")],
    call: Annotated[str, InjectedToolCallId],
    runtime: ToolRuntime,
) -> str:
    """Say who asks."""
    last = state["messages"][-1].tool_calls[0]["name"]
    return f"{user} {call} {len(state['messages'])} {last} {runtime.context} {runtime.store}"


def turn(*pairs: tuple[str, dict]) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": n, "args": a, "id": str(i)} for i, (n, a) in enumerate(pairs)]
    )


def graph(node: ToolNode, *answers: Any, **options: Any) -> Any:
    model = ScriptedModel([*answers, "done"])
    built = StateGraph(State)

    def ask_model(state):
        return {"messages": [model.generate(ModelInput(tuple(state["messages"])))]}

    built.add_node("model", ask_model)
    built.add_node("tools", node)
    built.add_edge(START, "model")
    built.add_conditional_edges("model", tools_condition)
    built.add_edge("tools", "model")
    return built.compile(**options)


def run(graph: Any, *args: Any, hand: str, **more: Any) -> Any:
    if hand == "sync":
        return graph.invoke(*args, **more)
    return asyncio.run(graph.ainvoke(*args, **more))


HANDS = pytest.mark.parametrize("hand", ["sync", "async"])


@HANDS
def test_a_graph_of_ones_own_runs_the_calls_of_its_model(hand):
    calls = turn(("look", {"n": 1}), ("alook", {"n": 2}))
    output = run(graph(ToolNode([look, alook]), calls), {"messages": "go"}, hand=hand)
    assert [m.text for m in output["messages"]] == ["go", "", "seen 1", "aseen 2", "done"]


@HANDS
def test_tools_see_the_state_the_context_and_the_store_of_the_graph_around(hand):
    built = graph(ToolNode([who]), turn(("who", {})), store="the store")
    output = run(built, {"messages": "go", "user": "ann"}, hand=hand, context="ctx")
    assert output["messages"][2].text == "ann 0 2 who ctx the store"


@HANDS
def test_a_call_that_has_finished_does_not_run_again_when_its_sibling_asks(hand):
    calls = turn(("look", {"n": 1}), ("ask", {"text": "really?"}), ("ask", {"text": "sure?"}))
    built = graph(ToolNode([look, ask]), calls, checkpointer=InMemorySaver())
    paused = run(built, {"messages": "go"}, CONFIG, hand=hand)
    assert [one.value for one in paused.interrupts] == ["really?", "sure?"]
    answers = {one.id: one.value.upper() for one in paused.interrupts}
    output = run(built, Command(resume=answers), CONFIG, hand=hand)
    texts = [m.text for m in output["messages"]]
    assert texts == ["go", "", "seen 1", "they said REALLY?", "they said SURE?", "done"]
    assert ran == [1]


@HANDS
def test_errors_of_tools_are_answers(hand):
    calls = turn(("look", {"n": 13}), ("look", {"n": 66}), ("look", {"n": "x"}), ("nowhere", {}))
    output = run(graph(ToolNode([look]), calls), {"messages": "go"}, hand=hand)
    unlucky, broken, wrong, nowhere = output["messages"][2:6]
    assert {m.status for m in output["messages"][2:6]} == {"error"}
    assert unlucky.text == "unlucky"
    assert broken.text == TOOL_CALL_ERROR_TEMPLATE.format(error="ValueError: broken")
    assert "n" in wrong.text
    assert "no tool 'nowhere'" in nowhere.text


@pytest.mark.parametrize(
    ("handled", "n", "text"),
    [
        ("Sorry.", 66, "Sorry."),
        (lambda error: type(error).__name__, 66, "ValueError"),
        (ValueError, 66, TOOL_CALL_ERROR_TEMPLATE.format(error="ValueError: broken")),
        ((KeyError, ToolException), 13, "unlucky"),
        (lambda error: type(error).__name__, "x", "ToolInvocationError"),
    ],
)
def test_what_the_model_is_told_of_an_error_can_be_chosen(handled, n, text):
    node = ToolNode([look], handle_tool_errors=handled)
    output = graph(node, turn(("look", {"n": n}))).invoke({"messages": "go"})
    assert output["messages"][2].text == text


@pytest.mark.parametrize(
    ("handled", "n", "error"),
    [(False, 66, ValueError), (KeyError, 13, ToolException), (False, "x", ToolInvocationError)],
)
def test_an_error_that_is_not_handled_ends_the_run(handled, n, error):
    node = ToolNode([look], handle_tool_errors=handled)
    with pytest.raises(error):
        graph(node, turn(("look", {"n": n}))).invoke({"messages": "go"})


def test_what_is_no_way_to_handle_errors_is_refused():
    for wrong in (5, (KeyError, "x")):
        with pytest.raises(Misuse, match="handle_tool_errors"):
            ToolNode([look], handle_tool_errors=wrong)  # type: ignore[arg-type]


@HANDS
def test_functions_may_stand_around_the_calls(hand):
    def louder(request, handler):
        return ToolMessage(handler(request).text.upper(), tool_call_id=request.tool_call["id"])

    async def alouder(request, handler):
        result = await handler(request)
        return ToolMessage(result.text.upper(), tool_call_id=request.tool_call["id"])

    node = ToolNode([look], wrap_tool_call=louder, awrap_tool_call=alouder)
    output = run(graph(node, turn(("look", {"n": 1}))), {"messages": "go"}, hand=hand)
    assert output["messages"][2].text == "SEEN 1"


@HANDS
def test_it_can_be_called_by_itself(hand):
    node = ToolNode([look], name="mine")
    assert node.name == "mine"
    assert node._tools_by_name == {"look": look}
    history = [HumanMessage("go"), turn(("look", {"n": 1}))]
    output = run(node, {"messages": history}, hand=hand)
    assert [(m.text, m.tool_call_id) for m in output["messages"]] == [("seen 1", "0")]
    assert [m.text for m in run(node, history, hand=hand)] == ["seen 1"]
    with pytest.raises(Misuse, match="no message with tool calls"):
        run(node, {"messages": [HumanMessage("go")]}, hand=hand)


def test_the_condition_leads_to_the_tools_or_to_the_end():
    class Form(TypedDict):
        chat: list

    calls = [turn(("look", {"n": 1}))]
    assert tools_condition({"messages": calls}) == tools_condition(calls) == "tools"
    assert tools_condition({"chat": [AIMessage("x")]}, "chat") == END
    with pytest.raises(Misuse, match="no messages"):
        tools_condition({"messages": []})
