"""Whatever fails in the store, a call runs at most once by itself, and the thread goes on."""

from __future__ import annotations

from typing import Any

import pytest

from hitl import Command, HumanInTheLoopMiddleware, ScriptedModel, create_agent, tool
from hitl.checkpoint import verify
from hitl.errors import HitlError
from tests.crash.faulty_store import FaultyStore

CONFIG: dict[str, object] = {"configurable": {"thread_id": "t"}}
START = {"messages": "go"}
APPROVE = {"type": "approve"}
COMMITS = range(1, 10)


def agent(store: FaultyStore, ran: list[int]) -> Any:
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return f"paid {amount}"

    script: list[Any] = [{"tool_calls": [{"name": "pay", "args": {"amount": 5}, "id": "1"}]}]
    gate = HumanInTheLoopMiddleware({"pay": True})
    return create_agent(
        ScriptedModel([*script, "done"]), [pay], middleware=[gate], checkpointer=store
    )


def on(store: FaultyStore, ran: list[int]) -> tuple[list[str], int]:
    """Go on until the thread is at its end, as a host would that sees errors and tries again."""
    outcomes = 0
    for _ in range(12):
        app = agent(store, ran)
        try:
            if not store.load("t").mark.seq:
                app.invoke(START, CONFIG)
            output = app.invoke(None, CONFIG, version="v2")
            for item in store.items(thread="t", states=["pending"]):
                if item.kind == "outcome":
                    outcomes += 1
                    happened = {"type": "respond", "message": "paid 5"}
                    answer: dict[str, Any] = happened if ran else {"type": "retry"}
                else:
                    answer = APPROVE
                output = app.invoke(Command(resume={item.id: answer}), CONFIG, version="v2")
        except HitlError:
            store.mend()
            continue
        if not output.interrupts and not app.get_state(CONFIG).next:
            messages = output.value["messages"]
            return [m.content for m in messages if m.type == "tool"], outcomes
    raise AssertionError("the thread does not come to its end")


@pytest.mark.parametrize("number", COMMITS)
@pytest.mark.parametrize("kind", ["busy", "lost", "full"])
def test_a_store_that_fails_at_any_commit_loses_nothing_and_repeats_nothing(kind, number):
    store = FaultyStore(kind, number)
    ran: list[int] = []
    results, outcomes = on(store, ran)
    assert results == ["paid 5"]
    assert ran == [5]
    assert outcomes <= 1
    assert verify(store.entries("t")) is None
    mark = store.load("t").mark
    assert mark.owner == ""
    assert [item.state for item in store.items(thread="t") if item.kind == "action"] == ["ran"]


@pytest.mark.parametrize("kind", ["busy", "full"])
def test_what_was_not_stored_is_told_and_nothing_has_run(kind):
    store = FaultyStore(kind)
    ran: list[int] = []
    app = agent(store, ran)
    app.invoke(START, CONFIG)
    entries = store.entries("t")
    (item,) = store.items(thread="t")
    store.left = 1
    with pytest.raises(HitlError, match="The store failed"):
        app.invoke(Command(resume={item.id: APPROVE}), CONFIG)
    assert (store.entries("t"), ran) == (entries, [])


def test_a_decision_whose_acknowledgement_was_lost_is_given_again_and_counts_once():
    store = FaultyStore("lost")
    ran: list[int] = []
    app = agent(store, ran)
    app.invoke(START, CONFIG)
    (item,) = store.items(thread="t")
    store.left = 1
    with pytest.raises(HitlError, match="connection was lost"):
        app.invoke(Command(resume={item.id: APPROVE}), CONFIG)
    assert store.items(thread="t")[0].state == "decided"
    app.invoke(Command(resume={item.id: APPROVE}), CONFIG)
    assert ran == [5]
    assert [entry.kind for entry in store.entries("t")].count("decide") == 1
