"""What conditions say about values: true, false, or not known."""

from __future__ import annotations

import json

import pytest

from hitl.policy.condition import NO_ARGS, exists, parse_pointer, value_at
from hitl.policy.operators import MISSING, OPERATORS, fold

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("operator", "wanted", "true", "false", "unknown"),
    [
        ("eq", "a", ["a"], ["b", ""], [1, None, True, ["a"], MISSING, "\uff41", "a\u200b"]),
        ("eq", "é", ["é"], ["e"], ["e\u0301"]),
        ("eq", 1, [1, 1.0], [2, 2**70], ["1", True, NAN, INF, None, MISSING]),
        ("eq", 2**70, [2**70], [2**70 + 1], [NAN]),
        ("eq", True, [True], [False], [1, "true", None, MISSING]),
        ("eq", None, [None], ["", 0, False], [MISSING]),
        ("in", ["a", "b"], ["a"], ["c"], [1, None, MISSING, "\uff42"]),
        ("in", ["a", 1], ["a", 1, 1.0], ["b", 2], [True, None]),
        ("in", [True, None], [True, None], [False], [1, "x", MISSING]),
        ("prefix", "/a", ["/a", "/ab"], ["a", ""], [1, None, "\uff0fa"]),
        ("suffix", ".py", ["x.py"], ["py"], [None, "x.\uff50y"]),
        ("contains", "b", ["abc", ["b", 1]], ["ac", [], ["a"]], [1, None, [1], ["a", 1]]),
        ("contains", 1, [[1], ["x", 1]], [[], [2]], ["1", None, [True]]),
        ("glob", "/a/*", ["/a/b"], ["/a/b/c"], [1, None]),
        ("gt", 1, [2, 1.5, 2**70], [1, 0], ["2", True, None, NAN, INF, MISSING]),
        ("ge", 1, [1, 2], [0.5], ["1"]),
        ("lt", 1, [0, -(2**70)], [1], [False]),
        ("le", 1, [1], [1.5], [-INF]),
        ("between", [1, 2], [1, 2, 1.5], [0, 3], ["1"]),
        ("size", 1, ["x", [1], {"a": 1}], ["", [1, 2]], [1, None, True, MISSING]),
        ("size_le", 1, ["", "x", []], ["xy", {"a": 1, "b": 2}], [0]),
        ("host_in", ["example.com"], ["https://example.com/x"], ["https://evil.com"], ["x", 1]),
        ("argv", [["git", "status"]], [["git", "status"], "git status"], ["ls"], ["a;b", 1]),
        ("sql", "read", ["select 1"], ["delete from t"], ["selec", 1]),
    ],
)
def test_an_operator_tells_true_false_and_unknown_apart(operator, wanted, true, false, unknown):
    test = OPERATORS[operator](wanted)
    assert {repr(value): test(value) for value in true} == {repr(value): True for value in true}
    assert {repr(value): test(value) for value in false} == {repr(value): False for value in false}
    assert {repr(value): test(value) for value in unknown} == {
        repr(value): None for value in unknown
    }


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("a", {"b/c": [10, {"~": 1}]}),
        ("/a/b~1c/0", 10),
        ("/a/b~1c/1/~0", 1),
        ("/a/b~1c/2", MISSING),
        ("/a/b~1c/00", MISSING),
        ("/a/b~1c/-1", MISSING),
        ("/a/b~1c/0/x", MISSING),
        ("/", 5),
        ("", 5),
        ("b", MISSING),
    ],
)
def test_a_pointer_leads_to_an_argument(pointer, value):
    args = {"a": {"b/c": [10, {"~": 1}]}, "": 5}
    assert value_at(args, parse_pointer(pointer)) == value


@pytest.mark.parametrize(
    ("pointer", "args", "there"),
    [
        ("a", {"a": None}, True),
        ("a", {}, False),
        ("/a/b", {"a": {"b": 0}}, True),
        ("/a/b", {"a": {}}, False),
        ("/a/b", {}, False),
        ("/a/b", {"a": "text that may be JSON"}, None),
        ("a", NO_ARGS, None),
    ],
)
def test_whether_an_argument_is_there_is_known_unless_it_would_lie_inside_a_text(
    pointer, args, there
):
    assert exists(parse_pointer(pointer), True)(args) is there
    assert exists(parse_pointer(pointer), False)(args) is (None if there is None else not there)


def test_texts_that_look_the_same_fold_to_one():
    assert fold("\uff50\uff41\uff59\u200b\u202e") == "pay"
    assert fold("e\u0301") == fold("é") == "é"
    assert json.dumps(fold("plain")) == '"plain"'
