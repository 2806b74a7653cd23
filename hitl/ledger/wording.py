"""How places and values of arguments are named in sentences for a reviewer.

Owns their length and their safety: nothing that a terminal would obey comes out of here.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from hitl.values import Json

__all__ = ["TYPES", "Path", "closest", "near", "place", "shown", "shown_all"]

Path = tuple[str | int, ...]

_WIDTH = 40

TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


def closest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like a given one, if any is like it."""
    from difflib import get_close_matches  # on first use: only where something is wrong

    # Likeness costs the product of the lengths: names are bounded, and so is their number.
    short = list(islice((other for other in names if len(other) <= 64), 200))
    found = get_close_matches(name, short, n=1) if len(name) <= 64 else []
    return found[0] if found else None


def near(word: object, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` where a known word is close, else nothing."""
    match = closest(str(word), known)
    return f" Did you mean {match!r}?" if match else ""


def place(at: Path) -> str:
    """Return a path as it is written in Python: ``args.rows[3].owner``."""
    parts = ["args"]
    for part in at:
        if isinstance(part, str) and part.isascii() and part.isidentifier():
            parts.append(f".{part if len(part) <= _WIDTH else part[:_WIDTH] + '...'}")
        else:
            parts.append(f"[{shown(part)}]")
    return "".join(parts)


def shown(value: Json) -> str:
    """Return a value in a few words, with nothing in it that a terminal would obey."""
    if isinstance(value, list | dict):
        kind = "a list" if isinstance(value, list) else "an object"
        return f"{kind} of {len(value)}"
    if isinstance(value, str) and len(value) > _WIDTH:
        return f"{value[:_WIDTH]!r}..."
    if isinstance(value, int) and value.bit_length() > 4 * _WIDTH:
        return "a very large number"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def shown_all(values: list[Json]) -> str:
    """Return the first ten values of a list, as :func:`shown` tells them."""
    more = ", ..." if len(values) > 10 else ""
    return ", ".join(shown(value) for value in values[:10]) + more
