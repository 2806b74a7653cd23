"""A tool that knows what became of a lost call is asked before a human is."""

from __future__ import annotations

import asyncio
import logging

import pytest

from hitl.agent import (
    Happened,
    HumanInTheLoopMiddleware,
    ScriptedModel,
    ToolRuntime,
    create_agent,
    tool,
)
from hitl.checkpoint import InMemorySaver
from hitl.errors import Misuse, OutcomeUnknown
from hitl.values import Command

CONFIG: dict[str, object] = {"configurable": {"thread_id": "t"}}
RESPOND = {"type": "respond", "message": "paid, I looked"}


class Killed(BaseException):
    pass


class Shop:
    """An agent whose tool does its work and dies the first time; its probe says what it is told."""

    def __init__(self, says, *, mode="batched", wrapped=False, awaited=False):
        self.ran: list = []
        self.probed: list = []

        def probe(key):
            self.probed.append(key)
            if isinstance(says, Exception):
                raise says
            return says

        async def aprobe(key):
            return probe(key)

        @tool(probe=aprobe if awaited else probe)
        def pay(n: int, runtime: ToolRuntime) -> str:
            """Pay."""
            self.ran.append((runtime.idempotency_key, runtime.attempt))
            if len(self.ran) == 1:
                raise Killed
            return f"paid {n}"

        self.saver = InMemorySaver()
        script: list = [{"tool_calls": [{"name": "pay", "args": {"n": 1}, "id": "1"}]}, "done"]
        gate = HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=mode)
        self.app = create_agent(
            ScriptedModel(script), [pay], middleware=[gate], checkpointer=self.saver
        )
        (asked,) = self.go({"messages": "go"}).interrupts
        with pytest.raises(Killed):
            self.go(Command(resume={asked.id: {"decisions": [{"type": "approve"}]}}))

    def go(self, given, **more):
        return self.app.invoke(given, CONFIG, version="v2", **more)

    async def ago(self, given, **more):
        return await self.app.ainvoke(given, CONFIG, version="v2", **more)

    def states(self):
        return {item.kind: item.state for item in self.saver.items(thread="t")}


def results(output):
    return [m.content for m in output.value["messages"] if m.type == "tool"]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_a_call_that_the_tool_knows_to_have_happened_is_not_run_and_nobody_is_asked(mode):
    shop = Shop(Happened("paid 1, says the bank"), mode=mode)
    output = shop.go(None)
    assert results(output) == ["paid 1, says the bank"]
    assert not output.interrupts
    assert shop.probed == [shop.ran[0][0]]
    assert len(shop.ran) == 1
    assert shop.states() == {"action": "ran"}


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_a_call_that_the_tool_knows_not_to_have_happened_runs_under_its_key(mode):
    shop = Shop(False, mode=mode)
    assert results(shop.go(None)) == ["paid 1"]
    key = shop.ran[0][0]
    assert shop.ran == [(key, 1), (key, 2)]
    assert shop.probed == [key]
    assert shop.states() == {"action": "ran"}


@pytest.mark.parametrize("says", [None, True, "paid", 0, RuntimeError("no connection")])
def test_where_the_tool_does_not_know_a_human_is_asked_at_once(says, caplog):
    shop = Shop(says)
    with caplog.at_level(logging.ERROR, "hitl"):
        (asked,) = shop.go(None).interrupts
    assert asked.value["allowed_decisions"] == ["respond", "retry", "reject"]
    assert shop.go(None).interrupts == (asked,)
    assert len(shop.probed) == 1
    assert results(shop.go(Command(resume={asked.id: RESPOND}))) == ["paid, I looked"]
    assert len(shop.ran) == 1
    assert len(shop.probed) == 1
    assert shop.states() == {"action": "ran", "outcome": "done"}


def test_a_human_may_have_it_run_again():
    shop = Shop(None)
    (asked,) = shop.go(None).interrupts
    assert results(shop.go(Command(resume={asked.id: {"type": "retry"}}))) == ["paid 1"]
    assert [attempt for _, attempt in shop.ran] == [1, 2]


@pytest.mark.parametrize("awaited", [True, False])
def test_a_probe_is_asked_on_an_event_loop_too(awaited):
    shop = Shop(Happened({"id": 7}), awaited=awaited)
    assert results(asyncio.run(shop.ago(None))) == ['{"id":7}']
    shop = Shop(None, awaited=awaited)
    (asked,) = asyncio.run(shop.ago(None)).interrupts
    assert results(asyncio.run(shop.ago(Command(resume={asked.id: RESPOND})))) == ["paid, I looked"]


def test_an_async_probe_is_asked_in_a_sync_run():
    assert results(Shop(Happened("yes"), awaited=True).go(None)) == ["yes"]


def test_new_input_does_not_close_a_call_that_its_tool_was_not_asked_about():
    shop = Shop(Happened("paid 1"))
    with pytest.raises(OutcomeUnknown, match="left no result"):
        shop.go({"messages": "hello?"})
    assert results(shop.go(None)) == ["paid 1"]
    shop = Shop(Happened("paid 1"))
    output = shop.go({"messages": "hello?"}, on_unknown="tell_model")
    assert "outcome is not known" in results(output)[0]
    assert len(shop.ran) == 1


@pytest.mark.parametrize("effect", ["pure", "idempotent"])
def test_a_tool_that_may_run_again_has_no_probe(effect):
    with pytest.raises(Misuse, match="probe"):

        @tool(effect=effect, probe=lambda key: None)
        def look() -> str:
            """Look."""
            return ""


def test_a_probe_is_a_function():
    with pytest.raises(Misuse, match="probe"):
        tool("look", description="Look.", probe="yes")(str)  # type: ignore[call-overload]
