"""Channels: how writes become values."""

from __future__ import annotations

import collections.abc
import operator
from typing import Any

import pytest

from hitl.engine.merge import Channel, empty_of, initial, merge, own
from hitl.errors import InvalidUpdateError


def extend(old, new):
    old.extend(new)
    return old


ADD: Any = operator.add
BEST: Any = max
CHANNELS = {
    "n": Channel("n"),
    "log": Channel("log", ADD, list),
    "grown": Channel("grown", extend, list),
    "best": Channel("best", BEST),
}


def test_a_key_without_reducer_takes_the_new_value_and_one_write_only():
    assert merge(CHANNELS, {"n": 1}, [("n", 2)]) == {"n": 2}
    with pytest.raises(InvalidUpdateError, match="'n' was written twice") as caught:
        merge(CHANNELS, {}, [("n", 1), ("n", 2)])
    assert caught.value.fields["key"] == "n"


def test_an_unknown_key_is_refused_with_a_near_one():
    with pytest.raises(InvalidUpdateError, match=r"no key 'lo'\. Did you mean 'log'"):
        merge(CHANNELS, {}, [("lo", 1)])


def test_a_reducer_joins_the_old_value_and_each_write_in_order():
    assert merge(CHANNELS, {"log": [1]}, [("log", [2]), ("log", [3])]) == {"log": [1, 2, 3]}
    assert merge(CHANNELS, {}, [("best", 2), ("best", 5)]) == {"best": 5}


def test_a_reducer_that_works_in_place_changes_neither_the_state_nor_what_was_written():
    first = [2]
    values: dict[str, object] = {"grown": [1]}
    assert merge(CHANNELS, values, [("grown", first), ("grown", [3])]) == {"grown": [1, 2, 3]}
    assert merge(CHANNELS, {}, [("grown", first), ("grown", [3])]) == {"grown": [2, 3]}
    assert (values, first) == ({"grown": [1]}, [2])


def test_lists_that_are_added_up_change_neither_the_state_nor_what_was_written():
    first, second = [2], [3]
    values: dict[str, object] = {"log": [1]}
    writes = [("log", first), ("log", second), ("log", [4])]
    assert merge(CHANNELS, values, writes) == {"log": [1, 2, 3, 4]}
    assert merge(CHANNELS, {}, writes) == {"log": [2, 3, 4]}
    assert (values, first, second) == ({"log": [1]}, [2], [3])


def test_a_write_that_is_no_list_is_the_reducers_matter_though_a_list_has_grown():
    with pytest.raises(TypeError):
        merge(CHANNELS, {"log": [1]}, [("log", [2]), ("log", (3,))])


def test_a_reducer_starts_from_the_empty_value_of_its_type():
    assert initial(CHANNELS) == {"log": [], "grown": []}
    for hint, empty in (
        (list[int], []), (dict, {}), (set[str], set()), (int, 0), (str, ""),
        (collections.abc.Sequence, []), (collections.abc.Mapping[str, int], {}),
    ):  # fmt: skip
        make = empty_of(hint)
        assert make is not None
        assert make() == empty


def test_a_type_that_needs_arguments_has_no_empty_value():
    class Needs:
        def __init__(self, x):
            pass

    assert empty_of(Needs) is None
    assert empty_of(int | str) is None


def test_containers_are_copied_and_other_values_are_not():
    for value in ([1], {"a": 1}, {1}):
        assert own(value) == value
        assert own(value) is not value
    once = (1,)
    assert own(once) is once
