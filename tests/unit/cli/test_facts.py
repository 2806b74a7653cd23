"""What is told of an item follows from the stored call."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from hitl.cli import facts
from hitl.ledger import MOVES
from hitl.values import Decision, DecisionType, Item, ItemKind, ItemState, Json

CALL = Item(
    id="ab" * 16,
    thread="t1",
    interrupt="cd" * 16,
    kind="action",
    fingerprint="ef" * 16,
    subject={"name": "send", "args": {"to": "ann", "text": "hi\nyou"}, "description": "Sends."},
    allowed=("approve", "reject"),
)


def test_every_state_has_a_sentence_and_a_next_step():
    assert set(facts.NEXT) == set(get_args(ItemState))
    assert {move.target for move in MOVES.values()} <= set(facts.NEXT)
    assert set(facts.WHY) == set(get_args(ItemKind))


def test_a_call_is_told_by_its_name_and_every_argument():
    assert facts.title(CALL) == "send"
    assert facts.arguments(CALL) == [("to", "ann"), ("text", "hi\nyou")]
    assert facts.effect(CALL) == 'to="ann", text="hi\\nyou"'
    assert facts.description(CALL) == "Sends."


def test_a_question_of_any_form_is_shown_and_has_no_description():
    subjects: list[Json] = ["Which?", 5, None, [1, {"a": 2}], {"description": "mine", "args": 1}]
    for subject in subjects:
        question = replace(CALL, kind="question", subject=subject)
        assert facts.title(question) == "question"
        assert facts.arguments(question)
        assert facts.effect(question)
        assert facts.description(question) == ""


def test_what_is_cut_says_so():
    long = replace(CALL, subject={"name": "send", "args": {"text": "x" * 5000}})
    assert facts.effect(long).endswith("…")
    assert "5,000 characters" in facts.collapsed("x" * 5000, 100, "`hitl show`")
    assert facts.collapsed("x", 100, "`hitl show`") == "x"


def test_an_edit_is_told_argument_by_argument():
    rows = facts.changes({"a": 1, "b": 2, "c": True}, {"b": 3, "c": 1, "d": 4})
    assert rows == [
        ("a", "1 is left out"),
        ("b", "2 -> 3"),
        ("c", "true -> 1"),
        ("d", "4 is new"),
    ]


def test_a_decision_is_told_with_who_and_when():
    edited = Decision("edit", {"edited_action": {"name": "send", "args": {"to": "bob"}}}, "ann", 0)
    assert (
        facts.decision_line(edited)
        == 'edit to send(to="bob") by ann, 1970-01-01T00:00:00.000+00:00'
    )
    assert facts.decision_line(Decision("reject", {"message": "no"})).startswith(
        'reject "no" by an'
    )


def test_short_ids_are_long_enough_to_tell_items_apart():
    other = replace(CALL, id="ab" * 5 + "0" * 22)
    assert facts.short_ids([CALL]) == ["abababab"]
    first, second = facts.short_ids([CALL, other])
    assert first != second
    assert CALL.id.startswith(first)


def test_an_id_is_told_from_items_that_are_not_shown():
    other = replace(CALL, id=CALL.id[:20] + "0" * 12)
    assert facts.short_ids([CALL], [other, CALL]) == [CALL.id[:21]]
    assert facts.short_ids([]) == []


def test_done_is_told_by_what_became_of_the_call():
    rows: list[tuple[ItemKind, DecisionType, str]] = [
        ("action", "reject", "never ran"),
        ("action", "respond", "never ran"),
        ("action", "approve", "given up, outcome unknown"),
        ("question", "answer", "answered"),
        ("outcome", "reject", "settled"),
    ]
    for kind, word, told in rows:
        item = replace(CALL, kind=kind, state="done", decision=Decision(word))
        assert facts.state_word(item) == told
        assert all(facts.next_step(item))
    assert facts.state_word(CALL) == "pending"


def test_ages_come_in_their_largest_unit():
    assert [facts.age(s) for s in (-5, 40, 200, 7300, 450000)] == [
        "0 s",
        "40 s",
        "3 min",
        "2 h",
        "5 d",
    ]


def test_what_nobody_decided_in_time_is_told_so():
    late = replace(CALL, state="done", decision=Decision("expire", {"message": "m"}, at=5.0))
    assert facts.state_word(late) == "expired"
    assert facts.never_ran(late)
    assert "Nobody decided in time" in facts.next_step(late)[0]
    assert facts.decision_line(Decision("expire", at=0.0)).startswith("nobody in time")


def test_how_long_an_item_can_be_decided_is_told_in_its_largest_unit():
    assert facts.remaining(CALL, 5.0) == ""
    assert facts.remaining(replace(CALL, deadline=65.0), 5.0) == "1 min"
    assert facts.remaining(replace(CALL, deadline=5.0), 5.0) == "passed"
