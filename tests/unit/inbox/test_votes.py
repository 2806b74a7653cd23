"""Several people decide one item, in a store."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from hitl.checkpoint import InMemorySaver
from hitl.errors import AlreadyDecided, Expired, NotAllowed
from hitl.inbox import Inbox
from hitl.ledger import Ask, items_of
from hitl.values import Commit, Draft, ItemChange, ManualClock

YES, NO = {"type": "approve"}, {"type": "reject"}
TWO: list[Any] = [{"any_of": [], "people": ["ann", "bob", "cy"], "need": 2, "not_requester": False}]


def test_a_vote_is_kept_told_and_shown_until_enough_have_voted(store, asked):
    desk, item = Inbox(store), asked(reviewers=TWO)
    assert desk.progress(item) == "0 of 2"
    once = desk.decide(item.id, YES, by="ann")
    assert (once.state, desk.progress(once)) == ("pending", "1 of 2")
    assert desk.pending() == [once] == [desk.get(item.id)]
    done = desk.decide(item.id, YES, by="bob")
    assert (done.state, done.decision and done.decision.by) == ("decided", "bob")
    assert [entry.kind for entry in store.entries("t")] == ["pause", "vote", "decide"]
    assert json.loads(store.entries("t")[1].body)["items"][0]["by"] == "ann"


def test_the_same_vote_again_stores_nothing(store, asked):
    desk, item = Inbox(store), asked(reviewers=TWO)
    once = desk.decide(item.id, YES, by="ann")
    assert desk.decide(item.id, YES, by="ann") == once
    assert len(store.entries("t")) == 2


def test_who_may_not_decide_leaves_no_trace(store, asked):
    desk, item = Inbox(store), asked(reviewers=TWO)
    for by in ("eve", None):
        with pytest.raises(NotAllowed):
            desk.decide(item.id, YES, by=by)
    assert (desk.get(item.id), len(store.entries("t"))) == (item, 1)


def test_votes_at_the_same_moment_are_all_counted(store, asked):
    need = [{"any_of": [], "people": [], "need": 8, "not_requester": False}]
    items = [asked(reviewers=need) for _ in range(5)]

    def vote(name):
        for item in items:
            Inbox(store).decide(item.id, YES, by=name)

    voters = [threading.Thread(target=vote, args=(f"r{n}",)) for n in range(8)]
    for one in voters:
        one.start()
    for one in voters:
        one.join()
    for item in items:
        done = Inbox(store).get(item.id)
        assert done.state == "decided"
        assert sorted(str(vote.by) for vote in done.votes) == [f"r{n}" for n in range(8)]


def put(store, **rules):
    ask = Ask("action", "f" * 32, {"name": "pay", "args": {}}, ("approve", "reject"),
              {"reviewers": TWO, **rules})  # fmt: skip
    (item,) = items_of([ask], ["1" * 32], "2" * 32, thread="t", path="n", at=store.clock.now())
    store.append(Commit("t", (Draft("pause", "{}"),), (ItemChange(item),)))
    return item


class Raced(InMemorySaver):
    """Something happens just before the first append of a decision."""

    rival: Callable[[], object] | None = None

    def __init__(self) -> None:
        self.hands = ManualClock()
        super().__init__(clock=self.hands)

    def append(self, commit):
        rival, self.rival = self.rival, None
        if rival is not None:
            rival()
        return super().append(commit)


def test_a_vote_that_came_between_is_counted_with_the_own():
    store = Raced()
    item = put(store)
    store.rival = lambda: Inbox(store).decide(item.id, YES, by="ann")
    assert Inbox(store).decide(item.id, YES, by="bob").state == "decided"


def test_a_no_that_came_between_two_votes_stands():
    store = Raced()
    item = put(store)
    Inbox(store).decide(item.id, YES, by="ann")
    store.rival = lambda: Inbox(store).decide(item.id, NO, by="cy")
    with pytest.raises(AlreadyDecided, match="reject by cy"):
        Inbox(store).decide(item.id, YES, by="bob")


def test_a_decision_that_reaches_the_store_too_late_is_told_when_it_expired():
    store = Raced()
    item = put(store, deadline={"after": 60})
    store.hands.advance(59.9)
    store.rival = lambda: store.hands.advance(0.1)  # between reading the time and the commit
    with pytest.raises(Expired, match="expired at 2001-09-09T01:47:40"):
        Inbox(store).decide(item.id, YES, by="ann")
    assert Inbox(store).get(item.id).state == "pending", "nobody has expired it yet"
    assert len(store.entries("t")) == 1
