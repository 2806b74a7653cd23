"""What a run tells while it goes."""

from __future__ import annotations

from hitl.agent import AIMessage, ToolMessage
from hitl.cli.progress import Teller, lines, message_ids, result
from hitl.values import ToolCall

CALL: ToolCall = {"name": "send", "args": {"to": "ann"}, "id": "1"}


def test_messages_are_told_as_objects_and_as_dicts():
    update = {"node": {"messages": [
        {"role": "user", "content": "hi"},
        AIMessage("sure", tool_calls=[CALL]),
        ToolMessage("sent", tool_call_id="1", name="send"),
        "text",
    ]}}  # fmt: skip
    assert list(lines(update)) == [
        ("you", "hi"),
        ("agent", "sure"),
        ("agent", 'proposes send(to="ann")'),
        ("tool send", "sent"),
        ("message", "text"),
    ]


def test_a_message_that_is_written_again_is_told_once_and_a_changed_one_again():
    teller = Teller()
    first = AIMessage("sure", id="m1", tool_calls=[CALL])
    assert len(list(teller.lines({"a": {"messages": [first]}}))) == 2
    assert not list(teller.lines({"b": {"messages": [first]}}))
    assert list(teller.lines({"b": {"messages": [AIMessage("no", id="m1")]}})) == [("agent", "no")]


def test_messages_that_were_there_before_are_not_told_even_if_they_are_written_anew():
    before = {"messages": [AIMessage("sure", id="m1", tool_calls=[CALL]), {"content": "no id"}]}
    assert message_ids(before) == {"m1"}
    assert message_ids({"messages": 5}) == message_ids(None) == set()
    teller = Teller(known=message_ids(before))
    edited = AIMessage("sure", id="m1", tool_calls=[{**CALL, "args": {}}])
    assert list(teller.lines({"a": {"messages": [edited, AIMessage("done", id="m2")]}})) == [
        ("agent", "done")
    ]


def test_other_writes_are_told_but_for_hidden_ones_and_pauses():
    part = {"a": {"n": 1, "secret": 2}, "b": None, "__interrupt__": ()}
    assert list(Teller({"secret"}).lines(part)) == [("a", "n = 1")]
    assert not list(lines("what"))


def test_a_result_is_plain_json_whatever_the_state_holds():
    shown = result({"messages": [AIMessage("hi")], "n": 1, "odd": object, "secret": 1}, {"secret"})
    assert isinstance(shown, dict)
    assert shown["messages"] == [{"type": "ai", "content": "hi"}]
    assert shown["n"] == 1
    assert "secret" not in shown
    assert isinstance(shown["odd"], str)
    assert result(5) == 5
