"""A value that cannot be stored, on its way up to become an error.

Owns the path to it. The walk passes no path down, which would cost every value; each container
adds its step when a refusal comes by.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import sys
from typing import Final, NamedTuple

from hitl.errors import NotStorable

__all__ = ["ELEMENT", "Key", "Refusal"]

ELEMENT: Final = object()
"""The step to an element of a set, which has no place."""

_SHOWN = 12
_REGISTER = "hitl.codec.register"


class Key(NamedTuple):
    """The step to a key of a dict, in place of the value under it."""

    at: int


class Refusal(Exception):
    """Why a value cannot be stored, and the steps to it gathered so far.

    Args:
        what: What is wrong, to be read after the path.
        hint: What to do.
        too_deep: Whether the depth was the reason, of which a cycle may be the cause.
    """

    def __init__(self, what: str, hint: str, *, too_deep: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.too_deep = too_deep
        self._steps: list[tuple[object, object]] = []  # (container, key), innermost first

    @classmethod
    def of_type(cls, value: object) -> Refusal:
        """Return the refusal of a value whose exact type is not known."""
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        return cls(f"is a {name}, which is not a storable type", _hint(value))

    def below(self, container: object, key: object) -> None:
        """Note that this came from ``container[key]``."""
        self._steps.append((container, key))

    def through(self, payload: object, value: object) -> None:
        """Put a value in the place of the payload that it was taken apart into."""
        if self._steps and self._steps[-1][0] is payload:
            self._steps[-1] = (value, self._steps[-1][1])

    def as_error(self, where: str) -> NotStorable:
        """Return the error for the caller, whose value is called ``where``."""
        steps = self._steps[::-1]
        what, hint = self.what, self.hint
        if self.too_deep:
            loop = _loop(steps)
            if loop is None:
                shown = where + "".join(_text(*step) for step in steps[:_SHOWN]) + "..."
                return NotStorable(f"{shown} {what}.", hint=hint, path=shown)
            steps = steps[:loop]
            what, hint = "contains itself", "Store an id in place of the object."
        path = where + "".join(_text(*step) for step in steps)
        return NotStorable(f"{path} {what}.", hint=hint, path=path)


def _loop(steps: list[tuple[object, object]]) -> int | None:
    seen: set[int] = set()
    for index, (container, _) in enumerate(steps):
        if id(container) in seen:
            return index
        seen.add(id(container))
    return None


def _text(container: object, key: object) -> str:
    if key is ELEMENT:
        return "{...}"
    if isinstance(key, Key):
        return f".keys()[{key.at}]"
    if type(container) is not dict and isinstance(key, str):
        return f".{key}"
    return f"[{json.dumps(key)}]" if type(key) is str else f"[{key!r}]"


def _hint(value: object) -> str:
    kind = type(value)
    if _has_fields(value):
        return f"Register its class once, where it is defined: {_REGISTER}({kind.__qualname__})."
    for plain in (str, int, float, dict, list, tuple, set, bytes):
        if isinstance(value, plain):
            return f"Convert it with {plain.__name__}(...), or {_REGISTER}() its class."
    return (
        "Store plain data in its place, or register how it is stored: "
        f"{_REGISTER}({kind.__qualname__}, pack=..., unpack=...)."
    )


def _has_fields(value: object) -> bool:
    pydantic = sys.modules.get("pydantic")
    return (
        isinstance(value, enum.Enum)
        or dataclasses.is_dataclass(value)
        or (isinstance(value, tuple) and hasattr(value, "_fields"))
        or (pydantic is not None and isinstance(value, pydantic.BaseModel))
    )
