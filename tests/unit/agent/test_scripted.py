from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.agent.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, add_messages
from hitl.agent.model import ModelInput
from hitl.agent.scripted import ScriptedModel
from hitl.errors import Misuse


def ask(*messages: object) -> ModelInput:
    return ModelInput(tuple(add_messages([], list(messages))))  # type: ignore[arg-type]


CALL = {"name": "f", "args": {"x": 1}}


def test_the_conversation_says_which_answer_is_due() -> None:
    script: list = [{"tool_calls": [CALL, CALL]}, "done"]
    first = ScriptedModel(script).generate(ask("go"))
    assert [call["id"] for call in first.tool_calls] == ["call_1_1", "call_1_2"]
    tail = [ToolMessage("r", tool_call_id="call_1_1"), ToolMessage("r", tool_call_id="call_1_2")]
    # Another object, as in another process, goes on where the script stopped.
    assert ScriptedModel(script).generate(ask("go", first, *tail)) == AIMessage("done")


def test_answers_before_the_first_question_do_not_count() -> None:
    model = ScriptedModel(["a"])
    shown = [SystemMessage("s"), AIMessage("example"), HumanMessage("go")]
    assert model.generate(ask(*shown)).text == "a"


def test_each_answer_is_an_object_of_its_own() -> None:
    answer = AIMessage("a")
    model = ScriptedModel([answer])
    given = model.generate(ask("go"))
    assert given == answer
    assert given is not answer


def test_a_function_may_look_at_the_conversation() -> None:
    model = ScriptedModel([lambda messages: f"you said {messages[-1].text}"])
    assert model.generate(ask("hi")).text == "you said hi"


def test_an_exhausted_script_says_so() -> None:
    model = ScriptedModel(["a"])
    with pytest.raises(Misuse, match="has 1 answers, and number 2 was asked for"):
        model.generate(ask("go", AIMessage("a"), "more"))


def test_a_looping_script_starts_over() -> None:
    model = ScriptedModel(["a", "b"], loop=True)
    assert model.generate(ask("go", AIMessage("a"), AIMessage("b"))).text == "a"


def test_an_empty_script_has_no_answer_even_in_a_loop() -> None:
    with pytest.raises(Misuse, match="has 0 answers"):
        ScriptedModel([], loop=True).generate(ask("go"))


@pytest.mark.parametrize("wrong", [5, {"tool_calls": [{"name": "f"}]}, {}, HumanMessage("x")])
def test_what_is_no_answer_is_refused(wrong: object) -> None:
    with pytest.raises(Misuse):
        ScriptedModel([lambda _: wrong]).generate(ask("go"))  # type: ignore[list-item,return-value]


def test_a_script_must_be_a_list() -> None:
    with pytest.raises(Misuse, match="is a str"):
        ScriptedModel("hello")


async def test_the_requests_are_kept_for_the_test_to_see() -> None:
    model = ScriptedModel(["a"], loop=True)
    requests = [ask("one"), ask("two")]
    model.generate(requests[0])
    await model.agenerate(requests[1])
    assert model.calls == requests


@given(st.text(max_size=30))
def test_the_pieces_of_an_answer_make_the_answer(text: str) -> None:
    model = ScriptedModel([AIMessage(text, tool_calls=[{**CALL, "id": "1"}])])  # type: ignore[typeddict-item]
    pieces = list(model.stream(ask("go")))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    assert whole.whole() == model.generate(ask("go"))


async def test_words_are_streamed_in_async_code_too() -> None:
    model = ScriptedModel(["one two  three"])
    assert [piece.text async for piece in model.astream(ask("go"))] == ["one ", "two  ", "three"]
