from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.agent.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    add_messages,
    to_message,
)
from hitl.codec import dumps, loads, pack, unpack
from hitl.errors import Damaged, Misuse
from hitl.values import ToolCall

texts = st.text(max_size=8)
maybe = st.none() | st.sampled_from("abcdef")
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
extras = st.dictionaries(texts, jsons, max_size=2)
contents = texts | st.lists(
    texts | st.fixed_dictionaries({"type": st.just("text"), "text": texts}), max_size=3
)
calls = st.builds(ToolCall, name=texts, args=st.dictionaries(texts, jsons, max_size=2), id=maybe)
shared = {
    "id": maybe,
    "name": maybe,
    "additional_kwargs": extras,
    "response_metadata": extras,
}
messages: st.SearchStrategy[BaseMessage] = st.one_of(
    st.builds(HumanMessage, contents, **shared),
    st.builds(SystemMessage, contents, **shared),
    st.builds(AIMessage, contents, tool_calls=st.lists(calls, max_size=2), **shared),
    st.builds(
        ToolMessage,
        contents,
        tool_call_id=texts,
        status=st.sampled_from(["success", "error"]),
        artifact=jsons,
        **shared,
    ),
    st.builds(RemoveMessage, texts),
)


@given(messages)
def test_a_stored_message_comes_back_as_it_was(message: BaseMessage) -> None:
    back = unpack(loads(dumps(pack(message))))
    assert back == message
    assert type(back) is type(message)


def test_a_stored_message_holds_only_what_it_says() -> None:
    call: ToolCall = {"name": "f", "args": {}, "id": "1"}
    assert "type" not in dumps(pack(AIMessage("", tool_calls=[call])))
    assert json.loads(dumps(pack(HumanMessage("hi", id="1"))))["v"] == {"content": "hi", "id": "1"}


def test_a_stored_message_that_is_none_is_damaged() -> None:
    tree = json.loads(dumps(pack(AIMessage("x"))))
    tree["v"]["content"] = 5
    with pytest.raises(Damaged, match="cannot be rebuilt"):
        unpack(tree)


def test_the_text_of_a_message_leaves_other_blocks_out() -> None:
    blocks: list = ["a", {"type": "text", "text": "b"}, {"type": "image", "url": "x"}]
    assert AIMessage(blocks).text == "ab"
    assert HumanMessage("hi").text == "hi"


def test_a_message_shows_what_it_says() -> None:
    assert repr(HumanMessage("hi", id="1")) == "HumanMessage(content='hi', id='1')"


def test_messages_are_equal_by_what_they_say_and_by_kind() -> None:
    assert HumanMessage("x") == HumanMessage("x")
    other: object = SystemMessage("x")
    assert HumanMessage("x") != other
    assert HumanMessage("x") != HumanMessage("x", id="1")


def test_the_id_of_a_message_can_be_set() -> None:
    message = AIMessage("x")
    message.id = "7"
    assert dataclasses.replace(message, content="y").id == "7"


@pytest.mark.parametrize("call", [{"args": {}}, {"name": "f"}, {"name": "f", "args": "{}"}, "f"])
def test_a_tool_call_without_name_or_arguments_is_refused(call: object) -> None:
    with pytest.raises(Misuse, match="tool call"):
        AIMessage("", tool_calls=[call])  # type: ignore[list-item]


def test_content_of_another_kind_is_refused() -> None:
    with pytest.raises(Misuse, match="content of a HumanMessage is a int"):
        HumanMessage(5)  # type: ignore[arg-type]


@given(st.lists(texts | st.just([{"type": "thinking", "thinking": "?"}]), max_size=6))
def test_pieces_of_an_answer_join_to_the_whole(pieces: list) -> None:
    whole = AIMessageChunk("")
    for piece in pieces:
        whole = whole + AIMessageChunk(piece)
    assert whole.text == "".join(piece for piece in pieces if isinstance(piece, str))
    assert type(whole.whole()) is AIMessage


# --- foreign forms ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("hi", HumanMessage),
        (("user", "hi"), HumanMessage),
        (("human", "hi"), HumanMessage),
        (("assistant", "hi"), AIMessage),
        ({"role": "ai", "content": "hi"}, AIMessage),
        ({"type": "human", "content": "hi"}, HumanMessage),
        ({"role": "developer", "content": "hi"}, SystemMessage),
        ({"role": "system", "content": "hi"}, SystemMessage),
        ({"role": "tool", "content": "hi", "tool_call_id": "1"}, ToolMessage),
    ],
)
def test_each_usual_form_becomes_a_message(given: object, kind: type[BaseMessage]) -> None:
    message = to_message(given)
    assert type(message) is kind
    assert message.content == "hi"


def test_a_message_in_openai_form_keeps_its_calls_and_its_unreadable_ones() -> None:
    message = to_message(
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
                {"id": "2", "type": "function", "function": {"name": "f", "arguments": '{"a":'}},
                {"id": "3", "type": "function", "function": {"name": "f", "arguments": "[1]"}},
                {"id": "4", "type": "function", "function": {"name": "f", "arguments": ""}},
            ],
        }
    )
    assert isinstance(message, AIMessage)
    assert message.content == ""
    assert [(call["id"], call["args"]) for call in message.tool_calls] == [
        ("1", {"a": 1}),
        ("4", {}),
    ]
    assert [call["args"] for call in message.invalid_tool_calls] == ['{"a":', "[1]"]
    assert message.additional_kwargs == {}


def test_what_a_dict_has_besides_is_kept() -> None:
    message = to_message({"role": "user", "content": "x", "name": "eve", "priority": 3, "id": "1"})
    assert message == HumanMessage("x", name="eve", id="1", additional_kwargs={"priority": 3})


@pytest.mark.parametrize(
    "given",
    [
        5,
        None,
        ("a", "b", "c"),
        {"content": "hi"},
        {"role": "robot", "content": "hi"},
        {"role": "user", "contnet": "hi"},
        {"role": "tool", "content": "hi"},
        {"role": ["user"], "content": "hi"},
        {"role": "user", "content": 5},
        {"role": "assistant", "content": "", "tool_calls": 5},
        {"role": "remove"},
    ],
)
def test_what_is_no_message_is_refused(given: object) -> None:
    with pytest.raises(Misuse):
        to_message(given)


# --- merging ----------------------------------------------------------------------------

ids = st.sampled_from("abcdefgh")
written = st.lists(
    st.builds(HumanMessage, texts, id=st.none() | ids) | st.builds(RemoveMessage, ids), max_size=6
)
states = st.lists(ids, unique=True, max_size=6).map(
    lambda names: [HumanMessage(name, id=name) for name in names]
)


def naive(left: list[BaseMessage], right: list[BaseMessage]) -> list[BaseMessage] | None:
    """One message after the other, by the words of the docstring."""
    state = list(left)
    gone: set[str | None] = set()
    for message in right:
        there = [each.id for each in state]
        if isinstance(message, RemoveMessage):
            if message.id not in there:
                return None
            gone.add(message.id)
        elif message.id is not None and message.id in there:
            state[there.index(message.id)] = message
            gone.discard(message.id)
        else:
            state.append(message)
    return [each for each in state if each.id is None or each.id not in gone]


@given(states, written)
def test_merging_equals_a_naive_merge(left: list, right: list) -> None:
    expected = naive(left, right)
    before = list(left)
    if expected is None:
        with pytest.raises(Misuse, match="not there"):
            add_messages(left, right)
        return
    merged = add_messages(left, right)
    assert [id(each) for each in merged] == [id(each) for each in expected]
    assert all(each.id for each in merged)
    assert merged is not left
    assert left == before


@given(states, written, states)
def test_removing_all_forgets_what_stands_before_it(left: list, cut: list, rest: list) -> None:
    marker = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    assert add_messages(left, [*cut, marker, *rest]) == rest


def test_messages_without_id_get_ids_of_their_own() -> None:
    merged = add_messages([], ["a", ("assistant", "b"), {"role": "user", "content": "c"}])
    assert [each.content for each in merged] == ["a", "b", "c"]
    assert len({each.id for each in merged}) == 3


def test_the_left_side_may_be_in_any_form_too() -> None:
    merged = add_messages([HumanMessage("a", id="1"), ("user", "b")], HumanMessage("c"))
    assert [each.content for each in merged] == ["a", "b", "c"]
    assert all(isinstance(each, HumanMessage) and each.id for each in merged)


def test_a_message_under_a_known_id_takes_its_place() -> None:
    left = add_messages([], [HumanMessage("a", id="1"), AIMessage("b", id="2")])
    revised = AIMessage("c", id="2")
    merged = add_messages(left, [revised, ToolMessage("d", tool_call_id="x")])
    assert merged[0] is left[0]
    assert merged[1] is revised
    assert len(merged) == 3
