"""Structured answers of deep agents and of their sub-agents."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from hitl import ScriptedModel, ToolMessage, create_deep_agent, create_sub_agent

GO: Any = {"messages": "go"}


class Weather(BaseModel):
    city: str
    degrees: int


def answers(city: str, degrees: int) -> dict:
    call = {"name": "Weather", "args": {"city": city, "degrees": degrees}, "id": "w"}
    return {"tool_calls": [call]}


def test_a_deep_agents_answer_has_the_form_that_was_asked_for():
    agent = create_deep_agent(ScriptedModel([answers("Oslo", 7)]), response_format=Weather)
    assert agent.invoke(GO)["structured_response"] == Weather(city="Oslo", degrees=7)


def test_a_sub_agents_structured_answer_is_the_tasks_result_as_json():
    task = {"description": "How warm is it?", "subagent_type": "weather"}
    top = ScriptedModel([{"tool_calls": [{"name": "task", "args": task, "id": "t"}]}, "Seven."])
    weather: Any = {
        "name": "weather",
        "description": "Knows the weather.",
        "system_prompt": "Tell the weather.",
        "model": ScriptedModel([answers("Oslo", 7)]),
        "response_format": Weather,
    }
    messages = create_deep_agent(top, subagents=[weather]).invoke(GO)["messages"]
    (result,) = [message for message in messages if isinstance(message, ToolMessage)]
    assert json.loads(result.text) == {"city": "Oslo", "degrees": 7}


def test_create_sub_agent_takes_a_form_for_declarations_that_have_none():
    spec: Any = {"name": "w", "description": "w", "system_prompt": "w", "tools": []}
    spec["model"] = ScriptedModel([answers("Bergen", 3)])
    agent = create_sub_agent(spec, response_format=Weather)
    assert agent.invoke(GO)["structured_response"] == Weather(city="Bergen", degrees=3)
