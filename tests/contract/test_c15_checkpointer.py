"""C15: a pause needs a checkpointer; a stored one outlives the process."""

from __future__ import annotations

from typing import TypedDict

import pytest

from hitl import (
    START,
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    MemorySaver,
    NoCheckpointer,
    NoThreadId,
    ScriptedModel,
    SqliteSaver,
    StateGraph,
    create_agent,
    interrupt,
    tool,
)

INPUT = {"messages": [{"role": "user", "content": "go"}]}
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


def make(saver, ran):
    @tool
    def write_file(path: str) -> str:
        """Write a file."""
        ran.append(path)
        return "written"

    model = ScriptedModel(
        [{"tool_calls": [{"name": "write_file", "args": {"path": "a"}}]}, "Done."]
    )
    agent = create_agent(
        model=model,
        tools=[write_file],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"write_file": True})],
        checkpointer=saver,
    )
    return agent, model


def test_c15_without_one_an_agent_with_approvals_fails_before_anything_runs(run):
    agent, model = make(None, [])
    with pytest.raises(NoCheckpointer, match=r"checkpointer=SqliteSaver"):
        run(agent, INPUT, {"configurable": {"thread_id": "t"}})
    assert model.calls == []


def test_c15_without_one_a_static_pause_fails_before_anything_runs(run):
    model = ScriptedModel(["Hello."])
    agent = create_agent(model=model, interrupt_before=["model"])
    with pytest.raises(NoCheckpointer, match="model"):
        run(agent, INPUT)
    assert model.calls == []


class State(TypedDict, total=False):
    answer: str


def test_c15_without_one_a_bare_interrupt_is_misuse_at_the_call(run):
    graph = StateGraph(State).add_node("ask", lambda state: {"answer": interrupt("Sure?")})
    with pytest.raises(NoCheckpointer, match="checkpointer"):
        run(graph.add_edge(START, "ask").compile(), {"answer": ""})


def test_c15_without_one_an_agent_that_never_asks_runs(run):
    model = ScriptedModel(["Hello."])
    assert run(create_agent(model=model), INPUT)["messages"][-1].content == "Hello."


def test_c15_with_one_a_thread_id_is_needed(run, saver):
    agent, model = make(saver, [])
    with pytest.raises(NoThreadId, match="thread_id"):
        run(agent, INPUT)
    assert model.calls == []


def test_c15_a_pause_outlives_the_objects_that_made_it(run, tmp_path):
    ran: list[str] = []
    config = {"configurable": {"thread_id": "t"}}
    path = str(tmp_path / "runs.db")
    with SqliteSaver.from_conn_string(path) as saver:
        agent, _ = make(saver, ran)
        assert run(agent, INPUT, config, version="v2").interrupts
    with SqliteSaver.from_conn_string(path) as saver:
        agent, _ = make(saver, ran)
        assert run(agent, APPROVE, config, version="v2").interrupts == ()
    assert ran == ["a"]


def test_c15_the_memory_saver_has_both_of_its_names():
    assert MemorySaver is InMemorySaver


def delegating(saver, ran):
    """An agent whose tool runs another agent, which has approvals and no saver of its own."""
    helper, model = make(None, ran)

    @tool
    async def delegate(what: str) -> str:
        """Let the helper do it."""
        return str((await helper.ainvoke({"messages": what}))["messages"][-1].text)

    @tool
    def delegate_here(what: str) -> str:
        """Let the helper do it."""
        return str(helper.invoke({"messages": what})["messages"][-1].text)

    def build(name: str):
        turn = {"tool_calls": [{"name": name, "args": {"what": "write"}}]}
        model = ScriptedModel([turn, "All done."])
        return create_agent(model, [delegate, delegate_here], checkpointer=saver)

    return build, model


def test_c15_a_nested_agent_uses_the_saver_of_the_root(run, saver):
    ran: list[str] = []
    config = {"configurable": {"thread_id": "t"}}
    build, _ = delegating(saver, ran)
    paused = run(build("delegate_here"), INPUT, config, version="v2")
    assert paused.interrupts[0].value["action_requests"][0]["name"] == "write_file"
    assert ran == []
    build, model = delegating(saver, ran)  # as in another process
    ended = run(build("delegate_here"), APPROVE, config, version="v2")
    assert ended.value["messages"][-1].text == "All done."
    assert ran == ["a"]
    assert len(model.calls) == 1  # what was proposed before the pause is not asked for again


def test_c15_a_nested_async_agent_uses_the_saver_of_the_root(saver):
    import asyncio

    async def go():
        ran: list[str] = []
        config = {"configurable": {"thread_id": "t"}}
        build, _ = delegating(saver, ran)
        assert (await build("delegate").ainvoke(INPUT, config, version="v2")).interrupts
        ended = await delegating(saver, ran)[0]("delegate").ainvoke(APPROVE, config, version="v2")
        assert ended.interrupts == ()
        assert ran == ["a"]

    asyncio.run(go())
