"""What each operator of a condition means: a value against what was wanted.

Owns three-valued truth for single values: True, False, or None for "cannot be told". A value of
another kind than the wanted one is never False: ``"101"`` against ``gt: 100`` is unknown, as is
``true`` against ``eq: 1``, NaN, and a text that differs only in how Unicode writes it. Unknown
leans to the safe side in every rule. No test raises; none does more work than its value is long.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

from hitl.values import Json

__all__ = ["MISSING", "OPERATORS", "Test", "Truth", "fold"]

Truth = bool | None
Test = Callable[[object], Truth]

MISSING: Final = object()
"""Stands for an argument that is not there; of no kind, so unknown to every test."""

Texts = Callable[[str], bool]


def fold(text: str) -> str:
    """Return a text as one that looks the same: compatibility forms joined, invisibles dropped."""
    if text.isascii() and text.isprintable():
        return text
    joined = unicodedata.normalize("NFKC", text)
    seen = "".join(char for char in joined if not _invisible(char))
    return unicodedata.normalize("NFKC", seen)


_IGNORED = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000)))
)
"""Letters and marks that are drawn as nothing. Source: Unicode, Default_Ignorable_Code_Point."""


def _invisible(char: str) -> bool:
    return unicodedata.category(char) in ("Cf", "Cc", "Zl", "Zp") or char in _IGNORED


def _text(make: Callable[[str], Texts], wanted: str) -> Test:
    """Return a test of texts; unknown where only the look-alike of a text would pass or fail."""
    exact = make(wanted)
    alike = exact if wanted.isascii() else make(fold(wanted))
    ascii_only = wanted.isascii()

    def test(value: object) -> Truth:
        if type(value) is not str:
            return None
        found = exact(value)
        if ascii_only and value.isascii() and value.isprintable():
            return found
        return found if alike(fold(value)) is found else None

    return test


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
    texts = [value for value in values if isinstance(value, str)]
    bools = frozenset(value for value in values if isinstance(value, bool))
    numbers = frozenset(
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    )
    exact = frozenset(texts)
    alike = frozenset(map(fold, texts))
    text = _text_in(exact, alike)
    number = _number(numbers.__contains__)

    def test(value: object) -> Truth:
        kind = type(value)
        if kind is str:
            return text(value) if texts else None
        if kind is bool:
            return value in bools if bools else None
        if value is None:
            return True if None in values else None
        return number(value) if numbers else None

    return test if texts or bools or numbers else _eq(None)


def _text_in(exact: frozenset[str], alike: frozenset[str]) -> Test:
    plain = all(text.isascii() for text in exact)

    def test(value: object) -> Truth:
        if type(value) is not str:
            return None
        found = value in exact
        if plain and value.isascii():
            return found
        return found if (fold(value) in alike) is found else None

    return test


def _any(truths: Iterable[Truth]) -> Truth:
    """Return whether any is True; unknown where none is and one is unknown."""
    result: Truth = False
    for truth in truths:
        if truth:
            return True
        if truth is None:
            result = None
    return result


def _contains(wanted: Json) -> Test:
    same = _eq(wanted)
    inside: Test | None = None
    if isinstance(wanted, str):
        inside = _text(lambda text: lambda value: text in value, wanted)

    def test(value: object) -> Truth:
        if type(value) is list:
            return _any(same(part) for part in value)
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
    from hitl.policy.hosts import compile_hosts

    return compile_hosts([str(host) for host in _list(wanted)])


def _argv(wanted: Json) -> Test:
    from hitl.policy.argv import compile_argv

    return compile_argv([[str(word) for word in _list(words)] for words in _list(wanted)])


def _sql(wanted: Json) -> Test:
    from hitl.policy.sql import compile_sql

    return compile_sql("read" if wanted == "read" else "write")


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
