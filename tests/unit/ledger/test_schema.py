"""The interpreter of JSON Schema, held against jsonschema and against hostile input."""

from __future__ import annotations

import time
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field

from hitl.ledger.schema import problems


def check(schema: Any, args: Any) -> list[str]:
    return problems(schema, args)


PAY = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "exclusiveMinimum": 0},
        "payee": {"type": "string", "maxLength": 10},
        "memo": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["amount", "payee"],
}


def under(schema):
    """A schema for one argument ``x``, which may refer to definitions."""
    tree = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/tree"}, "b": {"type": "integer"}},
        "additionalProperties": False,
    }
    definitions = {"tree": tree, "small": {"type": ["integer", "null"], "maximum": 1}}
    return {"properties": {"x": schema}, "$defs": definitions}


NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([-1.5, 0.0, 0.5, 1.0, 2.0, 1e300, 10**400])
    | st.text("abé", max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPE_NAMES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
SIZES = st.integers(0, 3)


def optional(**keywords):
    return st.fixed_dictionaries({}, optional=keywords)


PLAIN = st.one_of(
    st.booleans(),
    optional(type=TYPE_NAMES | st.lists(TYPE_NAMES, min_size=1, max_size=3, unique=True)),
    optional(const=VALUES, type=TYPE_NAMES),
    optional(enum=st.lists(VALUES, min_size=1, max_size=4)),
    optional(
        minimum=st.integers(-2, 2),
        maximum=st.sampled_from([-1, 0.5, 2]),
        exclusiveMinimum=st.sampled_from([-1, 0.5]),
        exclusiveMaximum=st.integers(0, 3),
        multipleOf=st.sampled_from([1, 2, 3]),
    ),
    optional(minLength=SIZES, maxLength=SIZES, pattern=st.just("")),
    st.sampled_from([{"$ref": "#/$defs/tree"}, {"$ref": "#/$defs/small", "minimum": -1}]),
)


def nested(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        optional(
            type=st.just("object"),
            properties=st.dictionaries(NAMES, inner, max_size=3),
            required=st.lists(NAMES, max_size=2, unique=True),
            additionalProperties=inner,
        ),
        optional(
            type=st.just("array"),
            items=inner,
            prefixItems=several,
            minItems=SIZES,
            maxItems=SIZES,
        ),
        optional(anyOf=several, allOf=several),
        optional(oneOf=several),
        st.builds(lambda schema: {"not": schema}, inner),
    )


SCHEMAS = st.recursive(PLAIN, nested, max_leaves=8)


@settings(max_examples=400, deadline=None)
@given(SCHEMAS, VALUES)
def test_a_value_has_problems_exactly_where_jsonschema_finds_errors(schema, value):
    whole = under(schema)
    expected = Draft202012Validator(whole).is_valid({"x": value})
    found = check(whole, {"x": value})
    assert (found == []) is expected, found


@given(st.lists(st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2)))
def test_unique_items_are_told_as_jsonschema_tells_them(value):
    whole = under({"uniqueItems": True})
    expected = Draft202012Validator(whole).is_valid({"x": value})
    assert (check(whole, {"x": value}) == []) is expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "$ref", "enum", "anyOf", "not", "items", "properties"])
            | st.sampled_from(["required", "minimum", "multipleOf", "a", "maxLength", "const"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=300, deadline=None)
@given(JSON, JSON)
def test_any_json_as_schema_and_arguments_ends_in_a_list_of_sentences(schema, args):
    found = check(schema, args)
    assert all(isinstance(text, str) and text.startswith("args") for text in found)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"amount": 1, "payee": "bob"}, []),
        ({"amount": "x", "payee": "bob"}, ["args.amount: 'x' is not a number"]),
        ({"amount": True, "payee": "bob"}, ["args.amount: true is not a number"]),
        ({"amount": 0, "payee": "bob"}, ["args.amount: 0 is not more than 0"]),
        ({"amount": 1}, ["args.payee: missing"]),
        (
            {"amout": 1, "payee": "bob"},
            [
                "args.amount: missing; was it given as 'amout'?",
                "args.amout: unknown field; did you mean 'amount'?",
            ],
        ),
        (
            {"amount": 1, "payee": "b" * 11},
            ["args.payee: has 11 characters where at most 10 must be"],
        ),
        (
            {"amount": 1, "payee": "bob", "memo": 5},
            ["args.memo: fits none of the alternatives (5 is not a string; 5 is not null)"],
        ),
        ([], ["args: a list of 0 is not an object"]),
    ],
)
def test_each_problem_is_one_sentence_with_its_place(args, expected):
    assert check(PAY, args) == expected


def test_places_inside_lists_and_odd_names_are_written_as_in_python():
    schema = {
        "properties": {
            "rows": {"items": {"properties": {"the owner": {"type": "string"}}}},
        }
    }
    found = check(schema, {"rows": [{}, {"the owner": 3}]})
    assert found == ["args.rows[1]['the owner']: 3 is not a string"]


def test_unknown_arguments_are_a_problem_at_the_top_only_or_where_the_schema_says_so():
    inner = {"type": "object", "properties": {"a": {}}}
    schema = {"type": "object", "properties": {"x": inner}}
    assert check(schema, {"x": {"b": 1}}) == []
    assert check(schema, {"y": 1}) == ["args.y: unknown field"]
    assert check(schema | {"additionalProperties": True}, {"y": 1}) == []
    assert check({"type": "object"}, {"y": 1}) == []


def test_names_that_a_combined_or_referenced_schema_knows_are_not_unknown_at_the_top():
    schema = {
        "properties": {"a": {}},
        "anyOf": [{"properties": {"b": {}}}, {"$ref": "#/$defs/more"}],
        "$defs": {"more": {"properties": {"c": {}}}},
    }
    assert check(schema, {"a": 1, "b": 1, "c": 1}) == []
    assert check(schema, {"d": 1}) == ["args.d: unknown field"]
    root = {"$ref": "#/$defs/all", "$defs": {"all": {"properties": {"a": {}}}}}
    assert check(root, {"z": 1}) == ["args.z: unknown field"]


def test_the_keywords_of_openapi_3_0_are_understood():
    name = {"type": "string", "nullable": True, "enum": ["a"]}
    count = {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
    schema = {"properties": {"name": name, "count": count}}
    assert check(schema, {"name": None, "count": 1}) == []
    assert check(schema, {"count": 0}) == ["args.count: 0 is not more than 0"]


def test_whole_floats_are_integers_and_infinities_are_no_numbers():
    schema = {"properties": {"x": {"type": "integer"}, "y": {"type": "number"}}}
    assert check(schema, {"x": 1.0}) == []
    assert check(schema, {"x": 1.5}) == ["args.x: 1.5 is not an integer"]
    assert check(schema, {"y": float("nan")}) == ["args.y: nan is not a number"]
    assert check(schema, {"y": float("inf")}) == ["args.y: inf is not a number"]


def test_multiples_of_decimal_fractions_are_told_by_their_decimal_text():
    schema = {"properties": {"x": {"multipleOf": 0.01}}}
    assert check(schema, {"x": 0.3}) == []
    assert check(schema, {"x": 0.305}) == ["args.x: 0.305 is not a multiple of 0.01"]


def test_without_a_schema_everything_fits():
    assert check(None, {"x": 1}) == []


def test_patterns_are_not_run():
    schema = {"properties": {"x": {"pattern": "^(a+)+$"}}, "patternProperties": {"^(a+)+$": {}}}
    assert check(schema, {"x": "a" * 60 + "!", "a" * 60 + "!": 1}) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/schema.json"},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"not": {"not": {"$ref": "#"}}},
        {"type": "strnig"},
        {"minimum": "5", "type": "object", "properties": {"x": {"minimum": "5"}}},
        {"required": [1]},
        {"enum": []},
        {"properties": []},
        "object",
    ],
)
def test_a_schema_that_cannot_be_checked_is_a_problem_and_never_a_pass(schema):
    (text,) = check(schema, {"x": 1})
    assert text.startswith("args: cannot be checked, ")


def test_a_recursive_schema_that_branches_without_end_ends_soon():
    branch = {"properties": {"k": {"$ref": "#/$defs/t"}}, "required": ["zz"]}
    schema = {"$ref": "#/$defs/t", "$defs": {"t": {"anyOf": [branch, branch, branch]}}}
    args: dict = {}
    for _ in range(60):
        args = {"k": args}
    begin = time.process_time()
    assert check(schema, args)
    assert time.process_time() - begin < 20


def test_deeply_nested_arguments_are_refused_without_an_overflow():
    schema = {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"k": {"$ref": "#/$defs/t"}}}}}
    args: dict = {}
    for _ in range(50_000):
        args = {"k": args}
    (text,) = check(schema, args)
    assert "nested too deep" in text
    while args:  # taken apart by hand: freeing it at once would recurse
        args = args.get("k", {})


def test_a_long_list_of_problems_is_cut_with_a_note():
    found = check({"properties": {}}, {f"n{number}": 1 for number in range(500)})
    assert len(found) == 21
    assert found[-1] == "args: there are more problems"


def test_foreign_text_is_shown_short_and_without_control_characters():
    schema = {"properties": {"x": {"type": "integer"}}, "additionalProperties": False}
    found = check(schema, {"x": "\x1b[2J\u202e" + "y" * 10_000, "a\u202eb\n": 1})
    assert all(text.isprintable() and len(text) < 200 for text in found)


class Row(BaseModel):
    model_config = ConfigDict(extra="forbid")

    owner: str = Field(min_length=1)
    parent: Row | None = None


class Report(BaseModel):
    rows: list[Row] = Field(max_length=2)
    kind: Literal["short", "long"] = "short"
    size: int | None = Field(default=None, ge=0, multiple_of=5)
    place: tuple[int, str] = (0, "")
    tags: set[str] = set()
    extra: dict[str, float] = {}


FITS = {"rows": [{"owner": "a", "parent": {"owner": "b", "parent": None}}]}


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({}, None),
        ({"size": 10, "kind": "long", "place": [1, "x"], "extra": {"a": 1}}, None),
        ({"kind": "longish"}, "args.kind"),
        ({"size": 7}, "args.size"),
        ({"place": [1]}, "args.place"),
        ({"place": ["x", "x"]}, "args.place[0]"),
        ({"tags": ["a", "a"]}, "args.tags"),
        ({"extra": {"a": "b"}}, "args.extra.a"),
        ({"rows": [{"owner": ""}]}, "args.rows[0].owner"),
        ({"rows": [{"owner": "a", "parent": {"ower": "b"}}]}, "args.rows[0].parent"),
        ({"rows": [{"owner": "a"}] * 3}, "args.rows"),
        ({"row": []}, "args.row"),
    ],
)
def test_the_schemas_that_pydantic_writes_are_read(change, at):
    found = check(Report.model_json_schema(), FITS | change)
    assert [text.partition(": ")[0] for text in found] == ([at] if at else [])
