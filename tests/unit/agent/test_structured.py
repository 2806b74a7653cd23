"""Structured answers: by a tool, by the provider, and what happens with one that does not fit."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from hitl import (
    AIMessage,
    AutoStrategy,
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    MultipleStructuredOutputsError,
    ProviderStrategy,
    ScriptedModel,
    SqliteSaver,
    StructuredOutputValidationError,
    ToolStrategy,
    create_agent,
    tool,
)
from hitl.agent.wording import STRUCTURED_EARLY
from hitl.errors import Misuse

GO = {"messages": "go"}
CONFIG: dict = {"configurable": {"thread_id": "t"}}


class Inner(BaseModel):
    day: date


class Weather(BaseModel):
    """The weather."""

    city: str
    degrees: float
    when: Inner | None = None


@dataclass
class City:
    name: str


class Place(TypedDict):
    name: str


JSON = {
    "title": "Spot",
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}


@tool
def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


def calls(*pairs: tuple[str, dict]) -> dict:
    return {"tool_calls": [{"name": name, "args": args} for name, args in pairs]}


def run(agent: Any, *args: Any, hand: str = "sync") -> Any:
    return agent.invoke(*args) if hand == "sync" else asyncio.run(agent.ainvoke(*args))


@pytest.mark.parametrize("hand", ["sync", "async"])
@pytest.mark.parametrize(
    ("schema", "name", "args", "value"),
    [
        (Weather, "Weather", {"city": "Bonn", "degrees": 3}, Weather(city="Bonn", degrees=3.0)),
        (City, "City", {"name": "Bonn"}, City("Bonn")),
        (Place, "Place", {"name": "Bonn"}, {"name": "Bonn"}),
        (JSON, "Spot", {"name": "Bonn"}, {"name": "Bonn"}),
        (City | Weather, "City", {"name": "Bonn"}, City("Bonn")),
    ],
)
def test_a_model_answers_by_calling_the_schema(schema, name, args, value, hand):
    model = ScriptedModel([calls((name, args))])
    output = run(create_agent(model, [look], response_format=schema), GO, hand=hand)
    assert output["structured_response"] == value
    assert [m.type for m in output["messages"]] == ["human", "ai", "tool"]
    asked = model.calls[0]
    assert name in [spec.name for spec in asked.tools]
    assert asked.tool_choice == "required"


def test_a_structured_answer_is_stored_with_all_its_types(tmp_path):
    args = {"city": "Bonn", "degrees": 3, "when": {"day": "2026-12-01"}}
    path = str(tmp_path / "runs.db")
    with SqliteSaver.from_conn_string(path) as saver:
        model = ScriptedModel([calls(("Weather", args))])
        create_agent(model, response_format=Weather, checkpointer=saver).invoke(GO, CONFIG)
    with SqliteSaver.from_conn_string(path) as saver:
        agent = create_agent(ScriptedModel([]), response_format=Weather, checkpointer=saver)
        values: Any = agent.get_state(CONFIG).values
    day = Inner(day=date(2026, 12, 1))
    assert values["structured_response"] == Weather(city="Bonn", degrees=3, when=day)


def test_an_answer_that_does_not_fit_is_told_to_the_model_which_answers_again():
    model = ScriptedModel(
        [calls(("Weather", {"city": "Bonn"})), calls(("Weather", {"city": "B", "degrees": 1}))]
    )
    output = create_agent(model, response_format=Weather).invoke(GO)
    assert output["structured_response"] == Weather(city="B", degrees=1)
    told = output["messages"][2]
    assert told.status == "error"
    assert "degrees" in told.text


def test_several_answers_in_one_turn_are_told_to_the_model():
    fit = ("City", {"name": "Bonn"})
    model = ScriptedModel([calls(fit, fit), calls(fit)])
    output = create_agent(model, response_format=ToolStrategy(City)).invoke(GO)
    assert output["structured_response"] == City("Bonn")
    assert [m.status for m in output["messages"][2:4]] == ["error", "error"]


@pytest.mark.parametrize(
    ("handled", "told"),
    [
        ("Once more.", "Once more."),
        (lambda error: type(error).__name__, "StructuredOutputValidationError"),
        (ValueError, None),
        ((KeyError, StructuredOutputValidationError), None),
    ],
)
def test_what_the_model_is_told_can_be_chosen(handled, told):
    model = ScriptedModel([calls(("City", {})), calls(("City", {"name": "x"}))])
    strategy = ToolStrategy(City, handle_errors=handled, tool_message_content="Thanks.")
    output = create_agent(model, response_format=strategy).invoke(GO)
    assert output["messages"][-1].text == "Thanks."
    assert told is None or output["messages"][2].text == told


@pytest.mark.parametrize("handled", [False, KeyError])
def test_an_error_that_is_not_handled_ends_the_run(handled):
    strategy = ToolStrategy(City, handle_errors=handled)
    agent = create_agent(ScriptedModel([calls(("City", {}))]), response_format=strategy)
    with pytest.raises(StructuredOutputValidationError, match="City"):
        agent.invoke(GO)
    two = ScriptedModel([calls(("City", {"name": "x"}), ("City", {"name": "y"}))])
    with pytest.raises(MultipleStructuredOutputsError, match="City, City"):
        create_agent(two, response_format=strategy).invoke(GO)


def test_an_answer_beside_calls_of_tools_is_asked_for_again_once_they_have_run():
    both = calls(("look", {"n": 1}), ("City", {"name": "Bonn"}))
    model = ScriptedModel([both, calls(("City", {"name": "Oslo"}))])
    output = create_agent(model, [look], response_format=City).invoke(GO)
    assert output["structured_response"] == City("Oslo")
    texts = [m.text for m in output["messages"] if m.type == "tool"]
    assert "seen 1" in texts
    assert STRUCTURED_EARLY in texts


def test_an_answer_cannot_speak_of_a_call_that_a_human_then_rejects():
    both = calls(("look", {"n": 1}), ("City", {"name": "seen 1"}))
    model = ScriptedModel([both, calls(("City", {"name": "nothing"}))])
    agent = create_agent(
        model,
        [look],
        response_format=City,
        middleware=[HumanInTheLoopMiddleware({"look": True})],
        checkpointer=InMemorySaver(),
    )
    assert agent.invoke(GO, CONFIG)["structured_response"] is None
    output = agent.invoke(Command(resume={"decisions": [{"type": "reject"}]}), CONFIG)
    assert output["structured_response"] == City("nothing")


def test_a_rule_for_every_tool_does_not_ask_about_the_structured_answer():
    model = ScriptedModel([calls(("City", {"name": "Bonn"}))])
    agent = create_agent(
        model,
        [look],
        response_format=City,
        middleware=[HumanInTheLoopMiddleware({"*": True})],
        checkpointer=InMemorySaver(),
    )
    assert agent.invoke(GO, CONFIG)["structured_response"] == City("Bonn")


class Native:
    """A model whose provider holds answers to a schema."""

    name = "native"
    structured_output = True

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.asked: list = []

    def generate(self, request):
        self.asked.append(request)
        return AIMessage(self.texts.pop(0))

    async def agenerate(self, request):
        return self.generate(request)


@pytest.mark.parametrize("wanted", [City, AutoStrategy(City), ProviderStrategy(City, strict=True)])
def test_a_provider_that_can_is_asked_for_the_schema_itself(wanted):
    model = Native('{"name": "Bonn"}')
    output = create_agent(model, response_format=wanted).invoke(GO)
    assert output["structured_response"] == City("Bonn")
    asked = model.asked[0].output
    assert (asked.name, asked.schema["required"]) == ("City", ["name"])
    assert model.asked[0].tools == ()


def test_a_providers_answer_that_does_not_fit_ends_the_run_which_can_go_on():
    model = Native("no JSON", '{"name": "Bonn"}')
    agent = create_agent(model, response_format=City, checkpointer=InMemorySaver())
    with pytest.raises(StructuredOutputValidationError, match="City"):
        agent.invoke(GO, CONFIG)
    assert agent.invoke(None, CONFIG)["structured_response"] == City("Bonn")


def test_new_input_takes_the_old_answer_away():
    model = ScriptedModel([calls(("City", {"name": "Bonn"})), "just text"])
    agent = create_agent(model, response_format=City, checkpointer=InMemorySaver())
    assert agent.invoke(GO, CONFIG)["structured_response"] == City("Bonn")
    assert agent.invoke(GO, CONFIG)["structured_response"] is None


def test_what_is_no_schema_is_refused_when_the_agent_is_made():
    model = ScriptedModel([])
    for wrong, text in [
        (5, "no schema"),
        ({"type": "object"}, "no title"),
        ({"title": "two words", "type": "object"}, "named"),
        (ProviderStrategy(City | Weather), "union"),
        (ToolStrategy(City | City.__class__), "type"),
    ]:
        with pytest.raises(Misuse, match=text):
            create_agent(model, response_format=wrong)
    named = {**JSON, "title": "look"}
    with pytest.raises(Misuse, match="both named 'look'"):
        create_agent(model, [look], response_format=named)
