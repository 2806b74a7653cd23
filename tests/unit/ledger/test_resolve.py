"""Which items an answer is meant for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hitl.errors import AlreadyDecided, NotAllowed, NothingWaiting, UnknownId, WrongAnswer
from hitl.ledger import Ask, answer, answered, bind, groups, is_map, items_of, move, resolve
from hitl.values import Decision


def hexid(n):
    return f"{n:032x}"


def batch(size, start=0, thread="t", kind="action"):
    asks = [
        Ask(kind, "f" * 32, {"name": f"tool{n}", "args": {}}, ("approve", "reject"))
        for n in range(size)
    ]
    ids = [hexid(start + n + 1) for n in range(size)]
    return items_of(asks, ids, hexid(start + 900), thread=thread, path="n", at=1.0)


def question(n):
    return items_of(
        [Ask("question", "f" * 32, "ok?", ("answer",))], [hexid(n)], hexid(n),
        thread="t", path="n", at=1.0,
    )  # fmt: skip


def live(*itemses):
    return {item.id: item for items in itemses for item in items}


def solve(items, given, closed=()):
    return resolve(
        items, given, thread="t", by="ann", at=2.0,
        lookup=lambda id: [item for item in closed if id in (item.id, item.interrupt)],
    )  # fmt: skip


YES, NO = {"type": "approve"}, {"type": "reject"}


def test_a_map_is_a_dict_that_is_not_empty_and_whose_keys_are_all_ids():
    assert is_map({hexid(1): None})
    values: tuple = ({}, {"decisions": []}, {hexid(1): 1, "x": 2}, [hexid(1)], None, hexid(1))
    for value in values:
        assert not is_map(value)


def test_a_plain_value_goes_to_the_one_open_question():
    (change,) = solve(live(question(1)), {"x": 1})
    assert change.item.decision.payload == {"value": {"x": 1}}


def test_a_list_has_one_entry_for_each_action_and_is_all_or_nothing():
    items = live(batch(3))
    changes = solve(items, {"decisions": [YES, NO, YES]})
    assert [change.item.decision.type for change in changes] == ["approve", "reject", "approve"]
    for wrong, kind in (
        ({"decisions": [YES, NO]}, WrongAnswer),
        ({"decisions": [YES, NO, YES, YES]}, WrongAnswer),
        ({"decisions": "yes"}, WrongAnswer),
        ({"decisions": 3}, WrongAnswer),
        ({"decision": [YES, NO, YES]}, WrongAnswer),
        ({"decisions": [YES, NO, YES], "more": 1}, WrongAnswer),
        ([YES, NO, YES], WrongAnswer),
        ({"decisions": [YES, NO, {"type": "edit"}]}, NotAllowed),
    ):
        with pytest.raises(kind):
            solve(items, wrong)


def test_a_misspelt_key_of_the_list_is_named():
    with pytest.raises(WrongAnswer, match="Did you mean 'decisions'"):
        solve(live(batch(2)), {"decsions": [YES, NO]})


def test_single_items_and_whole_questions_are_answered_by_id_in_one_call():
    items = live(batch(2), question(50))
    changes = solve(items, {hexid(2): NO, hexid(50): {"type": "approve"}})
    assert {change.item.id: change.item.decision.type for change in changes} == {
        hexid(2): "reject", hexid(50): "answer",
    }  # fmt: skip
    changes = solve(items, {hexid(900): {"decisions": [YES, NO]}})
    assert [change.item.index for change in changes] == [0, 1]


def test_an_item_answered_twice_in_one_call_is_refused():
    with pytest.raises(WrongAnswer, match="twice"):
        solve(live(batch(2)), {hexid(1): YES, hexid(900): {"decisions": [YES, NO]}})


def test_a_list_after_single_decisions_must_repeat_them():
    one, two = batch(2)
    items = live([move(one, "decide", Decision("approve")).item, two])
    changes = solve(items, {"decisions": [YES, NO]})
    assert [change.item.index for change in changes] == [1]
    with pytest.raises(AlreadyDecided):
        solve(items, {"decisions": [NO, NO]})


def test_without_an_id_one_question_must_be_open():
    with pytest.raises(NothingWaiting, match="'t'"):
        solve({}, 1)
    with pytest.raises(WrongAnswer) as caught:
        solve(live(question(1), question(2)), 1)
    assert caught.value.fields["open"] == (hexid(1), hexid(2))


def test_what_is_decided_but_not_delivered_does_not_count_as_open():
    decided = [move(question(1)[0], "decide", Decision("answer", {"value": 1})).item]
    (change,) = solve(live(decided, question(2)), "x")
    assert change.item.id == hexid(2)


def test_an_outcome_is_never_answered_without_its_id():
    items = live(batch(1, kind="outcome"))
    with pytest.raises(WrongAnswer, match="by id"):
        solve(items, {"decisions": [YES]})
    assert len(solve(items, {hexid(1): YES})) == 1


def test_a_strange_id_is_refused_with_the_open_ones():
    foreign = batch(1, start=70, thread="other")
    for closed in ((), foreign):
        with pytest.raises(UnknownId) as caught:
            solve(live(question(1)), {hexid(71): YES}, closed)
        assert caught.value.fields["open"] == (hexid(1),)


def test_a_closed_item_is_told_from_a_strange_one():
    (old,) = batch(1, start=70)
    ran = replace(old, state="ran", decision=Decision("approve"))
    assert solve(live(question(1)), {old.id: YES}, [ran]) == []
    with pytest.raises(AlreadyDecided):
        solve(live(question(1)), {old.id: NO}, [ran])
    for state in ("superseded", "withdrawn"):
        gone = replace(ran, state=state)
        with pytest.raises(UnknownId, match=state) as caught:
            solve(live(question(1)), {old.id: YES}, [gone])
        assert caught.value.fields["open"] == (hexid(1),)


def test_an_answer_without_id_is_bound_to_its_question():
    assert bind(live(question(1)), 5, thread="t") == {hexid(1): 5}
    assert bind(live(batch(2)), {"decisions": []}, thread="t") == {hexid(900): {"decisions": []}}
    assert bind({}, {hexid(9): 1}, thread="t") == {hexid(9): 1}


def test_a_question_is_answered_when_all_its_items_are_decided():
    items = batch(2)
    decided = [move(item, "decide", Decision("reject", {"message": "no"})).item for item in items]
    assert not answered([decided[0], items[1]])
    assert answered(decided)
    assert answer(decided) == {"decisions": [{"type": "reject", "message": "no"}] * 2}


def test_items_are_grouped_by_question_in_their_order():
    items = batch(3)
    assert groups(reversed(items)) == {hexid(900): items}
