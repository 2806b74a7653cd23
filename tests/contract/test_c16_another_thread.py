"""C16: an answer on a thread on which nothing waits is one clear error."""

from __future__ import annotations

import pytest

from hitl import Command, Inbox, NothingWaiting, UnknownId

CALL = ("write_file", {"path": "a"})
APPROVE = {"decisions": [{"type": "approve"}]}
OTHER = {"configurable": {"thread_id": "other"}}


def paused(world):
    agent = world.agent({"write_file": True}, [CALL])
    return agent, world.start(agent)


def test_c16_a_new_thread_id_is_refused_and_no_other_thread_is_named(world):
    agent, _ = paused(world)
    with pytest.raises(NothingWaiting, match=r"'other'.*inbox") as caught:
        world.run(agent, Command(resume=APPROVE), config=OTHER)
    assert "some_id" not in str(caught.value)
    assert world.ran == []
    assert world.resume(agent, APPROVE).interrupts == ()
    assert world.ran == [("write_file", {"path": "a", "text": ""})]


def test_c16_the_id_of_another_threads_question_is_refused(world):
    agent, output = paused(world)
    item = output.interrupts[0].value["action_requests"][0]["id"]
    for id, answer in ((item, {"type": "approve"}), (output.interrupts[0].id, APPROVE)):
        with pytest.raises(UnknownId):
            world.run(agent, Command(resume={id: answer}), config=OTHER)
    assert world.ran == []
    assert Inbox(world.saver).get(item).state == "pending"


def test_c16_a_finished_thread_takes_no_more_answers(world):
    agent, _ = paused(world)
    world.resume(agent, APPROVE)
    with pytest.raises(NothingWaiting, match="'some_id'"):
        world.resume(agent, APPROVE)
    assert len(world.ran) == 1


def test_c16_a_repeat_by_id_is_a_no_op_with_the_same_result(world):
    agent, output = paused(world)
    item = output.interrupts[0].value["action_requests"][0]["id"]
    first = world.resume(agent, {item: {"type": "approve"}})
    again = world.resume(agent, {item: {"type": "approve"}})
    assert again.value == first.value
    assert again.interrupts == ()
    assert len(world.ran) == 1
