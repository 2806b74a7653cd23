"""Going back on an agent's thread: gated calls ask again, and run only on the new answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hitl import (
    END,
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    ScriptedModel,
    SqliteSaver,
    ToolRuntime,
    create_agent,
    tool,
)
from hitl.errors import HitlError, OutcomeUnknown
from hitl.values import Config

CONFIG: Config = {"configurable": {"thread_id": "t"}}
TURN = [
    {"name": "pay", "args": {"n": 1}, "id": "1"},
    {"name": "look", "args": {"n": 2}, "id": "2"},
]


class World:
    """An agent with a gated and a free tool, built anew for each call; counts what ran."""

    def __init__(self, saver, mode, awaited):
        self.saver, self.mode, self.awaited = saver, mode, awaited
        self.ran: list = []
        self.keys: list = []
        self.rule: Any = True
        self.stops = None

    def app(self):
        world = self

        @tool
        def pay(n: int, runtime: ToolRuntime) -> str:
            """Pay."""
            world.ran.append(("pay", n))
            world.keys.append(runtime.idempotency_key)
            return f"paid {n}"

        @tool
        def look(n: int) -> str:
            """Look."""
            world.ran.append(("look", n))
            return f"seen {n}"

        gate = HumanInTheLoopMiddleware({"pay": self.rule}, interrupt_mode=self.mode)
        model = ScriptedModel([{"tool_calls": TURN}, "done"])
        return create_agent(
            model,
            [pay, look],
            middleware=[gate],
            checkpointer=self.saver,
            interrupt_before=self.stops,
        )

    def go(self, given, config=CONFIG):
        app = self.app()
        if self.awaited:
            return asyncio.run(app.ainvoke(given, config, version="v2"))
        return app.invoke(given, config, version="v2")

    def decide(self, output, type="approve", **more):
        ids = [r["id"] for i in output.interrupts for r in i.value["action_requests"]]
        assert len(ids) == 1
        return self.go(Command(resume={ids[0]: {"type": type, **more}}))

    def ended(self, type="approve", **more):
        """Run a whole conversation."""
        return self.decide(self.go({"messages": "go"}), type, **more)

    def points(self):
        """Return the checkpoints at which the turn's calls have no result yet, newest first."""
        return [
            one.config
            for one in self.app().get_state_history(CONFIG)
            if not any(m.type == "tool" for m in one.values["messages"])
        ]

    def before_tools(self):
        """Return the newest checkpoint at which the calls of the turn are due."""
        return next(
            one.config for one in self.app().get_state_history(CONFIG) if "tools" in one.next
        )

    def paid(self):
        return self.ran.count(("pay", 1))


@pytest.fixture(params=["batched", "per_call"])
def mode(request):
    return request.param


@pytest.fixture(params=["memory", "sqlite"])
def saver(request, tmp_path):
    saver = InMemorySaver() if request.param == "memory" else SqliteSaver(tmp_path / "runs.db")
    yield saver
    saver.close()


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def world(saver, mode, request):
    return World(saver, mode, request.param)


def results(output):
    return [m.content for m in output.value["messages"] if m.type == "tool"]


def test_a_replay_from_any_point_before_the_result_asks_again(world):
    world.ended()
    points = world.points()
    for count, config in enumerate(points, 2):
        output = world.go(None, config)
        assert output.interrupts, config
        assert world.paid() == count - 1
        assert results(world.decide(output)) == ["paid 1", "seen 2"]
        assert world.paid() == count


def test_a_replay_from_after_the_result_does_not_run_the_call_again(world):
    world.ended()
    config = next(
        one.config for one in world.app().get_state_history(CONFIG) if one.next == ("model",)
    )
    output = world.go(None, config)
    assert not output.interrupts
    assert output.value["messages"][-1].content == "done"
    assert world.paid() == 1


def test_the_new_answer_counts_and_the_old_branch_keeps_its_own(world):
    end = world.ended().config
    output = world.decide(world.go(None, world.before_tools()), "reject", message="no")
    assert "no" in results(output)[0]
    assert world.paid() == 1
    old = world.app().get_state(end).values["messages"]
    assert [m.content for m in old if m.type == "tool"] == ["paid 1", "seen 2"]


def test_a_rejected_call_does_not_run_on_a_branch_that_nobody_approved(world):
    output = world.ended("reject")
    for config in world.points():
        output = world.go(None, config)
        if output.interrupts:
            output = world.decide(output, "reject")
    assert world.paid() == 0
    assert "rejected" in results(output)[0]


def test_an_edit_does_not_travel_to_another_branch(world):
    world.ended("edit", edited_action={"name": "pay", "args": {"n": 7}})
    output = world.go(None, world.before_tools())
    (request,) = [r for i in output.interrupts for r in i.value["action_requests"]]
    assert request["args"] == {"n": 1}
    world.decide(output)
    assert [n for name, n in world.ran if name == "pay"] == [7, 1]


def test_an_old_approval_cannot_be_sent_to_the_new_question(world):
    first = world.go({"messages": "go"})
    ids = [r["id"] for i in first.interrupts for r in i.value["action_requests"]]
    old = Command(resume={ids[0]: {"type": "approve"}})
    world.go(old)
    assert world.go(None, world.before_tools()).interrupts
    assert world.go(old).interrupts  # known, and no answer to what waits now
    assert world.paid() == 1


def test_an_approval_that_was_not_used_stays_on_the_branch_that_is_left(world):
    if world.mode == "per_call":
        pytest.skip("there the yes is used in the task that asked for it")
    world.stops = ["tools"]
    world.ended()
    assert [item.state for item in world.saver.items()] == ["cleared"]
    world.app().update_state(CONFIG, None)
    assert [item.state for item in world.saver.items()] == ["withdrawn"]
    output = world.go(None)
    assert output.interrupts
    assert world.paid() == 0
    assert results(world.decide(output)) == ["paid 1", "seen 2"]
    assert world.paid() == 1


def test_each_branch_has_an_idempotency_key_of_its_own(world):
    world.ended()
    world.decide(world.go(None, world.before_tools()))
    world.decide(world.go(None, world.points()[-1]))
    assert len(set(world.keys)) == len(world.keys) == 3


def test_rules_that_have_become_laxer_do_not_let_a_replayed_call_in(world):
    if world.mode == "per_call":
        pytest.skip("there the replayed call has no review and is judged anew")
    world.ended()
    world.rule = {"allowed_decisions": ["approve", "reject"], "when": lambda request: False}
    output = world.go(None, world.before_tools())
    assert output.interrupts
    assert world.paid() == 1
    world.decide(output)
    assert world.paid() == 2


def test_a_replay_without_the_rule_refuses_the_call_in_words(world):
    if world.mode == "per_call":
        pytest.skip("there the replayed call has no review and is judged anew")
    world.ended()
    world.rule = False
    output = world.go(None, world.before_tools())
    assert "no approval" in results(output)[0]
    assert world.paid() == 1


def test_an_update_that_changes_the_call_asks_about_what_it_is_now(world):
    output = world.go({"messages": "go"})
    turn = next(m for m in output.value["messages"] if m.type == "ai")
    calls = [{**TURN[0], "args": {"n": 9}}, TURN[1]]
    changed = type(turn)("", id=turn.id, tool_calls=calls)
    world.app().update_state(CONFIG, {"messages": [changed]}, as_node="model")
    output = world.go(None)
    (request,) = [r for i in output.interrupts for r in i.value["action_requests"]]
    assert request["args"] == {"n": 9}
    world.decide(output)
    assert [n for name, n in world.ran if name == "pay"] == [9]


def test_an_update_after_the_review_leaves_no_approval_for_a_changed_call(world):
    world.ended()
    config = world.before_tools()
    turn = next(m for m in world.app().get_state(config).values["messages"] if m.type == "ai")
    calls = [{**TURN[0], "args": {"n": 9}}, TURN[1]]
    changed = type(turn)("", id=turn.id, tool_calls=calls)
    world.app().update_state(config, {"messages": [changed]})
    output = world.go(None)
    (request,) = [r for i in output.interrupts for r in i.value["action_requests"]]
    assert request["args"] == {"n": 9}
    world.decide(output)
    assert [n for name, n in world.ran if name == "pay"] == [1, 9]


def test_a_turn_that_is_given_up_by_hand_runs_nothing(world):
    world.go({"messages": "go"})
    world.app().update_state(CONFIG, None, as_node=END)
    assert not world.go(None).interrupts
    assert world.paid() == 0
    output = world.go({"messages": "and now?"})
    assert not output.interrupts or world.paid() == 0


class Died(BaseException):
    """The process dies."""


def test_a_call_that_may_have_happened_stands_in_the_way_of_a_replay(saver, mode):
    @tool
    def pay(n: int) -> str:
        """Pay."""
        raise Died

    def app():
        gate = HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=mode)
        model = ScriptedModel([{"tool_calls": TURN[:1]}, "done"])
        return create_agent(model, [pay], middleware=[gate], checkpointer=saver)

    output = app().invoke({"messages": "go"}, CONFIG, version="v2")
    (id,) = [r["id"] for i in output.interrupts for r in i.value["action_requests"]]
    with pytest.raises(Died):
        app().invoke(Command(resume={id: {"type": "approve"}}), CONFIG)
    first = list(app().get_state_history(CONFIG))[-1].config
    with pytest.raises(OutcomeUnknown):
        app().invoke(None, first)
    with pytest.raises(HitlError):
        app().update_state(CONFIG, None, as_node=END)
    states = sorted(item.state for item in saver.items())
    assert states == ["pending", "uncertain"]
