"""C12: the interrupt's value has the keys that the sources print."""

from __future__ import annotations

import json

CALLS = [("write_file", {"path": "a"}), ("execute_sql", {"query": "q"})]


def test_c12_requests_and_configs_have_the_sources_keys(world):
    config = {"write_file": True, "execute_sql": {"allowed_decisions": ["approve", "reject"]}}
    (interrupt,) = world.start(world.agent(config, CALLS)).interrupts
    value = interrupt.value
    assert {"action_requests", "review_configs"} <= value.keys()
    for request, (name, args) in zip(value["action_requests"], CALLS, strict=True):
        assert {"name", "args", "description"} <= request.keys()
        assert (request["name"], request["args"]) == (name, args)
    assert [
        {key: one[key] for key in ("action_name", "allowed_decisions")}
        for one in value["review_configs"]
    ] == [
        {
            "action_name": "write_file",
            "allowed_decisions": ["approve", "edit", "reject", "respond"],
        },
        {"action_name": "execute_sql", "allowed_decisions": ["approve", "reject"]},
    ]


def test_c12_the_value_is_plain_json_and_its_id_has_32_hex_digits(world):
    (interrupt,) = world.start(world.agent({"*": True}, CALLS)).interrupts
    assert json.loads(json.dumps(interrupt.value)) == interrupt.value
    assert len(interrupt.id) == 32
    assert int(interrupt.id, 16) >= 0


def test_c12_every_face_shows_the_same_value(world):
    agent = world.agent({"*": True}, CALLS)
    seen = world.start(agent).interrupts
    state = agent.get_state(world.config)
    assert state.interrupts == seen
    assert tuple(one for task in state.tasks for one in task.interrupts) == seen
