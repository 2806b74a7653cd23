"""C10: ``respond`` returns what a human wrote as the tool's result."""

from __future__ import annotations

import pytest

from hitl import Inbox, WrongAnswer

CALL = ("ask_user", {"question": "Which colour?"})
ASK = {"ask_user": {"allowed_decisions": ["respond"]}}


def test_c10_the_message_is_the_tools_successful_result_and_the_tool_does_not_run(world, told):
    agent = world.agent(ASK, [CALL])
    proposed = world.start(agent).value["messages"][-1].tool_calls[0]
    result = world.decide(agent, {"type": "respond", "message": "Blue."})
    assert world.ran == []
    (message,) = told(result)
    assert (message.content, message.status) == ("Blue.", "success")
    assert (message.name, message.tool_call_id) == ("ask_user", proposed["id"])


def test_c10_the_record_says_that_a_human_wrote_it(world):
    agent = world.agent(ASK, [CALL])
    (interrupt,) = world.start(agent).interrupts
    item = interrupt.value["action_requests"][0]["id"]
    world.config["configurable"]["reviewer"] = "ann"
    world.decide(agent, {"type": "respond", "message": "Blue."})
    decision = Inbox(world.saver).get(item).decision
    assert decision is not None
    assert (decision.type, decision.by) == ("respond", "ann")
    assert decision.payload == {"message": "Blue."}


@pytest.mark.parametrize("decision", [{}, {"message": None}, {"message": 5}, {"massage": "Blue."}])
def test_c10_without_a_text_it_is_refused_and_can_be_given_again(world, told, decision):
    agent = world.agent(ASK, [CALL])
    world.start(agent)
    with pytest.raises(WrongAnswer, match="message"):
        world.decide(agent, {"type": "respond", **decision})
    result = world.decide(agent, {"type": "respond", "message": "Blue."})
    assert told(result)[0].content == "Blue."
