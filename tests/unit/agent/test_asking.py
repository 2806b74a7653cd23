"""How approval middleware asks: rejections that stop, loops of rejections, one call at a time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from hitl import (
    AgentMiddleware,
    AIMessage,
    Command,
    Gate,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    ScriptedModel,
    create_agent,
    tool,
)
from hitl.errors import HitlError, Misuse, WrongAnswer

CONFIG: dict = {"configurable": {"thread_id": "t"}}
GO = {"messages": "go"}
MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


class Hand:
    def __init__(self, name: str) -> None:
        self.name = name

    def invoke(self, agent: Any, *args: Any) -> Any:
        return agent.invoke(*args) if self.name == "sync" else asyncio.run(agent.ainvoke(*args))


@pytest.fixture(params=["sync", "async"])
def hand(request: pytest.FixtureRequest) -> Hand:
    return Hand(request.param)


@pytest.fixture
def ran() -> list[tuple[str, Any]]:
    return []


@pytest.fixture
def tools(ran) -> list:
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(("pay", amount))
        return "paid"

    @tool
    def drop(name: str) -> str:
        """Drop a table."""
        ran.append(("drop", name))
        return "dropped"

    @tool
    def look(n: int) -> str:
        """Look."""
        ran.append(("look", n))
        return "seen"

    return [pay, drop, look]


def turn(*pairs: tuple[str, dict]) -> dict:
    return {"tool_calls": [{"name": name, "args": args} for name, args in pairs]}


PAY = ("pay", {"amount": 1})
DROP = ("drop", {"name": "t"})
LOOK = ("look", {"n": 1})
STOP: Any = {"allowed_decisions": ["approve", "reject"], "on_reject": "stop"}


def made(tools, interrupt_on, *turns, **options) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel([*turns, *["done"] * 9])
    gate = HumanInTheLoopMiddleware(interrupt_on, **options)
    agent = create_agent(model, tools, middleware=[gate], checkpointer=InMemorySaver())
    return agent, model


def by_tool(output, **decisions: str) -> Command:
    """Answer what waits, each action by its id."""
    answers = {
        action["id"]: {"type": decisions[action["name"]]}
        for interrupt in output.interrupts
        for action in interrupt.value["action_requests"]
    }
    return Command(resume=answers)


@MODES
def test_a_rejection_that_stops_ends_the_run_and_the_model_is_not_asked_again(hand, mode, tools):
    agent, model = made(tools, {"drop": STOP}, turn(DROP), interrupt_mode=mode)
    paused = hand.invoke(agent, GO, CONFIG)
    output = hand.invoke(agent, by_tool(paused, drop="reject"), CONFIG)
    assert len(model.calls) == 1
    assert [m.type for m in output["messages"]] == ["human", "ai", "tool"]
    assert output["messages"][-1].status == "error"
    assert "rejected" in output["messages"][-1].text
    assert agent.get_state(CONFIG).next == ()
    # Something new from the user starts it again.
    assert hand.invoke(agent, GO, CONFIG)["messages"][-1].text == "done"


@MODES
def test_beside_a_rejection_that_stops_only_what_a_human_approved_runs(hand, mode, tools, ran):
    rules = {"drop": STOP, "pay": True}
    agent, model = made(tools, rules, turn(PAY, DROP, LOOK), interrupt_mode=mode)
    paused = hand.invoke(agent, GO, CONFIG)
    output = hand.invoke(agent, by_tool(paused, drop="reject", pay="approve"), CONFIG)
    assert len(model.calls) == 1
    assert ("pay", 1) in ran
    assert ("drop", "t") not in ran
    # In the per-call mode a free call has run long before anybody answers.
    assert (("look", 1) in ran) == (mode == "per_call")
    texts = {m.name: m.text for m in output["messages"] if m.type == "tool"}
    assert set(texts) == {"pay", "drop", "look"}
    assert mode == "per_call" or "stops the run" in texts["look"]


@MODES
def test_an_approval_where_a_rejection_would_stop_lets_the_run_go_on(hand, mode, tools, ran):
    agent, _ = made(tools, {"drop": STOP}, turn(DROP), interrupt_mode=mode)
    paused = hand.invoke(agent, GO, CONFIG)
    output = hand.invoke(agent, by_tool(paused, drop="approve"), CONFIG)
    assert ran == [("drop", "t")]
    assert output["messages"][-1].text == "done"


def test_what_a_rejection_does_is_frozen_with_the_question(tools):
    agent, model = made(tools, {"drop": STOP}, turn(DROP))
    paused = agent.invoke(GO, CONFIG)
    laxer = HumanInTheLoopMiddleware({"drop": {"allowed_decisions": ["approve", "reject"]}})
    later = create_agent(model, tools, middleware=[laxer], checkpointer=agent.checkpointer)
    output = later.invoke(by_tool(paused, drop="reject"), CONFIG)
    assert len(model.calls) == 1
    assert output["messages"][-1].type == "tool"


def test_what_on_reject_may_be_is_checked():
    with pytest.raises(Misuse, match=r"on_reject.*Known"):
        HumanInTheLoopMiddleware({"drop": {**STOP, "on_reject": "halt"}})  # type: ignore[dict-item]


@MODES
def test_the_same_call_is_asked_about_a_bounded_number_of_times(hand, mode, tools, ran):
    agent, _ = made(tools, {"drop": True}, *[turn(DROP)] * 4, interrupt_mode=mode, max_asks=2)
    output = hand.invoke(agent, GO, CONFIG)
    asked = 0
    while output.interrupts:
        asked += 1
        output = hand.invoke(agent, by_tool(output, drop="reject"), CONFIG)
    assert asked == 2
    assert ran == []
    told = [m.text for m in output["messages"] if m.type == "tool"]
    assert ["not asked" in text for text in told] == [False, False, True, True]
    assert "times: 2" in told[-1]


def test_by_default_the_fourth_time_is_the_last(tools):
    agent, _ = made(tools, {"drop": True}, *[turn(DROP)] * 6)
    output = agent.invoke(GO, CONFIG)
    asked = 0
    while output.interrupts:
        asked += 1
        output = agent.invoke(by_tool(output, drop="reject"), CONFIG)
    assert asked == HumanInTheLoopMiddleware({"drop": True}).max_asks == 3


def test_another_call_or_something_new_from_the_user_is_asked_about_again(tools):
    other = turn(("drop", {"name": "other"}))
    agent, _ = made(tools, {"drop": True}, turn(DROP), other, "ok", turn(DROP), max_asks=1)
    first = agent.invoke(GO, CONFIG)
    second = agent.invoke(by_tool(first, drop="reject"), CONFIG)
    assert second.interrupts[0].value["action_requests"][0]["args"] == {"name": "other"}
    agent.invoke(by_tool(second, drop="reject"), CONFIG)
    assert agent.invoke(GO, CONFIG).interrupts


def test_without_a_bound_it_is_asked_about_for_ever_and_a_wrong_bound_is_refused(tools):
    agent, _ = made(tools, {"drop": True}, *[turn(DROP)] * 6, max_asks=None)
    output = agent.invoke(GO, CONFIG)
    for _ in range(6):
        assert output.interrupts
        output = agent.invoke(by_tool(output, drop="reject"), CONFIG)
    for wrong in (0, -1, True, "3"):
        with pytest.raises(Misuse, match="max_asks"):
            HumanInTheLoopMiddleware({"drop": True}, max_asks=wrong)  # type: ignore[arg-type]


def test_a_gate_has_no_bound_unless_it_is_given_one(tools):
    gate = Gate(tools, interrupt_on={"drop": True}, store=InMemorySaver(), max_asks=1)
    first = gate.review("t", [{"name": "drop", "args": {"name": "t"}, "id": "1"}])
    gate.inbox.decide(first.pending[0].id, {"type": "reject"})
    gate.resume("t")
    again = gate.review("t", [{"name": "drop", "args": {"name": "t"}, "id": "2"}])
    assert "not asked" in again.results[0]["content"]


def test_one_call_by_itself_is_asked_about_with_the_form_of_its_answer(hand, tools, ran):
    rules: dict = {"pay": True, "drop": {"allowed_decisions": ["reject", "approve"]}}
    agent, _ = made(tools, rules, turn(PAY, DROP), interrupt_mode="per_call")
    paused = hand.invoke(agent, GO, CONFIG)
    pay, drop = paused.interrupts
    forms = {form["properties"]["type"]["const"]: form for form in pay.response_schema["anyOf"]}
    assert set(forms) == {"approve", "edit", "reject", "respond"}
    args = forms["edit"]["properties"]["edited_action"]["properties"]["args"]
    assert args["properties"]["amount"] == {"type": "integer"}
    assert [form["properties"]["type"] for form in drop.response_schema["anyOf"]] == [
        {"const": "reject"},
        {"const": "approve"},
    ]
    with pytest.raises(HitlError, match="not allowed"):
        hand.invoke(agent, Command(resume={drop.id: {"type": "respond", "message": "x"}}), CONFIG)
    # The whole answer to an interrupt of one call is its one decision.
    again = hand.invoke(agent, Command(resume={drop.id: {"type": "reject"}}), CONFIG)
    assert [one.id for one in again.interrupts] == [pay.id]
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 7}}}
    output = hand.invoke(agent, Command(resume={pay.id: edit}), CONFIG)
    assert ran == [("pay", 7)]
    assert output["messages"][-1].text == "done"


def test_in_a_batch_a_decision_is_one_of_a_list(tools):
    agent, _ = made(tools, {"pay": True}, turn(PAY))
    paused = agent.invoke(GO, CONFIG)
    assert paused.interrupts[0].response_schema is None
    with pytest.raises(WrongAnswer):
        agent.invoke(Command(resume={"type": "approve"}), CONFIG)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "nope"}, "there is no type 'nope'"),
        ({"type": "array"}, "arguments are an object"),
        ({"type": []}, "names no type"),
        ({"properties": []}, "schema.properties: it is not an object"),
        ({"properties": {"a": {"type": "strin"}}}, "Did you mean 'string'"),
        ({"required": "a"}, "schema.required"),
        ({"properties": {"a": {"enum": 1}}}, "schema.properties.a.enum"),
        ({"properties": {"a": {"minLength": -1}}}, "is not a count"),
        ({"properties": {"a": {"minimum": "x"}}}, "is not a number"),
        ({"properties": {"a": {"$ref": "#/$defs/No"}}}, "leads nowhere"),
        ({"properties": {"a": {"$ref": "https://x"}}}, "leads nowhere"),
        ({"anyOf": []}, "not a list of schemas"),
        ({"properties": {"a": 5}}, "where a schema must stand"),
    ],
)
def test_a_schema_by_which_nothing_can_be_checked_is_refused_when_it_is_given(schema, text):
    config: Any = {"allowed_decisions": ["edit"], "args_schema": schema}
    with pytest.raises(Misuse, match="args_schema") as caught:
        HumanInTheLoopMiddleware({"pay": config})
    assert text in caught.value.message
    if "properties" not in schema or isinstance(schema["properties"], dict):
        with pytest.raises(Misuse, match="args_schema"):
            tool("t", description="d", args_schema=schema)(lambda **given: "")


def test_a_schema_with_definitions_of_its_own_is_taken(tools):
    schema: dict = {
        "type": "object",
        "properties": {"amount": {"$ref": "#/$defs/Amount"}},
        "$defs": {"Amount": {"type": ["integer", "null"], "minimum": 1}},
        "additionalProperties": False,
    }
    config: Any = {"allowed_decisions": ["edit"], "args_schema": schema}
    agent, _ = made(tools, {"pay": config}, turn(PAY))
    paused = agent.invoke(GO, CONFIG)
    item = paused.interrupts[0].value["action_requests"][0]["id"]
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 0}}}
    with pytest.raises(HitlError, match="at least 1"):
        agent.invoke(Command(resume={item: edit}), CONFIG)


class Outer(HumanInTheLoopMiddleware):
    pass


class Inner(HumanInTheLoopMiddleware):
    pass


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_what_is_rewritten_between_two_gates_is_judged_again_by_the_first(
    hand, tools, ran, decision
):
    """Hooks run in reverse: `Inner` judges, the turn is rewritten, then `Outer` judges."""

    class Rewrites(AgentMiddleware):
        def after_model(self, state, runtime):
            last = state["messages"][-1]
            if not isinstance(last, AIMessage) or not last.tool_calls:
                return None
            call: Any = {**last.tool_calls[0], "args": {"amount": 1_000}}
            return {"messages": [replace(last, tool_calls=[call])]}

    large: Any = {
        "allowed_decisions": ["approve", "reject"],
        "when": lambda request: request.tool_call["args"]["amount"] > 100,
    }
    script: list = [turn(PAY), "done"]
    agent = create_agent(
        ScriptedModel(script),
        tools,
        middleware=[Outer({"pay": False}), Rewrites(), Inner({"pay": large})],
        checkpointer=InMemorySaver(),
    )
    paused = hand.invoke(agent, GO, CONFIG)
    assert ran == []
    assert paused.interrupts[0].value["action_requests"][0]["args"] == {"amount": 1_000}
    hand.invoke(agent, by_tool(paused, pay=decision), CONFIG)
    assert ran == ([("pay", 1_000)] if decision == "approve" else [])
