"""What a reviewer may want to be remembered, and for which calls it counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hitl.errors import Broken, NotAllowed, WrongAnswer
from hitl.ledger import Ask, decisions, grant_keys, read_grant, revoke, spend
from hitl.values import Item, Json, fingerprint

LIMIT: Json = {"scope": "same_args", "ttl": 3600, "uses": 5}
FACTS: dict[str, Json] = {
    "policy": {"id": "p", "rules": ["b", "a"]}, "schema": "s", "tool_version": "1",
}  # fmt: skip
ARGS: dict[str, Json] = {"to": "x"}
ITEM = Item(
    "1" * 32, "t", "2" * 32, "action", fingerprint("pay", ARGS), {"name": "pay", "args": ARGS},
    ("approve", "reject"), rules={**FACTS, "grants": LIMIT},
)  # fmt: skip


def given(wish: object, item: Item = ITEM, *, by: str | None = "ann", at: float = 100.0):
    raw = {"type": "approve", "grant": wish}
    return [change.item for change in decisions([(item, raw)], by=by, at=at)]


def test_a_grant_comes_into_being_with_the_decision_and_is_all_that_is_permitted():
    decided, kept = given({})
    assert decided.state == "decided"
    grant = read_grant(kept)
    assert (grant.tool, grant.args, grant.scope) == ("pay", ARGS, "same_args")
    assert (grant.uses, grant.left, grant.given_at, grant.until) == (5, 5, 100.0, 3700.0)
    assert (grant.by, grant.policy_id, grant.rule_ids) == ("ann", "p", ("b", "a"))


def test_a_reviewer_may_ask_for_less():
    grant = read_grant(given({"ttl": 60, "uses": 1})[1])
    assert (grant.until, grant.left) == (160.0, 1)


@pytest.mark.parametrize(
    ("wish", "words"),
    [({"scope": "same_tool"}, "scope"), ({"ttl": 3601}, "ttl 3601"), ({"uses": 6}, "uses 6")],
)
def test_more_than_is_permitted_is_refused(wish, words):
    with pytest.raises(NotAllowed, match=f"more than its rules permit: {words}"):
        given(wish)


@pytest.mark.parametrize(
    "wish",
    [True, "same_args", {"scope": "all"}, {"ttl": 0}, {"ttl": True}, {"ttl": float("nan")},
     {"uses": 0}, {"uses": 1.5}, {"use": 1}],
)  # fmt: skip
def test_a_wish_of_another_form_is_refused(wish):
    with pytest.raises(WrongAnswer, match="must be a dict"):
        given(wish)


def test_nothing_is_remembered_that_the_rules_do_not_permit_or_nobody_signs():
    with pytest.raises(NotAllowed, match="cannot be remembered"):
        given({}, replace(ITEM, rules={}))
    with pytest.raises(NotAllowed, match="unnamed"):
        given({}, by=None)
    with pytest.raises(WrongAnswer, match="no key 'grant'"):
        decisions([(ITEM, {"type": "reject", "grant": {}})], by="ann", at=0.0)


def test_a_grant_counts_only_after_all_votes_and_all_must_want_it():
    voted = replace(ITEM, rules={**ITEM.rules, "reviewers": [{"need": 2}]})
    (first,) = given({"uses": 2}, voted)
    (other,) = given({"uses": 3}, first, by="bob")
    assert other.state == "pending", "another grant is another yes"
    decided, kept = given({"uses": 2}, other, by="cy")
    assert decided.state == "decided"
    assert read_grant(kept).left == 2


def test_a_repeated_approval_gives_no_second_grant():
    decided, _ = given({})
    assert given({}, decided) == []


def ask(name: str = "pay", args: Json = None, **rules: Json) -> Ask:
    args = ARGS if args is None else args
    print_ = fingerprint(name, args)
    subject: Json = {"name": name, "args": args}
    return Ask("action", print_, subject, ("approve",), {**FACTS, **rules})


def test_the_same_call_under_the_same_rules_has_the_same_key():
    assert grant_keys(ask(policy={"id": "p", "rules": ["a", "b"]})) == grant_keys(ITEM)


@pytest.mark.parametrize(
    "other",
    [
        {"policy": {"id": "q", "rules": ["b", "a"]}},
        {"policy": {"id": "p", "rules": ["a"]}},
        {"policy": None},
        {"schema": "other"},
        {"tool_version": "2"},
    ],
)
def test_another_policy_rule_schema_or_version_makes_a_grant_void(other):
    assert not set(grant_keys(ask(**other)).values()) & set(grant_keys(ITEM).values())


def test_a_grant_for_the_tool_is_for_other_arguments_and_not_for_other_tools():
    other, own = grant_keys(ask(args={"to": "y"})), grant_keys(ITEM)
    assert other["same_args"] != own["same_args"]
    assert other["same_tool"] == own["same_tool"]
    assert grant_keys(ask("send"))["same_tool"] != own["same_tool"]


def test_a_use_takes_one_away_until_none_is_left():
    kept = given({"uses": 2})[1]
    once = spend(kept)
    assert (once.item.state, read_grant(once.item).left) == ("granted", 1)
    assert once.within == (float("-inf"), 3700.0)
    twice = spend(once.item).item
    assert (twice.state, read_grant(twice).counts(100.0)) == ("done", False)
    with pytest.raises(Broken):
        spend(twice)


def test_a_grant_that_is_taken_back_does_not_count():
    kept = given({})[1]
    assert read_grant(kept).counts(3699.9)
    assert not read_grant(kept).counts(3700.0)
    assert not read_grant(revoke(kept).item).counts(100.0)
    with pytest.raises(Broken, match="is no grant"):
        read_grant(ITEM)
