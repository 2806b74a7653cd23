"""C09: ``reject`` keeps the call from running and tells the model so."""

from __future__ import annotations

import pytest

CALL = ("execute_sql", {"query": "DELETE FROM records"})


def test_c09_without_a_message_the_model_reads_not_run_and_not_to_be_retried(world, told):
    agent = world.agent({"execute_sql": True}, [CALL])
    proposed = world.start(agent).value["messages"][-1].tool_calls[0]
    result = world.decide(agent, {"type": "reject"})
    assert world.ran == []
    (message,) = told(result)
    assert (message.status, message.tool_call_id) == ("error", proposed["id"])
    text = message.content
    assert "execute_sql" in text
    assert "not executed" in text
    assert "again unless the user asks" in text


def test_c09_a_message_reaches_the_model(world, told):
    agent = world.agent({"execute_sql": True}, [CALL])
    world.start(agent)
    reason = "User rejected this action. Do not retry this tool call."
    result = world.decide(agent, {"type": "reject", "message": reason})
    (message,) = told(result)
    assert message.status == "error"
    assert message.content.endswith(reason)
    assert "execute_sql" in message.content
    assert world.ran == []


@pytest.mark.parametrize("message", ["", None])
def test_c09_an_empty_message_counts_as_none(world, told, message):
    agent = world.agent({"execute_sql": True}, [CALL])
    world.start(agent)
    (answer,) = told(world.decide(agent, {"type": "reject", "message": message}))
    assert "again unless the user asks" in answer.content


def test_c09_a_rejected_call_stays_in_the_models_turn_and_the_loop_goes_on(world):
    agent = world.agent({"execute_sql": True}, [CALL])
    world.start(agent)
    result = world.decide(agent, {"type": "reject"})
    assert [m.type for m in result.value["messages"]] == ["human", "ai", "tool", "ai"]
    assert result.value["messages"][1].tool_calls[0]["name"] == "execute_sql"
    assert len(world.model.calls) == 2
