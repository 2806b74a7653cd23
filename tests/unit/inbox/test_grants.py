"""Answers that are remembered: found, used, listed, taken back."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from hitl.errors import Misuse, NotAllowed, UnknownId
from hitl.inbox import Grants, Inbox
from hitl.ledger import Ask
from hitl.values import Grant, fingerprint

RULES: dict[str, Any] = {
    "grants": {"scope": "same_tool", "ttl": 3600, "uses": 5},
    "policy": {"id": "p", "rules": ["a"]},
    "schema": "s",
}


def same(args=None, name="pay", **rules):
    """Return the question that another call would be."""
    args = {"to": "x"} if args is None else args
    subject = {"name": name, "args": args}
    return Ask("action", fingerprint(name, args), subject, ("approve",), {**RULES, **rules})


@pytest.fixture
def give(store, asked):
    def give(thread="t", **wish):
        raw = {"type": "approve", "grant": wish}
        Inbox(store).decide(asked(thread, **RULES).id, raw, by="ann")
        return Grants(store).list()[-1]

    return give


def test_a_grant_lets_the_same_call_go_on_as_often_as_it_says(store, give):
    grants, given = Grants(store), give(uses=2)
    for left in (1, 0):
        found = grants.find(same())
        assert found is not None
        used = grants.use(found, thread="other")
        assert used is not None
        assert (used.id, used.left) == (given.id, left)
    assert grants.find(same()) is None
    assert grants.use(given) is None
    assert grants.list() == []
    assert [one.left for one in grants.list(ended=True)] == [0]
    last = store.entries("t")[-1]
    assert last.kind == "use"
    assert json.loads(last.body) == {"grant": given.id, "name": "pay", "left": 0, "for": "other"}


def test_a_grant_is_for_the_same_call_unless_it_was_given_for_the_tool(store, give):
    grants = Grants(store)
    give()
    assert grants.find(same({"to": "y"})) is None
    wide = give(scope="same_tool", ttl=60)
    found = grants.find(same({"to": "y"}))
    assert found == wide
    narrow = grants.find(same())
    assert narrow is not None
    assert narrow.scope == "same_args", "the narrower one is used up first"
    assert grants.find(same(name="send")) is None


@pytest.mark.parametrize(
    "rules",
    [
        {"policy": {"id": "q", "rules": ["a"]}},
        {"policy": {"id": "p", "rules": ["a", "b"]}},
        {"schema": "t"},
        {"tool_version": "2"},
        {"grants": None},
    ],
)
def test_a_grant_is_void_under_other_rules_or_another_tool(store, give, rules):
    give(scope="same_tool")
    assert Grants(store).find(same()) is not None
    assert Grants(store).find(same(**rules)) is None


def test_a_grant_ends_by_the_stores_clock(store, give):
    grants, given = Grants(store), give(ttl=60)
    store.clock.advance(60)
    assert grants.find(same()) is None
    assert grants.use(given) is None
    assert grants.list() == []
    assert grants.list(ended=True) == [given]


def test_a_grant_can_be_taken_back_once_and_for_all(store, give):
    grants, given = Grants(store), give()
    revoked = grants.revoke(given.id[:8], by="bob")
    assert revoked.revoked
    assert grants.revoke(given.id) == revoked
    assert grants.find(same()) is None
    assert grants.use(given) is None
    assert json.loads(store.entries("t")[-1].body)["by"] == "bob"


def test_a_grant_goes_with_the_thread_on_which_it_was_given(store, give):
    grants, given = Grants(store), give("gone")
    store.delete_thread("gone")
    assert grants.find(same()) is None
    assert grants.use(given) is None


def test_a_grant_is_neither_an_item_that_waits_nor_one_to_be_decided(store, give):
    given = give()
    desk = Inbox(store)
    assert desk.pending() == []
    assert desk.grants.list() == [given]
    for id in (given.id, given.id[:8]):
        with pytest.raises(UnknownId):
            desk.get(id)


def test_an_unknown_grant_is_told(store, give):
    grants, given = Grants(store), give()
    for id in ("", given.id[:3], "0" * 32, "no such"):
        with pytest.raises(UnknownId, match="no grant"):
            grants.revoke(id)
    with pytest.raises(Misuse):
        grants.get(5)  # type: ignore[arg-type]


def test_a_grant_is_given_only_with_the_decision(store, asked):
    rules = {**RULES, "reviewers": [{"need": 2}]}
    item, raw = asked(**rules), {"type": "approve", "grant": {}}
    desk = Inbox(store)
    desk.decide(item.id, raw, by="ann")
    assert desk.grants.list() == []
    desk.decide(item.id, raw, by="bob")
    (grant,) = desk.grants.list()
    assert grant.by == "bob"


def test_a_refused_grant_decides_nothing(store, asked):
    item = asked()
    with pytest.raises(NotAllowed, match="cannot be remembered"):
        Inbox(store).decide(item.id, {"type": "approve", "grant": {}}, by="ann")
    assert Inbox(store).pending() == [item]


def test_uses_at_the_same_moment_are_never_more_than_there_are(store, give):
    given = give(uses=5)
    went_on: list[Grant] = []

    def work():
        tries = [Grants(store).use(given) for _ in range(3)]
        went_on.extend(used for used in tries if used is not None)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert sorted(used.left for used in went_on) == [0, 1, 2, 3, 4]


def test_grants_are_listed_in_pages(store, give):
    given = [give(f"t{n}") for n in range(5)]
    grants = Grants(store)
    page = grants.list(limit=2)
    last = page[-1]
    assert page + grants.list(after=(last.given_at, last.id)) == sorted(
        given, key=lambda one: (one.given_at, one.id)
    )
