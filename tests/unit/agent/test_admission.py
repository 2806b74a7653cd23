"""What runs is what was asked about, whatever happens to the state while a call waits."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any

import pytest

from hitl import (
    AgentMiddleware,
    AIMessage,
    Command,
    Gate,
    HumanInTheLoopMiddleware,
    InjectedState,
    InMemorySaver,
    ScriptedModel,
    ToolMessage,
    create_agent,
    interrupt,
    tool,
)
from hitl.errors import HitlError

CONFIG: Any = {"configurable": {"thread_id": "t"}}
MODES = ["batched", "per_call"]
APPROVE, REJECT = {"type": "approve"}, {"type": "reject"}


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id}


class World:
    """One thread, whose process is another one with each ``app``."""

    def __init__(self, *calls):
        self.ran: list = []
        self.saver, self.calls = InMemorySaver(), list(calls)

        @tool
        def pay(n: int) -> str:
            """Pay."""
            self.ran.append(("pay", n))
            return f"paid {n}"

        @tool
        def look(n: int) -> str:
            """Look."""
            self.ran.append(("look", n))
            return f"seen {n}"

        self.tools = [pay, look]

    def app(self, rules=None, mode="batched", *middleware, tools=(), model=None):
        gate = HumanInTheLoopMiddleware(
            {"pay": True} if rules is None else rules, interrupt_mode=mode
        )
        return create_agent(
            model or ScriptedModel([{"tool_calls": self.calls}, "done"]),
            [*self.tools, *tools],
            middleware=[*middleware, gate],
            checkpointer=self.saver,
        )


def go(app, given="go"):
    given = {"messages": given} if isinstance(given, str) else given
    return app.invoke(given, CONFIG, version="v2")


def decided(*decisions, **more):
    return Command(resume={"decisions": list(decisions)}, **more)


def swapped(output, *calls):
    turn = next(m for m in output.value["messages"] if isinstance(m, AIMessage))
    return {"messages": [AIMessage("", id=turn.id, tool_calls=list(calls))]}


def requests(output):
    return [r["args"] for i in output.interrupts for r in i.value["action_requests"]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("decision", [APPROVE, REJECT])
@pytest.mark.parametrize("other", [call("pay", n=500), call("look", n=500)])
def test_a_call_written_anew_under_its_question_does_not_run_by_that_answer(mode, decision, other):
    world, rules = World(call("pay", n=1)), {"pay": True, "look": True}
    output = go(world.app(rules, mode))
    update = swapped(output, other)
    output = go(world.app(rules, mode), decided(decision, update=update))
    assert world.ran == []
    if decision is APPROVE:
        assert requests(output) == [other["args"]], "it is asked about itself"
        go(world.app(rules, mode), decided(APPROVE))
        assert world.ran == [(other["name"], 500)]
    else:
        assert not output.interrupts, "its place in the turn is closed"


@pytest.mark.parametrize("mode", MODES)
def test_a_free_call_that_becomes_a_gated_one_while_its_turn_waits_is_asked_about(mode):
    world = World(call("look", "1", n=1), call("pay", "2", n=2))
    output = go(world.app({"pay": True}, mode))
    world.ran.clear()
    update = swapped(output, call("pay", "1", n=500), call("pay", "2", n=2))
    output = go(world.app({"pay": True}, mode), decided(APPROVE, update=update))
    assert ("pay", 500) not in world.ran


@pytest.mark.parametrize("mode", MODES)
def test_a_turn_that_becomes_shorter_while_it_waits_loses_the_call(mode):
    world = World(call("look", "1", n=1), call("pay", "2", n=2))
    output = go(world.app({"pay": True}, mode))
    update = swapped(output, call("look", "1", n=1))
    output = go(world.app({"pay": True}, mode), decided(APPROVE, update=update))
    assert not output.interrupts
    assert ("pay", 2) not in world.ran


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_never_reaches_the_body_of_another_call(mode):
    world, said = World(call("sure", n=1)), []

    @tool(effect="pure")
    def sure(n: int) -> str:
        """Ask."""
        said.append((n, interrupt("sure?")))
        return "x"

    rules = {"sure": True}
    output = go(world.app(rules, mode, tools=[sure]))
    output = go(world.app(rules, mode, tools=[sure]), decided(APPROVE))
    update = swapped(output, call("sure", n=500))
    go(world.app(rules, mode, tools=[sure]), Command(resume="yes", update=update))
    assert said == []


@pytest.mark.parametrize("mode", MODES)
def test_a_free_call_that_asks_is_not_judged_a_second_time(mode):
    world, said, judged = World(call("sure", n=1)), [], []

    @tool(effect="pure")
    def sure(n: int) -> str:
        """Ask."""
        said.append(interrupt("sure?"))
        return "x"

    def when(request):
        judged.append(1)
        return len(judged) > 1

    rules = {"sure": {"allowed_decisions": ["approve"], "when": when}}
    go(world.app(rules, mode, tools=[sure]))
    output = go(world.app(rules, mode, tools=[sure]), Command(resume="yes"))
    assert (said, len(judged), output.interrupts) == (["yes"], 1, ())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("decision", [APPROVE, REJECT])
def test_a_caller_that_changes_what_it_was_handed_changes_nothing_that_runs(mode, decision):
    world = World(call("pay", n=1))
    app = world.app(None, mode)
    output = go(app)
    output.value["messages"][1].tool_calls[0]["args"]["n"] = 999
    with suppress(HitlError):  # the change in place is told
        go(app, decided(decision))
    assert world.ran in ([], [("pay", 1)])
    assert decision is APPROVE or world.ran == []


@pytest.mark.parametrize("mode", MODES)
def test_a_loop_and_a_model_keep_their_own_dicts(mode):
    world = World()
    gate = Gate(world.tools, interrupt_on={"pay": True}, store=world.saver, interrupt_mode=mode)
    calls = [call("pay", n=1)]
    waiting = gate.review("gate", calls)
    calls[0]["args"]["n"] = 999
    gate.decide(waiting.pending[0].id, APPROVE)
    assert gate.resume("gate").done
    args = {"n": 2}

    def model(messages):
        if isinstance(messages[-1], ToolMessage):
            return AIMessage("done")
        return AIMessage("", tool_calls=[{"name": "pay", "args": args, "id": "1"}])

    go(world.app(None, mode, model=model))
    args["n"] = 998
    go(world.app(None, mode, model=model), decided(APPROVE))
    assert world.ran == [("pay", 1), ("pay", 2)]


class Meddles(AgentMiddleware):
    """Changes the calls of the state it is shown."""

    def wrap_tool_call(self, request, handler):
        meddle(request.state)
        return handler(request)

    async def awrap_tool_call(self, request, handler):
        meddle(request.state)
        return await handler(request)


def meddle(state):
    for message in state["messages"]:
        for one in getattr(message, "tool_calls", []):
            one["args"]["n"] = 666


@pytest.mark.parametrize("mode", MODES)
def test_who_changes_the_shown_state_does_not_change_what_runs(mode):
    @tool
    def free(state: Annotated[Any, InjectedState]) -> str:
        """Meddle."""
        meddle(state)
        return "x"

    def describe(call, state, runtime):
        meddle(state)
        return "pay"

    rules = {"pay": {"allowed_decisions": ["approve"], "description": describe}}
    world = World(call("free", "1"), call("pay", "2", n=1))
    output = go(world.app(rules, mode, Meddles(), tools=[free]))
    assert requests(output) == [{"n": 1}]
    go(world.app(rules, mode, Meddles(), tools=[free]), decided(APPROVE))
    assert world.ran == [("pay", 1)]


def test_who_changes_the_shown_state_does_not_change_what_runs_in_an_async_run():
    world = World(call("pay", n=1))
    go(world.app())
    asyncio.run(world.app(None, "batched", Meddles()).ainvoke(decided(APPROVE), CONFIG))
    assert world.ran == [("pay", 1)]


@pytest.mark.parametrize(("before", "after"), [MODES, MODES[::-1]])
@pytest.mark.parametrize("rules", [{"pay": True}, {"pay": False}, {}])
@pytest.mark.parametrize("decision", [APPROVE, REJECT])
def test_a_decision_holds_whatever_mode_and_rules_are_now(before, after, rules, decision):
    world = World(call("pay", n=1))
    go(world.app({"pay": True}, before))
    output = go(world.app(rules, after), decided(decision))
    assert not output.interrupts
    assert world.ran == ([("pay", 1)] if decision is APPROVE else [])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", ["when", "description"])
def test_a_rule_that_asks_a_human_itself_leaves_the_call_waiting(mode, place):
    world = World(call("pay", n=1))

    def rule(*_):
        return interrupt("?")

    rules = {"pay": {"allowed_decisions": ["approve"], place: rule}}
    output = go(world.app(rules, mode))
    assert requests(output) == [{"n": 1}]
    go(world.app(rules, mode), decided(APPROVE))
    assert world.ran == [("pay", 1)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rules", [{"pay": True}, {}])
def test_several_tasks_for_one_call_start_it_once(mode, rules):
    from hitl import Send

    world = World(call("pay", n=1))
    app = world.app(rules, mode)
    output = app.invoke({"messages": "go"}, CONFIG, version="v2", interrupt_before=["tools"])
    if requests(output):
        output = app.invoke(decided(APPROVE), CONFIG, version="v2", interrupt_before=["tools"])
    turn = output.value["messages"][1]
    send = Send("tools", {"message": turn.id, "index": 0})
    output = go(world.app(rules, mode), Command(goto=[send] * 3))
    if requests(output):
        go(world.app(rules, mode), decided(APPROVE))
    assert world.ran == [("pay", 1)]


@pytest.mark.parametrize("goto", ["tools", ["tools", "tools"]])
def test_the_tools_node_without_a_call_runs_the_open_calls_of_the_turn(goto):
    world = World(call("pay", n=1), call("look", "2", n=2))
    app = world.app({})
    app.invoke({"messages": "go"}, CONFIG, interrupt_before=["tools"])
    output = go(world.app({}), Command(goto=goto))
    assert sorted(world.ran) == [("look", 2), ("pay", 1)]
    assert [m.type for m in output.value["messages"]] == ["human", "ai", "tool", "tool", "ai"]


class Keeps(AgentMiddleware):
    """Answers a call itself, and calls the handler when it is too late."""

    kept: Any = None

    def wrap_tool_call(self, request, handler):
        if request.tool_call["name"] == "pay":
            self.kept = request, handler
            return ToolMessage("answered", tool_call_id="1")
        request, handler = self.kept
        return handler(request)


def test_a_handler_that_is_kept_starts_nothing_after_the_call_was_answered():
    world, keeps = World(), Keeps()
    turns: Any = [{"tool_calls": [call("pay", n=1)]}, {"tool_calls": [call("look", n=2)]}, "done"]
    output = go(world.app({}, "batched", keeps, model=ScriptedModel(turns)))
    assert world.ran == []
    assert "answered before" in output.value["messages"][-2].content


class Text(str):
    """A text of a kind of its own."""

    __slots__ = ()


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize("odd", [Text("x"), Mute(), "\ud800"])
def test_a_result_of_an_odd_kind_is_a_result(odd):
    world = World(call("strange"))

    @tool
    def strange() -> object:
        """Be odd."""
        if isinstance(odd, Exception):
            raise odd
        return odd

    output = go(world.app({}, tools=[strange]))
    assert not output.interrupts
    assert type(output.value["messages"][2].content) is str


def test_names_that_look_alike_are_refused():
    def named(name):
        return tool(name, description="It.")(lambda: "x")

    for other in ("p\u0430y", "\u03c1ay", "P\u0410Y"):
        with pytest.raises(HitlError, match="too alike"):
            create_agent(ScriptedModel(["x"]), [named("pay"), named(other)])
