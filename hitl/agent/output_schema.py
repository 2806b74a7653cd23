"""The schema of a structured answer: read from a type or a JSON schema, and parsing by it."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from hitl.agent.tool_names import is_name
from hitl.errors import Misuse
from hitl.ledger import problems
from hitl.values import Json, plain

__all__ = ["OutputSchema", "read_schema"]


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """One form that an answer may have.

    Attributes:
        name: What the model calls it.
        description: What the model reads about it.
        schema: Its JSON schema.
        parse_json: Makes the answer of JSON text; raises ValueError where it does not fit.
    """

    name: str
    description: str
    schema: dict[str, Json]
    parse_json: Callable[[str], object]

    def parse(self, value: object) -> object:
        """Return the answer that plain JSON stands for.

        Raises:
            ValueError: It does not fit.
        """
        return self.parse_json(json.dumps(value))


def read_schema(given: object) -> OutputSchema:
    """Return a schema, read.

    Args:
        given: A pydantic model, a dataclass, a TypedDict, or a JSON schema with a ``title``.

    Raises:
        Misuse: It is none of these, or its name cannot be used.
    """
    if isinstance(given, Mapping):
        return _of_json(given)
    if not isinstance(given, type):
        raise Misuse(
            f"response_format is {given!r}, of which no schema can be made.",
            hint="Give a pydantic model, a dataclass, a TypedDict or a JSON schema.",
        )
    return _of_type(given)


def _named(name: str) -> str:
    if not is_name(name):
        raise Misuse(
            f"A schema of response_format is named {name!r}.",
            hint='Use letters, digits, "_" and "-", as in names of tools.',
        )
    return name


def _of_json(given: Mapping[str, Any]) -> OutputSchema:
    try:
        schema = cast(dict[str, Json], plain(dict(given)))
    except ValueError as error:
        raise Misuse(f"The schema of response_format is no plain JSON: {error}.") from error
    if not isinstance(schema.get("title"), str):
        raise Misuse(
            "The JSON schema of response_format has no title.",
            hint='Give it one: {"title": "Answer", "type": "object", ...}.',
        )

    def parse(text: str) -> object:
        value = json.loads(text)
        faults = problems(schema, value)
        if faults:
            raise ValueError("; ".join(faults))
        return value

    about = schema.get("description")
    name = _named(str(schema["title"]))
    return OutputSchema(name, about if isinstance(about, str) else "", schema, parse)


@lru_cache(256)
def _of_type(given: type) -> OutputSchema:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter: TypeAdapter[object] = TypeAdapter(given)
        schema: dict[str, Json] = adapter.json_schema()
    except PydanticUserError as error:
        raise Misuse(
            f"Of {given.__name__} no schema for response_format can be made: {error.message}",
            hint="Give a pydantic model, a dataclass, a TypedDict (before Python 3.12 that of "
            "typing_extensions) or a JSON schema.",
        ) from error
    about = inspect.cleandoc(given.__doc__ or "")
    if dataclasses.is_dataclass(given) and about.startswith(f"{given.__name__}("):
        about = ""  # the signature that dataclasses write there
    return OutputSchema(_named(given.__name__), about, schema, adapter.validate_json)
