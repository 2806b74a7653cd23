"""Policy files at the agent and the gate: they can only tighten, then and later."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest

from hitl import (
    Command,
    Gate,
    Grants,
    HumanInTheLoopMiddleware,
    Inbox,
    InMemorySaver,
    Misuse,
    NotAllowed,
    Policy,
    ScriptedModel,
    ToolMessage,
    create_agent,
    tool,
)
from hitl.errors import BadPolicy

CONFIG: Any = {"configurable": {"thread_id": "t"}}
MODES = ["batched", "per_call"]
APPROVE, REJECT = {"type": "approve"}, {"type": "reject"}
FREE = {"hitl_policy": 1, "default": "allow", "rules": []}


def rule(id: str, effect: str, tools=("pay",), **more) -> dict:
    return {"id": id, "effect": effect, "tools": list(tools), **more}


def policy(*rules: dict, default: str = "allow", **more) -> Policy:
    text = json.dumps({"hitl_policy": 1, "default": default, "rules": list(rules), **more})
    return Policy.from_text(text)


def over(amount: int, effect: str = "ask", id: str = "big", **more) -> dict:
    return rule(id, effect, where={"amount": {"gt": amount}}, **more)


class World:
    """One thread; each ``app`` is the agent of another process."""

    def __init__(self, *amounts: int, mode: Any = "batched", entries: dict | None = None):
        self.ran: list[int] = []
        self.saver, self.mode, self.entries = InMemorySaver(), mode, entries or {}
        self.calls = [
            {"name": "pay", "args": {"amount": amount}, "id": f"c{place}"}
            for place, amount in enumerate(amounts)
        ]

        @tool
        def pay(amount: int) -> str:
            """Pay."""
            self.ran.append(amount)
            return f"paid {amount}"

        self.pay = pay

    def app(self, given: Policy | None):
        return create_agent(
            ScriptedModel([{"tool_calls": self.calls}, "Done."]),
            [self.pay],
            middleware=[HumanInTheLoopMiddleware(self.entries, interrupt_mode=self.mode)],
            policy=given,
            checkpointer=self.saver,
        )

    def start(self, given: Policy | None):
        return self.app(given).invoke({"messages": "go"}, CONFIG, version="v2")

    def answer(self, given: Policy | None, *decisions: dict):
        state = self.app(given).get_state(CONFIG)
        ids = [request["id"] for one in state.interrupts for request in requests(one)]
        resume = dict(zip(ids, decisions, strict=True))
        return self.app(given).invoke(Command(resume=resume), CONFIG, version="v2")

    def told(self, output) -> list[str]:
        return [m.text for m in output.value["messages"] if isinstance(m, ToolMessage)]


def requests(interrupt) -> list[Any]:
    return list(interrupt.value["action_requests"])


def asked(output) -> list[int]:
    return [r["args"]["amount"] for one in output.interrupts for r in requests(one)]


@pytest.mark.parametrize("mode", MODES)
def test_a_policy_asks_about_some_calls_and_lets_others_run(mode):
    world = World(5, 500, mode=mode)
    output = world.start(policy(over(100)))
    assert asked(output) == [500]
    world.answer(policy(over(100)), APPROVE)
    assert sorted(world.ran) == [5, 500]


@pytest.mark.parametrize("mode", MODES)
def test_what_a_policy_denies_never_runs_and_the_model_is_told_why(mode):
    world = World(5, 500, mode=mode)
    output = world.start(policy(over(100, "deny", why="Nobody pays that much.")))
    assert not output.interrupts
    assert world.ran == [5]
    assert any("Nobody pays that much." in text for text in world.told(output))


@pytest.mark.parametrize("mode", MODES)
def test_a_map_that_frees_a_tool_does_not_loosen_a_policy(mode):
    world = World(500, mode=mode, entries={"pay": False})
    assert asked(world.start(policy(over(100)))) == [500]


@pytest.mark.parametrize("mode", MODES)
def test_a_policy_that_allows_does_not_loosen_a_map(mode):
    world = World(5, mode=mode, entries={"pay": True})
    assert asked(world.start(policy(rule("all", "allow")))) == [5]


@pytest.mark.parametrize("mode", MODES)
def test_only_decisions_that_map_and_policy_both_take_are_offered(mode):
    world = World(500, mode=mode, entries={"pay": {"allowed_decisions": ["approve", "reject"]}})
    output = world.start(policy(over(100, decisions=["reject", "respond"])))
    shown: Any = output.interrupts[0].value
    assert shown["review_configs"][0]["allowed_decisions"] == ["reject"]


def test_without_approval_middleware_a_policy_puts_one_last(tmp_path):
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"hitl_policy": 1, "default": "ask", "rules": []}))
    world = World(1)
    app = create_agent(
        ScriptedModel([{"tool_calls": world.calls}, "Done."]),
        [world.pay],
        policy=file,
        checkpointer=world.saver,
    )
    assert asked(app.invoke({"messages": "go"}, CONFIG, version="v2")) == [1]


def test_a_gate_takes_a_policy_in_place_of_a_map():
    world = World(5, 500)
    gate = Gate([world.pay], policy=policy(over(100)), store=world.saver)
    outcome = gate.review("g", world.calls)
    (shown,) = (cast(Any, item.subject) for item in outcome.pending)
    assert shown["args"] == {"amount": 500}
    gate.decide(outcome.pending[0].id, APPROVE)
    assert asyncio.run(gate.aresume("g")).done
    assert sorted(world.ran) == [5, 500]


def test_a_gate_with_neither_is_refused():
    with pytest.raises(Misuse, match="would stop nothing"):
        Gate([World().pay], store=InMemorySaver())


def test_what_is_no_policy_is_refused_before_anything_runs():
    with pytest.raises(Misuse, match="policy is of type int"):
        create_agent(ScriptedModel(["x"]), policy=7)  # type: ignore[arg-type]
    with pytest.raises(BadPolicy, match="defualt"):
        Policy.from_text('{"hitl_policy": 1, "defualt": "ask", "rules": []}')


def test_the_question_keeps_the_policy_its_rules_and_what_an_answer_must_fulfil():
    given = policy(
        over(
            100,
            reviewers={"any_of": ["finance"], "need": 2},
            edit={"fields": ["amount"]},
            grants={"allowed": True, "uses": 3},
            deadline={"after": "1h", "then": "reject"},
        ),
        groups={"finance": ["ann", "bob"]},
    )
    world = World(500)
    world.start(given)
    (item,) = world.saver.items(thread="t")
    rules: Any = item.rules
    assert rules["policy"] == {"id": given.policy_id, "rules": ["big"]}
    assert rules["reviewers"][0]["people"] == ["ann", "bob"]
    assert rules["edit"]["fields"] == ["amount"]
    assert rules["deadline"]["after"] == 3600
    assert rules["grants"]["uses"] == 3


def test_nobody_approves_at_a_gate_what_they_have_asked_for_themselves():
    rules = {"any_of": ["finance"], "not_requester": True}
    given = policy(over(100, reviewers=rules), groups={"finance": ["ann", "bob"]})
    world = World(500)
    gate = Gate([world.pay], policy=given, store=world.saver)
    (item,) = gate.review("g", world.calls, requester="ann").pending
    with pytest.raises(NotAllowed):
        gate.decide(item.id, APPROVE, by="ann")
    gate.decide(item.id, APPROVE, by="bob")
    assert gate.resume("g").done
    assert world.ran == [500]


# What changes while a call waits ---------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_an_approved_call_that_the_policy_denies_by_now_does_not_run(mode):
    world = World(500, mode=mode)
    world.start(policy(over(100)))
    output = world.answer(policy(over(100, "deny", why="Stopped since.")), APPROVE)
    assert world.ran == []
    assert any("Stopped since." in text for text in world.told(output))
    (item,) = world.saver.items(thread="t", states=("withdrawn",))
    assert item.decision is not None


@pytest.mark.parametrize("mode", MODES)
def test_a_policy_that_allows_by_now_does_not_free_a_call_that_waits(mode):
    world = World(500, mode=mode)
    world.start(policy(over(100)))
    output = world.app(policy()).invoke(None, CONFIG, version="v2")
    assert asked(output) == [500]
    assert world.ran == []
    world.answer(policy(), REJECT)
    assert world.ran == []


def test_a_free_call_of_a_turn_that_waited_is_asked_about_if_the_policy_asks_by_now():
    world = World(5, 500)
    world.start(policy(over(100)))
    stricter = policy(over(1))
    output = world.answer(stricter, APPROVE)
    assert asked(output) == [5]
    assert world.ran == [500]
    world.answer(stricter, APPROVE)
    assert sorted(world.ran) == [5, 500]


@pytest.mark.parametrize("mode", MODES)
def test_an_approval_that_is_no_longer_enough_is_asked_for_anew(mode):
    world = World(500, mode=mode)
    world.start(policy(over(100)))
    two = {"any_of": ["board"]}
    stricter = policy(over(100, reviewers=two), groups={"board": ["cara"]})
    output = world.answer(stricter, APPROVE)
    assert asked(output) == [500]
    assert world.ran == []


@pytest.mark.parametrize("mode", MODES)
def test_a_map_has_no_say_again_when_only_the_policy_tightens(mode):
    called: list[str] = []

    def when(request) -> bool:
        called.append("when")
        return True

    world = World(500, mode=mode, entries={"pay": {"allowed_decisions": ["approve"], "when": when}})
    world.start(policy())
    world.answer(policy(over(100, reviewers={"any_of": ["b"]}), groups={"b": ["cara"]}), APPROVE)
    assert called == ["when"]


# Edits -----------------------------------------------------------------------------------------


def change(amount: int) -> dict:
    return {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": amount}}}


@pytest.mark.parametrize("mode", MODES)
def test_an_edit_into_a_call_that_the_policy_denies_is_asked_about_again(mode):
    given = policy(over(100), over(1000, "deny", id="huge"))
    world = World(500, mode=mode)
    world.start(given)
    output = world.answer(given, change(5000))
    assert asked(output) == [500]
    assert "not allowed" in requests(output.interrupts[0])[0]["description"]
    world.answer(given, change(200))
    assert world.ran == [200]


@pytest.mark.parametrize("mode", MODES)
def test_an_edit_into_a_call_that_needs_other_people_is_asked_about_again(mode):
    board = over(1000, id="huge", reviewers={"any_of": ["board"]})
    given = policy(over(100), board, groups={"board": ["cara"]})
    world = World(500, mode=mode)
    world.start(given)
    output = world.answer(given, change(5000))
    assert asked(output) == [500]
    assert world.ran == []


def test_one_middleware_object_can_stand_in_two_agents():
    shared = HumanInTheLoopMiddleware({})
    first, second = World(500), World(500)

    def agent(world: World, given: Policy):
        return create_agent(
            ScriptedModel([{"tool_calls": world.calls}, "Done."]),
            [world.pay],
            middleware=[shared],
            policy=given,
            checkpointer=world.saver,
        )

    strict, lax = agent(first, policy(over(100))), agent(second, policy())
    assert asked(strict.invoke({"messages": "go"}, CONFIG, version="v2")) == [500]
    assert not lax.invoke({"messages": "go"}, CONFIG, version="v2").interrupts
    assert second.ran == [500]


# Answers that are remembered -------------------------------------------------------------------

GRANTS = {"allowed": True, "uses": 2, "ttl": "1h"}


def remembering(**more) -> Policy:
    return policy(over(100, grants={**GRANTS, **more}))


class Shop:
    """Many threads of one store, each an agent that pays once."""

    def __init__(self, version: str = "", mode: Any = "batched"):
        self.saver, self.ran, self.mode = InMemorySaver(), list[int](), mode
        self.release(version)

    def release(self, version: str) -> None:
        @tool(version=version)
        def pay(amount: int) -> str:
            """Pay."""
            self.ran.append(amount)
            return f"paid {amount}"

        self.pay = pay

    def run(self, thread: str, given: Policy, *amounts: int, hand: str = "sync"):
        calls = [
            {"name": "pay", "args": {"amount": amount}, "id": f"c{place}"}
            for place, amount in enumerate(amounts)
        ]
        agent = create_agent(
            ScriptedModel([{"tool_calls": calls}, "Done."]),
            [self.pay],
            middleware=[HumanInTheLoopMiddleware({}, interrupt_mode=self.mode)],
            policy=given,
            checkpointer=self.saver,
        )
        config: Any = {"configurable": {"thread_id": thread}}
        if hand == "async":
            return asyncio.run(agent.ainvoke({"messages": "go"}, config, version="v2"))
        return agent.invoke({"messages": "go"}, config, version="v2")

    def grant(self, thread: str, given: Policy, amount: int, **grant) -> None:
        """Let a human approve a call, and remember the answer."""
        assert asked(self.run(thread, given, amount)) == [amount]
        inbox = Inbox(self.saver)
        (item,) = inbox.pending(thread=thread)
        inbox.decide(item.id, {"type": "approve", "grant": grant}, by="ann")


@pytest.mark.parametrize("hand", ["sync", "async"])
@pytest.mark.parametrize("mode", MODES)
def test_a_remembered_answer_lets_the_same_call_go_on_as_often_as_it_says(mode, hand):
    shop, given = Shop(mode=mode), remembering()
    shop.grant("first", given, 500)
    for thread in ("second", "third"):
        assert not shop.run(thread, given, 500, hand=hand).interrupts
    assert shop.ran == [500, 500]
    assert asked(shop.run("fourth", given, 500, hand=hand)) == [500]
    assert asked(shop.run("fifth", given, 600, hand=hand)) == [600]


def test_a_remembered_answer_holds_while_the_rest_of_its_turn_waits():
    shop, given = Shop(), remembering()
    shop.grant("first", given, 500)
    output = shop.run("second", given, 500, 700)
    assert asked(output) == [700]
    inbox = Inbox(shop.saver)
    (item,) = inbox.pending(thread="second")
    inbox.decide(item.id, APPROVE)
    model = ScriptedModel(["(was answered)", "Done."])
    agent = create_agent(model, [shop.pay], policy=given, checkpointer=shop.saver)
    end: Any = {"configurable": {"thread_id": "second"}}
    assert not agent.invoke(None, end, version="v2").interrupts
    assert sorted(shop.ran) == [500, 700]
    assert [grant.left for grant in Grants(shop.saver).list()] == [1]


@pytest.mark.parametrize("mode", MODES)
def test_a_remembered_answer_is_void_under_another_policy(mode):
    shop, given = Shop(mode=mode), remembering()
    shop.grant("first", given, 500)
    assert asked(shop.run("second", remembering(uses=3), 500)) == [500]


def test_a_remembered_answer_is_void_for_another_version_of_the_tool():
    shop, given = Shop("1"), remembering()
    shop.grant("first", given, 500)
    shop.release("2")
    assert asked(shop.run("second", given, 500)) == [500]
    shop.release("1")
    assert not shop.run("third", given, 500).interrupts


def test_a_revoked_answer_lets_nothing_go_on():
    shop, given = Shop(), remembering()
    shop.grant("first", given, 500)
    (grant,) = Grants(shop.saver).list()
    Grants(shop.saver).revoke(grant.id, by="bob")
    assert asked(shop.run("second", given, 500)) == [500]


def test_a_map_that_asks_as_well_takes_no_remembered_answer():
    shop, given = Shop(), remembering()
    shop.grant("first", given, 500)
    world = World(500, entries={"pay": True})
    world.saver = shop.saver
    assert asked(world.start(given)) == [500]


@pytest.mark.parametrize("requester", ["bob", "eve", None])
def test_a_remembered_answer_is_for_the_requester_for_whom_it_was_given(requester):
    """Else the one who gave it could let calls of their own go on."""
    rules = {"any_of": ["finance"], "not_requester": True}
    given = policy(over(100, reviewers=rules, grants=GRANTS), groups={"finance": ["ann", "bob"]})
    shop = World(500)
    gate = Gate([shop.pay], policy=given, store=shop.saver)
    (item,) = gate.review("first", shop.calls, requester="ann").pending
    gate.decide(item.id, {"type": "approve", "grant": {}}, by="bob")
    assert gate.resume("first").done
    assert gate.review("second", shop.calls, requester="ann").done
    assert not gate.review("third", shop.calls, requester=requester).done


def test_a_call_freed_by_a_remembered_answer_is_asked_about_if_its_tool_changes_meanwhile():
    shop, given = Shop("1"), remembering()
    shop.grant("first", given, 500)
    assert asked(shop.run("second", given, 500, 700)) == [700]
    inbox = Inbox(shop.saver)
    (item,) = inbox.pending(thread="second")
    inbox.decide(item.id, APPROVE)
    shop.release("2")
    agent = create_agent(
        ScriptedModel(["(was answered)", "Done."]),
        [shop.pay],
        policy=given,
        checkpointer=shop.saver,
    )
    config: Any = {"configurable": {"thread_id": "second"}}
    assert asked(agent.invoke(None, config, version="v2")) == [700]
    (item,) = inbox.pending(thread="second")
    inbox.decide(item.id, APPROVE)
    assert asked(agent.invoke(None, config, version="v2")) == [500]
    assert shop.ran == [700]


# What an edit may change, by whatever rule speaks of the edited call -----------------------------


@pytest.mark.parametrize("mode", MODES)
def test_an_edit_is_held_to_the_rules_of_the_call_that_it_makes(mode):
    small = rule("small", "ask", where={"amount": {"le": 1000}})
    given = policy(small, over(1000, edit={"keep": ["amount"]}))
    world = World(500, mode=mode)
    world.start(given)
    output = world.answer(given, change(5000))
    assert asked(output) == [500]
    assert "'amount'" in requests(output.interrupts[0])[0]["description"]
    assert world.ran == []


@pytest.mark.parametrize("mode", MODES)
def test_an_edit_that_the_policy_no_longer_takes_does_not_run(mode):
    world = World(500, mode=mode)
    world.start(policy(over(100)))
    output = world.answer(policy(over(100, decisions=["approve", "reject"])), change(400))
    assert asked(output) == [500]
    assert world.ran == []


# Who is who --------------------------------------------------------------------------------------


@pytest.mark.parametrize("requester", ["", " ", "a\nb", 7])
def test_a_requester_that_is_no_name_is_not_known(requester):
    rules = {"any_of": ["finance"], "not_requester": True}
    given = policy(over(100, reviewers=rules), groups={"finance": ["ann"]})
    world = World(500)
    config: Any = {"configurable": {"thread_id": "t", "requester": requester}}
    world.app(given).invoke({"messages": "go"}, config)
    (item,) = world.saver.items(thread="t")
    with pytest.raises(NotAllowed):
        Inbox(world.saver).decide(item.id, APPROVE, by="ann")


def test_an_empty_list_of_groups_is_no_rule():
    with pytest.raises(BadPolicy, match="any_of"):
        policy(over(100, reviewers={"any_of": []}))


# Calls that were started and left no result ----------------------------------------------------


class Died(BaseException):
    """Stands for the end of a process."""


@pytest.mark.parametrize("mode", MODES)
def test_a_lost_call_is_run_again_only_by_those_who_may_let_it_run_and_not_if_denied(mode):
    ran: list[int] = []

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        if len(ran) == 1:
            raise Died
        return "paid"

    rules = {"any_of": ["finance"], "need": 2}
    given = policy(over(100, reviewers=rules), groups={"finance": ["ann", "bob"]})
    world = World(500, mode=mode)
    world.pay = pay
    world.start(given)
    inbox = Inbox(world.saver)
    (item,) = inbox.pending()
    for who in ("ann", "bob"):
        inbox.decide(item.id, APPROVE, by=who)
    with pytest.raises(Died):
        world.app(given).invoke(None, CONFIG)
    world.app(given).invoke(None, CONFIG)
    (lost,) = [one for one in inbox.pending() if one.kind == "outcome"]
    retry = {"type": "retry"}
    with pytest.raises(NotAllowed):
        inbox.decide(lost.id, retry)
    with pytest.raises(NotAllowed):
        inbox.decide(lost.id, retry, by="eve")
    assert inbox.decide(lost.id, retry, by="ann").state == "pending"
    inbox.decide(lost.id, retry, by="bob")
    output = world.app(policy(over(100, "deny"))).invoke(None, CONFIG, version="v2")
    assert ran == [500]
    assert any("not allowed" in text for text in world.told(output))
    assert not [one for one in world.saver.items(thread="t") if one.state == "uncertain"]
