"""C27: the JavaScript spelling, of configuration and of payloads; inside there is one."""

from __future__ import annotations

import pytest

from hitl import HumanInTheLoopMiddleware, create_agent
from hitl.errors import Misuse, WrongAnswer

OPTIONS = {
    "interruptOn": {
        "write_file": True,
        "execute_sql": {
            "allowedDecisions": ["approve", "reject", "edit"],
            "description": "🚨 SQL execution requires DBA approval",
        },
        "read_data": False,
    },
    "descriptionPrefix": "Tool execution pending approval",
}


@pytest.mark.parametrize(
    "gate",
    [
        lambda: HumanInTheLoopMiddleware(OPTIONS),  # type: ignore[arg-type]
        lambda: HumanInTheLoopMiddleware(**OPTIONS),  # type: ignore[arg-type]
    ],
)
def test_c27_the_options_are_taken_as_javascript_spells_them(world, gate):
    turn = [("write_file", {"path": "a"}), ("execute_sql", {"query": "q"}), ("read_data", {})]
    agent = world.agent({}, turn)
    agent = create_agent(
        model=world.model, tools=world.tools, middleware=[gate()], checkpointer=world.saver
    )
    value = world.start(agent).interrupts[0].value
    file, sql = value["action_requests"]
    assert file["description"].startswith("Tool execution pending approval\n\nTool: write_file")
    assert sql["description"] == "🚨 SQL execution requires DBA approval"
    assert value["review_configs"][1]["allowed_decisions"] == ["approve", "reject", "edit"]
    assert set(value) == {"action_requests", "review_configs"}  # one spelling inside


def test_c27_an_edit_is_taken_as_javascript_spells_it(world):
    agent = world.agent({"execute_sql": True}, [("execute_sql", {"query": "q"})])
    world.start(agent)
    action = {"name": "execute_sql", "args": {"query": "other"}}
    world.decide(agent, {"type": "edit", "editedAction": action})
    assert world.ran == [("execute_sql", {"query": "other"})]


def test_c27_an_edit_in_both_spellings_is_refused(world):
    agent = world.agent({"execute_sql": True}, [("execute_sql", {"query": "q"})])
    world.start(agent)
    action = {"name": "execute_sql", "args": {"query": "other"}}
    with pytest.raises(WrongAnswer, match="twice"):
        world.decide(agent, {"type": "edit", "editedAction": action, "edited_action": action})
    world.decide(agent, {"type": "approve"})
    assert world.ran == [("execute_sql", {"query": "q"})]


@pytest.mark.parametrize(
    ("flags", "allowed"),
    [
        ({"allowAccept": True}, ["approve"]),
        ({"allowAccept": True, "allowEdit": True}, ["approve", "edit"]),
        ({"allowRespond": True}, ["reject", "respond"]),
        ({"allowAccept": True, "allowEdit": False, "allowRespond": True},
         ["approve", "reject", "respond"]),
    ],
)  # fmt: skip
def test_c27_the_old_flags_stand_for_decisions(world, flags, allowed):
    agent = world.agent({"execute_sql": flags}, [("execute_sql", {"query": "q"})])
    config = world.start(agent).interrupts[0].value["review_configs"][0]
    assert config["allowed_decisions"] == allowed


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"interrupt_on": {"t": True}, "interruptOn": {"t": True}}, "'interruptOn' and"),
        (
            {"interruptOn": {}, "descriptionPrefix": "a", "description_prefix": "b"},
            "'descriptionPrefix' and",
        ),
        ({"interrupt_on": {"t": {"allowed_decisions": ["edit"], "allowEdit": True}}}, "mixes"),
        (
            {"interrupt_on": {"t": {"allowed_decisions": ["edit"], "allowedDecisions": ["edit"]}}},
            "twice",
        ),
        ({"interruptsOn": {"t": True}}, "Did you mean 'interruptOn'"),
        ({"interrupt_on": {"interruptOn": {}, "prefix": "x"}}, "no option 'prefix'"),
        ({}, "no interrupt_on"),
    ],
)
def test_c27_mixed_and_misspelt_options_are_refused(given, text):
    with pytest.raises(Misuse, match=text):
        HumanInTheLoopMiddleware(**given)
