"""C14: a run is resumed with decisions, may pause again, and the caller loops."""

from __future__ import annotations

from hitl import Command

TURNS = [[("write_file", {"path": str(n)})] for n in range(3)]


def test_c14_the_caller_loops_until_nothing_waits(world):
    agent = world.agent({"write_file": True}, *TURNS)
    result = world.start(agent)
    seen = []
    while result.interrupts:
        decisions = [{"type": "approve"} for _ in result.interrupts[0].value["action_requests"]]
        seen.append(result.interrupts[0].id)
        result = world.run(
            agent, Command(resume={"decisions": decisions}), config=world.config, version="v2"
        )
    assert len(set(seen)) == 3
    assert [args["path"] for _, args in world.ran] == ["0", "1", "2"]
    assert result.value["messages"][-1].content == "All done."


def test_c14_an_agent_built_anew_goes_on_where_the_thread_stands(world):
    result = world.start(world.agent({"write_file": True}, *TURNS))
    while result.interrupts:
        result = world.decide(world.agent({"write_file": True}, *TURNS), {"type": "approve"})
    assert [args["path"] for _, args in world.ran] == ["0", "1", "2"]


def test_c14_going_on_without_an_answer_pauses_again_with_the_same_question(world):
    agent = world.agent({"write_file": True}, *TURNS)
    first = world.start(agent)
    again = world.run(agent, None, config=world.config, version="v2")
    assert again.interrupts == first.interrupts
    assert len(world.model.calls) == 1
    assert world.ran == []
