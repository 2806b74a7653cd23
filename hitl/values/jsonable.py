"""Plain JSON as Python values, its canonical bytes, and fingerprints made of them.

Owns the meaning of "the same arguments": two values are the same if their canonical bytes
are, so ``1``, ``1.0`` and ``True`` differ and the order of keys does not count.
"""

from __future__ import annotations

import hashlib
import json
from typing import TypeAlias

__all__ = ["Json", "canonical", "fingerprint", "plain"]

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"


def canonical(value: Json) -> bytes:
    """Return the one JSON text of a value: sorted keys, no blanks, ASCII only.

    Raises:
        ValueError: The value holds NaN or an infinity.
        TypeError: The value is not plain JSON.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode("ascii")


def fingerprint(name: str, args: Json) -> str:
    """Return 32 hex digits that stand for one tool name with exactly these arguments."""
    return hashlib.blake2b(canonical([name, args]), digest_size=16).hexdigest()


def plain(value: object) -> Json:
    """Return a copy of a value that is plain JSON already.

    Raises:
        ValueError: It is not: a tuple, a key that is no text, NaN, any other object.
    """
    try:
        copy: Json = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if copy != value:
        raise ValueError("it changes when written as JSON (a tuple, or a key that is no text)")
    return copy
