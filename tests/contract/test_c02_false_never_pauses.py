"""C02: ``False`` never pauses, whatever else the map says."""

from __future__ import annotations

from hitl import HumanInTheLoopMiddleware, ScriptedModel, create_agent


def test_c02_a_call_of_the_tool_runs_without_a_pause(world):
    agent = world.agent({"read_data": False, "write_file": True}, [("read_data", {"key": "k"})])
    assert world.start(agent).interrupts == ()
    assert world.ran == [("read_data", {"key": "k"})]


def test_c02_it_wins_over_the_entry_for_all_other_tools(world):
    agent = world.agent(
        {"*": True, "read_data": False},
        [("read_data", {"key": "k"}), ("write_file", {"path": "a"})],
    )
    (interrupt,) = world.start(agent).interrupts
    assert [one["name"] for one in interrupt.value["action_requests"]] == ["write_file"]
    world.decide(agent, {"type": "reject"})
    assert world.ran == [("read_data", {"key": "k"})]


def test_c02_a_map_of_nothing_but_false_needs_no_checkpointer(world):
    agent = create_agent(
        ScriptedModel([{"tool_calls": [{"name": "read_data", "args": {}}]}, "Done."]),
        world.tools,
        middleware=[HumanInTheLoopMiddleware({"read_data": False})],
    )
    result = world.run(agent, {"messages": "go"}, version="v2")
    assert result.interrupts == ()
    assert world.ran == [("read_data", {"key": ""})]
