"""C05: where no description is given, prefix, tool name and arguments make one."""

from __future__ import annotations

import pytest

CALL = ("execute_sql", {"query": "DELETE FROM records"})


@pytest.mark.parametrize(
    ("options", "prefix"),
    [
        ({}, "Tool execution requires approval"),
        (
            {"description_prefix": "Tool execution pending approval"},
            "Tool execution pending approval",
        ),
    ],
    ids=["default", "given"],
)
def test_c05_prefix_name_and_arguments_are_the_description(world, options, prefix):
    output = world.start(world.agent({"execute_sql": True}, [CALL], **options))
    (request,) = output.interrupts[0].value["action_requests"]
    expected = f"{prefix}\n\nTool: execute_sql\nArgs: {{'query': 'DELETE FROM records'}}"
    assert request["description"] == expected


def test_c05_a_description_of_the_tools_own_wins_over_the_prefix(world):
    config = {"execute_sql": {"allowed_decisions": ["approve"], "description": "Ask the DBA."}}
    output = world.start(world.agent(config, [CALL], description_prefix="Pending"))
    assert output.interrupts[0].value["action_requests"][0]["description"] == "Ask the DBA."
