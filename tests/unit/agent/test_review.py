"""A review only points at decisions: what runs follows from these, or nothing runs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from hitl.agent.review import CLOSED, CallReview, Review, accepted, join_reviews, mark
from hitl.codec import pack, unpack
from hitl.errors import Refused
from hitl.values import Decision, Item, ToolCall

CALL: ToolCall = {"name": "pay", "args": {"n": 1}, "id": "1"}
EDITED: ToolCall = {**CALL, "args": {"n": 2}}


def item(id="i", call=CALL, state="cleared", type="approve", edit=None):
    payload: Any = {} if edit is None else {"edited_action": {"name": "pay", "args": edit["args"]}}
    return Item(
        id,
        "t",
        "q",
        "action",
        mark(call),
        {},
        ("approve",),
        state=state,
        decision=Decision(type, payload),
    )


def asked(call, *items):
    return CallReview("asked", mark(call), items)


def test_a_free_verdict_holds_for_exactly_its_call():
    review = CallReview("free", mark(CALL))
    assert accepted(review, CALL, {}) == CALL
    assert accepted(review, EDITED, {}) is None


def test_an_approved_call_runs_as_it_was_approved():
    assert accepted(asked(CALL, "i"), CALL, {"i": item()}) == CALL
    assert accepted(asked(CALL, "i"), EDITED, {"i": item()}) is None


def test_an_edit_is_read_from_the_decision_and_not_from_the_review():
    changed = item(type="edit", edit=EDITED)
    assert accepted(asked(EDITED, "i"), CALL, {"i": changed}) == EDITED
    assert accepted(asked(CALL, "i"), CALL, {"i": changed}) is None


@pytest.mark.parametrize("state", ["pending", "decided", "ran", "done", "superseded", "withdrawn"])
def test_a_yes_that_is_used_up_or_not_taken_lets_nothing_in(state):
    assert accepted(asked(CALL, "i"), CALL, {"i": item(state=state)}) is None


@pytest.mark.parametrize("type", ["reject", "respond", "answer"])
def test_any_other_decision_lets_nothing_in(type):
    assert accepted(asked(CALL, "i"), CALL, {"i": item(type=type)}) is None
    assert accepted(asked(CALL, "i"), CALL, {}) is None
    assert accepted(CLOSED, CALL, {}) is None


def test_two_reviewers_must_have_said_yes_to_what_the_first_made_of_it():
    first, second = item("1", type="edit", edit=EDITED), item("2", EDITED)
    both = asked(EDITED, "1", "2")
    assert accepted(both, CALL, {"1": first, "2": second}) == EDITED
    assert accepted(both, CALL, {"1": first, "2": item("2", CALL)}) is None
    assert accepted(both, CALL, {"1": first}) is None


def test_arguments_that_are_not_json_have_no_fingerprint():
    with pytest.raises(Refused, match="not plain JSON"):
        mark({"name": "pay", "args": {"n": math.nan}, "id": "1"})


def test_of_two_reviews_of_a_turn_the_stricter_verdict_holds_and_both_are_needed():
    one = Review("m", (CallReview("free", "f"), heard(asked(CALL, "1"), "a"), CLOSED))
    free = CallReview("free", "f")
    two = Review("m", (asked(CALL, "2"), heard(asked(CALL, "3"), "b"), free))
    joined = join_reviews(one, two)
    assert joined is not None
    assert [c.verdict for c in joined.calls] == ["asked", "asked", "closed"]
    assert joined.calls[1].items == ("1", "3")
    assert joined.calls[1].gates == ("a", "b")
    assert join_reviews(one, Review("n", ())) == Review("n", ())


def test_who_judged_a_call_that_was_rewritten_since_has_not_judged_what_it_is_now():
    one = Review("m", (CallReview("free", "old", (), ("a",)),))
    two = Review("m", (CallReview("free", "new", (), ("b",)),))
    joined = join_reviews(one, two)
    assert joined is not None
    assert joined.calls[0].gates == ("b",)


def test_a_review_is_stored_whole():
    review = Review("m", (CallReview("free", "f"), heard(asked(CALL, "1"), "a"), CLOSED))
    assert unpack(pack(review)) == review


def heard(review: CallReview, *gates: str) -> CallReview:
    return replace(review, gates=gates)
