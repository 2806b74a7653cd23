"""``create_agent``: hooks in their order, jumps, and a history that a model can read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hitl import (
    AgentMiddleware,
    AIMessage,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    ScriptedModel,
    ToolRuntime,
    create_agent,
    tool,
)
from hitl.errors import GraphRecursionError, Misuse

CONFIG: dict = {"configurable": {"thread_id": "t"}}


@tool
def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


def call(n, id):
    return {"name": "look", "args": {"n": n}, "id": id}


def named(name, log):
    class Logs(AgentMiddleware):
        def before_agent(self, state, runtime):
            log.append(f"{name} before agent")

        def before_model(self, state, runtime):
            log.append(f"{name} before model")

        def after_model(self, state, runtime):
            log.append(f"{name} after model")

        def after_agent(self, state, runtime):
            log.append(f"{name} after agent")

        def wrap_model_call(self, request, handler):
            log.append(f"{name} in")
            answer = handler(request)
            log.append(f"{name} out")
            return answer

    Logs.__name__ = name
    return Logs()


def test_hooks_before_run_in_order_and_hooks_after_in_reverse():
    log: list = []
    create_agent(ScriptedModel(["hi"]), middleware=[named("a", log), named("b", log)]).invoke(
        {"messages": "go"}
    )
    assert log == [
        "a before agent", "b before agent", "a before model", "b before model",
        "a in", "b in", "b out", "a out",
        "b after model", "a after model", "b after agent", "a after agent",
    ]  # fmt: skip


@pytest.mark.parametrize("hook", ["before_model", "after_model", "after_agent"])
def test_a_jump_to_the_end_ends_the_run(hook):
    def jump(self, state, runtime):
        return {"jump_to": "end"}

    kind = type("Jumps", (AgentMiddleware,), {hook: jump})
    model = ScriptedModel([{"tool_calls": [call(1, "1")]}, "done"])
    output = create_agent(model, [look], middleware=[kind()]).invoke({"messages": "go"})
    expected = {"before_model": ["human"], "after_model": ["human", "ai"]}
    assert [m.type for m in output["messages"]] == expected.get(hook, ["human", "ai", "tool", "ai"])


def test_a_jump_to_nowhere_is_told():
    def jump(self, state, runtime):
        return {"jump_to": "tool"}

    kind = type("Jumps", (AgentMiddleware,), {"after_model": jump})
    with pytest.raises(Misuse, match="Did you mean 'tools'"):
        create_agent(ScriptedModel(["x"]), middleware=[kind()]).invoke({"messages": "go"})


def test_a_jump_to_the_model_with_open_calls_gives_them_an_answer_first():
    class Again(AgentMiddleware):
        def after_model(self, state, runtime):
            return {"jump_to": "model"} if len(state["messages"]) == 2 else None

    model = ScriptedModel([{"tool_calls": [call(1, "1")]}, "done"])
    output = create_agent(model, [look], middleware=[Again()]).invoke({"messages": "go"})
    assert [m.type for m in output["messages"]] == ["human", "ai", "tool", "ai"]
    assert "did not complete" in output["messages"][2].content
    assert [m.type for m in model.calls[1].messages] == ["human", "ai", "tool"]


def test_a_call_without_an_id_gets_one_and_its_result_bears_it():
    class Bare:
        name = "bare"

        def generate(self, request):
            if request.messages[-1].type == "tool":
                return AIMessage("done")
            return AIMessage("", tool_calls=[call(1, None), call(2, None), call(3, "x")])

        async def agenerate(self, request):
            return self.generate(request)

    output = create_agent(Bare(), [look]).invoke({"messages": "go"})
    turn, *answers = output["messages"][1:5]
    ids = [one["id"] for one in turn.tool_calls]
    assert len(set(ids)) == 3
    assert ids[2] == "x"
    assert [m.tool_call_id for m in answers] == ids


def test_a_model_that_repeats_its_message_id_does_not_overwrite_the_conversation():
    model = ScriptedModel(
        [AIMessage("", id="m", tool_calls=[call(1, "1")]), AIMessage("done", id="m")]
    )
    output = create_agent(model, [look]).invoke({"messages": "go"})
    assert [m.type for m in output["messages"]] == ["human", "ai", "tool", "ai"]


def test_a_model_may_be_asked_with_a_changed_request():
    class Prompt(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            answer = handler(request.override(system_prompt="Be kind."))
            return replace(answer.message, content="kind")

    model = ScriptedModel(["hi"])
    output = create_agent(model, middleware=[Prompt()]).invoke({"messages": "go"})
    assert output["messages"][-1].content == "kind"
    assert model.calls[0].messages[0].content == "Be kind."


def test_wrong_parts_are_refused_when_the_agent_is_made():
    with pytest.raises(Misuse, match="Did you mean 'look'"):
        create_agent(
            ScriptedModel(["x"]), [look], middleware=[HumanInTheLoopMiddleware({"lok": True})]
        )
    with pytest.raises(Misuse, match="Two middlewares"):
        create_agent(
            ScriptedModel(["x"]), [look], middleware=[HumanInTheLoopMiddleware({}) for _ in "ab"]
        )
    with pytest.raises(Misuse, match="no AgentMiddleware"):
        create_agent(ScriptedModel(["x"]), middleware=[HumanInTheLoopMiddleware])  # type: ignore[list-item]
    with pytest.raises(Misuse, match="too alike"):
        create_agent(ScriptedModel(["x"]), [look, look], checkpointer=InMemorySaver())


def test_a_turn_whose_tools_return_directly_ends_the_run():
    @tool(return_direct=True)
    def answer(n: int) -> str:
        """Answer."""
        return f"it is {n}"

    def turn(*names):
        calls = [{"name": name, "args": {"n": 1}, "id": name} for name in names]
        return ScriptedModel([{"tool_calls": calls}, "done"])

    output = create_agent(turn("answer"), [look, answer]).invoke({"messages": "go"})
    assert output["messages"][-1].content == "it is 1"
    output = create_agent(turn("answer", "look"), [look, answer]).invoke({"messages": "go"})
    assert output["messages"][-1].content == "done"


def test_debug_prints_every_run(capsys):
    create_agent(ScriptedModel(["hi"]), debug=True).invoke({"messages": "go"})
    assert "hi" in capsys.readouterr().out


def test_tools_and_hooks_get_the_context_and_the_store():
    seen: list = []

    @tool
    def peek(runtime: ToolRuntime) -> str:
        """Peek."""
        seen.append((runtime.context, runtime.store))
        return "ok"

    class Peeks(AgentMiddleware):
        def before_model(self, state, runtime):
            seen.append((runtime.context, runtime.store))

    model = ScriptedModel([{"tool_calls": [{"name": "peek", "args": {}}]}, "done"])
    agent = create_agent(model, [peek], middleware=[Peeks()], store="store", name="peeker")
    agent.invoke({"messages": "go"}, context="context")
    assert seen == [("context", "store")] * 3
    assert agent.name == "peeker"


def test_static_pauses_and_the_limit_of_steps_hold_for_agents():
    loops = ScriptedModel([{"tool_calls": [call(1, "1")]}], loop=True)
    agent = create_agent(loops, [look], checkpointer=InMemorySaver(), interrupt_before=["tools"])
    agent.invoke({"messages": "go"}, CONFIG)
    assert agent.get_state(CONFIG).next == ("tools",)
    with pytest.raises(GraphRecursionError):
        create_agent(loops, [look]).invoke({"messages": "go"}, {"recursion_limit": 10})
