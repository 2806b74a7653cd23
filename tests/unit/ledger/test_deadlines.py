"""Until when an item can be decided, and what becomes of one that nobody decided."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hitl.errors import Expired
from hitl.ledger import (
    Ask,
    answer,
    decide,
    entries_of,
    has_expired,
    items_of,
    move,
    overdue,
    resolve,
)
from hitl.values import Item, Json

YES = {"type": "approve"}


def batch(*deadlines: Json, at: float = 100.0) -> list[Item]:
    asks = [
        Ask("action", "f" * 32, {"name": "pay", "args": {}}, ("approve", "reject"),
            {} if one is None else {"deadline": one})
        for one in deadlines
    ]  # fmt: skip
    ids = [f"{n:032x}" for n in range(len(asks))]
    return items_of(asks, ids, "e" * 32, thread="t", path="n", at=at)


def solve(items: list[Item], answer: object, at: float):
    live = {item.id: item for item in items}
    return resolve(live, answer, thread="t", lookup=lambda _: (), by=None, at=at)


def test_the_deadline_counts_from_the_moment_of_asking():
    assert [item.deadline for item in batch({"after": 60}, None)] == [160.0, None]


def test_a_plain_question_has_none():
    ask = Ask("question", "f", "ok?", ("answer",), {"deadline": {"after": 1}})
    assert items_of([ask], ["1" * 32], "1" * 32, thread="t", path="n", at=0.0)[0].deadline is None


def test_a_decision_counts_before_the_deadline_and_not_at_it():
    (item,) = batch({"after": 60})
    change = decide(item, YES, by="ann", at=159.9)
    assert change is not None
    assert change.within == (float("-inf"), 160.0)
    with pytest.raises(Expired, match="expired at 1970-01-01T00:02:40") as caught:
        decide(item, YES, by="ann", at=160.0)
    assert caught.value.fields["at"] == 160.0


def test_an_item_without_deadline_can_be_changed_at_any_time():
    (item,) = batch(None)
    change = decide(item, YES, by="ann", at=1e12)
    assert change is not None
    assert change.within is None


def test_what_is_overdue_expires_and_not_before():
    items = batch({"after": 60}, {"after": 90}, None)
    assert overdue(items, 159.9) == []
    (change,) = overdue(items, 160.0)
    assert (change.item.state, change.expect) == ("expired", (1, "pending"))
    assert change.within == (160.0, float("inf"))
    assert [one.item.index for one in overdue(items, 200.0)] == [0, 1]
    assert overdue([change.item], 500.0) == []
    (entry,) = entries_of([change])
    assert entry.kind == "expire"
    assert json.loads(entry.body)["items"][0]["type"] == "expire"


def test_the_node_that_asked_gets_a_rejection_that_says_why():
    items = batch({"after": 60}, {"after": 60})
    settled = [change.item for change in overdue(items, 160.0)]
    given = answer(settled)
    assert isinstance(given, dict)
    assert [one["type"] for one in given["decisions"]] == ["reject", "reject"]
    assert "nobody decided in time" in given["decisions"][0]["message"]


@pytest.mark.parametrize("then", [None, "close"])
def test_what_has_expired_is_not_decided_any_more_even_when_the_run_took_it(then):
    (item,) = (change.item for change in overdue(batch({"after": 60}), 160.0))
    item = item if then is None else move(item, then).item
    assert has_expired(item)
    with pytest.raises(Expired, match="expired at"):
        decide(item, YES, by="ann", at=170.0)


def test_a_decided_item_does_not_expire():
    (item,) = batch({"after": 60})
    change = decide(item, YES, by="ann", at=100.0)
    assert change is not None
    assert overdue([change.item], 500.0) == []
    assert decide(change.item, YES, by="ann", at=500.0) is None


def test_an_answer_to_a_batch_of_which_a_part_has_expired_is_refused_whole():
    items = batch({"after": 60}, None)
    for answer_ in ({"decisions": [YES, YES]}, {items[0].id: YES, items[1].id: YES}):
        with pytest.raises(Expired):
            solve(items, answer_, at=160.0)
    expired = [replace(overdue(items, 160.0)[0].item), items[1]]
    with pytest.raises(Expired):
        solve(expired, {"decisions": [YES, YES]}, at=160.0)
    (change,) = solve(expired, {items[1].id: YES}, at=160.0)
    assert change.item.id == items[1].id
