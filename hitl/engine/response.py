"""The form that an answer must have: frozen as JSON Schema, made of the answer on delivery.

Knows no task and no item. pydantic is loaded only where a type is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from hitl.codec import dumps
from hitl.errors import Misuse
from hitl.values import Json, plain

__all__ = ["Response", "read_response"]


@dataclass(frozen=True, slots=True)
class Response:
    """What an answer must be.

    Attributes:
        schema: JSON Schema, which any process can check an answer by.
        convert: Makes the type's own value of an answer; raises ValueError where a validator
            refuses what the schema lets pass.
    """

    schema: dict[str, Json]
    convert: Callable[[object], object]


def read_response(given: object) -> Response:
    """Return what ``response_schema=`` says.

    Args:
        given: A JSON Schema as a dict, or a type that pydantic knows.

    Raises:
        Misuse: It is neither.
    """
    if not isinstance(given, dict):
        try:
            return _of_type(given)
        except TypeError:  # a type that cannot be hashed is read anew each time
            return _read_type(given)
    try:
        schema = plain(given)
    except ValueError as error:
        raise Misuse(f"response_schema is no plain JSON: {error}.") from error
    assert isinstance(schema, dict)
    return Response(schema, lambda answer: answer)


def _read_type(given: object) -> Response:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter: TypeAdapter[object] = TypeAdapter(cast("type[object]", given))
        schema: dict[str, Json] = adapter.json_schema()
    except PydanticUserError as error:
        raise Misuse(
            f"response_schema is {given!r}, of which no JSON Schema can be made.",
            hint="Give a pydantic model, another type that pydantic knows, or a JSON Schema.",
        ) from error
    # As JSON, so that text becomes the dates and ids that the type has.
    return Response(schema, lambda answer: adapter.validate_json(dumps(answer)))  # type: ignore[arg-type]


_of_type = lru_cache(256)(_read_type)
