"""C08: ``edit`` runs another call in place of the proposed one."""

from __future__ import annotations

import pytest

from hitl import HitlError

CALL = ("write_file", {"path": "a", "text": "key2"})


def edit(name, args):
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def test_c08_the_edited_arguments_run_and_keep_the_calls_id(world, told):
    agent = world.agent({"write_file": True}, [CALL])
    proposed = world.start(agent).value["messages"][-1].tool_calls[0]
    result = world.decide(agent, edit("write_file", {"path": "b", "text": "key2"}))
    assert world.ran == [("write_file", {"path": "b", "text": "key2"})]
    (message,) = told(result)
    assert (message.tool_call_id, message.status) == (proposed["id"], "success")


def test_c08_the_model_reads_what_ran_in_place_of_its_call(world, told):
    agent = world.agent({"write_file": True}, [CALL])
    world.start(agent)
    result = world.decide(agent, edit("write_file", {"path": "b"}))
    turn = next(m for m in result.value["messages"] if m.type == "ai")
    assert turn.tool_calls[0]["args"] == {"path": "a", "text": "key2"}
    (message,) = told(result)
    assert "write_file with {'path': 'b'}" in message.content


def test_c08_an_edit_may_name_another_tool_that_is_free(world, told):
    agent = world.agent({"write_file": True}, [CALL])
    world.start(agent)
    result = world.decide(agent, edit("read_data", {"key": "k"}))
    assert world.ran == [("read_data", {"key": "k"})]
    assert told(result)[0].status == "success"


@pytest.mark.parametrize(
    ("action", "word"),
    [
        ({"args": {"path": "b"}}, "name"),
        ({"name": "write_file"}, "args"),
        ({"name": "write_file", "args": "b"}, "args"),
        ({"name": "write_file", "args": {"path": 7}}, "path"),
        ({"name": "write_file", "args": {"text": "no path"}}, "path"),
        ({"name": "write_fil", "args": {"path": "b"}}, "Did you mean 'write_file'"),
        ({"name": "execute_sql", "args": {"query": "x"}}, "execute_sql"),
        (None, "edited_action"),
    ],
    ids=[
        "no name", "no args", "args no dict", "wrong type", "missing argument",
        "unknown tool", "tool not to be approved", "nothing",
    ],
)  # fmt: skip
def test_c08_an_edit_that_does_not_fit_is_refused_when_it_is_submitted(world, action, word):
    config = {"write_file": True, "execute_sql": {"allowed_decisions": ["reject"]}}
    agent = world.agent(config, [CALL])
    before = world.start(agent).interrupts
    decision = {"type": "edit"} | ({} if action is None else {"edited_action": action})
    with pytest.raises(HitlError, match=word):
        world.decide(agent, decision)
    assert agent.get_state(world.config).interrupts == before
    world.decide(agent, edit("write_file", {"path": "b"}))
    assert world.ran == [("write_file", {"path": "b", "text": ""})]
