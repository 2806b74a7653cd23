"""The table of moves, walked in every direction."""

from __future__ import annotations

from typing import get_args

import pytest

from hitl.errors import Broken
from hitl.ledger import FINAL, MOVES, ask, move, then
from hitl.values import LIVE, Decision, Item, ItemState

STATES = get_args(ItemState)


def item(state="pending", version=1):
    return Item("1" * 32, "t", "1" * 32, "action", "f" * 32, {}, ("approve",), state=state,
                version=version)  # fmt: skip


def test_every_state_of_an_item_is_either_live_or_final_and_a_grant_has_its_own():
    assert set(STATES) == LIVE | FINAL | {"granted"}
    assert not LIVE & FINAL


def test_no_move_leaves_a_final_state_and_every_live_one_has_a_way_out():
    sources = {state for rule in MOVES.values() for state in rule.sources}
    assert sources == LIVE | {"granted"}


def test_every_state_is_reached_from_a_new_item_or_grant():
    reached = {"pending", "granted"}
    for _ in STATES:
        reached |= {rule.target for rule in MOVES.values() if not reached.isdisjoint(rule.sources)}
    assert reached == set(STATES)


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("state", STATES)
def test_a_move_happens_from_the_states_of_the_table_and_from_no_other(name, state):
    rule = MOVES[name]
    if state not in rule.sources:
        with pytest.raises(Broken):
            move(item(state), name)
        return
    change = move(item(state, 3), name)
    assert change.item.state == rule.target
    assert change.item.version == 4
    assert change.expect == (3, state)


def test_two_moves_in_one_change_compare_with_where_the_first_began():
    change = then(move(item("decided", 2), "clear"), "start")
    assert (change.item.state, change.item.version, change.expect) == ("started", 4, (2, "decided"))


def test_a_decision_stays_with_the_item_that_moves_on():
    decision = Decision("approve", by="ann")
    decided = move(item(), "decide", decision).item
    assert move(decided, "clear").item.decision is decision


def test_a_new_item_is_compared_with_nothing():
    assert ask(item()).expect is None
