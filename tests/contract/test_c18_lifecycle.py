"""C18: model, ``after_model``, one request, decisions, tools, and the loop goes on."""

from __future__ import annotations

from hitl import Command

CALLS = [
    ("write_file", {"path": "a"}),
    ("read_data", {"key": "k"}),
    ("ask_user", {"question": "?"}),
    ("execute_sql", {"query": "q"}),
]
GATED = {"write_file": True, "ask_user": True, "execute_sql": True}
HOOK = "HumanInTheLoopMiddleware.after_model"


def test_c18_a_paused_turn_waits_in_the_hook_and_none_of_its_calls_has_run(world):
    agent = world.agent(GATED, CALLS)
    output = world.start(agent)
    assert len(output.interrupts) == 1
    assert agent.get_state(world.config).next == (HOOK,)
    assert HOOK in agent.nodes
    assert world.ran == []


def test_c18_each_decision_has_its_effect_and_the_loop_goes_on(world, told):
    agent = world.agent(GATED, CALLS)
    world.start(agent)
    edited = {"name": "execute_sql", "args": {"query": "Q"}}
    output = world.decide(
        agent,
        {"type": "reject"},
        {"type": "respond", "message": "Blue."},
        {"type": "edit", "edited_action": edited},
    )
    # Artificial answers come first, then results, both in the order of the calls.
    assert [m.type for m in output.value["messages"]] == ["human", "ai", *["tool"] * 4, "ai"]
    assert [(m.tool_call_id, m.status) for m in told(output)] == [
        ("call_1_1", "error"),
        ("call_1_3", "success"),
        ("call_1_2", "success"),
        ("call_1_4", "success"),
    ]
    assert sorted(world.ran) == [("execute_sql", {"query": "Q"}), ("read_data", {"key": "k"})]
    assert agent.get_state(world.config).next == ()
    # The next request to the model holds every answer.
    assert [m.type for m in world.model.calls[-1].messages][-5:] == ["ai", *["tool"] * 4]


def test_c18_the_steps_come_in_the_sources_order(world):
    agent = world.agent(GATED, CALLS[:2])
    first = [list(part) for part in agent.stream({"messages": "go"}, world.config)]
    assert first == [["model"], ["__interrupt__"]]
    resumed = list(agent.stream(Command(resume={"decisions": [{"type": "approve"}]}), world.config))
    assert [next(iter(part)) for part in resumed] == [HOOK, "tools", "tools", "model"]


def test_c18_where_every_call_has_its_answer_the_model_is_next(world):
    agent = world.agent(GATED, [CALLS[0]])
    world.start(agent)

    parts = list(agent.stream(Command(resume={"decisions": [{"type": "reject"}]}), world.config))
    assert [next(iter(part)) for part in parts] == [HOOK, "model"]


def test_c18_a_turn_without_gated_calls_goes_straight_on(world):
    agent = world.agent(GATED, [CALLS[1]])
    output = world.start(agent)
    assert output.interrupts == ()
    assert [m.type for m in output.value["messages"]] == ["human", "ai", "tool", "ai"]
