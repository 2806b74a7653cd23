"""C01: ``True`` pauses every call of a tool and takes all four decisions."""

from __future__ import annotations

ALL = ["approve", "edit", "reject", "respond"]


def test_c01_every_call_of_the_tool_pauses_with_all_four_decisions(world):
    agent = world.agent(
        {"write_file": True},
        [("write_file", {"path": "a"})],
        [("write_file", {"path": "b"}), ("write_file", {"path": "b"})],
    )
    first = world.start(agent)
    (config,) = first.interrupts[0].value["review_configs"]
    assert config == {"action_name": "write_file", "allowed_decisions": ALL}
    assert world.ran == []
    second = world.decide(agent, {"type": "approve"})
    requests = second.interrupts[0].value["action_requests"]
    assert [request["args"] for request in requests] == [{"path": "b"}, {"path": "b"}]
    assert [args["path"] for _, args in world.ran] == ["a"]
    last = world.decide(agent, {"type": "approve"}, {"type": "approve"})
    assert last.interrupts == ()
    assert [args["path"] for _, args in world.ran] == ["a", "b", "b"]


def test_c01_each_of_the_four_decisions_is_taken(world, told):
    calls = [("write_file", {"path": name}) for name in "abcd"]
    agent = world.agent({"write_file": True}, calls)
    world.start(agent)
    edited = {"name": "write_file", "args": {"path": "B"}}
    last = world.decide(
        agent,
        {"type": "approve"},
        {"type": "edit", "edited_action": edited},
        {"type": "reject"},
        {"type": "respond", "message": "done by hand"},
    )
    assert sorted(args["path"] for _, args in world.ran) == ["B", "a"]
    assert len(told(last)) == 4


def test_c01_a_tool_without_an_entry_runs_at_once(world):
    agent = world.agent({"write_file": True}, [("read_data", {"key": "k"})])
    assert world.start(agent).interrupts == ()
    assert world.ran == [("read_data", {"key": "k"})]
