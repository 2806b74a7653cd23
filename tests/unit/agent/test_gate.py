"""The gate over somebody's own loop: propose, wait, decide elsewhere, run once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import hitl
from hitl import Gate, InMemorySaver, SqliteSaver, tool
from hitl.errors import AlreadyDecided, Misuse

CALLS = [
    {"name": "pay", "args": {"n": 1}, "id": "a"},
    {"name": "look", "args": {"n": 2}, "id": "b"},
    {"id": "c", "type": "function", "function": {"name": "pay", "arguments": '{"n": 3}'}},
]


class World:
    def __init__(self, store, mode="batched"):
        self.ran: list = []
        self.store, self.mode = store, mode

    def gate(self):
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

        return Gate(
            [pay, look], interrupt_on={"pay": True}, store=self.store, interrupt_mode=self.mode
        )


def contents(result):
    return [one["content"] for one in result.results]


def test_a_loop_of_ones_own_proposes_waits_and_goes_on(tmp_path):
    """Each step in a process of its own, as far as the gate can tell."""
    world = World(SqliteSaver(tmp_path / "calls.db"))
    result = world.gate().review("t", CALLS)
    assert (result.done, result.results, world.ran) == (False, (), [])
    assert [item.subject["args"] for item in result.pending] == [{"n": 1}, {"n": 3}]
    world.store.close()
    world.store = SqliteSaver(tmp_path / "calls.db")
    world.gate().decide(result.pending[0].id, {"type": "approve"}, by="ann")
    assert not world.gate().resume("t").done
    world.gate().decide(result.pending[1].id, {"type": "reject", "message": "no"}, by="bob")
    result = world.gate().resume("t")
    assert result.done
    assert contents(result)[:2] == ["paid 1", "seen 2"]
    assert "no" in contents(result)[2]
    assert [one["status"] for one in result.results] == ["success", "success", "error"]
    assert [one["tool_call_id"] for one in result.results] == ["a", "b", "c"]
    assert world.gate().resume("t") == result
    assert sorted(world.ran) == [("look", 2), ("pay", 1)]
    world.store.close()


def test_per_call_each_approved_call_runs_when_it_is_approved():
    world = World(InMemorySaver(), "per_call")
    result = world.gate().review("t", CALLS)
    assert world.ran == [("look", 2)]
    for item, so_far in zip(result.pending, [1, 2], strict=True):
        world.gate().decide(item.id, {"type": "approve"})
        result = world.gate().resume("t")
        assert len(world.ran) == 1 + so_far
    assert contents(result) == ["paid 1", "seen 2", "paid 3"]


async def test_the_async_gate_does_the_same():
    world = World(InMemorySaver())
    gate = world.gate()
    result = await gate.areview("t", CALLS)
    for item in result.pending:
        await gate.adecide(item.id, {"type": "approve"})
    assert contents(await gate.aresume("t")) == ["paid 1", "seen 2", "paid 3"]


DECIDE = """
import sys
from hitl import Gate, SqliteSaver
with SqliteSaver(sys.argv[1]) as store:
    Gate([], interrupt_on={}, store=store).decide(sys.argv[2], {"type": "approve"}, by="bob")
"""


def test_a_decision_comes_from_another_process_that_knows_no_tool(tmp_path: Path):
    with SqliteSaver(tmp_path / "calls.db") as store:
        world = World(store)
        result = world.gate().review("t", CALLS[:1])
        subprocess.run(
            [sys.executable, "-c", DECIDE, str(tmp_path / "calls.db"), result.pending[0].id],
            check=True,
            env={"PYTHONPATH": str(Path(hitl.__file__).parents[1])},
        )
        with pytest.raises(AlreadyDecided, match="bob"):
            world.gate().decide(result.pending[0].id, {"type": "reject"})
        assert contents(world.gate().resume("t")) == ["paid 1"]


def test_new_calls_supersede_what_waits_and_ids_may_repeat():
    world = World(InMemorySaver())
    first = world.gate().review("t", [CALLS[0], {**CALLS[0], "args": {"n": 9}}])
    second = world.gate().review("t", [CALLS[0], {**CALLS[0], "args": {"n": 8}}])
    assert [world.store.items(ids=[item.id])[0].state for item in first.pending] == [
        "superseded"
    ] * 2
    world.gate().decide(second.pending[0].id, {"type": "reject"})
    world.gate().decide(second.pending[1].id, {"type": "approve"})
    result = world.gate().resume("t")
    assert [one["status"] for one in result.results] == ["error", "success"]
    assert world.ran == [("pay", 8)]


def test_a_loop_that_starts_anew_and_proposes_the_same_calls_asks_nobody_twice():
    world = World(InMemorySaver())
    first = world.gate().review("t", [CALLS[0]])
    again = world.gate().review("t", [CALLS[0]])
    assert again.pending == first.pending
    world.gate().decide(first.pending[0].id, {"type": "approve"}, by="ann")
    result = world.gate().review("t", [CALLS[0]])  # what ann approved is delivered
    assert result.done
    assert len(world.ran) == 1
    asked = asyncio.run(world.gate().areview("t", [CALLS[0]]))
    assert asked.pending[0].id != first.pending[0].id  # it has its result: this is another call
    assert asyncio.run(world.gate().areview("t", [CALLS[0]])).pending == asked.pending


def test_calls_without_ids_get_one_so_that_results_can_be_told_apart():
    world = World(InMemorySaver())
    calls = [{"name": CALLS[0]["name"], "args": {"n": n}} for n in (1, 2)]
    pending = world.gate().review("t", calls).pending
    for item in pending:
        world.gate().decide(item.id, {"type": "approve"})
    results = world.gate().resume("t").results
    assert [one["tool_call_id"] for one in results] == ["call_0", "call_1"]


def test_wrong_use_fails_before_anything_runs():
    gate = World(InMemorySaver()).gate()
    for calls in ([], {"name": "pay"}, "pay", [{"name": "pay", "args": "x"}], [7]):
        with pytest.raises(Misuse):
            gate.review("t", calls)
    bad = {"id": "c", "type": "function", "function": {"name": "pay", "arguments": "{"}}
    with pytest.raises(Misuse):
        gate.review("t", [bad])
    with pytest.raises(Misuse, match="Nothing was proposed"):
        gate.resume("never seen")
    with pytest.raises(Misuse, match="checkpointer"):
        Gate([], interrupt_on={}, store="calls.db")  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="not there"):
        Gate([], interrupt_on={"pay": True}, store=InMemorySaver())


@pytest.mark.parametrize("hand", ["sync", "async"])
def test_a_turn_that_is_done_gives_its_results_again_and_runs_nothing_again(hand):
    """A loop that dies before it has kept the results proposes the same turn once more."""
    world = World(InMemorySaver())

    def propose():
        if hand == "sync":
            return world.gate().review("t", CALLS[1:2], turn="msg_1")
        return asyncio.run(world.gate().areview("t", CALLS[1:2], turn="msg_1"))

    assert contents(propose()) == contents(propose()) == ["seen 2"]
    assert world.ran == [("look", 2)]


def test_a_turn_that_waits_is_known_by_its_id():
    world = World(InMemorySaver())
    first = world.gate().review("t", CALLS[:1], turn="msg_1")
    again = world.gate().review("t", CALLS[:1], turn="msg_1")
    assert [item.id for item in again.pending] == [item.id for item in first.pending]


def test_the_same_calls_in_a_new_turn_are_new_calls():
    world = World(InMemorySaver())
    world.gate().review("t", CALLS[1:2], turn="msg_1")
    world.gate().review("t", CALLS[1:2], turn="msg_2")
    assert world.ran == [("look", 2), ("look", 2)]


def test_an_id_that_was_that_of_other_calls_is_refused():
    gate = World(InMemorySaver()).gate()
    gate.review("t", CALLS[1:2], turn="msg_1")
    with pytest.raises(Misuse, match="had other calls"):
        gate.review("t", CALLS[:1], turn="msg_1")
    gate.review("t", CALLS[1:2], turn="msg_2")
    with pytest.raises(Misuse, match="was not the last"):
        gate.review("t", CALLS[1:2], turn="msg_1")
    with pytest.raises(Misuse, match="turn is ''"):
        gate.review("t", CALLS[1:2], turn="")


def test_calls_that_only_python_takes_for_the_same_are_other_calls():
    gate = World(InMemorySaver()).gate()
    (first,) = gate.review("t", [{"name": "pay", "args": {"n": 1}, "id": "a"}]).pending
    (second,) = gate.review("t", [{"name": "pay", "args": {"n": True}, "id": "a"}]).pending
    assert first.id != second.id
