"""C03: ``allowed_decisions`` says what a reviewer may decide."""

from __future__ import annotations

import pytest

from hitl import HumanInTheLoopMiddleware, Misuse, NotAllowed

CALL = ("execute_sql", {"query": "DELETE FROM records"})


def test_c03_only_the_listed_decisions_are_offered(world):
    agent = world.agent({"execute_sql": {"allowed_decisions": ["reject", "approve"]}}, [CALL])
    (interrupt,) = world.start(agent).interrupts
    (config,) = interrupt.value["review_configs"]
    assert config["allowed_decisions"] == ["reject", "approve"]


@pytest.mark.parametrize(
    "decision",
    [
        {"type": "edit", "edited_action": {"name": "execute_sql", "args": {"query": "x"}}},
        {"type": "respond", "message": "no"},
    ],
    ids=lambda decision: decision["type"],
)
def test_c03_another_decision_is_refused_and_consumes_nothing(world, decision):
    agent = world.agent({"execute_sql": {"allowed_decisions": ["approve", "reject"]}}, [CALL])
    before = world.start(agent).interrupts
    with pytest.raises(NotAllowed, match=rf"'{decision['type']}'.*'execute_sql'.*approve, reject"):
        world.decide(agent, decision)
    assert agent.get_state(world.config).interrupts == before
    assert world.decide(agent, {"type": "approve"}).interrupts == ()
    assert world.ran == [CALL]


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ({"allowed_decisions": []}, "at least one"),
        ({"when": lambda request: True}, "allowed_decisions"),
        ({"allowed_decisions": ["approve", "rejct"]}, "'reject'"),
        ({"allowed_decision": ["approve"]}, "'allowed_decisions'"),
        ({"allowed_decisions": ["approve"], "wen": bool}, "'when'"),
        ({"allowed_decisions": "approve"}, "list"),
        ("approve", "True, False or a config"),
    ],
    ids=["empty", "missing", "misspelt", "misspelt key", "unknown key", "text", "no config"],
)
def test_c03_a_wrong_entry_fails_at_construction_with_its_place_and_a_suggestion(entry, hint):
    with pytest.raises(Misuse) as caught:
        HumanInTheLoopMiddleware(interrupt_on={"execute_sql": entry})
    assert "execute_sql" in str(caught.value)
    assert hint in str(caught.value)


def test_c03_an_entry_for_a_tool_that_is_not_there_fails_with_a_suggestion(world):
    with pytest.raises(Misuse, match=r"'execute_sq1'.*Did you mean 'execute_sql'"):
        world.agent({"execute_sq1": True})
