"""C13: ``version="v2"`` gives a ``GraphOutput``, without it the dict with ``__interrupt__``."""

from __future__ import annotations

from hitl import Command, GraphOutput, Interrupt

CALL = ("write_file", {"path": "a"})
INPUT = {"messages": [{"role": "user", "content": "Write it."}]}
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


def test_c13_v2_gives_value_and_interrupts(world):
    agent = world.agent({"write_file": True}, [CALL])
    paused = world.run(agent, INPUT, config=world.config, version="v2")
    assert isinstance(paused.interrupts, tuple)
    assert isinstance(paused.interrupts[0], Interrupt)
    assert "__interrupt__" not in paused.value
    assert [m.type for m in paused.value["messages"]] == ["human", "ai"]
    assert isinstance(paused, GraphOutput)
    done = world.run(agent, APPROVE, config=world.config, version="v2")
    assert done.interrupts == ()
    assert done.value["messages"][-1].content == "All done."


def test_c13_without_a_version_a_pause_is_a_key_of_the_dict(world):
    agent = world.agent({"write_file": True}, [CALL])
    paused = world.run(agent, INPUT, config=world.config)
    assert isinstance(paused, dict)
    (interrupt,) = paused["__interrupt__"]
    assert isinstance(paused["__interrupt__"], list)
    assert interrupt.value["action_requests"][0]["name"] == "write_file"
    done = world.run(agent, APPROVE, config=world.config)
    assert set(done) == {"messages"}
    assert done["messages"][-1].content == "All done."


def test_c13_the_dict_also_tells_a_pause_as_v2_does(world):
    agent = world.agent({"write_file": True}, [CALL])
    paused = world.run(agent, INPUT, config=world.config)
    assert paused.interrupts == tuple(paused["__interrupt__"])
    assert paused.value["messages"] == paused["messages"]
    done = world.run(agent, APPROVE, config=world.config)
    assert done.interrupts == ()
    assert done.value == done
