"""Packed trees to text and back, within limits."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.codec import dumps, loads, text
from hitl.codec.pack import DEPTH
from hitl.errors import Damaged, NotStorable
from hitl.values import Json

TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def same(one: object, two: object) -> bool:
    return repr(one) == repr(two)  # tells 1 from 1.0 and True, 0.0 from -0.0; keeps the order


@given(TREES)
def test_a_tree_comes_back_from_its_text(tree):
    assert same(loads(dumps(tree)), tree)


@given(TREES)
def test_the_text_is_json_that_others_read_too(tree):
    assert same(json.loads(dumps(tree)), tree)


@given(TREES)
def test_both_ways_of_writing_and_reading_agree(tree):
    assert same(loads(text._slow_dumps(tree)), tree)
    assert same(text._slow_loads(dumps(tree)), tree)


def test_the_text_is_compact_and_keeps_the_order_of_keys():
    assert dumps({"b": [1, 2], "a": "é"}) == '{"b":[1,2],"a":"é"}'


def test_lone_surrogates_are_escaped():
    assert dumps("\ud800") == '"\\ud800"'
    assert loads('"\\ud800"') == "\ud800"


def test_words_that_look_like_nan_within_strings_are_text():
    trees: list[Json] = ["NaN", {"Infinity": "-Infinity"}]
    for tree in trees:
        assert loads(dumps(tree)) == tree


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_tree_with_a_bare_nan_was_not_packed(number):
    with pytest.raises(NotStorable, match="pack"):
        dumps([number])


@pytest.mark.parametrize("beside", ["", "\ud800"])
def test_a_tree_that_is_no_json_is_refused(beside):
    tree: Any = [beside, object()]
    with pytest.raises(NotStorable):
        dumps(tree)


@pytest.mark.parametrize(
    "broken",
    ["", "{", "[1,]", "nul", '"abc', '{"a":1} x', "NaN", "[Infinity]", "-Infinity", "'a'",
     '"\\ud800', "9" * 5000, "\x00", '{"a" 1}', '"\\'],
)  # fmt: skip
def test_text_that_is_not_json_is_damage(broken):
    with pytest.raises(Damaged):
        loads(broken)


def nested(depth: int) -> Json:
    tree: Json = "leaf"
    for _ in range(depth):
        tree = [tree]
    return tree


def test_whatever_pack_allows_can_be_written_and_read():
    tree = nested(3 * DEPTH + 50)
    assert loads(dumps(tree)) == tree


@pytest.mark.parametrize("depth", [text.NESTING + 1, 900])
def test_a_tree_that_is_too_deep_is_not_written(depth):
    with pytest.raises(NotStorable):
        dumps(nested(depth))


@pytest.mark.parametrize(
    "bomb",
    [
        "[" * 1_000_000,
        '{"a":' * 300_000,
        "[" * (text.NESTING + 1) + "]" * (text.NESTING + 1),
        '"' + '\\"' * 500_000 + "[" * 1000,
        '\\"' * 500_000 + "[",
        "[" * 300 + '"' + "[" * 1_000_000,
    ],
    ids=["lists", "dicts", "just too deep", "open string", "escapes", "string"],
)
def test_a_hostile_text_is_refused_in_no_time(bomb):
    with pytest.raises(Damaged):
        loads(bomb)


def test_brackets_within_strings_do_not_count():
    tree: Json = ["\ud800", "[" * 10_000, '"{{{{' * 1000]
    assert loads(dumps(tree)) == tree


def test_a_text_over_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(text, "SIZE", 100)
    assert dumps("x" * 98)
    with pytest.raises(NotStorable, match="100 are allowed") as caught:
        dumps("x" * 99)
    assert caught.value.fields["size"] == 101


def test_importing_the_codec_loads_nothing_heavy():
    code = (
        "import sys, hitl.codec as codec; codec.pack({'a': (1, {2})});"
        "heavy = {'pydantic', 'pydantic_core', 'zoneinfo', 'decimal', 'sqlite3', 'asyncio'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
