"""The approval middleware: judged once, decided once, and nothing that changes runs unjudged."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from hitl import (
    AgentMiddleware,
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    RemoveMessage,
    ScriptedModel,
    create_agent,
    tool,
)
from hitl.errors import HitlError, Misuse, NotAllowed, Stale
from hitl.policy import Verdict

CONFIG: Any = {"configurable": {"thread_id": "t"}}
MODES = ["batched", "per_call"]


class Second(HumanInTheLoopMiddleware):
    """Another reviewer."""


class Denies(HumanInTheLoopMiddleware):
    """Judges as a policy would that no human can overrule."""

    def judge(self, call, state, runtime):
        if call["args"].get("n") == 13:
            return Verdict("deny", why="Thirteen is not paid.")
        return super().judge(call, state, runtime)


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id}


class World:
    def __init__(self, *calls):
        self.ran: list = []
        self.saver, self.calls = InMemorySaver(), calls

        @tool
        def pay(n: int) -> str:
            """Pay."""
            self.ran.append(("pay", n))
            return f"paid {n}"

        @tool(effect="pure")
        def look(n: int) -> str:
            """Look."""
            self.ran.append(("look", n))
            return f"seen {n}"

        self.tools = [pay, look]

    def go(self, given, *middleware, tools=None):
        app = create_agent(
            ScriptedModel([{"tool_calls": list(self.calls)}, "done"]),
            self.tools if tools is None else tools,
            middleware=middleware,
            checkpointer=self.saver,
        )
        given = {"messages": given} if isinstance(given, str) else given
        return app.invoke(given, CONFIG, version="v2")


def gate(rules, mode="batched", kind=HumanInTheLoopMiddleware):
    return kind(rules, interrupt_mode=mode)


def requests(output):
    return [r for i in output.interrupts for r in i.value["action_requests"]]


def decide(output, *decisions):
    ids = [request["id"] for request in requests(output)]
    return Command(resume=dict(zip(ids, decisions, strict=True)))


def edit(name, **args):
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def results(output):
    return [m.content for m in output.value["messages"] if m.type == "tool"]


APPROVE, REJECT = {"type": "approve"}, {"type": "reject"}


@pytest.mark.parametrize("mode", MODES)
def test_when_is_asked_once_and_never_again_on_resume(mode):
    world, asked = World(call("pay", n=1), call("pay", "2", n=2)), []

    def when(request):
        asked.append(request.tool_call["args"]["n"])
        request.tool_call["args"]["n"] = 99  # it gets a copy
        return len(asked) < 3

    rules = {"pay": {"allowed_decisions": ["approve"], "when": when}}
    output = world.go("go", gate(rules, mode))
    output = world.go(None, gate(rules, mode))
    output = world.go(decide(output, APPROVE, APPROVE), gate(rules, mode))
    assert sorted(asked) == [1, 2]
    assert sorted(world.ran) == [("pay", 1), ("pay", 2)]
    assert output.value["messages"][-1].content == "done"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("later", [{}, {"look": True}, {"pay": False}])
def test_a_declined_call_does_not_run_when_its_rule_is_gone_at_resume(mode, later):
    world = World(call("pay", n=1))
    output = world.go("go", gate({"pay": True}, mode))
    output = world.go(decide(output, REJECT), gate(later, mode))
    assert world.ran == []
    assert "rejected" in results(output)[0]


def test_a_declined_call_does_not_run_when_the_middleware_is_gone():
    for mode in MODES:
        world = World(call("pay", n=1))
        output = world.go("go", gate({"pay": True}, mode))
        answer = decide(output, REJECT)
        with suppress(HitlError):  # the node that waits is not there; the thread stays as it is
            world.go(answer)
        assert world.ran == []


@pytest.mark.parametrize("mode", MODES)
def test_an_approved_call_runs_only_where_its_tool_still_is(mode):
    world = World(call("pay", n=1))
    output = world.go("go", gate({"pay": True}, mode))
    with pytest.raises(Stale, match="no such tool"):
        world.go(decide(output, APPROVE), gate({}, mode), tools=world.tools[1:])
    assert world.ran == []
    world.go(decide(output, APPROVE), gate({"pay": True}, mode))
    assert world.ran == [("pay", 1)]


@pytest.mark.parametrize("mode", MODES)
def test_an_edit_into_another_tool_is_judged_by_that_tools_rule(mode):
    rules = {"pay": True, "look": {"allowed_decisions": ["reject"]}}
    world = World(call("pay", n=1))
    output = world.go("go", gate(rules, mode))
    for wrong in (edit("look", n=1), edit("lok", n=1), edit("pay", n="x"), edit("pay")):
        with pytest.raises(NotAllowed):
            world.go(decide(output, wrong), gate(rules, mode))
    assert world.ran == []
    output = world.go(decide(output, edit("pay", n=5)), gate(rules, mode))
    assert world.ran == [("pay", 5)]
    assert "A reviewer changed this call. What ran: pay with {'n': 5}" in results(output)[0]

    for free in ({"pay": True}, {"pay": True, "look": {"allowed_decisions": ["approve"]}}):
        world = World(call("pay", n=1))
        output = world.go("go", gate(free, mode))
        world.go(decide(output, edit("look", n=7)), gate(free, mode))
        assert world.ran == [("look", 7)]


@pytest.mark.parametrize("mode", MODES)
def test_an_edit_that_does_not_fit_the_other_tool_is_asked_about_again(mode):
    world = World(call("pay", n=1))
    rules = {"pay": True}
    output = world.go("go", gate(rules, mode))
    output = world.go(decide(output, edit("look", m=1)), gate(rules, mode))
    assert world.ran == []
    (request,) = requests(output)
    assert (request["name"], request["args"]) == ("pay", {"n": 1})
    assert request["description"].startswith("The edit was not run:")
    world.go(decide(output, APPROVE), gate(rules, mode))
    assert world.ran == [("pay", 1)]


@pytest.mark.parametrize("mode", MODES)
def test_a_denied_call_never_runs_and_is_not_asked_about(mode):
    world = World(call("pay", n=13), call("pay", "2", n=1))
    rules = {"pay": True}
    output = world.go("go", gate(rules, mode, Denies))
    assert [r["args"] for r in requests(output)] == [{"n": 1}]
    output = world.go(decide(output, edit("pay", n=2)), gate(rules, mode, Denies))
    assert world.ran == [("pay", 2)]
    assert "not allowed here; it was not executed. Thirteen is not paid." in results(output)[0]


@pytest.mark.parametrize("first", MODES)
@pytest.mark.parametrize("second", MODES)
def test_where_two_middlewares_ask_both_must_say_yes_to_what_runs(first, second):
    def both():
        return gate({"pay": True}, first), gate({"pay": True}, second, Second)

    for answers, ran in [
        ((APPROVE, APPROVE), [("pay", 1)]),
        ((edit("pay", n=2), APPROVE), [("pay", 2)]),
        ((edit("pay", n=2), edit("pay", n=3)), [("pay", 3)]),
        ((APPROVE, REJECT), []),
        ((REJECT,), []),
    ]:
        world = World(call("pay", n=1))
        output = world.go("go", *both())
        for answer in answers:
            assert world.ran == []
            output = world.go(decide(output, answer), *both())
        assert not output.interrupts
        assert world.ran == ran
        assert len(results(output)) == 1
        states = {item.state for item in world.saver.items()}
        assert states <= {"ran", "done", "withdrawn"}


def test_one_middleware_cannot_edit_past_the_rule_of_another():
    def both():
        return gate({"pay": True}), gate({"look": {"allowed_decisions": ["reject"]}}, kind=Second)

    world = World(call("pay", n=1))
    output = world.go("go", *both())
    with pytest.raises(NotAllowed):
        world.go(decide(output, edit("look", n=1)), *both())
    assert world.ran == []


@pytest.mark.parametrize("mode", MODES)
def test_an_edit_is_judged_by_a_rule_of_another_middleware_that_looks_at_arguments(mode):
    rule = {"allowed_decisions": ["reject"], "when": lambda r: r.tool_call["args"]["n"] > 100}

    def both():
        return gate({"pay": True}, mode), gate({"pay": rule}, mode, Second)

    world = World(call("pay", n=1))
    output = world.go("go", *both())
    try:
        output = world.go(decide(output, edit("pay", n=1000)), *both())
    except NotAllowed:
        return  # known from the other's rule already
    assert world.ran == []
    assert output.interrupts


class Jumps(AgentMiddleware):
    """Goes straight to the tools, past every review that has not been made."""

    def after_model(self, state, runtime):
        return {"jump_to": "tools"}


@pytest.mark.parametrize("mode", MODES)
def test_a_hook_that_jumps_to_the_tools_gets_no_call_past_the_rules(mode):
    for middleware in ([gate({"pay": True}, mode), Jumps()], [Jumps(), gate({"pay": True}, mode)]):
        world = World(call("pay", n=1), call("look", "2", n=2))
        output = world.go("go", *middleware)
        assert ("pay", 1) not in world.ran
        output = world.go(decide(output, REJECT), *middleware)
        assert world.ran == [("look", 2)]
        assert sum("rejected" in text for text in results(output)) == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_new_message_closes_what_waits_and_keeps_what_is_done(mode):
    world = World(call("pay", n=1), call("look", "2", n=2), call("pay", "3", n=3))
    output = world.go("go", gate({"pay": True}, mode))
    first = requests(output)[0]["id"]
    world.go(Command(resume={first: APPROVE}), gate({"pay": True}, mode))
    done = [] if mode == "batched" else [("look", 2), ("pay", 1)]
    assert sorted(world.ran) == done
    output = world.go("never mind", gate({"pay": True}, mode))
    assert sorted(world.ran) == done
    kinds = [m.type for m in output.value["messages"]]
    assert kinds == ["human", "ai", "tool", "tool", "tool", "human", "ai"]
    answers = [m.tool_call_id for m in output.value["messages"] if m.type == "tool"]
    assert answers == ["1", "2", "3"]
    expected = {"withdrawn", "superseded"} if mode == "batched" else {"ran", "superseded"}
    assert {item.state for item in world.saver.items()} == expected
    with pytest.raises(HitlError):
        world.go(Command(resume={first: REJECT}), gate({"pay": True}, mode))


def test_a_notice_that_cannot_be_filled_in_is_refused_at_once():
    with pytest.raises(Misuse, match="edit_notice"):
        HumanInTheLoopMiddleware({"pay": True}, edit_notice="{tool} ran")


def test_outside_a_run_a_turn_without_gated_calls_needs_no_review():
    from hitl import AIMessage, Runtime

    turn = AIMessage("", id="m", tool_calls=[call("look", n=1)])
    assert gate({"pay": True}).after_model({"messages": [turn]}, Runtime()) is None


@pytest.mark.parametrize("mode", MODES)
def test_a_rejection_of_what_was_asked_again_holds_whatever_the_rule_says_by_then(mode):
    said = []

    def when(request):
        said.append(request.tool_call["args"]["n"] == 1000 and True not in said)
        return said[-1]

    def both():
        rule = {"allowed_decisions": ["reject"], "when": when}
        return gate({"pay": True}, mode), gate({"pay": rule}, mode, Second)

    world = World(call("pay", n=1))
    output = world.go("go", *both())
    output = world.go(decide(output, edit("pay", n=1000)), *both())
    assert requests(output)[0]["description"].startswith("The edit was not run:")
    output = world.go(decide(output, REJECT), *both())
    assert world.ran == []
    assert "rejected" in results(output)[0]


class Removes(AgentMiddleware):
    """Takes the answer out of the history again, and goes to the tools."""

    def after_model(self, state, runtime):
        last = state["messages"][-1]
        if last.type == "tool":
            return {"messages": [RemoveMessage(last.id)], "jump_to": "tools"}
        return None


def test_a_rejected_call_stays_closed_where_its_answer_is_taken_away():
    world = World(call("pay", n=1))
    output = world.go("go", Removes(), gate({"pay": True}))
    output = world.go(decide(output, REJECT), Removes(), gate({"pay": True}))
    assert world.ran == []
    assert not output.interrupts
    assert "no approval that could be used" in results(output)[0]


class Changes(AgentMiddleware):
    """Changes the call in the model's message after it was approved."""

    def after_model(self, state, runtime):
        turn = state["messages"][-1]
        if turn.tool_calls:
            return {"messages": [replace(turn, tool_calls=[call("pay", n=50)])]}
        return None


def test_an_approval_does_not_pass_to_a_call_that_no_rule_would_ask_about():
    rule = {"allowed_decisions": ["approve"], "when": lambda r: r.tool_call["args"]["n"] < 10}
    world = World(call("pay", n=1))
    output = world.go("go", Changes(), gate({"pay": rule}))
    output = world.go(decide(output, APPROVE), Changes(), gate({"pay": rule}))
    assert world.ran == []
    assert [one["args"] for one in requests(output)] == [{"n": 50}], "it is asked about itself"
    world.go(decide(output, APPROVE), Changes(), gate({"pay": rule}))
    assert world.ran == [("pay", 50)]
