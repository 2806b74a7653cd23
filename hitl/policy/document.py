"""The policy file as strict models: which keys there are and what may stand under each.

Owns the form only. What must hold between parts (a group that exists, ids that differ) is the
compiler's matter. Loaded when a file is read.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictStr,
    model_validator,
)

from hitl.policy.field_types import (
    Count,
    Duration,
    Effect,
    Name,
    Names,
    NamesOrNone,
    Number,
    Positive,
    Scalar,
    different,
    unique,
)

__all__ = [
    "ConditionGroup",
    "Conditions",
    "DeadlineDoc",
    "Document",
    "EditDoc",
    "ExamplesDoc",
    "GrantsDoc",
    "OperatorsDoc",
    "ReviewersDoc",
    "RuleDoc",
]

_SOME: dict[str, JsonValue] = {"minProperties": 1}
_RESERVED = ("any", "all", "not")


def _nothing_blank(data: object) -> object:
    """Refuse keys without a value: a ``where:`` that was left blank must not match everything."""
    for key, value in data.items() if isinstance(data, dict) else ():
        if value is None and key not in ("eq", "contains"):
            raise ValueError(f"the key {key!r:.80} has no value")
    return data


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _blank(cls, data: object) -> object:
        return _nothing_blank(data)


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

    @model_validator(mode="before")
    @classmethod
    def _blank(cls, data: object) -> object:
        return _nothing_blank(data)

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

    fields: NamesOrNone | None = None
    keep: NamesOrNone = []


class ReviewersDoc(_Part):
    """Who may say yes."""

    any_of: Annotated[NamesOrNone, Field(min_length=1)] = []
    need: Positive = 1
    not_requester: StrictBool = False


class DeadlineDoc(_Part):
    """How long the call waits, and who may decide when that is nearly over."""

    after: Duration
    then: Literal["reject"] = "reject"
    escalate_at: Duration | None = None
    to: NamesOrNone = []


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
    decisions: (
        Annotated[
            list[Literal["approve", "edit", "reject", "respond"]],
            AfterValidator(different),
            unique,
            Field(min_length=1),
        ]
        | None
    ) = None
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
