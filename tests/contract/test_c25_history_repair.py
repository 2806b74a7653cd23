"""C25: after an abandoned pause every call has an answer, and what waited is closed."""

from __future__ import annotations

import pytest

from hitl import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    Command,
    HumanMessage,
    PatchToolCallsMiddleware,
    Runtime,
    ScriptedModel,
    ToolMessage,
    UnknownId,
    add_messages,
    create_deep_agent,
    tool,
)

CONFIG = {"configurable": {"thread_id": "t"}}
GO = {"messages": [{"role": "user", "content": "go"}]}


def call(id, name="t"):
    return {"name": name, "args": {}, "id": id}


def patched(*messages):
    return PatchToolCallsMiddleware().before_agent({"messages": list(messages)}, Runtime())


def test_c25_a_whole_history_is_left_alone():
    turn = AIMessage("", tool_calls=[call("1")])
    assert patched() is None
    assert patched(HumanMessage("a"), AIMessage("b")) is None
    assert patched(turn, ToolMessage("x", tool_call_id="1"), HumanMessage("a")) is None
    assert patched(AIMessage("", tool_calls=[call(None)])) is None


def test_c25_missing_answers_stand_right_behind_their_turn():
    turn = AIMessage(
        "",
        id="m",
        tool_calls=[call("1"), call("2", "u")],
        invalid_tool_calls=[
            {"name": None, "args": "{", "id": "3", "error": "", "type": "invalid_tool_call"}
        ],
    )
    update = patched(HumanMessage("a"), turn, HumanMessage("b"))
    assert update is not None
    remove, *whole = update["messages"]
    assert remove.id == REMOVE_ALL_MESSAGES
    assert [m.type for m in whole] == ["human", "ai", "tool", "tool", "tool", "human"]
    assert [(m.tool_call_id, m.name, m.status) for m in whole[2:5]] == [
        ("1", "t", "error"),
        ("2", "u", "error"),
        ("3", "unknown", "error"),
    ]
    assert "did not complete" in whole[2].content
    assert "malformed" in whole[4].content
    assert [m.type for m in add_messages([], update["messages"])][-1] == "human"


@pytest.fixture
def deep(saver):
    """A deep agent that waits for two sub-agents, each about to deploy."""
    ran = []

    @tool
    def deploy(where: str) -> str:
        """Deploy."""
        ran.append(where)
        return where

    def worker(name):
        turn = {"tool_calls": [{"name": "deploy", "args": {"where": name}}]}
        model = ScriptedModel([turn, "Up."])
        about = {"name": name, "description": name, "system_prompt": name}
        return {**about, "model": model}

    tasks = [
        {"name": "task", "args": {"description": "go", "subagent_type": name}} for name in "ab"
    ]
    agent = create_deep_agent(
        ScriptedModel([{"tool_calls": tasks}, "What next?"]),
        [deploy],
        subagents=[worker("a"), worker("b")],
        interrupt_on={"deploy": True},
        checkpointer=saver,
    )
    return agent, ran


def test_c25_a_new_message_closes_what_waits_in_sub_agents_too(deep, saver, run):
    agent, ran = deep
    first, second = run(agent, GO, CONFIG, version="v2").interrupts
    run(agent, Command(resume={first.id: {"decisions": [{"type": "reject"}]}}), CONFIG)
    later = {"messages": [{"role": "user", "content": "Never mind."}]}
    output = run(agent, later, CONFIG, version="v2")
    assert output.interrupts == ()
    assert agent.get_state(CONFIG).interrupts == ()
    assert ran == []
    types = [message.type for message in output.value["messages"]]
    assert types == ["human", "ai", "tool", "tool", "human", "ai"]
    assert {item.interrupt: item.state for item in saver.items()} == {
        first.id: "done",
        second.id: "superseded",
    }
    with pytest.raises(UnknownId):
        run(agent, Command(resume={second.id: {"decisions": [{"type": "approve"}]}}), CONFIG)
    assert ran == []
