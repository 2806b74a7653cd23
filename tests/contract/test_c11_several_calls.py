"""C11: several gated calls of one turn are one interrupt, and each gets its decision."""

from __future__ import annotations

import itertools

import pytest

from hitl import WrongAnswer

CALLS = [
    ("write_file", {"path": "a"}),
    ("execute_sql", {"query": "q"}),
    ("read_data", {"key": "free"}),
    ("write_file", {"path": "a"}),
]
GATED = {"write_file": True, "execute_sql": True}
APPROVE, REJECT = {"type": "approve"}, {"type": "reject", "message": "This is not allowed"}
EDIT = {"type": "edit", "edited_action": {"name": "execute_sql", "args": {"query": "Q"}}}


def request_ids(output):
    return [one["id"] for it in output.interrupts for one in it.value["action_requests"]]


def answers(output, told):
    return sorted((m.tool_call_id, m.status, m.content) for m in told(output))


def test_c11_one_interrupt_holds_them_in_the_order_of_the_calls(world):
    (interrupt,) = world.start(world.agent(GATED, CALLS)).interrupts
    requests = interrupt.value["action_requests"]
    assert [(one["name"], one["args"]) for one in requests] == [CALLS[0], CALLS[1], CALLS[3]]
    assert world.ran == []


def test_c11_decisions_pair_with_them_by_position(world, told):
    agent = world.agent(GATED, CALLS)
    world.start(agent)
    output = world.decide(agent, APPROVE, EDIT, REJECT)
    assert output.interrupts == ()
    assert sorted(name for name, _ in world.ran) == ["execute_sql", "read_data", "write_file"]
    assert ("execute_sql", {"query": "Q"}) in world.ran
    by_call = {m.tool_call_id: m for m in told(output)}
    assert [by_call[f"call_1_{n}"].status for n in (1, 2, 3, 4)] == [
        "success", "success", "success", "error",
    ]  # fmt: skip


@pytest.mark.parametrize("number", [0, 1, 2, 4])
def test_c11_another_number_of_decisions_is_refused_and_says_both_numbers(world, number):
    agent = world.agent(GATED, CALLS)
    world.start(agent)
    with pytest.raises(WrongAnswer, match=rf"{number} decisions .* 3 actions"):
        world.decide(agent, *[APPROVE] * number)
    assert world.ran == []
    assert world.decide(agent, REJECT, REJECT, REJECT).interrupts == ()
    assert world.ran == [("read_data", {"key": "free"})]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_c11_by_id_they_are_given_in_any_order_one_by_one(world, told, order):
    agent = world.agent(GATED, CALLS)
    ids = request_ids(world.start(agent))
    decisions = [APPROVE, EDIT, REJECT]
    for place in order[:-1]:
        waits = world.resume(agent, {ids[place]: decisions[place]})
        assert len(waits.interrupts) == 1
        assert world.ran == []
    output = world.resume(agent, {ids[order[-1]]: decisions[order[-1]]})
    assert output.interrupts == ()
    assert sorted(name for name, _ in world.ran) == ["execute_sql", "read_data", "write_file"]
    assert len(answers(output, told)) == 4


def test_c11_by_id_several_are_given_at_once_and_the_rest_later(world):
    agent = world.agent(GATED, CALLS)
    ids = request_ids(world.start(agent))
    assert world.resume(agent, {ids[2]: REJECT, ids[0]: APPROVE}).interrupts != ()
    # In a positional list the entries of decided actions must be what they were decided as.
    assert world.decide(agent, APPROVE, EDIT, REJECT).interrupts == ()
    assert ("execute_sql", {"query": "Q"}) in world.ran
    assert len(world.ran) == 3


def test_c11_per_call_an_approved_call_runs_while_its_siblings_wait(world, told):
    agent = world.agent(GATED, CALLS, interrupt_mode="per_call")
    first = world.start(agent)
    assert len(first.interrupts) == 3
    assert world.ran == [("read_data", {"key": "free"})]
    ids = request_ids(first)
    second = world.resume(agent, {ids[1]: EDIT})
    assert request_ids(second) == [ids[0], ids[2]]
    assert world.ran[1:] == [("execute_sql", {"query": "Q"})]
    output = world.resume(agent, {ids[2]: APPROVE, ids[0]: REJECT})
    assert output.interrupts == ()
    assert world.ran[2:] == [("write_file", {"path": "a", "text": ""})]
    # Results stand in the order of the calls.
    assert [m.tool_call_id for m in told(output)] == [f"call_1_{n}" for n in (1, 2, 3, 4)]
    assert [m.status for m in told(output)] == ["error", "success", "success", "success"]
