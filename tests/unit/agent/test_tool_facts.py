"""What a policy is told of an agent's tools."""

from __future__ import annotations

import pytest

from hitl.agent import Gate, MessagesState, ScriptedModel, create_agent, tool, tool_facts
from hitl.checkpoint import InMemorySaver
from hitl.engine import StateGraph
from hitl.errors import Misuse
from hitl.values import START


@tool(effect="pure")
def look(path: str) -> str:
    """Look at a file."""
    return path


def pay(amount: int) -> str:
    """Pay."""
    return str(amount)


def test_an_agent_a_gate_and_a_list_tell_the_same():
    agent = create_agent(ScriptedModel(["x"]), [look, pay])
    gate = Gate([look, pay], interrupt_on={"pay": True}, store=InMemorySaver())
    facts = tool_facts([look, pay])
    assert [(one.name, one.effect, one.description) for one in facts] == [
        ("look", "pure", "Look at a file."),
        ("pay", "effect", "Pay."),
    ]
    assert tool_facts(agent) == tool_facts(gate) == facts


def test_what_has_no_tools_is_refused():
    bare = (
        StateGraph(MessagesState)
        .add_node("one", lambda state: state)
        .add_edge(START, "one")
        .compile()
    )
    for value in (bare, 5, "tools", [5]):
        with pytest.raises(Misuse):
            tool_facts(value)
