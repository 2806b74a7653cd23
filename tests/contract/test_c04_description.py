"""C04: ``description`` is a text, or is made from the call, the state and the runtime."""

from __future__ import annotations

import pytest

CALL = ("execute_sql", {"query": "DROP TABLE t"})


def config_with(description):
    return {"execute_sql": {"allowed_decisions": ["approve"], "description": description}}


def shown(output):
    return output.interrupts[0].value["action_requests"][0]["description"]


@pytest.mark.parametrize("text", ["SQL execution requires DBA approval", ""])
def test_c04_a_text_is_shown_as_it_is(world, text):
    assert shown(world.start(world.agent(config_with(text), [CALL]))) == text


def test_c04_a_function_sees_the_call_the_state_and_the_runtime(world):
    seen = []

    def describe(tool_call, state, runtime):
        seen.append((runtime.context, runtime.tool_call_id == tool_call["id"]))
        return f"{tool_call['name']} for {state['messages'][0].content}: {tool_call['args']}"

    agent = world.agent(config_with(describe), [CALL])
    output = world.start(agent, "Tidy up.", context={"user": "ann"})
    assert shown(output) == "execute_sql for Tidy up.: {'query': 'DROP TABLE t'}"
    assert seen == [({"user": "ann"}, True)]
    world.decide(agent, {"type": "approve"})
    assert len(seen) == 1


def test_c04_a_function_that_fails_never_hides_the_call(world):
    def describe(tool_call, state, runtime):
        raise RuntimeError("no database")

    agent = world.agent(config_with(describe), [CALL])
    output = world.start(agent)
    assert "execute_sql" in shown(output)
    assert "DROP TABLE t" in shown(output)
    assert world.ran == []
    world.decide(agent, {"type": "approve"})
    assert world.ran == [CALL]
