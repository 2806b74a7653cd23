"""What each operator of a condition means: a value against what was wanted.

Owns three-valued truth for single values: True, False, or None for "cannot be told". A value of
another kind than the wanted one is never False: ``"101"`` against ``gt: 100`` is unknown, as is
``true`` against ``eq: 1``, NaN, and a text that differs only in how Unicode writes it. Unknown
leans to the safe side in every rule. No test raises, and none does more work than its value is long.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, cast

from hitl.values import Json

__all__ = ["MISSING", "OPERATORS", "Test", "Truth", "fold"]

Truth = bool | None
Test = Callable[[object], Truth]

MISSING: Final = object()
"""Stands for an argument that is not there; of no kind, so unknown to every test."""

Texts = Callable[[str], bool]


def fold(text: str) -> str:
    """Return a text as one that looks the same: compatibility forms joined, invisibles dropped."""
    if text.isascii():
        return text
    joined = unicodedata.normalize("NFKC", text)
    return "".join(char for char in joined if unicodedata.category(char) != "Cf")


def _text(make: Callable[[str], Texts], wanted: str) -> Test:
    """Return a test of texts; unknown where only the look-alike of a text would pass or fail."""
    exact = make(wanted)
    alike = exact if wanted.isascii() else make(fold(wanted))
    ascii_only = wanted.isascii()

    def test(value: object) -> Truth:
        if type(value) is not str:
            return None
        found = exact(value)
        if ascii_only and value.isascii():
            return found
        return found if alike(fold(value)) is found else None

    return test


def is_number(value: object) -> bool:
    """Return whether a value is a number that can be compared; a bool and NaN are not."""
    kind = type(value)
    return kind is int or (kind is float and value - value == 0.0)  # type: ignore[operator]


def _number(passes: Callable[[int | float], bool]) -> Test:
    def test(value: object) -> Truth:
        kind = type(value)
        if kind is int or (kind is float and value - value == 0.0):  # type: ignore[operator]
            return passes(value)  # type: ignore[arg-type]
        return None

    return test


def _eq(wanted: Json) -> Test:
    if wanted is None:
        return lambda value: None if value is MISSING else value is None
    if isinstance(wanted, str):
        return _text(lambda text: text.__eq__, wanted)
    if isinstance(wanted, bool):
        return lambda value: value is wanted if type(value) is bool else None
    if isinstance(wanted, int | float):
        return _number(lambda value: value == wanted)
    raise ValueError("wanted a text, a number, true, false or null")


def _in(wanted: Json) -> Test:
    values = _list(wanted)
    texts = frozenset(value for value in values if isinstance(value, str))
    alike = frozenset(map(fold, texts))
    plain = all(text.isascii() for text in texts)
    others = [_eq(value) for value in values if not isinstance(value, str)]

    def test(value: object) -> Truth:
        if type(value) is str and texts:
            found = value in texts
            if (plain and value.isascii()) or (fold(value) in alike) is found:
                return found
            return None
        return any_of(other(value) for other in others)

    return test


def any_of(truths: object) -> Truth:
    """Return whether any is True; unknown if none is and one is not False (none at all, too)."""
    result: Truth = None
    known = False
    unknown = False
    for truth in cast("Sequence[Truth]", truths):
        if truth:
            return True
        known = True
        unknown = unknown or truth is None
    if known and not unknown:
        result = False
    return result


def _contains(wanted: Json) -> Test:
    same = _eq(wanted)
    inside = _text(lambda text: lambda value: text in value, wanted) if isinstance(wanted, str) else None

    def test(value: object) -> Truth:
        if type(value) is list:
            return any_of(same(part) for part in value) if value else False
        return inside(value) if inside else None

    return test


def _glob(wanted: Json) -> Test:
    from hitl.policy.glob import compile_glob

    return _text(compile_glob, str(wanted))


def _between(wanted: Json) -> Test:
    low, high = (cast("int | float", number) for number in _list(wanted))
    if low > high:
        raise ValueError(f"{low!r} is more than {high!r}")
    return _number(lambda value: low <= value <= high)


def _sized(passes: Callable[[int], bool]) -> Test:
    def test(value: object) -> Truth:
        if type(value) in (str, list, dict):
            return passes(len(value))  # type: ignore[arg-type]
        return None

    return test


def _host_in(wanted: Json) -> Test:
    from hitl.policy.hosts import host_in

    hosts = tuple(map(str, _list(wanted)))
    return lambda value: host_in(value, hosts)


def _argv(wanted: Json) -> Test:
    from hitl.policy.argv import argv_matches

    spec = [tuple(map(str, _list(words))) for words in _list(wanted)]
    return lambda value: argv_matches(value, spec)


def _sql(wanted: Json) -> Test:
    from hitl.policy.sql import sql_is

    what: Literal["read", "write"] = "read" if wanted == "read" else "write"
    return lambda value: sql_is(value, what)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _bound(passes: Callable[[int | float, int | float], bool]) -> Callable[[Json], Test]:
    def make(wanted: Json) -> Test:
        bound = cast("int | float", wanted)
        return _number(lambda value: passes(value, bound))

    return make


OPERATORS: Mapping[str, Callable[[Json], Test]] = {
    "eq": _eq,
    "in": _in,
    "prefix": lambda wanted: _text(lambda text: lambda value: value.startswith(text), str(wanted)),
    "suffix": lambda wanted: _text(lambda text: lambda value: value.endswith(text), str(wanted)),
    "contains": _contains,
    "glob": _glob,
    "gt": _bound(lambda value, bound: value > bound),
    "ge": _bound(lambda value, bound: value >= bound),
    "lt": _bound(lambda value, bound: value < bound),
    "le": _bound(lambda value, bound: value <= bound),
    "between": _between,
    "size": lambda wanted: _sized(lambda size: size == wanted),
    "size_le": lambda wanted: _sized(lambda size: size <= cast("int", wanted)),
    "host_in": _host_in,
    "argv": _argv,
    "sql": _sql,
}
"""The operators that look at a value alone. ``exists`` and ``within`` need more than that."""
