"""C07: ``approve`` runs the call unchanged."""

from __future__ import annotations

CALL = ("execute_sql", {"query": "DELETE FROM records WHERE id = 'ü\\n'"})


def test_c07_an_approved_call_runs_once_with_the_models_own_arguments(world, told):
    agent = world.agent({"execute_sql": True}, [CALL])
    proposed = world.start(agent).value["messages"][-1].tool_calls[0]
    assert world.ran == []
    result = world.decide(agent, {"type": "approve"})
    assert result.interrupts == ()
    assert world.ran == [CALL]
    (message,) = told(result)
    assert (message.name, message.tool_call_id) == ("execute_sql", proposed["id"])
    assert message.status == "success"
    assert message.content.startswith("execute_sql did")
    assert result.value["messages"][-1].content == "All done."


def test_c07_going_on_again_runs_nothing_twice(world):
    agent = world.agent({"execute_sql": True}, [CALL])
    world.start(agent)
    world.decide(agent, {"type": "approve"})
    again = world.run(agent, None, world.config, version="v2")
    assert again.value["messages"][-1].content == "All done."
    assert world.ran == [CALL]
