"""Whether a JSON Schema can be used at all: told when something is built, not when it is needed.

Looks at the keywords that ``schema`` reads; a schema that passes here never makes a check say
that the schema itself is broken.
"""

from __future__ import annotations

from collections.abc import Iterator

from hitl.ledger.wording import TYPES, Path, near, place, shown
from hitl.values import Json

__all__ = ["schema_faults"]

_DEPTH = 100
_SCHEMAS = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "$defs", "definitions")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def schema_faults(schema: Json) -> list[str]:
    """Return what is wrong with a schema, one sentence each; an empty list where nothing is.

    Args:
        schema: A JSON Schema for a tool's arguments, plain JSON.
    """
    if not isinstance(schema, dict):
        return [f"schema: {shown(schema)} is not an object"]
    found = [
        f"{place(at).replace('args', 'schema', 1)}: {text}"
        for at, text in _Check(schema).of(schema, ())
    ]
    if not found and not _takes_objects(schema):
        return ["schema.type: arguments are an object"]
    return found


def _takes_objects(schema: dict[str, Json]) -> bool:
    kind = schema.get("type", "object")
    return kind == "object" or (isinstance(kind, list) and "object" in kind)


class _Check:
    def __init__(self, root: dict[str, Json]) -> None:
        self.root = root

    def of(self, schema: Json, at: Path) -> Iterator[tuple[Path, str]]:
        """Yield the faults of a schema and of those in it."""
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            yield at, f"{shown(schema)} stands where a schema must stand"
            return
        if len(at) > _DEPTH:
            yield at, "it is nested too deep"
            return
        yield from self._words(schema, at)
        for key in _SCHEMAS:
            if key in schema:
                yield from self.of(schema[key], (*at, key))
        for key in _LISTS:
            yield from self._list(schema.get(key), (*at, key))
        for key in _MAPS:
            yield from self._map(schema.get(key), (*at, key))

    def _words(self, schema: dict[str, Json], at: Path) -> Iterator[tuple[Path, str]]:
        yield from _types(schema.get("type"), (*at, "type"))
        required = schema.get("required", [])
        if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
            yield (*at, "required"), "it is not a list of names"
        if not isinstance(schema.get("enum", []), list):
            yield (*at, "enum"), "it is not a list"
        for key in (*_COUNTS, *_NUMBERS):
            value = schema.get(key, 0)
            whole = type(value) is int and value >= 0
            if not (whole if key in _COUNTS else type(value) in (int, float)):
                wanted = "count" if key in _COUNTS else "number"
                yield (*at, key), f"{shown(value)} is not a {wanted}"
        if "$ref" in schema and not self._leads(schema["$ref"]):
            yield (*at, "$ref"), f"{shown(schema['$ref'])} leads nowhere in this schema"

    def _leads(self, reference: Json) -> bool:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return False
        here: Json = self.root
        for part in reference[1:].split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(here, dict) or key not in here:
                return False
            here = here[key]
        return True

    def _list(self, schemas: Json, at: Path) -> Iterator[tuple[Path, str]]:
        if schemas is None:
            return
        if not isinstance(schemas, list) or not schemas:
            yield at, "it is not a list of schemas"
            return
        for index, schema in enumerate(schemas):
            yield from self.of(schema, (*at, index))

    def _map(self, schemas: Json, at: Path) -> Iterator[tuple[Path, str]]:
        if schemas is None:
            return
        if not isinstance(schemas, dict):
            yield at, "it is not an object of schemas"
            return
        for name, schema in schemas.items():
            yield from self.of(schema, (*at, name))


def _types(given: Json, at: Path) -> Iterator[tuple[Path, str]]:
    if given is None:
        return
    names = given if isinstance(given, list) else [given]
    if not names:
        yield at, "it names no type"
    for name in names:
        if not isinstance(name, str) or name not in TYPES:
            yield at, f"there is no type {shown(name)}.{near(name, TYPES)}"
