"""The small values that stand in a policy file: times, numbers, names, and what each must be."""

from __future__ import annotations

import re
from math import isfinite
from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, Field, PlainValidator, StrictStr, WithJsonSchema

from hitl.values import Json

__all__ = [
    "Count",
    "Duration",
    "Effect",
    "Name",
    "Names",
    "NamesOrNone",
    "Number",
    "Positive",
    "Scalar",
    "different",
    "unique",
]

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([1-9][0-9]{0,5})([smhd])")

T = TypeVar("T")


def _duration(value: object) -> float:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("wanted a time such as 90s, 30m, 24h or 7d")
    return float(int(match[1]) * _SECONDS[match[2]])


def _number(value: object) -> int | float:
    if type(value) is int or (type(value) is float and isfinite(value)):
        return value
    raise ValueError("wanted a number")


def _scalar(value: object) -> str | int | float | bool | None:
    if value is None or type(value) in (str, bool):
        return value  # type: ignore[return-value]
    try:
        return _number(value)
    except ValueError:
        raise ValueError("wanted a text, a number, true, false or null") from None


def _count(value: object) -> int:
    if type(value) is int and 0 <= value <= 2**53:
        return value
    raise ValueError("wanted a whole number from 0 on")


def _positive(value: object) -> int:
    if type(value) is int and 1 <= value <= 1_000_000:
        return value
    raise ValueError("wanted a whole number from 1 to 1000000")


def different(values: list[T]) -> list[T]:
    """Return a list in which nothing stands twice."""
    seen: list[tuple[type, T]] = []
    kinds = {(type(value), repr(value)) for value in values}
    if len(kinds) < len(values):
        for value in values:
            if (type(value), value) in seen:
                raise ValueError(f"{value!r} stands twice")
            seen.append((type(value), value))
    return values


def _schema(kind: Json, **more: Json) -> WithJsonSchema:
    return WithJsonSchema({"type": kind, **more})


Duration: TypeAlias = Annotated[
    float,
    PlainValidator(_duration),
    _schema("string", pattern=r"^[1-9][0-9]{0,5}[smhd]$"),
]
Number: TypeAlias = Annotated[int | float, PlainValidator(_number), _schema("number")]
Scalar: TypeAlias = Annotated[
    str | int | float | bool | None,
    PlainValidator(_scalar),
    _schema(["string", "number", "boolean", "null"]),
]
Count: TypeAlias = Annotated[
    int, PlainValidator(_count), _schema("integer", minimum=0, maximum=2**53)
]
Positive: TypeAlias = Annotated[
    int, PlainValidator(_positive), _schema("integer", minimum=1, maximum=1_000_000)
]
Name: TypeAlias = Annotated[StrictStr, Field(min_length=1, max_length=200)]
unique = Field(json_schema_extra={"uniqueItems": True})
NamesOrNone: TypeAlias = Annotated[list[Name], AfterValidator(different), unique]
Names: TypeAlias = Annotated[list[Name], AfterValidator(different), unique, Field(min_length=1)]
Effect: TypeAlias = Literal["allow", "ask", "deny"]
