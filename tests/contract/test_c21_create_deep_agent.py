"""C21: ``create_deep_agent`` mounts the approval by itself, last, where anything may ask."""

from __future__ import annotations

from typing import Any

import pytest

from hitl import (
    AgentMiddleware,
    Command,
    FilesystemPermission,
    Misuse,
    NoCheckpointer,
    ScriptedModel,
    create_deep_agent,
    tool,
)

CONFIG: Any = {"configurable": {"thread_id": "t"}}
GO = {"messages": [{"role": "user", "content": "go"}]}
HOOK = "HumanInTheLoopMiddleware.after_model"
ASKS = FilesystemPermission(["write"], ["/secrets/**"], "interrupt")
DENIES = FilesystemPermission(["write"], ["/secrets/**"], "deny")


@tool
def deploy(where: str) -> str:
    """Deploy."""
    return f"deployed to {where}"


def script(*calls):
    turn = {"tool_calls": [{"name": name, "args": args} for name, args in calls]}
    return ScriptedModel([turn, "Done."])


def properties(spec: Any) -> Any:
    return spec.args_schema["properties"]


@pytest.mark.parametrize(
    ("more", "mounted"),
    [
        ({}, False),
        ({"interrupt_on": {}}, False),
        ({"permissions": []}, False),
        ({"permissions": [DENIES]}, False),
        ({"permissions": [ASKS]}, True),
        ({"interrupt_on": {"deploy": True}}, True),
        ({"interrupt_on": {"ls": True}}, True),
        ({"interrupt_on": {"task": True}}, True),
        ({"interrupt_on": {"*": True}}, True),
        ({"interrupt_on": {"ls": True}, "permissions": [ASKS]}, True),
    ],
    ids=str,
)
def test_c21_the_approval_is_there_where_rules_and_map_say_anything(more, mounted):
    agent = create_deep_agent(script(), [deploy], **more)
    assert (HOOK in agent.nodes) == mounted


def test_c21_it_is_the_last_of_the_middleware_so_that_it_sees_the_answer_first(saver, run):
    order = []

    class Looks(AgentMiddleware):
        def after_model(self, state, runtime):
            order.append([message.type for message in state["messages"]])

    agent = create_deep_agent(
        script(("deploy", {"where": "prod"})),
        [deploy],
        middleware=[Looks()],
        interrupt_on={"deploy": True},
        checkpointer=saver,
    )
    run(agent, GO, CONFIG)
    assert order == []
    run(agent, Command(resume={"decisions": [{"type": "reject"}]}), CONFIG)
    assert order[0] == ["human", "ai", "tool"]  # the approval had spoken


def test_c21_it_has_the_tools_of_the_field_beside_its_own(run):
    model = ScriptedModel(["Hello."])
    run(create_deep_agent(model, [deploy], system_prompt="You are Ann."), GO)
    (request,) = model.calls
    assert {spec.name for spec in request.tools} == {
        "deploy",
        "write_todos",
        "ls",
        "read_file",
        "write_file",
        "edit_file",
        "delete",
        "glob",
        "grep",
        "task",
    }
    arguments = {spec.name: set(properties(spec)) for spec in request.tools}
    assert arguments["read_file"] == {"file_path", "offset", "limit"}
    assert arguments["write_file"] == {"file_path", "content"}
    assert arguments["edit_file"] == {"file_path", "old_string", "new_string", "replace_all"}
    assert arguments["delete"] == {"file_path"}
    assert arguments["ls"] == {"path"}
    assert arguments["glob"] == {"pattern", "path"}
    assert arguments["grep"] == {"pattern", "path", "glob", "output_mode", "max_count"}
    assert arguments["write_todos"] == {"todos"}
    assert arguments["task"] == {"description", "subagent_type"}
    assert str(request.messages[0].content).startswith("You are Ann.")


def test_c21_todos_are_kept_in_the_state(saver, run):
    todos = [
        {"content": "look", "status": "completed"},
        {"content": "act", "status": "in_progress"},
    ]
    agent = create_deep_agent(script(("write_todos", {"todos": todos})), checkpointer=saver)
    output = run(agent, GO, CONFIG)
    assert output["todos"] == todos
    values: Any = agent.get_state(CONFIG).values
    assert values["todos"] == todos


def test_c21_an_agent_that_may_ask_needs_a_checkpointer(run):
    model = script()
    with pytest.raises(NoCheckpointer):
        run(create_deep_agent(model, permissions=[ASKS]), GO)
    assert model.calls == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"interrupt_on": {"write_flie": True}}, "Did you mean 'write_file'"),
        ({"interrupt_on": {"deploy": {"allowed_decisions": []}}}, "empty"),
        ({"interrupt_on": ["deploy"]}, "of type list"),
        ({"permissions": [{"paths": ["/a"]}]}, "permissions holds a dict"),
        ({"subagents": ["ops"]}, "subagents holds a str"),
        ({"model": None}, "no model"),
    ],
    ids=str,
)
def test_c21_what_would_not_do_what_it_says_is_refused_before_anything_runs(more, said):
    with pytest.raises(Misuse, match=said):
        create_deep_agent(**{"model": script(), "tools": [deploy], **more})


def test_c21_a_tool_of_ones_own_does_not_take_the_place_of_a_built_in_one():
    @tool
    def write_file(file_path: str) -> str:
        """Write without any rule."""
        return file_path

    with pytest.raises(Misuse, match="too alike"):
        create_deep_agent(script(), [write_file], permissions=[ASKS])
