"""Who may say yes, and when enough people have."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hitl.errors import AlreadyDecided, NotAllowed
from hitl.ledger import decide, entries_of, needs_votes, progress
from hitl.values import Decision, Item, Json

YES, NO = {"type": "approve"}, {"type": "reject", "message": "no"}


def rule(*people: str, need: int = 1, not_requester: bool = False) -> Json:
    names: list[Json] = ["some"] if people else []
    return {
        "any_of": names, "people": [*people], "need": need, "not_requester": not_requester,
    }  # fmt: skip


def an_item(*reviewers: Json, **rules: Json) -> Item:
    return Item(
        "1" * 32, "t", "2" * 32, "action", "f" * 32, {"name": "pay", "args": {"to": "x", "n": 1}},
        ("approve", "edit", "reject", "respond"), asked_at=100.0,
        rules={"args_schema": {"type": "object"}, "reviewers": [*reviewers], **rules},
    )  # fmt: skip


def edit(n: int) -> Json:
    return {"type": "edit", "edited_action": {"name": "pay", "args": {"to": "x", "n": n}}}


def said(item: Item, *what: tuple[str, object], at: float = 100.0) -> Item:
    """Return an item after some people have spoken, one after the other."""
    for by, raw in what:
        change = decide(item, raw, by=by, at=at)
        item = item if change is None else change.item
    return item


def test_an_unnamed_reviewer_decides_nothing_that_has_reviewers():
    with pytest.raises(NotAllowed, match="unnamed") as caught:
        decide(an_item(rule()), YES, by=None, at=0.0)
    assert "--by" in caught.value.hint


@pytest.mark.parametrize("raw", [YES, NO, {"type": "respond", "message": "x"}, edit(2)])
def test_only_those_who_are_listed_decide(raw):
    item = an_item(rule("ann", "bob"))
    with pytest.raises(NotAllowed, match="'eve' may not") as caught:
        decide(item, raw, by="eve", at=0.0)
    assert "1 of some" in caught.value.hint
    assert said(item, ("ann", raw)).state == "decided"


def test_where_nobody_is_listed_anybody_with_a_name_decides():
    assert said(an_item(rule()), ("eve", YES)).state == "decided"


def test_two_of_three_must_say_the_same():
    item = said(an_item(rule("ann", "bob", "cy", need=2)), ("ann", YES))
    assert (item.state, item.version, progress(item)) == ("pending", 2, "1 of 2")
    assert item.votes == (Decision("approve", {}, "ann", 100.0),)
    done = said(item, ("cy", YES), at=101.0)
    assert (done.state, done.decision) == ("decided", Decision("approve", {}, "cy", 101.0))
    assert [vote.by for vote in done.votes] == ["ann", "cy"]


def test_the_same_person_twice_is_one_vote():
    item = said(an_item(rule(need=2)), ("ann", YES))
    assert decide(item, YES, by="ann", at=200.0) is None
    assert progress(item) == "1 of 2"


def test_votes_for_other_bytes_do_not_add_up():
    item = said(an_item(rule(need=2)), ("ann", YES), ("bob", edit(2)), ("cy", edit(3)))
    assert (item.state, progress(item)) == ("pending", "1 of 2")
    done = said(item, ("dee", edit(3)))
    assert done.decision is not None
    assert done.decision.payload == {"edited_action": {"name": "pay", "args": {"to": "x", "n": 3}}}


def test_true_and_one_are_not_the_same_vote():
    def edit_to(n):
        return {"type": "edit", "edited_action": {"name": "pay", "args": {"n": n}}}

    item = an_item(rule(need=2))
    assert said(item, ("ann", edit_to(1)), ("bob", edit_to(True))).state == "pending"


def test_a_person_may_change_their_vote_until_it_is_decided():
    item = said(an_item(rule(need=2)), ("ann", YES), ("bob", edit(2)), ("ann", edit(2)))
    assert (item.state, item.decision and item.decision.type) == ("decided", "edit")
    with pytest.raises(AlreadyDecided, match="edit by ann"):
        decide(item, YES, by="ann", at=0.0)


@pytest.mark.parametrize("no", [NO, {"type": "respond", "message": "done"}])
def test_the_no_of_one_decides_at_once(no):
    item = said(an_item(rule("ann", "bob", need=2)), ("ann", YES), ("bob", no))
    assert (item.state, item.decision and item.decision.by) == ("decided", "bob")


def test_every_requirement_must_be_met_and_one_person_may_count_for_several():
    item = an_item(rule("ann", "bob"), rule("bob", "cy"))
    assert said(item, ("bob", YES)).state == "decided"
    half = said(item, ("ann", YES))
    assert (half.state, progress(half)) == ("pending", "1 of 1 (some), 0 of 1 (some)")
    assert said(half, ("cy", YES)).state == "decided"


def test_whoever_asked_for_it_may_say_no_and_not_yes():
    item = an_item(rule(not_requester=True), requester="ann")
    for raw in (YES, edit(2)):
        with pytest.raises(NotAllowed, match="'ann' may not"):
            decide(item, raw, by="ann", at=0.0)
    assert said(item, ("ann", NO)).state == "decided"
    assert said(item, ("bob", YES)).state == "decided"


def test_where_it_is_not_known_who_asked_nobody_may_say_yes():
    item = an_item(rule(not_requester=True))
    with pytest.raises(NotAllowed, match="not known") as caught:
        decide(item, YES, by="ann", at=0.0)
    assert "requester" in caught.value.hint
    assert said(item, ("ann", NO)).state == "decided"


def test_one_who_may_count_for_one_requirement_votes_for_that():
    item = an_item(rule("ann"), rule(not_requester=True), requester="ann")
    half = said(item, ("ann", YES))
    assert progress(half) == "1 of 1 (some), 0 of 1"
    assert said(half, ("bob", NO)).state == "decided"


def test_after_the_escalation_more_people_may_decide():
    deadline: Json = {"after": 60, "escalate_at": 30, "people": ["cfo"]}
    item = replace(an_item(rule("ann", "bob", need=2), deadline=deadline), deadline=160.0)
    with pytest.raises(NotAllowed, match="'cfo' may not") as caught:
        decide(item, YES, by="cfo", at=129.9)
    assert "cfo" in caught.value.hint
    early = decide(item, YES, by="ann", at=129.9)
    late = decide(item, YES, by="cfo", at=130.0)
    assert early is not None
    assert late is not None
    assert early.within == (float("-inf"), 160.0)
    assert late.within == (130.0, 160.0), "the store's clock must say so, too"
    assert said(late.item, ("ann", YES), at=131.0).state == "decided"


def test_a_vote_that_counts_for_more_since_the_escalation_can_be_given_again():
    deadline: Json = {"after": 60, "escalate_at": 30, "people": ["ann"]}
    item = said(an_item(rule("ann"), rule("bob"), deadline=deadline), ("ann", YES))
    assert progress(item) == "1 of 1 (some), 0 of 1 (some)"
    assert said(item, ("ann", YES), at=130.0).state == "decided"


def test_more_than_one_may_be_needed_where_there_are_several_or_two():
    assert not needs_votes(an_item())
    assert not needs_votes(an_item(rule()))
    assert needs_votes(an_item(rule(need=2)))
    assert needs_votes(an_item(rule("ann"), rule("bob")))
    assert progress(an_item()) == ""


def test_the_log_tells_a_vote_with_who_gave_it():
    change = decide(an_item(rule(need=2)), YES, by="ann", at=5.0)
    assert change is not None
    (entry,) = entries_of([change])
    assert entry.kind == "vote"
    (row,) = json.loads(entry.body)["items"]
    assert (row["by"], row["type"], row["version"]) == ("ann", "approve", 2)


def test_a_vote_on_what_was_shown_before_another_vote_is_stale_only_by_its_version():
    item = said(an_item(rule(need=2)), ("ann", YES))
    assert said(item, ("bob", {**YES, "fingerprint": "f" * 32})).state == "decided"
