"""What an answer must be: told with the question, checked before it is stored."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field, field_validator

from hitl import START, Command, Inbox, Interrupt, Misuse, StateGraph, WrongAnswer, interrupt


class State(TypedDict, total=False):
    got: Annotated[list, operator.add]


class Budget(BaseModel):
    amount: int = Field(ge=1)
    reason: str = ""


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def _even(cls, number):
        if number % 2:
            raise ValueError("must be even")
        return number


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"amount": {"type": "integer", "minimum": 1}},
    "required": ["amount"],
}


def asking(store, schema, seen=None):
    def node(state):
        answer = interrupt("how much?", response_schema=schema)
        if seen is not None:
            seen.append(answer)
        return {"got": [repr(answer)]}

    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile(store)


def entries(store):
    return len(store.load("t").entries)


@pytest.mark.parametrize("schema", [Budget, SCHEMA], ids=["type", "json"])
def test_a_wrong_answer_is_refused_unstored_and_a_right_one_works(
    hand, store, config, schema
):  # R172
    seen: list[object] = []
    graph = asking(store, schema, seen)
    hand.invoke(graph, {"got": []}, config)
    before = entries(store)
    for wrong in ({"amount": 0}, {"amount": "lots"}, {}, "12", None, {"amount": 1, "amuont": 2}):
        with pytest.raises(WrongAnswer, match="answer"):
            hand.invoke(graph, Command(resume=wrong), config)
    assert entries(store) == before
    assert len(hand.state(graph, config).interrupts) == 1
    hand.invoke(graph, Command(resume={"amount": 3}), config)
    assert seen == [Budget(amount=3) if schema is Budget else {"amount": 3}]


def test_the_refusal_says_what_is_wrong_and_where(store, config):
    graph = asking(store, Budget)
    graph.invoke({"got": []}, config)
    with pytest.raises(WrongAnswer) as caught:
        graph.invoke(Command(resume={"amount": 0}), config)
    assert caught.value.fields["problems"] == ("answer.amount: 0 is not at least 1",)


def test_the_question_shows_its_schema_wherever_it_is_seen(hand, store, config):
    graph = asking(store, SCHEMA)
    (asked,) = hand.invoke(graph, {"got": []}, config).interrupts
    assert asked == Interrupt("how much?", asked.id, SCHEMA)
    assert asked != Interrupt("how much?", asked.id)
    assert "response_schema={'type': 'object'" in repr(asked)
    assert hand.state(graph, config).interrupts == (asked,)
    (again,) = asking(store, SCHEMA).get_state(config).interrupts
    assert again == asked
    hand.invoke(graph, Command(resume={"amount": 3}), config)
    told = next(one for one in hand.history(graph, config) if one.interrupts)
    assert told.interrupts == (asked,)


def test_a_stream_shows_it_too(hand, store, config):
    (part,) = hand.stream(asking(store, SCHEMA), {"got": []}, config)
    assert part["__interrupt__"][0].response_schema == SCHEMA


def test_a_question_without_a_schema_has_none_and_takes_anything(hand, store, config):
    graph = asking(store, None)
    (asked,) = hand.invoke(graph, {"got": []}, config).interrupts
    assert asked.response_schema is None
    assert hand.invoke(graph, Command(resume={"any": 1}), config)["got"] == ["{'any': 1}"]


@pytest.mark.parametrize(
    ("schema", "answer", "got"),
    [
        (bool, True, True),
        (Literal["yes", "no"], "no", "no"),
        (Colour, "red", Colour.RED),
        (date, "2026-11-30", date(2026, 11, 30)),
        (list[int], [1, 2], [1, 2]),
        (Point, {"x": 1, "y": 2}, Point(1, 2)),
        (Point, Point(1, 2), Point(1, 2)),
        (Budget, Budget(amount=3), Budget(amount=3)),
        (Budget | None, None, None),
        (Annotated[int, Field(gt=2)], 3, 3),
    ],
)
def test_the_node_gets_what_its_type_makes_of_the_answer(hand, store, config, schema, answer, got):
    seen: list[object] = []
    graph = asking(store, schema, seen)
    hand.invoke(graph, {"got": []}, config)
    hand.invoke(graph, Command(resume=answer), config)
    assert seen == [got]


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [(bool, "yes"), (Literal["yes", "no"], "perhaps"), (Colour, "green"), (Point, {"x": 1})],
)
def test_a_type_refuses_what_does_not_fit(store, config, schema, wrong):
    graph = asking(store, schema)
    graph.invoke({"got": []}, config)
    with pytest.raises(WrongAnswer):
        graph.invoke(Command(resume=wrong), config)


def test_an_inbox_that_knows_no_type_refuses_a_wrong_answer(store, config):
    graph = asking(store, Budget)
    (asked,) = graph.invoke({"got": []}, config).interrupts
    inbox = Inbox(store)
    with pytest.raises(WrongAnswer):
        inbox.decide(asked.id, {"amount": 0})
    inbox.decide(asked.id, {"amount": 5})
    assert graph.invoke(None, config)["got"] == [repr(Budget(amount=5))]


def test_what_only_a_validator_can_tell_puts_the_question_once_more(hand, store, config):
    graph = asking(store, Even)
    (first,) = hand.invoke(graph, {"got": []}, config).interrupts
    (second,) = hand.invoke(graph, Command(resume={"number": 3}), config).interrupts
    assert (second.value, second.response_schema) == (first.value, first.response_schema)
    assert second.id != first.id
    item = Inbox(store).get(second.id)
    assert "must be even" in str(item.rules["refused"])
    assert hand.invoke(graph, Command(resume={"number": 4}), config)["got"] == ["Even(number=4)"]


def test_of_two_questions_each_has_its_own_form(hand, store, config):
    def node(state):
        return {
            "got": [
                interrupt("a?", response_schema=int),
                interrupt("b?", response_schema={"type": "string"}),
            ]
        }

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(store)
    hand.invoke(graph, {"got": []}, config)
    hand.invoke(graph, Command(resume=1), config)
    with pytest.raises(WrongAnswer):
        hand.invoke(graph, Command(resume=2), config)
    assert hand.invoke(graph, Command(resume="two"), config)["got"] == [1, "two"]


@pytest.mark.parametrize("schema", [object(), {"type": {1, 2}}])
def test_a_schema_that_is_none_is_misuse(store, config, schema):
    with pytest.raises(Misuse, match="response_schema"):
        asking(store, schema).invoke({"got": []}, config)
