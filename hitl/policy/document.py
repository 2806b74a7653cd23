"""The policy file as strict models: which keys there are and what may stand under each.

Owns the form only, and the JSON Schema that is made of it. What must hold between parts (a
group that exists, ids that differ) is the compiler's matter. Loaded when a file is read.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Annotated, Literal, Self, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PlainValidator,
    StrictBool,
    StrictStr,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails

from hitl.policy.config import unlike
from hitl.policy.finding import Finding, refuse
from hitl.policy.marked import Marked, Path
from hitl.values import Json

__all__ = [
    "ConditionGroup",
    "Conditions",
    "Document",
    "OperatorsDoc",
    "RuleDoc",
    "read_document",
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


def _different(values: list[T]) -> list[T]:
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
_unique = Field(min_length=1, json_schema_extra={"uniqueItems": True})
Names: TypeAlias = Annotated[list[Name], AfterValidator(_different), _unique]
Effect: TypeAlias = Literal["allow", "ask", "deny"]


_SOME: dict[str, JsonValue] = {"minProperties": 1}
_RESERVED = ("any", "all", "not")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WithinDoc(_Part):
    """A root, for tools that take what lies below a path, too."""

    root: Name
    subtree: StrictBool = False
    pattern: Name | None = None


class OperatorsDoc(_Part):
    """What one argument must be; all operators that are given must hold."""

    model_config = ConfigDict(json_schema_extra=_SOME)

    eq: Scalar = None
    in_: Annotated[list[Scalar], Field(min_length=1, alias="in")] = []
    prefix: Name = ""
    suffix: Name = ""
    contains: Scalar = None
    glob: Name = ""
    gt: Number = 0
    ge: Number = 0
    lt: Number = 0
    le: Number = 0
    between: Annotated[list[Number], Field(min_length=2, max_length=2)] = []
    size: Count = 0
    size_le: Count = 0
    exists: StrictBool = True
    within: Name | WithinDoc = ""
    host_in: Names = []
    argv: Annotated[list[Annotated[list[Name], Field(min_length=1)]], Field(min_length=1)] = []
    sql: Literal["read", "write"] = "read"

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("no operator stands here")
        return self


class ConditionGroup(BaseModel):
    """Conditions on arguments, by name or JSON pointer; all must hold."""

    model_config = ConfigDict(
        extra="allow",
        frozen=True,
        json_schema_extra={**_SOME, "propertyNames": {"not": {"enum": list(_RESERVED)}}},
    )
    __pydantic_extra__: dict[str, OperatorsDoc]

    @model_validator(mode="after")
    def _flat(self) -> Self:
        if not self.__pydantic_extra__:
            raise ValueError("no condition stands here")
        for word in _RESERVED:
            if word in self.__pydantic_extra__:
                raise ValueError(f"{word!r} cannot stand in a group; write /{word} for an argument")
        return self


class Conditions(BaseModel):
    """Conditions on arguments, and groups of them; all must hold."""

    model_config = ConfigDict(extra="allow", frozen=True, json_schema_extra=_SOME)
    __pydantic_extra__: dict[str, OperatorsDoc]

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.__pydantic_extra__ and not self.model_fields_set:
            raise ValueError("no condition stands here")
        return self

    any_: Annotated[list[ConditionGroup], Field(alias="any", min_length=1)] = []
    all_: Annotated[list[ConditionGroup], Field(alias="all", min_length=1)] = []
    not_: Annotated[ConditionGroup | None, Field(alias="not")] = None


class EditDoc(_Part):
    """What an edit may change: the fields it may, and those that stay as they are."""

    fields: Annotated[list[Name], AfterValidator(_different)] | None = None
    keep: Annotated[list[Name], AfterValidator(_different)] = []


class ReviewersDoc(_Part):
    """Who may say yes."""

    any_of: Annotated[list[Name], AfterValidator(_different)] = []
    need: Positive = 1
    not_requester: StrictBool = False


class DeadlineDoc(_Part):
    """How long the call waits, and who may decide when that is nearly over."""

    after: Duration
    then: Literal["reject"] = "reject"
    escalate_at: Duration | None = None
    to: Annotated[list[Name], AfterValidator(_different)] = []


class GrantsDoc(_Part):
    """What a reviewer's yes may be remembered for."""

    allowed: StrictBool
    scope: Literal["same_args", "same_tool"] = "same_args"
    ttl: Duration = 3600.0
    uses: Positive = 1


class ExamplesDoc(_Part):
    """Arguments that the rule matches, and such that it does not."""

    hit: list[dict[str, JsonValue]] = []
    miss: list[dict[str, JsonValue]] = []


class RuleDoc(_Part):
    """One rule."""

    id: Name
    tools: Names
    effect: Effect
    where: Conditions | None = None
    unless: Conditions | None = None
    decisions: Annotated[
        list[Literal["approve", "edit", "reject", "respond"]] | None,
        AfterValidator(lambda value: value and _different(value)),
        _unique,
    ] = None
    edit: EditDoc | None = None
    reviewers: ReviewersDoc | None = None
    deadline: DeadlineDoc | None = None
    grants: GrantsDoc | None = None
    broad: StrictBool = False
    why: Annotated[StrictStr, Field(max_length=1000)] = ""
    examples: ExamplesDoc | None = None


class RootDoc(_Part):
    """A folder with what is known about it."""

    folder: Name
    base: Name | None = None
    case_fold: StrictBool | None = None
    real: StrictBool = True


class Document(_Part):
    """A policy: which calls of an agent's tools run, wait for a human, or are refused."""

    hitl_policy: Literal[1]
    default: Effect = "ask"
    unknown_tool: Effect = "deny"
    roots: dict[Name, Name | RootDoc] = {}
    groups: dict[Name, Names] = {}
    rules: list[RuleDoc] = []


def read_document(marked: Marked) -> Document:
    """Return a document in its checked form.

    Raises:
        BadPolicy: Something in it has another form; every such place is listed.
    """
    try:
        document = Document.model_validate(marked.data)
    except ValidationError as error:
        told: dict[tuple[str, str], Finding] = {}
        for detail in error.errors(include_url=False):
            finding = _finding(detail, marked)
            told.setdefault((finding.place, finding.message), finding)
        refuse(marked.name, [*marked.problems, *told.values()])
        raise
    refuse(marked.name, marked.problems)
    return document


def _finding(detail: ErrorDetails, marked: Marked) -> Finding:
    """Return what pydantic found, in our words, with its line."""
    path = detail["loc"]
    kind = detail["type"]
    if kind == "extra_forbidden":
        hint = unlike(str(path[-1]), _keys_beside(path))
        return marked.error(path, f"The key {path[-1]!r:.80} is not known.", hint)
    if kind == "missing":
        return marked.error(path[:-1], f"The key {path[-1]!r} is missing.")
    while path and path not in marked.lines:  # a key's own place, or a part of a union
        path = path[:-1]
    if kind == "literal_error" and isinstance(detail["input"], str):
        words = re.findall("'([^']*)'", detail["ctx"]["expected"])
        return marked.error(
            path, f"{detail['input']!r:.80} is not known here.", unlike(detail["input"], words)
        )
    told = detail["msg"].removeprefix("Value error, ")
    return marked.error(path, f"{told[:1].upper()}{told[1:]}; it is {_short(detail['input'])}.")


def _keys_beside(path: Path) -> list[str]:
    """Return the keys that may stand where an unknown one does."""
    if len(path) == 1:
        model: type[BaseModel] = Document
    elif len(path) == 3:
        model = RuleDoc
    elif path[2] in _PARTS_OF_RULES:
        model = _PARTS_OF_RULES[str(path[2])]
    else:
        model = OperatorsDoc
    return [field.alias or name for name, field in model.model_fields.items()]


_PARTS_OF_RULES: dict[str, type[BaseModel]] = {
    "edit": EditDoc,
    "reviewers": ReviewersDoc,
    "deadline": DeadlineDoc,
    "grants": GrantsDoc,
    "examples": ExamplesDoc,
}


def _short(value: object) -> str:
    if isinstance(value, BaseModel | dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return "empty" if value is None else f"{value!r:.60}"
