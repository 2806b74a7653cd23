"""Which types an argument can have by a tool's JSON Schema.

Owns a reading of schemas that is meant for warnings: it says "not known" wherever a schema
says more than it understands.
"""

from __future__ import annotations

from collections.abc import Mapping

from hitl.values import Json

__all__ = ["types_at"]

_DEPTH = 30
_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array"}

Schema = Mapping[str, Json]


def types_at(schema: Schema, steps: tuple[str, ...]) -> frozenset[str] | None:
    """Return the JSON types of an argument: none where there is no such argument.

    Args:
        schema: The schema of a tool's arguments.
        steps: Where the argument is.

    Returns:
        The types, or None where that is not known.
    """
    return _types(schema, steps, schema, 0)


def _types(
    schema: Json | Schema, steps: tuple[str, ...], root: Schema, depth: int
) -> frozenset[str] | None:
    if depth > _DEPTH or not isinstance(schema, Mapping):
        return None
    if "$ref" in schema:
        return _types(_referred(schema["$ref"], root), steps, root, depth + 1)
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return _union(schema[word], steps, root, depth, several=word != "allOf")
    if steps:
        return _inside(schema, steps, root, depth)
    return _own(schema)


def _union(
    options: Json, steps: tuple[str, ...], root: Schema, depth: int, *, several: bool
) -> frozenset[str] | None:
    if not isinstance(options, list) or (not several and len(options) != 1):
        return None
    found: frozenset[str] = frozenset()
    for option in options:
        types = _types(option, steps, root, depth + 1)
        if types is None:
            return None
        found |= types
    return found


def _inside(
    schema: Schema, steps: tuple[str, ...], root: Schema, depth: int
) -> frozenset[str] | None:
    properties = schema.get("properties")
    kind = schema.get("type")
    if isinstance(properties, Mapping) and steps[0] in properties:
        return _types(properties[steps[0]], steps[1:], root, depth + 1)
    if kind == "array" and steps[0].isdigit():
        return _types(schema.get("items"), steps[1:], root, depth + 1)
    more = schema.get("additionalProperties")
    if more or "patternProperties" in schema or (kind is None and properties is None):
        return _types(more, steps[1:], root, depth + 1)
    return frozenset()


def _own(schema: Schema) -> frozenset[str] | None:
    kind = schema.get("type")
    if isinstance(kind, str):
        return frozenset({kind})
    if isinstance(kind, list):
        return frozenset(map(str, kind))
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return None
    return frozenset(
        "null" if value is None else _KINDS.get(type(value), "object") for value in values
    )


def _referred(reference: Json, root: Schema) -> Json | Schema:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Json | Schema = root
    for step in reference[2:].split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
