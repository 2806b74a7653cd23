"""The way back: everything returns as it was, and nothing else is built."""

from __future__ import annotations

import enum
import math
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from hitl.codec import dumps, loads, pack, register, unpack
from hitl.codec.pack import DEPTH
from hitl.errors import Damaged


@register
class Colour(enum.Enum):
    RED = "red"
    BLUE = ("b", 2)


@register
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@register
class Rights(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


@register
class Row(NamedTuple):
    owner: object
    size: object = 0


@register
@dataclass(frozen=True, slots=True)
class Leaf:
    content: object
    note: object = None


@register
@dataclass
class Branch:
    left: object
    rest: list[object] = field(default_factory=list)


@register
class Report(BaseModel):
    title: object = ""
    rows: object = None


TEXT = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates too
ZONES = st.none() | st.timezones() | st.sampled_from([
    UTC,
    timezone(timedelta(hours=-3, minutes=-30)),
    timezone(timedelta(seconds=61), "odd"),
    timezone(timedelta(0), "Z"),
])  # fmt: skip
HASHABLE_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**62, max_value=2**80)
    | st.floats()
    | TEXT
    | st.binary(max_size=8)
    | st.datetimes(timezones=ZONES, allow_imaginary=True)
    | st.builds(datetime.replace, st.datetimes(timezones=ZONES), fold=st.just(1))
    | st.dates()
    | st.times(timezones=ZONES)
    | st.timedeltas()
    | ZONES
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.complex_numbers()
    | st.sampled_from([*Colour, *Level, *Rights, Rights.READ | Rights.WRITE, Rights(0)])
    | st.sampled_from([Path("a/b"), Path(), PurePosixPath("/x"), PureWindowsPath("c:/x")])
)
HASHABLE = st.recursive(
    HASHABLE_LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3)
        | st.builds(Row, inner, inner)
        | st.builds(Leaf, inner)
    ),
    max_leaves=4,
)
LOOKALIKE_KEYS = st.sampled_from(["$", "v", "py:tuple", "py:dict", "py:int"])
VALUES = st.recursive(
    HASHABLE | st.decimals() | st.binary(max_size=8).map(bytearray) | LOOKALIKE_KEYS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.sets(HASHABLE, max_size=3)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.dictionaries(TEXT | LOOKALIKE_KEYS, inner, max_size=4)
        | st.builds(Row, inner, inner)
        | st.builds(Leaf, inner, inner)
        | st.builds(Branch, inner, st.lists(inner, max_size=2))
        | st.builds(Report, title=inner, rows=inner)
    ),
    max_leaves=12,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT | LOOKALIKE_KEYS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXT | LOOKALIKE_KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)


def same(one: Any, two: Any) -> Any:
    """Equal in value and exact type, all the way down; NaN equals NaN, 0.0 is not -0.0."""
    if type(one) is not type(two):
        return False
    match one:
        case float():
            return repr(one) == repr(two)
        case complex():
            return same([one.real, one.imag], [two.real, two.imag])
        case Decimal():
            return str(one) == str(two)
        case datetime() | time():
            bare = [moment.replace(tzinfo=None).isoformat() for moment in (one, two)]
            zones = same(one.tzinfo, two.tzinfo)
            return bare[0] == bare[1] and one.fold == two.fold and zones
        case timezone():
            return one == two and one.tzname(None) == two.tzname(None)
        case list() | tuple():
            return len(one) == len(two) and all(map(same, one, two))
        case set() | frozenset():
            return len(one) == len(two) and all(any(same(a, b) for b in two) for a in one)
        case dict():
            return same([*one.items()], [*two.items()])
        case Leaf():
            return same([one.content, one.note], [two.content, two.note])
        case Branch():
            return same([one.left, one.rest], [two.left, two.rest])
        case Report():
            return same([one.title, one.rows], [two.title, two.rows])
    return one == two


def there_and_back(value):
    return unpack(loads(dumps(pack(value))))


@given(VALUES)
@settings(max_examples=300)
def test_every_value_comes_back_equal_and_of_the_same_type(value):
    assert same(there_and_back(value), value)


@given(JSON)
@settings(max_examples=200)
def test_data_that_looks_like_a_tag_comes_back_as_it_was(value):
    assert same(there_and_back(value), value)


@given(VALUES)
def test_what_was_packed_can_itself_be_stored_as_data(value):
    tree = pack(value)
    assert same(there_and_back(tree), tree)


@given(st.sets(HASHABLE, max_size=5))
def test_equal_sets_are_equal_text_whatever_their_order(elements):
    assert dumps(pack(elements)) == dumps(pack({*reversed([*elements])}))


@pytest.mark.parametrize(
    "value",
    [
        -0.0, math.inf, -math.inf, math.nan, 2**63, -(2**63), -(2**63) - 1, 2**70, 10**6000,
        "\ud800", {"\udfff": "\ud800"}, {True: 1, 2: 3, None: 4, Level.LOW.name: 5, (1, 2): 6},
        {Colour.RED: 1, "red": 2}, {"$": "py:tuple", "v": [1]}, {"$": None}, {"$": {"$": {}}},
        {"a": 1, 2: {"b": 3, 4: {}}}, (), set(), frozenset(), [], {}, b"", ZoneInfo("Europe/Rome"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_awkward_values_come_back(value):
    assert same(there_and_back(value), value)


def test_the_order_of_keys_is_kept():
    value = {"z": 1, 3: 2, "a": 3, None: 4}
    assert list(there_and_back(value)) == ["z", 3, "a", None]


def test_a_second_fold_hour_in_a_zone_keeps_its_fold():
    value = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Rome"), fold=1)
    back = there_and_back(value)
    assert back.fold == 1
    assert back.utcoffset() == value.utcoffset()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: [inner],
        lambda inner: {"a": inner},
        lambda inner: {1: inner},
        lambda inner: {"$": inner},
        lambda inner: (inner,),
        lambda inner: frozenset([inner]),
        Leaf,
        Row,
    ],
)
def test_whatever_packs_at_the_deepest_allowed_place_also_reads(wrap):
    value = 1
    for _ in range(DEPTH):
        value = wrap(value)
    assert there_and_back(value) == value


def test_the_result_shares_nothing_with_the_tree():
    tree: Any = {"a": [1]}
    back: Any = unpack(tree)
    back["a"].append(2)
    assert tree == {"a": [1]}


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "os:system", "v": "true"},
        {"$": "antigravity:fly", "v": {}},
        {"$": "this:zen", "v": ["x"]},
        {"$": "py:antigravity", "v": []},
        {"$": "hitl.codec.registry:Form", "v": {}},
        {"$": "builtins:eval", "v": "1"},
        {"$": 3, "v": 1},
        {"$": ["py:tuple"], "v": 1},
        {"$": "py:tuple"},
        {"$": "py:tuple", "v": [], "w": 1},
        {"$": "py:tuple", "w": []},
        {"$": "py:tuple", "v": "abc"},
        {"$": "py:set", "v": [[]]},
        {"$": "py:set", "v": None},
        {"$": "py:dict", "v": [[[], 1]]},
        {"$": "py:dict", "v": [[1, 2, 3]]},
        {"$": "py:dict", "v": 5},
        {"$": "py:int", "v": "rm -rf"},
        {"$": "py:int", "v": 5},
        {"$": "py:float", "v": "1.5"},
        {"$": "py:bytes", "v": "***"},
        {"$": "py:datetime", "v": "yesterday"},
        {"$": "py:datetime", "v": ["2024-01-01", "x", 1]},
        {"$": "py:timezone", "v": [1]},
        {"$": "py:zoneinfo", "v": "../../etc/passwd"},
        {"$": "py:zoneinfo", "v": "os/system"},
        {"$": "py:decimal", "v": "ten"},
        {"$": "py:uuid", "v": "1"},
        {"$": "py:complex", "v": [1, 2, 3, 4]},
        {"$": f"{__name__}:Colour", "v": "GREEN"},
        {"$": f"{__name__}:Leaf", "v": [1]},
        {"$": f"{__name__}:Leaf", "v": {"note": 1}},
        {"$": f"{__name__}:Row", "v": {"size": 1}},
    ],
    ids=lambda tree: ascii(tree)[:50],
)
def test_a_hostile_or_damaged_tree_is_refused_and_imports_nothing(tree):
    with pytest.raises(Damaged):
        unpack([{"deep": tree}])
    assert not {"antigravity", "this"} & set(sys.modules)


def test_the_error_of_an_unknown_type_names_it():
    with pytest.raises(Damaged, match="shop:Order") as caught:
        unpack({"$": "shop:Order", "v": {}})
    assert caught.value.fields["type"] == "shop:Order"


def test_a_tree_that_is_too_deep_is_refused():
    tree: Any = 1
    for _ in range(DEPTH + 1):
        tree = [tree]
    with pytest.raises(Damaged, match="nested"):
        unpack(tree)
    pairs: Any = 1
    for _ in range(DEPTH + 1):
        pairs = {"$": "py:dict", "v": [[1, pairs]]}
    with pytest.raises(Damaged, match="nested"):
        unpack(pairs)
    tags: Any = 1
    for _ in range(100_000):
        tags = {"$": "py:tuple", "v": tags}
    with pytest.raises(Damaged, match="nested"):
        unpack(tags)
    while type(tags) is dict:  # taken apart by hand: freeing it at once would recurse
        tags = tags["v"]
