"""Middleware around a tool call: it may change or withhold the call, never let one in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hitl import (
    AgentMiddleware,
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    ScriptedModel,
    ToolMessage,
    create_agent,
    interrupt,
    tool,
)
from hitl.errors import Misuse

CONFIG = {"configurable": {"thread_id": "t"}}


def call(name, id="1", **args):
    return {"name": name, "args": args, "id": id}


class World:
    def __init__(self, wrap=None, rules=None, mode="batched", effect="effect", calls=None):
        self.ran: list = []
        self.saver = InMemorySaver()
        self.wrap, self.rules, self.mode = wrap, rules or {}, mode
        self.calls = calls or [call("pay", n=1)]

        @tool(effect=effect)
        def pay(n: int) -> str:
            """Pay."""
            self.ran.append(("pay", n))
            return f"paid {n}"

        @tool(effect=effect)
        def wipe(n: int) -> str:
            """Wipe."""
            self.ran.append(("wipe", n))
            return f"wiped {n}"

        self.tools = [pay, wipe]

    def app(self):
        world = self

        class Wrap(AgentMiddleware):
            def wrap_tool_call(self, request, handler):
                return world.wrap(request, handler)

        more = [Wrap()] if self.wrap else []
        gate = HumanInTheLoopMiddleware(self.rules, interrupt_mode=self.mode)
        model = ScriptedModel([{"tool_calls": self.calls}, "done"])
        return create_agent(model, self.tools, middleware=[*more, gate], checkpointer=self.saver)

    def go(self, given="go"):
        given = {"messages": given} if isinstance(given, str) else given
        return self.app().invoke(given, CONFIG, version="v2")

    def approve(self, output, type="approve"):
        ids = [r["id"] for i in output.interrupts for r in i.value["action_requests"]]
        return self.go(Command(resume={id: {"type": type} for id in ids}))


def results(output):
    return [m.content for m in output.value["messages"] if m.type == "tool"]


def changed(**new):
    def wrap(request, handler):
        return handler(replace(request, tool_call={**request.tool_call, **new}))

    return wrap


def changed_in_place(request, handler):
    request.tool_call["args"]["n"] = 99
    return handler(request)


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize("wrap", [changed(args={"n": 99}), changed_in_place])
def test_a_call_that_a_wrapper_changes_is_judged_anew(wrap, mode):
    world = World(wrap, {"pay": True}, mode)
    output = world.approve(world.go())
    assert world.ran == [], "approved was another call"
    assert output.interrupts[0].value["action_requests"][0]["args"] == {"n": 99}
    output = world.approve(output)
    assert world.ran == [("pay", 99)]
    assert results(output) == ["paid 99"]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_a_free_call_cannot_be_turned_into_a_gated_one(mode):
    world = World(changed(name="wipe"), {"wipe": True}, mode)
    output = world.approve(world.go(), "reject")
    assert world.ran == []
    assert "rejected" in results(output)[0]


def test_a_wrapper_that_changes_its_mind_does_not_use_the_approval_of_another_call():
    given = iter([7, 8, 8])

    def wrap(request, handler):
        return changed(args={"n": next(given)})(request, handler)

    world = World(wrap, {"pay": True})
    output = world.approve(world.approve(world.go()))
    assert world.ran == [], "the yes was to 7, and 8 is asked about"
    world.approve(output)
    assert world.ran == [("pay", 8)]


def test_a_wrapper_may_try_a_free_call_and_then_a_gated_one():
    def wrap(request, handler):
        handler(request)
        return changed(name="wipe")(request, handler)

    world = World(wrap, {"wipe": True}, effect="idempotent")
    output = world.approve(world.go())
    assert world.ran == [("pay", 1), ("wipe", 1)]
    assert results(output) == ["wiped 1"]


def test_a_second_start_is_refused_unless_the_tool_is_safe_to_repeat():
    def twice(request, handler):
        handler(request)
        return handler(request)

    for effect, times in [("effect", 1), ("idempotent", 2), ("pure", 2)]:
        world = World(twice, {"pay": True}, effect=effect)
        output = world.approve(world.go())
        assert world.ran == [("pay", 1)] * times
        assert "paid 1" in results(output)[0]
        assert ("not started again" in results(output)[0]) == (times == 1)


def test_a_wrapper_that_withholds_the_call_gives_its_one_answer():
    world = World(lambda r, h: ToolMessage("cached", tool_call_id="x", id="y"), {"pay": True})
    output = world.approve(world.go())
    (message,) = [m for m in output.value["messages"] if m.type == "tool"]
    assert (message.content, message.tool_call_id) == ("cached", "1")
    assert world.ran == []
    assert [i.state for i in world.saver.items()] == ["withdrawn"]


def test_what_a_wrapper_raises_after_the_body_does_not_lose_the_result():
    broken = [True]

    def wrap(request, handler):
        message = handler(request)
        if broken:
            broken.clear()
            raise RuntimeError("cannot log")
        return message

    world = World(wrap, {"pay": True})
    with pytest.raises(RuntimeError):
        world.approve(world.go())
    assert results(world.go(None)) == ["paid 1"]
    assert world.ran == [("pay", 1)]


def test_a_wrapper_may_ask_after_the_call_has_run():
    def wrap(request, handler):
        message = handler(request)
        return replace(message, content=f"{message.content}, {interrupt('show it?')}")

    world = World(wrap, {"pay": True})
    assert world.approve(world.go()).interrupts[0].value == "show it?"
    assert results(world.go(Command(resume="yes"))) == ["paid 1, yes"]
    assert world.ran == [("pay", 1)]


def test_a_wrapper_that_returns_no_message_is_told_to_the_programmer():
    with pytest.raises(Misuse, match="wrap_tool_call returned a str"):
        World(lambda r, h: "text").go()


def test_two_calls_with_one_id_keep_their_own_decisions():
    world = World(rules={"pay": True}, calls=[call("pay", n=1), call("pay", n=2)])
    world.go()
    output = world.go(Command(resume={"decisions": [{"type": "approve"}, {"type": "reject"}]}))
    assert world.ran == [("pay", 1)]
    assert len(results(output)) == 2


def test_the_same_call_twice_is_two_calls():
    world = World(rules={"pay": True}, calls=[call("pay", n=1), call("pay", n=1)])
    world.approve(world.go())
    assert world.ran == [("pay", 1)] * 2
