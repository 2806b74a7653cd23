"""Packed trees to text and back.

Owns the limits of size and nesting. pydantic_core does the work; what it cannot take (lone
surrogates, very deep trees) goes through ``json`` with ASCII escapes. That is the same format
with the same checks, not a second codec.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from typing import NoReturn, cast

from hitl.errors import Damaged, NotStorable
from hitl.values import Json

__all__ = ["dumps", "loads"]

SIZE = 64 * 1024 * 1024
"""Bytes of text that one value may take."""

NESTING = 512
"""Brackets that may stand in each other: a packed container takes up to three."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|([\[{])|([\]}])', re.DOTALL)


@cache
def _fast() -> tuple[Callable[[object], bytes], Callable[[str], Json]]:
    # Loaded on first use: it is most of what the codec costs to import.
    from pydantic_core import from_json, to_json

    return to_json, partial(from_json, allow_inf_nan=False)


def dumps(tree: Json) -> str:
    """Return the compact JSON text of a packed tree.

    Args:
        tree: What ``pack`` returned, or several such trees put together.

    Raises:
        NotStorable: It is no plain JSON (a bare NaN, say), is nested in itself or too deeply,
            or takes more than 64 MiB of text.
    """
    try:
        data = _fast()[0](tree)
        text = data.decode()
        if b"NaN" in data or b"Infinity" in data:  # maybe only within a string
            text = _slow_dumps(tree)
    except ValueError:
        text = _slow_dumps(tree)
    if len(text) > SIZE:
        raise NotStorable(
            f"A value takes {len(text):,} characters of text; {SIZE:,} are allowed.",
            hint="Store a large document in a file or a table of its own, and its name here.",
            size=len(text),
        )
    return text


def _slow_dumps(tree: Json) -> str:
    try:
        text = json.dumps(tree, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise NotStorable(
            f"A tree cannot be written as JSON: {error}", hint="Give it to pack() first."
        ) from error
    if _nesting(text) > NESTING:
        raise NotStorable(
            f"A tree is nested more than {NESTING} brackets deep.", hint="Store flatter data."
        )
    return text


def loads(text: str) -> Json:
    """Return the tree that a JSON text stands for.

    Raises:
        Damaged: The text is not JSON, has a bare NaN or infinity, or is nested too deeply.
    """
    try:
        return _fast()[1](text)
    except ValueError:
        return _slow_loads(text)


def _slow_loads(text: str) -> Json:
    if _nesting(text) > NESTING:
        raise Damaged(f"A stored text is nested more than {NESTING} brackets deep.")
    try:
        return cast("Json", json.loads(text, parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        raise Damaged(f"A stored text is not JSON: {error}") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"a bare {name}")


def _nesting(text: str) -> int:
    depth = deepest = 0
    for token in _TOKENS.finditer(text):
        if token[1]:
            depth += 1
            deepest = max(deepest, depth)
        elif token[2]:
            depth -= 1
    return deepest
