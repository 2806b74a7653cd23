"""C26: each pitfall of the second source is impossible, or one clear error that says what to do.

The numbers are those of docs/pitfalls.md, and of the article.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hitl import (
    Command,
    FilesystemPermission,
    HumanInTheLoopMiddleware,
    ScriptedModel,
    create_agent,
    create_deep_agent,
)
from hitl.errors import HitlError, NoCheckpointer, NotAllowed, NothingWaiting, WrongAnswer

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "pitfalls.md").read_text(encoding="utf-8")
SQL = ("execute_sql", {"query": "q"})
FILE = ("write_file", {"path": "a"})
BOTH: Any = {"execute_sql": True, "write_file": True}


def test_c26_the_page_has_a_row_for_each_pitfall_and_each_has_a_test():
    rows = [int(number) for number in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)]
    tested = {int(number) for number in re.findall(r"^def test_c26_(\d+)_", _own(), re.MULTILINE)}
    assert rows == list(range(1, 11))
    assert tested == set(rows)


def _own() -> str:
    return Path(__file__).read_text(encoding="utf-8")


def test_c26_01_without_a_checkpointer_nothing_runs(world, run):
    agent = create_agent(
        ScriptedModel([]), world.tools, middleware=[HumanInTheLoopMiddleware(BOTH)]
    )
    with pytest.raises(NoCheckpointer) as caught:
        run(agent, {"messages": "go"}, world.config)
    assert "SqliteSaver" in caught.value.hint
    assert world.ran == []


def test_c26_02_another_thread_id_reaches_nothing(world, run):
    agent = world.agent(BOTH, [SQL])
    world.start(agent)
    other: Any = {"configurable": {"thread_id": "another"}}
    with pytest.raises(NothingWaiting, match="another") as caught:
        run(agent, Command(resume={"decisions": [{"type": "approve"}]}), other)
    assert "thread_id" in caught.value.hint
    assert world.ran == []
    world.decide(agent, {"type": "approve"})
    assert world.ran == [SQL]


def test_c26_03_one_decision_for_two_calls_is_refused_and_costs_nothing(world):
    agent = world.agent(BOTH, [SQL, FILE])
    world.start(agent)
    with pytest.raises(WrongAnswer, match=r"1.*2|2.*1"):
        world.decide(agent, {"type": "approve"})
    world.decide(agent, {"type": "approve"}, {"type": "reject"})
    assert world.ran == [SQL]


def test_c26_04_respond_where_reject_is_meant_is_refused_where_it_is_not_offered(world):
    rule = {"allowed_decisions": ["approve", "edit", "reject"]}
    agent = world.agent({"execute_sql": rule}, [SQL])
    world.start(agent)
    with pytest.raises(NotAllowed, match="respond") as caught:
        world.decide(agent, {"type": "respond", "message": "no, do not"})
    assert "reject" in caught.value.hint
    world.decide(agent, {"type": "reject"})
    assert world.ran == []


def test_c26_05_a_rejection_without_a_message_says_not_to_repeat_it(world):
    agent = world.agent(BOTH, [SQL])
    world.start(agent)
    output = world.decide(agent, {"type": "reject"})
    told = next(m for m in output.value["messages"] if m.type == "tool")
    assert told.status == "error"
    assert "not executed" in told.text
    assert "Do not call it again unless the user asks" in told.text


def test_c26_06_permissions_alone_mount_the_approval(saver, run):
    write = {"name": "write_file", "args": {"file_path": "/secrets/a", "content": "x"}}
    agent = create_deep_agent(
        ScriptedModel([{"tool_calls": [write]}, "done"]),
        permissions=[
            FilesystemPermission(operations=["write"], paths=["/secrets/**"], mode="interrupt")
        ],
        checkpointer=saver,
    )
    output = run(agent, {"messages": "go"}, {"configurable": {"thread_id": "t"}})
    assert output.interrupts[0].value["action_requests"][0]["name"] == "write_file"


@pytest.mark.parametrize("own", [False, True])
def test_c26_07_a_compiled_sub_agent_has_its_own_rules(world, run, saver, own):
    (sql,) = [one for one in world.tools if one.name == "execute_sql"]
    inside = create_agent(
        ScriptedModel([{"tool_calls": [{"name": SQL[0], "args": SQL[1]}]}, "ran it"]),
        [sql],
        middleware=[HumanInTheLoopMiddleware({"execute_sql": True})] if own else [],
    )
    send = {"name": "task", "args": {"subagent_type": "dba", "description": "run it"}}
    agent = create_deep_agent(
        ScriptedModel([{"tool_calls": [send]}, "done"]),
        interrupt_on={"execute_sql": True, "task": False},
        tools=[sql],
        subagents=[{"name": "dba", "description": "Runs SQL.", "runnable": inside}],
        checkpointer=saver,
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    output = run(agent, {"messages": "go"}, config)
    assert bool(output.interrupts) == own
    if own:
        run(agent, Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert world.ran == [SQL]


def test_c26_08_without_version_two_the_pause_is_seen_all_the_same(world, run):
    agent = world.agent(BOTH, [SQL])
    output = run(agent, {"messages": "go"}, world.config)
    assert output.interrupts == tuple(output["__interrupt__"])
    assert output.value["messages"]


def test_c26_09_a_program_that_ends_at_the_pause_loses_nothing(world):
    world.start(world.agent(BOTH, [SQL], [FILE]))
    # Another program: a new agent over the same store, and the loop that the article asks for.
    agent = world.agent(BOTH, [SQL], [FILE])
    output = world.run(agent, None, world.config, version="v2")
    rounds = 0
    while output.interrupts:
        rounds += 1
        output = world.decide(agent, {"type": "approve"})
    assert rounds == 2
    assert world.ran == [SQL, ("write_file", {"path": "a", "text": ""})]


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ({"args": {"query": "x"}}, "name"),
        ({"name": "execute_sql"}, "args"),
        ({"name": "execute_sql", "args": {}}, "query"),
        ({"name": "execute_sql", "args": {"query": "x", "qery": "y"}}, "qery"),
    ],
)
def test_c26_10_an_edit_that_lacks_something_is_refused_and_costs_nothing(world, action, text):
    agent = world.agent(BOTH, [SQL])
    world.start(agent)
    with pytest.raises(HitlError, match=text):
        world.decide(agent, {"type": "edit", "edited_action": action})
    whole = {"name": "execute_sql", "args": {"query": "x"}}
    world.decide(agent, {"type": "edit", "edited_action": whole})
    assert world.ran == [("execute_sql", {"query": "x"})]
