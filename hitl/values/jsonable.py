"""Plain JSON as Python values, its canonical bytes, and fingerprints made of them.

Owns the meaning of "the same arguments": two values are the same if their canonical bytes
are, so ``1``, ``1.0`` and ``True`` differ and the order of keys does not count.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from math import isfinite
from typing import TypeAlias

__all__ = ["Json", "canonical", "fingerprint", "plain"]

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"

_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
).encode

_BIG = 10**600
"""Integers from here on may have more digits than Python is set to write, 640 at the least."""


def canonical(value: Json) -> bytes:
    """Return the one JSON text of a value: sorted keys, no blanks, ASCII only.

    Raises:
        ValueError: The value holds NaN or an infinity.
        TypeError: The value is not plain JSON.
    """
    return _encode(value).encode("ascii")


def fingerprint(name: str, args: Json) -> str:
    """Return 32 hex digits that stand for one tool name with exactly these arguments."""
    return blake2b(canonical([name, args]), digest_size=16).hexdigest()


def plain(value: object) -> Json:
    """Return a copy of a value that is plain JSON already.

    A value of a derived type is copied as one of the type that JSON has for it, if the two are
    equal: an ``OrderedDict`` as a ``dict``, an ``IntEnum`` as an ``int``.

    Raises:
        ValueError: It is not: a tuple, a key that is no text, NaN, any other object.
    """
    try:
        return _copy(value)
    except (_Unusual, RecursionError):
        return _by_way_of_text(value)


class _Unusual(Exception):
    """A value for which it takes a look at its JSON text to tell whether it is plain."""


def _copy(value: object) -> Json:
    """Return a copy of what has exactly JSON's own types; twice as fast as by way of text."""
    if type(value) is dict:
        copy: dict[str, Json] = {}
        for key, inner in value.items():  # names and short texts, nearly always
            name = key if type(key) is str and key.isascii() else _whole(key)
            copy[name] = inner if type(inner) is str and inner.isascii() else _copy(inner)
        return copy
    if type(value) is str:
        return _whole(value)
    if type(value) is list:
        return [_copy(inner) for inner in value]
    if value is None or type(value) is bool:
        return value
    if type(value) is int and -_BIG < value < _BIG:
        return value
    if type(value) is float and isfinite(value):
        return value
    raise _Unusual


def _whole(text: object) -> str:
    """Return a text that stays what it is in JSON; two surrogates would become one character."""
    if type(text) is not str:
        raise _Unusual
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _Unusual from None
    return text


def _by_way_of_text(value: object) -> Json:
    try:
        copy: Json = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if copy != value:
        raise ValueError("it changes when written as JSON (a tuple, or a key that is no text)")
    return copy
