"""From what a reviewer sends to a decision, or to a refusal that says what to do."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hitl.codec import unpack
from hitl.errors import (
    AlreadyDecided,
    Broken,
    NotAllowed,
    NotStorable,
    Stale,
    UnknownId,
    WrongAnswer,
)
from hitl.ledger import decide, entries_of, move, near, read_decision
from hitl.values import Decision, Item, ItemChange, Json

ID = "1" * 32
SCHEMA: Json = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
    "required": ["path"],
}
ACTION = Item(
    ID, "t", "2" * 32, "action", "f" * 32, {"name": "write", "args": {"path": "a"}},
    ("approve", "edit", "reject", "respond"),
    rules={"args_schema": SCHEMA, "tools": {"read": None, "send": ["reject"], "log": ["approve"]}},
)  # fmt: skip
QUESTION = Item(ID, "t", ID, "question", "f" * 32, "ok?", ("answer",))


def changed(item, raw, *, by=None, at=0.0) -> ItemChange:
    """Return the change that a decision makes, where it makes one."""
    change = decide(item, raw, by=by, at=at)
    assert change is not None
    return change


def edit(name="write", args=None, **more):
    return {"type": "edit", "edited_action": {"name": name, "args": args or {"path": "b"}, **more}}


@pytest.mark.parametrize(
    ("raw", "type", "payload"),
    [
        ({"type": "approve"}, "approve", {}),
        ({"type": "reject"}, "reject", {}),
        ({"type": "reject", "message": None}, "reject", {}),
        ({"type": "reject", "message": "no"}, "reject", {"message": "no"}),
        ({"type": "respond", "message": ""}, "respond", {"message": ""}),
        (edit(), "edit", {"edited_action": {"name": "write", "args": {"path": "b"}}}),
        (
            {"type": "edit", "editedAction": {"name": "write", "args": {"path": "b"}}},
            "edit",
            {"edited_action": {"name": "write", "args": {"path": "b"}}},
        ),
        (edit("read", {"x": 1}), "edit", {"edited_action": {"name": "read", "args": {"x": 1}}}),
        (edit("log"), "edit", {"edited_action": {"name": "log", "args": {"path": "b"}}}),
        ({"type": "approve", "fingerprint": "f" * 32, "version": 1}, "approve", {}),
    ],
)
def test_a_right_decision_is_read(raw, type, payload):
    change = changed(ACTION, raw, by="ann", at=5.0)
    assert change.item.decision == Decision(type, payload, "ann", 5.0)
    assert (change.item.state, change.expect) == ("decided", (1, "pending"))


@pytest.mark.parametrize(
    ("raw", "kind", "words"),
    [
        ("approve", WrongAnswer, "must be a dict with 'type', not str"),
        ({}, WrongAnswer, "has no 'type'"),
        ({"typ": "approve"}, WrongAnswer, "Did you mean 'typ'"),
        ({"type": "aprove"}, WrongAnswer, "no decision 'aprove'.*Did you mean 'approve'"),
        ({"type": 1}, WrongAnswer, "no decision 1"),
        ({"type": "answer"}, WrongAnswer, "no decision 'answer'"),
        ({"type": "retry"}, NotAllowed, "'retry' is not allowed for tool 'write'"),
        ({"type": "approve", "mesage": "x"}, WrongAnswer, "no key 'mesage'"),
        ({"type": "reject", "mesage": "x"}, WrongAnswer, "Did you mean 'message'"),
        ({"type": "approve", 1: 2}, WrongAnswer, "not as text"),
        (
            {"type": "edit", "edited_action": {}, "editedAction": {}},
            WrongAnswer,
            "twice",
        ),
        ({"type": "respond"}, WrongAnswer, "needs 'message' as text"),
        ({"type": "reject", "message": 1}, WrongAnswer, "needs 'message' as text"),
        ({"type": "edit"}, WrongAnswer, "got NoneType"),
        (edit(extra=1), WrongAnswer, "exactly 'name' and 'args'"),
        (edit(args={"path": (1,)}), WrongAnswer, "not plain JSON"),
        (edit(args={"path": float("nan")}), WrongAnswer, "not plain JSON"),
        ({"type": "edit", "edited_action": {"name": 1, "args": {}}}, WrongAnswer, "as text"),
        (edit(args={"path": 3}), NotAllowed, "does not fit 'write'"),
        (edit(args={"lines": 3}), NotAllowed, "does not fit 'write'"),
        (edit(args={"path": "a", "line": 3}), NotAllowed, "did you mean 'lines'"),
        (edit("reed"), NotAllowed, "no tool 'reed' here. Did you mean 'read'"),
        (edit("send"), NotAllowed, "does not let a reviewer approve"),
        ({"type": "approve", "fingerprint": "0" * 32}, Stale, "another fingerprint"),
        ({"type": "approve", "version": 2}, Stale, "another version"),
    ],
)
def test_a_wrong_decision_is_refused_with_the_reason(raw, kind, words):
    with pytest.raises(kind, match=words):
        decide(ACTION, raw, by=None, at=0.0)


@pytest.mark.parametrize("answer", [None, False, 0, "", [], {}, {"type": "x"}, (1, b"2")])
def test_a_question_takes_any_value_that_can_be_stored(answer):
    decision = changed(QUESTION, answer).item.decision
    assert decision is not None
    assert decision.type == "answer"
    assert unpack(decision.payload["value"]) == answer


def test_a_question_refuses_what_cannot_be_stored():
    with pytest.raises(NotStorable, match="the answer"):
        decide(QUESTION, object(), by=None, at=0.0)


def test_the_same_decision_again_is_no_change_whoever_sends_it():
    first = changed(ACTION, {"type": "approve"}, by="ann", at=1.0).item
    for item in (first, move(first, "clear").item):
        assert decide(item, {"type": "approve"}, by="bob", at=2.0) is None
        assert decide(item, {"type": "approve", "version": 1}, by="bob", at=2.0) is None


def test_another_decision_is_told_who_was_first():
    first = changed(ACTION, {"type": "approve"}, by="ann", at=1.0).item
    with pytest.raises(AlreadyDecided, match="approve by ann at 1970-01-01") as caught:
        decide(first, {"type": "reject"}, by="bob", at=2.0)
    assert caught.value.fields["decision"] == "approve"


def test_yes_and_one_are_not_the_same_answer():
    first = changed(QUESTION, True, by=None, at=0.0).item
    assert decide(first, True, by=None, at=0.0) is None
    for other in (1, 1.0):
        with pytest.raises(AlreadyDecided):
            decide(first, other, by=None, at=0.0)


@pytest.mark.parametrize("state", ["superseded", "withdrawn"])
def test_a_closed_item_takes_no_decision_not_even_its_own_again(state):
    closed = replace(ACTION, state=state, decision=Decision("approve"))
    with pytest.raises(UnknownId, match=state):
        decide(closed, {"type": "approve"}, by=None, at=0.0)


def test_an_entry_tells_who_decided_what_on_which_version():
    change = changed(ACTION, {"type": "reject", "message": "no"}, by="ann", at=1.0)
    (entry,) = entries_of([change])
    assert entry.kind == "decide"
    assert json.loads(entry.body) == {
        "items": [
            {
                "id": ID, "version": 2, "fingerprint": "f" * 32, "type": "reject",
                "payload": {"message": "no"}, "by": "ann",
            }
        ]
    }  # fmt: skip
    with pytest.raises(Broken):
        entries_of([ItemChange(ACTION)])


def test_reading_a_decision_does_not_look_at_the_items_state():
    done = replace(ACTION, state="ran", decision=Decision("approve"))
    assert read_decision(done, {"type": "approve"}) == Decision("approve")


def test_a_near_word_is_named_and_a_far_one_is_not():
    assert near("aprove", ["approve", "edit"]) == " Did you mean 'approve'?"
    assert near("zzz", ["approve", "edit"]) == ""
