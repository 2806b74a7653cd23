from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from hitl import (
    Command,
    Gate,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    ScriptedModel,
    SqliteSaver,
    create_agent,
    tool,
)
from hitl.checkpoint import verify
from hitl.errors import Damaged, Stale
from hitl.inbox import Inbox
from hitl.values import Commit, Receipt

CONFIG: Any = {"configurable": {"thread_id": "t", "reviewer": "ann"}}
MODES = ["batched", "per_call"]
CALL = {"name": "pay", "args": {"amount": 5}, "id": "1"}
EDIT = {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 6}}}


class Dying(InMemorySaver):
    """A store whose process is stopped just before a call starts."""

    dies = False

    def append(self, commit: Commit) -> Receipt:
        if self.dies and any(draft.kind == "intent" for draft in commit.entries):
            raise KeyboardInterrupt
        return super().append(commit)


class Shop:
    """An agent whose tool is another one after each release."""

    def __init__(self, mode: str) -> None:
        self.mode, self.store = mode, Dying()
        self.ran: list[Any] = []

    def released(self, version: int) -> Any:
        @tool
        def first(amount: int) -> str:
            """Pay."""
            self.ran.append(amount)
            return f"paid {amount}"

        @tool
        def second(amount: int, currency: str = "EUR") -> str:
            """Pay."""
            self.ran.append((amount, currency))
            return f"paid {amount} {currency}"

        pay = tool("pay")((first, second)[version - 1].func)
        return create_agent(
            ScriptedModel([{"tool_calls": [CALL]}, "done"]),
            [pay],
            middleware=[HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=self.mode)],  # type: ignore[arg-type]
            checkpointer=self.store,
        )

    def go(self, version: int, given: object) -> Any:
        return self.released(version).invoke(given, CONFIG, version="v2")

    def waiting(self) -> Any:
        (item,) = self.store.items(thread="t", states=["pending"])
        return item


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("decision", [{"type": "approve"}, EDIT], ids=["approve", "edit"])
def test_a_yes_to_a_tool_that_has_changed_since_is_asked_for_again(mode, decision):
    shop = Shop(mode)
    shop.go(1, {"messages": "go"})
    old = shop.waiting()
    output = shop.go(2, Command(resume={old.id: decision}))
    assert shop.ran == []
    item = shop.waiting()
    said = item.subject["description"]
    assert said.startswith("The tool 'pay' has changed since this call was decided")
    assert "by ann" in said
    assert [i.id for i in output.interrupts] == [item.interrupt]
    (kept,) = shop.store.items(ids=[old.id])
    assert kept.decision is not None
    assert kept.decision.type == decision["type"]
    assert "currency" in str(item.rules["args_schema"])
    shop.go(2, Command(resume={item.id: {"type": "approve"}}))
    assert shop.ran == [(5, "EUR")]
    assert verify(shop.store.entries("t")) is None


@pytest.mark.parametrize("mode", MODES)
def test_a_release_that_is_taken_back_runs_nothing_that_was_not_asked_about_last(mode):
    shop = Shop(mode)
    shop.go(1, {"messages": "go"})
    shop.go(2, Command(resume={shop.waiting().id: {"type": "approve"}}))
    again = shop.waiting()
    shop.go(1, None)
    assert (shop.ran, shop.waiting().id) == ([], again.id)
    shop.go(1, Command(resume={again.id: {"type": "approve"}}))
    third = shop.waiting()
    assert shop.ran == []
    shop.go(1, Command(resume={third.id: {"type": "approve"}}))
    assert shop.ran == [5]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("decision", ["reject", "respond"])
def test_a_no_holds_whatever_has_become_of_the_tool(mode, decision):
    shop = Shop(mode)
    shop.go(1, {"messages": "go"})
    no = {"type": decision, "message": "no need"}
    output = shop.go(2, Command(resume={shop.waiting().id: no}))
    assert not output.interrupts
    assert shop.ran == []


def test_a_yes_that_was_taken_up_before_the_release_is_not_used_after_it():
    """The process died between the review and the start of the call."""
    shop = Shop("batched")
    shop.go(1, {"messages": "go"})
    shop.store.dies = True
    with pytest.raises(KeyboardInterrupt):
        shop.go(1, Command(resume={shop.waiting().id: {"type": "approve"}}))
    shop.store.dies = False
    assert [item.state for item in shop.store.items(thread="t")] == ["cleared"]
    output = shop.go(2, None)
    assert shop.ran == []
    assert output.interrupts
    shop.go(2, Command(resume={shop.waiting().id: {"type": "approve"}}))
    assert shop.ran == [(5, "EUR")]
    assert sorted(item.state for item in shop.store.items(thread="t")) == ["ran", "withdrawn"]


def test_a_gate_of_ones_own_loop_holds_to_the_same():
    ran: list[float] = []
    store = InMemorySaver()

    def old(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    def new(amount: float) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    def gate(body: Any) -> Gate:
        return Gate([tool("pay")(body)], interrupt_on={"pay": True}, store=store)

    (item,) = gate(old).review("t", [CALL]).pending
    Inbox(store).decide(item.id, {"type": "approve"}, by="ann")
    (again,) = gate(new).resume("t").pending
    assert (again.id != item.id, ran) == (True, [])
    Inbox(store).decide(again.id, {"type": "approve"}, by="ann")
    without = Gate([tool("buy")(new)], interrupt_on={"buy": True}, store=store)
    with pytest.raises(Stale, match="no such tool") as caught:
        without.resume("t")
    assert caught.value.fields["tool"] == "pay"
    assert gate(new).resume("t").done
    assert ran == [5]


def test_a_yes_to_a_call_that_was_not_shown_as_it_is_runs_nothing(tmp_path):
    def pay(amount: int) -> str:
        """Pay."""
        raise AssertionError(amount)

    path = tmp_path / "runs.db"
    with SqliteSaver(path) as store:
        gate = Gate([pay], interrupt_on={"pay": True}, store=store)
        (item,) = gate.review("t", [CALL]).pending
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("UPDATE items SET subject = replace(subject, '5', '1')")
        assert gate.inbox.get(item.id).subject["args"] == {"amount": 1}  # type: ignore[index,call-overload]
        gate.decide(item.id, {"type": "approve"})
        with pytest.raises(Damaged, match="does not show the call"):
            gate.resume("t")
