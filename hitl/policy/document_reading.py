"""From a marked document to the checked one; findings in our words, with their lines.

Owns the JSON Schema of policy files, too, which is made of the same models.
"""

from __future__ import annotations

import re

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from hitl.policy.config import unlike
from hitl.policy.document import (
    DeadlineDoc,
    Document,
    EditDoc,
    ExamplesDoc,
    GrantsDoc,
    OperatorsDoc,
    ReviewersDoc,
    RuleDoc,
)
from hitl.policy.finding import Finding, refuse
from hitl.policy.marked import Marked, Path

__all__ = ["json_schema", "read_document"]


def json_schema() -> dict[str, JsonValue]:
    """Return the JSON Schema of policy files; ``policy.schema.json`` beside this file holds it."""
    schema = _tidy(Document.model_json_schema(by_alias=True))
    assert isinstance(schema, dict)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _tidy(schema: JsonValue) -> JsonValue:
    """Return a schema without generated titles and defaults, and without blanks as values."""
    if isinstance(schema, list):
        return [_tidy(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("title", "default")}
    options = kept.pop("anyOf", None)
    if isinstance(options, list):
        real = [one for one in options if one != {"type": "null"}]
        kept |= real[0] if len(real) == 1 and isinstance(real[0], dict) else {"anyOf": real}
    return {
        key: {name: _tidy(inner) for name, inner in value.items()}
        if key in ("properties", "$defs") and isinstance(value, dict)
        else _tidy(value)
        for key, value in kept.items()
    }


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
    told = _WANTED.get(kind) or detail["msg"].removeprefix("Value error, ")
    return marked.error(path, f"{told[:1].upper()}{told[1:]}; it is {_short(detail['input'])}.")


_WANTED = {
    "bool_type": "wanted true or false",
    "dict_type": "wanted a map",
    "list_type": "wanted a list",
    "model_type": "wanted a map",
    "string_type": "wanted a text",
}
"""What pydantic's kinds of errors say, in the file's words."""


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
