"""Which calls of the last turn are open, whoever wrote their answers."""

from __future__ import annotations

from typing import Any

from hitl.agent.messages import AIMessage, HumanMessage, ToolMessage
from hitl.agent.turns import answers_of, find_turn, last_turn, result_id, unanswered


def turn(*ids, id="m"):
    calls: Any = [{"name": "t", "args": {"n": n}, "id": one} for n, one in enumerate(ids)]
    return AIMessage("", id=id, tool_calls=calls)


def answer(call_id, text="", id=None):
    return ToolMessage(text, tool_call_id=call_id, id=id)


def open_calls(*messages):
    return [index for index, _ in unanswered(messages, last_turn(messages) or 0)]


def test_calls_without_an_answer_are_open_in_their_order():
    assert open_calls(turn("a", "b", "c"), answer("b")) == [0, 2]


def test_an_id_that_is_used_twice_wants_two_answers():
    assert open_calls(turn("a", "a"), answer("a")) == [1]
    assert open_calls(turn("a", "a"), answer("a"), answer("a")) == []


def test_our_own_answer_names_its_call_also_where_ids_are_alike():
    assert open_calls(turn("a", "a"), answer("a", id=result_id("m", 1))) == [0]


def test_our_own_answer_is_found_where_the_call_has_no_id():
    assert open_calls(turn(None, None), answer("", id=result_id("m", 0))) == [1]


def test_an_answer_in_a_later_turn_is_not_taken_for_this_one():
    messages = [turn("a", id="m1"), turn("a", id="m2"), answer("a")]
    assert answers_of(messages, 0) == [None]
    assert answers_of(messages, 1) == [messages[2]]


def test_a_message_between_a_turn_and_its_answer_does_not_hide_it():
    assert open_calls(turn("a"), HumanMessage("wait"), answer("a")) == []


def test_there_is_no_turn_where_no_model_has_spoken():
    assert last_turn([HumanMessage("a")]) is None
    assert find_turn([HumanMessage("a", id="m")], "m") is None
