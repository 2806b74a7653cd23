"""Whether arguments fit a tool's JSON Schema, told in sentences a reviewer can act on.

Owns an interpreter of the keywords that pydantic and common tool definitions emit: ``type``,
``nullable``, ``enum``, ``const``, ``properties``, ``required``, ``additionalProperties``,
``items``, ``prefixItems``, ``minItems``, ``maxItems``, ``uniqueItems``, ``minLength``,
``maxLength``, the bounds of numbers, ``multipleOf``, ``anyOf``, ``oneOf``, ``allOf``, ``not``
and ``$ref`` inside the same document. No code is generated and nothing is fetched.

Other keywords are ignored, ``pattern`` and ``patternProperties`` among them: Python's regular
expressions can take exponential time. The tool's own validation still sees the arguments.

The check always ends: depth and steps are bounded. Where it cannot tell (bounds reached, a
broken schema, a reference to nowhere), it says so as a problem, since a gate leans to "no".
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING

from hitl.ledger.wording import TYPES, Path, closest, place, shown, shown_all
from hitl.values import Json

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["problems"]

_DEPTH = 150
_STEPS = 300_000
_LISTED = 20
_HINTS = 20
_LONGEST = 300

_Problem = tuple[Path, str]
_Holds = Callable[[float, float], bool]

_BOUNDS: tuple[tuple[str, _Holds, str], ...] = (
    ("minimum", operator.ge, "at least"),
    ("maximum", operator.le, "at most"),
    ("exclusiveMinimum", operator.gt, "more than"),
    ("exclusiveMaximum", operator.lt, "less than"),
)


class _CannotTell(Exception):
    """The check has no answer; its text is the problem that is reported."""


def problems(schema: Json, args: Json) -> list[str]:
    """Return what is wrong with arguments, one sentence each; an empty list if they fit.

    At the top, argument names that the schema does not know are a problem even where it
    does not say ``additionalProperties``: a misspelt argument must not pass for an omitted one.

    Args:
        schema: The tool's JSON Schema; None where it has none, which everything fits.
        args: The arguments, plain JSON.

    Returns:
        Sentences that begin with the place, such as ``args.amount: 'x' is not a number``; at
        most 20 and a note that there are more. This function never raises on plain JSON.
    """
    if schema is None:
        return []
    try:
        found = list(islice(_Walk(schema).check(schema, args, (), 0, top=True), _LISTED + 1))
    except _CannotTell as reason:
        return [f"args: cannot be checked, {reason}"]
    except RecursionError:
        return ["args: cannot be checked, they or the schema are nested too deep"]
    listed = [f"{place(at)}: {text}" for at, text in found[:_LISTED]]
    return listed if len(found) <= _LISTED else [*listed, "args: there are more problems"]


class _Walk:
    """One check: the document that references point into, the steps and hints left."""

    __slots__ = ("hints", "root", "steps")

    def __init__(self, root: Json) -> None:
        self.root = root
        self.steps = _STEPS
        self.hints = _HINTS

    def check(
        self, schema: Json, value: Json, at: Path, depth: int, *, top: bool = False
    ) -> Iterator[_Problem]:
        """Yield the problems of a value under a schema; none where it fits."""
        self.spend(depth)
        if schema is True:
            return
        if schema is False:
            yield at, "nothing is allowed here"
            return
        if not isinstance(schema, dict):
            raise _CannotTell(f"the schema has {shown(schema)} where a schema must stand")
        if value is None and schema.get("nullable") is True:
            return
        if "type" in schema and not _has_type(value, _types(schema["type"])):
            yield at, f"{shown(value)} is not {_type_words(schema['type'])}"
            return
        yield from self._constants(schema, value, at, depth)
        yield from self._combined(schema, value, at, depth, top)
        if isinstance(value, dict):
            yield from self._object(schema, value, at, depth, top)
        elif isinstance(value, list):
            yield from self._array(schema, value, at, depth)
        elif isinstance(value, str):
            yield from _sizes(schema, len(value), at, "Length", "character")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _number(schema, value, at)

    def spend(self, depth: int, cost: int = 1) -> None:
        """Take steps, or give up."""
        self.steps -= cost
        if self.steps < 0 or depth > _DEPTH:
            raise _CannotTell("they or the schema are too large or nested too deep")

    def key(self, value: Json, depth: int) -> object:
        """Return a hashable stand-in, equal for values that JSON Schema calls equal."""
        self.spend(depth)
        if isinstance(value, bool):
            return (value,)
        if isinstance(value, list):
            return ("list", *(self.key(element, depth + 1) for element in value))
        if isinstance(value, dict):
            pairs = ((name, self.key(field, depth + 1)) for name, field in value.items())
            return frozenset(pairs)
        return value

    def _constants(
        self, schema: dict[str, Json], value: Json, at: Path, depth: int
    ) -> Iterator[_Problem]:
        if "const" in schema and self.key(value, depth) != self.key(schema["const"], depth):
            yield at, f"{shown(value)} is not {shown(schema['const'])}"
        if "enum" in schema:
            options = _list_of(schema, "enum")
            key = self.key(value, depth)
            if not any(self.key(option, depth) == key for option in options):
                yield at, f"{shown(value)} is not one of {shown_all(options)}"

    def _combined(
        self, schema: dict[str, Json], value: Json, at: Path, depth: int, top: bool
    ) -> Iterator[_Problem]:
        if "$ref" in schema:
            target = self._target(schema["$ref"])
            yield from self.check(target, value, at, depth + 1, top=top and _alone(schema))
        if "allOf" in schema:
            for branch in _list_of(schema, "allOf"):
                yield from self.check(branch, value, at, depth + 1)
        if "anyOf" in schema or "oneOf" in schema:
            yield from self._alternatives(schema, value, at, depth)
        if "not" in schema and self._first(schema["not"], value, at, depth) is None:
            yield at, f"{shown(value)} is what the schema excludes"

    def _alternatives(
        self, schema: dict[str, Json], value: Json, at: Path, depth: int
    ) -> Iterator[_Problem]:
        for keyword in ("anyOf", "oneOf"):
            if keyword not in schema:
                continue
            failed: list[_Problem] = []
            fits = 0
            for branch in _list_of(schema, keyword):
                first = self._first(branch, value, at, depth)
                if first is not None:
                    failed.append(first)
                    continue
                fits += 1
                if keyword == "anyOf":
                    break
            if fits == 0:
                yield at, _none_fits(at, failed)
            elif fits > 1:
                yield at, f"{shown(value)} fits {fits} alternatives where exactly one must"

    def _first(self, schema: Json, value: Json, at: Path, depth: int) -> _Problem | None:
        return next(self.check(schema, value, at, depth + 1), None)

    def _object(
        self,
        schema: dict[str, Json],
        value: dict[str, Json],
        at: Path,
        depth: int,
        top: bool,
    ) -> Iterator[_Problem]:
        fields = _dict_of(schema, "properties")
        needs = _list_of(schema, "required", empty=True) if "required" in schema else []
        self.spend(depth, len(value) + len(fields) + len(needs))
        for name, field in value.items():
            if name in fields:
                yield from self.check(fields[name], field, (*at, name), depth + 1)
        for needed in needs:
            if not isinstance(needed, str):
                raise _CannotTell('the schema\'s "required" must list names')
            if needed not in value:
                near = self._closest(needed, (name for name in value if name not in fields))
                yield (*at, needed), f"missing; was it given as {near}?" if near else "missing"
        yield from self._others(schema, value, at, depth, top)

    def _others(
        self,
        schema: dict[str, Json],
        value: dict[str, Json],
        at: Path,
        depth: int,
        top: bool,
    ) -> Iterator[_Problem]:
        """Judge the fields that ``properties`` does not list."""
        if "patternProperties" in schema:
            return  # which names it covers cannot be told without regular expressions
        known = set(_dict_of(schema, "properties"))
        rule = schema.get("additionalProperties", True)
        if "additionalProperties" not in schema and "properties" in schema and top:
            rule = False
            known |= self._names(schema, depth)
        for name, field in value.items():
            if name in known:
                continue
            if rule is False:
                near = self._closest(name, sorted(known))
                hint = f"; did you mean {near}?" if near else ""
                yield (*at, name), f"unknown field{hint}"
            else:
                yield from self.check(rule, field, (*at, name), depth + 1)

    def _closest(self, name: str, names: Iterable[str]) -> str:
        """Return the name most like this one, as it is shown; empty if none or no hints left."""
        self.hints -= 1
        near = closest(name, names) if self.hints >= 0 else None
        return shown(near) if near else ""

    def _names(self, schema: Json, depth: int) -> set[str]:
        """Return the field names that a schema and what it combines know."""
        self.spend(depth)
        if not isinstance(schema, dict):
            return set()
        names = set(_dict_of(schema, "properties"))
        if "$ref" in schema:
            names |= self._names(self._target(schema["$ref"]), depth + 1)
        for keyword in ("allOf", "anyOf", "oneOf"):
            for branch in _list_of(schema, keyword) if keyword in schema else ():
                names |= self._names(branch, depth + 1)
        return names

    def _array(
        self, schema: dict[str, Json], value: list[Json], at: Path, depth: int
    ) -> Iterator[_Problem]:
        yield from _sizes(schema, len(value), at, "Items", "element")
        if schema.get("uniqueItems") is True and len(
            {self.key(element, depth + 1) for element in value}
        ) < len(value):
            yield at, "has equal elements where all must differ"
        prefix, rest = _elements(schema)
        for index, element in enumerate(value):
            rule = prefix[index] if index < len(prefix) else rest
            yield from self.check(rule, element, (*at, index), depth + 1)

    def _target(self, ref: Json) -> Json:
        """Return what a reference inside this document points to."""
        node = self.root
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise _CannotTell(f"the schema's reference {shown(ref)} leads outside of it")
        for part in ref.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and name in node:
                node = node[name]
            elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
                node = node[int(name)]
            else:
                raise _CannotTell(f"the schema's reference {shown(ref)} leads nowhere")
        return node


def _number(schema: dict[str, Json], value: int | float, at: Path) -> Iterator[_Problem]:
    for keyword, holds, words in _BOUNDS:
        bound = _bound(schema, keyword)
        if bound is not None and not holds(value, bound):
            yield at, f"{shown(value)} is not {words} {shown(bound)}"
    if "multipleOf" in schema:
        step = _number_of(schema, "multipleOf")
        if step <= 0:
            raise _CannotTell('the schema\'s "multipleOf" must be more than 0')
        if not _is_multiple(value, step):
            yield at, f"{shown(value)} is not a multiple of {shown(step)}"


def _bound(schema: dict[str, Json], keyword: str) -> int | float | None:
    """Return a bound; in OpenAPI 3.0 ``exclusiveMinimum: true`` sharpens ``minimum``."""
    if keyword not in schema:
        return None
    given = schema[keyword]
    if isinstance(given, bool) and keyword.startswith("exclusive"):
        plain = keyword.removeprefix("exclusive").lower()
        return _number_of(schema, plain) if given and plain in schema else None
    return _number_of(schema, keyword)


def _is_multiple(value: int | float, step: int | float) -> bool:
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    if isinstance(value, float) and not isfinite(value):
        return False
    from fractions import Fraction  # on first use: it brings decimal with it

    # By their decimal text, so that 0.3 is a multiple of 0.1, as its author means it.
    return (_exact(value, Fraction) / _exact(step, Fraction)).denominator == 1


def _sizes(
    schema: dict[str, Json], size: int, at: Path, suffix: str, unit: str
) -> Iterator[_Problem]:
    for keyword, holds, words in (
        (f"min{suffix}", operator.ge, "at least"),
        (f"max{suffix}", operator.le, "at most"),
    ):
        if keyword in schema and not holds(size, limit := _number_of(schema, keyword)):
            units = unit if size == 1 else f"{unit}s"
            yield at, f"has {size} {units} where {words} {shown(limit)} must be"


def _exact(number: int | float, kind: type[Fraction]) -> Fraction:
    return kind(number) if isinstance(number, int) else kind(repr(number))


def _alone(schema: dict[str, Json]) -> bool:
    """Return whether a reference has nothing beside it that could know more fields."""
    return not any(word in schema for word in ("properties", "allOf", "anyOf", "oneOf"))


def _elements(schema: dict[str, Json]) -> tuple[list[Json], Json]:
    """Return the schemas of the first elements, and the one of all others."""
    prefix = _list_of(schema, "prefixItems") if "prefixItems" in schema else []
    rest = schema.get("items", True)
    return (rest, True) if isinstance(rest, list) else (prefix, rest)


def _has_type(value: Json, types: list[str]) -> bool:
    if isinstance(value, bool):
        return "boolean" in types
    if isinstance(value, int):
        return "integer" in types or "number" in types
    if isinstance(value, float):
        return ("number" in types and isfinite(value)) or (
            "integer" in types and value.is_integer()
        )
    if value is None:
        return "null" in types
    return ("string" if isinstance(value, str) else _container(value)) in types


def _container(value: Json) -> str:
    return "array" if isinstance(value, list) else "object"


def _types(given: Json) -> list[str]:
    names = given if isinstance(given, list) else [given]
    known = [name for name in names if isinstance(name, str) and name in TYPES]
    if not known or len(known) < len(names):
        raise _CannotTell(f"the schema has the unknown type {shown(given)}")
    return known


def _type_words(given: Json) -> str:
    return " or ".join(TYPES[name] for name in _types(given))


def _list_of(schema: dict[str, Json], keyword: str, *, empty: bool = False) -> list[Json]:
    given = schema[keyword]
    if not isinstance(given, list) or not (given or empty):
        raise _CannotTell(f'the schema\'s "{keyword}" must be a list with something in it')
    return given


def _dict_of(schema: dict[str, Json], keyword: str) -> dict[str, Json]:
    given = schema.get(keyword, {})
    if not isinstance(given, dict):
        raise _CannotTell(f'the schema\'s "{keyword}" must be an object')
    return given


def _number_of(schema: dict[str, Json], keyword: str) -> int | float:
    given = schema[keyword]
    if not _has_type(given, ["number"]) or not isinstance(given, int | float):
        raise _CannotTell(f'the schema\'s "{keyword}" must be a number')
    return given


def _none_fits(at: Path, failed: list[_Problem]) -> str:
    texts = [text if path == at else f"{place(path)} {text}" for path, text in failed[:5]]
    told = "; ".join(dict.fromkeys(texts))
    told = told if len(told) <= _LONGEST else f"{told[:_LONGEST]}..."
    return told if len(failed) == 1 else f"fits none of the alternatives ({told})"
