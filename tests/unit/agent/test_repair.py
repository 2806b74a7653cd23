"""Every call has exactly one answer, right behind its turn."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hitl.agent.messages import AIMessage, HumanMessage, ToolMessage, add_messages
from hitl.agent.repair import repair
from hitl.agent.repair import repaired as repaired_or_none
from hitl.agent.turns import result_id


def repaired(messages, lost=frozenset()) -> Any:
    return repaired_or_none(messages, lost)


def turn(*ids, id="m", bad=()):
    calls: Any = [{"name": "t", "args": {}, "id": one} for one in ids]
    wrong: Any = [{"name": None, "args": "{", "id": one, "error": "", "type": "x"} for one in bad]
    return AIMessage("", id=id, tool_calls=calls, invalid_tool_calls=wrong)


def answer(call_id, text="done", id=None):
    return ToolMessage(text, tool_call_id=call_id, id=id)


def told(messages: Any):
    return [(m.type, m.tool_call_id if m.type == "tool" else m.content) for m in messages]


def test_a_whole_history_is_left_as_it_is():
    assert repaired([]) is None
    assert repaired([HumanMessage("a"), AIMessage("b")]) is None
    assert repaired([turn("a", "b"), answer("b"), answer("a"), HumanMessage("x")]) is None


def test_missing_answers_are_put_right_behind_the_turn_in_the_order_of_its_calls():
    whole = repaired([turn("a", "b", "c"), answer("b"), HumanMessage("next")])
    assert told(whole) == [
        ("ai", ""),
        ("tool", "a"),
        ("tool", "b"),
        ("tool", "c"),
        ("human", "next"),
    ]
    assert [m.status for m in whole[1:4]] == ["error", "success", "error"]
    assert "did not complete" in whole[1].content


def test_an_answer_behind_a_later_message_is_moved_to_its_turn():
    note = HumanMessage("by the way")
    whole = repaired([turn("a", "b"), note, answer("b", "B"), answer("a", "A")])
    assert [m.content for m in whole] == ["", "B", "A", "by the way"]


def test_an_answer_belongs_to_the_first_turn_that_wants_its_id():
    whole = repaired([turn("a", id="1"), answer("a"), HumanMessage("x"), turn("a", id="2")])
    assert told(whole) == [("ai", ""), ("tool", "a"), ("human", "x"), ("ai", ""), ("tool", "a")]
    assert whole[4].id == result_id("2", 0)


def test_a_call_that_could_not_be_read_is_answered_too_and_one_without_id_is_not():
    whole = repaired([turn(None, "a", bad=["b"]), answer("a")])
    assert told(whole) == [("ai", ""), ("tool", "a"), ("tool", "b")]
    assert "malformed" in whole[2].content


def test_a_lost_call_is_not_said_to_be_undone():
    whole = repaired([turn("a", "b")], frozenset({"a"}))
    assert "outcome is not known" in whole[1].content
    assert "did not complete" in whole[2].content


def test_new_input_comes_behind_the_answers():
    old = [HumanMessage("go", id="h"), turn("a")]
    writes: Any = repair({"messages": old}, {"messages": "never mind", "n": 1}, frozenset())
    after = add_messages(old, writes["messages"])
    assert [m.type for m in after] == ["human", "ai", "tool", "human"]
    assert writes["n"] == 1


IDS = st.sampled_from(["a", "b", "c"])


@given(st.lists(st.one_of(st.lists(IDS, max_size=3), IDS, st.none()), max_size=8))
def test_whatever_stands_there_a_repaired_history_is_whole_and_loses_nothing(parts):
    messages: Any = []
    for number, part in enumerate(parts):
        if part is None:
            messages.append(HumanMessage("x", id=str(number)))
        elif isinstance(part, str):
            messages.append(answer(part, id=str(number)))
        else:
            messages.append(turn(*part, id=str(number)))
    whole = repaired(messages) or messages
    assert repaired(whole) is None
    assert {id(m) for m in messages} <= {id(m) for m in whole}
    for place, message in enumerate(whole):
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        behind = whole[place + 1 : place + 1 + len(calls)]
        assert sorted(str(c["id"]) for c in calls) == sorted(m.tool_call_id for m in behind)
