"""The way in: what is refused, and how well the error says where it stands."""

from __future__ import annotations

import collections
import enum
import json
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from pydantic import BaseModel

from hitl.codec import pack, register
from hitl.codec.pack import DEPTH
from hitl.errors import Misuse, NotStorable


class Unknown:
    pass


@register
class Line(NamedTuple):
    owner: object


@register
@dataclass
class Paper:
    rows: object


@register
class Sheet(BaseModel):
    model_config = {"extra": "allow"}
    rows: object


class Text(str):
    __slots__ = ()


class Number(int):
    pass


def path_of(value: object, where: str = "value") -> object:
    with pytest.raises(NotStorable) as caught:
        pack(value, where)
    assert str(caught.value.fields["path"]) in str(caught.value)
    return caught.value.fields["path"]


def test_plain_json_is_itself_and_a_copy():
    inner: list[object] = [1, 2.5, True, None, {"b": "c"}]
    tree = pack({"a": inner})
    assert tree == {"a": inner}
    inner.append({"later": 1})
    assert tree == {"a": inner[:-1]}


@pytest.mark.parametrize(
    ("value", "tree"),
    [
        ((1, 2), {"$": "py:tuple", "v": [1, 2]}),
        ({1: "a"}, {"$": "py:dict", "v": [[1, "a"]]}),
        ({"$": "a"}, {"$": "py:dict", "v": [["$", "a"]]}),
        (float("nan"), {"$": "py:float", "v": "nan"}),
        (2**64, {"$": "py:int", "v": "0x10000000000000000"}),
        (b"hi", {"$": "py:bytes", "v": "aGk="}),
        ({"b", "a"}, {"$": "py:set", "v": ["a", "b"]}),
        (Paper(3), {"$": f"{__name__}:Paper", "v": {"rows": 3}}),
    ],
)
def test_the_stored_form_of_a_type_stays_what_it_is(value, tree):
    assert pack(value) == tree


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Unknown(), "value"),
        ([1, [2, Unknown()]], "value[1][1]"),
        ({"a": [{"b": Unknown()}]}, 'value["a"][0]["b"]'),
        ({'say "hi"': Unknown()}, 'value["say \\"hi\\""]'),
        ({3: Unknown()}, "value[3]"),
        ({"a": 1, "b": 2, 3: {4: Unknown()}}, "value[3][4]"),
        ({None: 1, (1, Unknown()): 2}, "value.keys()[1][1]"),
        ({"x": (0, Unknown())}, 'value["x"][1]'),
        ({"x": {Unknown()}}, 'value["x"]{...}'),
        (Line(Unknown()), "value.owner"),
        ([Paper([Line(1), Line(Unknown())])], "value[0].rows[1].owner"),
        (Sheet(rows={"a": Unknown()}), 'value.rows["a"]'),
        (Sheet.model_validate({"rows": 1, "more": [Unknown()]}), 'value.$extra["more"][0]'),
    ],
)
def test_the_path_leads_to_the_value_that_cannot_be_stored(value, path):
    assert path_of(value) == path


def test_the_path_begins_with_what_the_caller_calls_the_value():
    value = Paper([0, 1, 2, Line(Unknown())])
    assert path_of(value, 'state["report"]') == 'state["report"].rows[3].owner'


def test_an_unregistered_class_with_fields_is_told_to_register():
    @dataclass
    class Plan:
        step: int

    class Mood(enum.Enum):
        GOOD = 1

    class Form(BaseModel):
        x: int = 1

    class Pair(NamedTuple):
        x: int

    for value in (Plan(1), Mood.GOOD, Form(), Pair(1)):
        with pytest.raises(NotStorable, match=r"hitl\.codec\.register\(") as caught:
            pack({"x": value})
        assert type(value).__name__ in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [Text("a"), Number(1), collections.OrderedDict(), collections.defaultdict(list), object(),
     len, Unknown, iter([]), range(3), memoryview(b""), ValueError("x"), ...],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_not_exactly_a_known_type_is_refused(value):
    path_of([value])


def test_a_refusal_is_misuse_and_a_type_error():
    with pytest.raises(Misuse):
        pack(Unknown())
    with pytest.raises(TypeError):
        pack(Unknown())


def test_a_value_in_itself_is_named_where_it_closes():
    loop: list[object] = [1]
    loop.append({"x": loop})
    with pytest.raises(NotStorable, match="contains itself") as caught:
        pack({"a": loop})
    assert caught.value.fields["path"] == 'value["a"][1]["x"]'


def test_a_value_in_itself_through_a_field_is_found_too():
    paper = Paper(None)
    paper.rows = (paper,)
    with pytest.raises(NotStorable, match="contains itself") as caught:
        pack(paper)
    assert caught.value.fields["path"] == "value.rows[0]"


@pytest.mark.parametrize("depth", [DEPTH + 1, 400])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: [inner],
        lambda inner: (inner,),
        lambda inner: frozenset([inner]),
        lambda inner: {"a": inner},
        lambda inner: {1: inner},
        lambda inner: {"$": inner},
        Paper,
    ],
    ids=["list", "tuple", "frozenset", "dict", "int keys", "look-alike", "dataclass"],
)
def test_a_value_that_is_too_deep_is_refused(wrap, depth):
    value = 1
    for _ in range(depth):
        value = wrap(value)
    with pytest.raises(NotStorable, match="containers deep") as caught:
        pack(value)
    assert len(str(caught.value)) < 300


def test_mixed_keys_at_every_level_cost_no_more_than_their_number():
    value: dict[object, object] = {}
    for _ in range(DEPTH - 1):
        value = {"first": value, 2: 0}
    assert len(json.dumps(pack(value))) < 10_000
