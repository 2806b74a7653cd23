import enum
import json
import math
import sys
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.values import canonical, fingerprint, plain

numbers = st.sampled_from([0, 1, -1, 1.0, -0.0, 0.0, True, False, 2**70, 1e300])
texts = st.text(max_size=3) | st.sampled_from(["\ud83d\ude00", "\ud800", "\U0001f600", "é"])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | numbers
finite = scalars.filter(lambda value: type(value) is not float or math.isfinite(value))


def trees(leaves, keys=texts):
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=8,
    )


def exact(value):
    """Return a value in a form that is equal only where the types are the same as well."""
    if type(value) is dict:
        return "dict", frozenset((key, exact(inner)) for key, inner in value.items())
    if type(value) is list:
        return "list", tuple(exact(inner) for inner in value)
    # A float is told by its text, which tells 0.0 from -0.0.
    return type(value).__name__, repr(value) if type(value) is float else value


whole = trees(finite.filter(lambda value: type(value) is not str or value.isascii()), st.text("ab"))


@given(whole, whole)
def test_canonical_bytes_are_the_same_exactly_for_the_same_value(one, two):
    assert (canonical(one) == canonical(two)) is (exact(one) == exact(two))


@given(trees(finite, st.text("ab", max_size=2)), st.randoms())
def test_the_order_of_keys_does_not_count(tree, random):
    def shuffled(value):
        if isinstance(value, list):
            return [shuffled(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        pairs = list(value.items())
        random.shuffle(pairs)
        return {key: shuffled(inner) for key, inner in pairs}

    assert canonical(shuffled(tree)) == canonical(tree)
    assert fingerprint("send", shuffled(tree)) == fingerprint("send", tree)


@given(trees(finite))
def test_canonical_bytes_are_what_the_standard_library_writes(tree):
    text = json.dumps(tree, sort_keys=True, separators=(",", ":"), allow_nan=False)
    assert canonical(tree) == text.encode("ascii")


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf], {"a": math.nan}])
def test_numbers_that_json_lacks_have_no_canonical_bytes(value):
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical(value)


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x"])
def test_other_objects_have_no_canonical_bytes(value):
    with pytest.raises(TypeError):
        canonical(value)


@given(st.text(), whole)
def test_a_fingerprint_is_32_hex_digits_and_stands_for_name_and_arguments(name, args):
    print_ = fingerprint(name, args)
    assert len(print_) == 32
    assert int(print_, 16) >= 0
    assert print_ != fingerprint(f"{name}!", args)
    assert print_ != fingerprint(name, [args])


def test_fingerprints_never_change_since_files_hold_them():
    assert fingerprint("send", {"to": "é", "n": 1.5}) == "789529ce62c478e57a842a3e2b2435b9"


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Half(float):
    pass


class Name(str):
    __slots__ = ()


class Row(list):
    pass


odd = (
    scalars
    | st.sampled_from([math.nan, math.inf, 10**599, -(10**600), 10**700])
    | st.sampled_from([Colour.RED, Level.HIGH, Half(0.5), Name("n"), Half("nan")])
    | st.sampled_from([(), (1,), b"x", frozenset(), object(), Row([1]), Row([()])])
    | st.sampled_from([OrderedDict(a=1), OrderedDict({1: 1})])
)
keys = texts | st.sampled_from([1, True, None, 1.5, Colour.RED, Name("n"), (1,)])


def by_way_of_text(value):
    """Copy a value in the obvious way, the meaning of ``plain``."""
    try:
        copy = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if copy != value:
        raise ValueError("changes")
    return copy


@given(trees(odd, keys))
def test_a_plain_copy_is_what_comes_back_from_json_text(value):
    try:
        expected = by_way_of_text(value)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011  many messages, one meaning
            plain(value)
    else:
        assert exact(plain(value)) == exact(expected)


def test_a_copy_shares_no_container_with_what_it_was_made_of():
    value: Any = {"a": [{"b": []}]}
    copy = plain(value)
    value["a"][0]["b"].append(1)
    value["a"].append(2)
    assert copy == {"a": [{"b": []}]}


def test_a_value_inside_itself_is_refused():
    value: list[object] = []
    value.append(value)
    with pytest.raises(ValueError, match="Circular"):
        plain(value)


def test_a_value_that_is_too_deep_for_python_is_refused():
    value: list[object] = []
    for _ in range(200_000):
        value = [value]
    with pytest.raises(ValueError, match="recursion"):
        plain(value)


def test_a_number_with_more_digits_than_python_writes_is_refused():
    limit = sys.get_int_max_str_digits()
    assert plain(10 ** (limit - 1)) == 10 ** (limit - 1)
    with pytest.raises(ValueError, match="digits"):
        plain([10**limit])
