"""One tool's entry of ``interrupt_on``: the form users write, read strictly.

Owns every check of that entry. A gate that is misspelt is an open gate, so nothing unknown
passes, and each error names the place and, where it can, what was meant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict

from hitl.errors import Misuse
from hitl.policy.request import ToolCallRequest
from hitl.policy.verdict import DECISIONS
from hitl.values import Json, canonical

__all__ = ["Describe", "InterruptOnConfig", "ToolConfig", "When", "read_config", "unlike"]

When = Callable[[ToolCallRequest], bool]
OnReject = Literal["continue", "stop"]
Describe = Callable[..., str]
"""``f(tool_call, state, runtime)``, called positionally."""


class InterruptOnConfig(TypedDict, total=False):
    """How calls of one tool wait for a human.

    Attributes:
        allowed_decisions: What can be decided; at least one, in the order it is offered.
        description: What the reviewer reads: a text, or ``f(tool_call, state, runtime)``.
        args_schema: A JSON Schema for edited arguments.
        when: Only calls for which this is true wait.
        on_reject: ``"continue"`` (the default) lets the model go on after a rejection, ``"stop"``
            ends the run.
    """

    allowed_decisions: list[Literal["approve", "edit", "reject", "respond"]]
    description: str | Describe
    args_schema: dict[str, Json]
    when: When
    on_reject: OnReject


@dataclass(frozen=True, slots=True)
class ToolConfig:
    """An entry as it was read: checked, complete, one spelling. The schema is JSON text."""

    allowed: tuple[str, ...] = DECISIONS
    description: str | Describe | None = None
    args_schema: str | None = None
    when: When | None = None
    on_reject: OnReject = "continue"


_SPELLINGS = {
    "allowed_decisions": "allowed_decisions",
    "allowedDecisions": "allowed_decisions",
    "description": "description",
    "args_schema": "args_schema",
    "argsSchema": "args_schema",
    "when": "when",
    "on_reject": "on_reject",
    "onReject": "on_reject",
}

_OLD = {
    "allowAccept": ("approve",),
    "allowEdit": ("edit",),
    "allowRespond": ("respond", "reject"),
}
"""The flags of the first JavaScript version, and the decisions that each stands for."""


def read_config(entry: object, place: str) -> ToolConfig:
    """Return an entry of ``interrupt_on`` in its one checked form.

    Args:
        entry: True, or a mapping in Python's or JavaScript's spelling.
        place: Where it stands, for errors.

    Raises:
        Misuse: The entry is not one; the message says what is wrong and where.
    """
    if entry is True:
        return ToolConfig()
    if not isinstance(entry, Mapping):
        raise Misuse(
            f"{place} is {_kind(entry)}.",
            hint="Give True, False or a config, such as {'allowed_decisions': ['approve']}.",
            place=place,
        )
    fields = _one_spelling(entry, place)
    return ToolConfig(
        allowed=_allowed(fields, place, entry),
        description=_description(fields, place),
        args_schema=_args_schema(fields, place),
        when=_when(fields, place),
        on_reject=_on_reject(fields, place),
    )


def unlike(name: str, names: Collection[str]) -> str:
    """Return ``Did you mean ...?`` where one of the names is like this one, else all of them."""
    from difflib import get_close_matches  # on first use: only where something is wrong

    near = get_close_matches(name, names, n=1, cutoff=0.5) if len(name) <= 64 else []
    near = [known for known in names if known.startswith(name) and len(name) > 3] or near
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names)}."


def _one_spelling(entry: Mapping[object, object], place: str) -> dict[str, object]:
    """Return the fields under their Python names, old flags gathered as decisions."""
    fields: dict[str, object] = {}
    old: dict[str, object] = {}
    for key, value in entry.items():
        if not isinstance(key, str):
            raise Misuse(f"{place} has the key {key!r}.", hint="Keys are strings.", place=place)
        if key in _OLD:
            old[key] = value
            continue
        name = _SPELLINGS.get(key)
        if name is None:
            hint = unlike(key, _SPELLINGS | _OLD)
            raise Misuse(f"{place} has the unknown key {key!r}.", hint=hint, place=place)
        if name in fields:
            raise Misuse(f"{place} gives {name!r} twice.", hint="Use one spelling.", place=place)
        fields[name] = value
    if old and "allowed_decisions" in fields:
        raise Misuse(
            f"{place} mixes 'allowed_decisions' with {', '.join(sorted(old))}.",
            hint="Give 'allowed_decisions' alone.",
            place=place,
        )
    if old:
        fields["allowed_decisions"] = _from_flags(old, place)
    return fields


def _from_flags(old: dict[str, object], place: str) -> list[str]:
    for key, value in old.items():
        if not isinstance(value, bool):
            raise Misuse(
                f'{place}["{key}"] is {_kind(value)}.', hint="Give True or False.", place=place
            )
    given = {decision for key in old if old[key] for decision in _OLD[key]}
    return [decision for decision in DECISIONS if decision in given]


def _allowed(
    fields: dict[str, object], place: str, entry: Mapping[object, object]
) -> tuple[str, ...]:
    given = fields.get("allowed_decisions")
    at = f'{place}["allowed_decisions"]'
    hint = f"List at least one of {', '.join(DECISIONS)}."
    if given is None or given in ([], ()):
        keys = ", ".join(str(key) for key in entry) or "none"
        state = "empty" if given is not None else "missing"
        raise Misuse(f"{at} is {state}; the keys given are: {keys}.", hint=hint, place=at)
    if not isinstance(given, list | tuple):
        raise Misuse(f"{at} is {_kind(given)}.", hint=f"{hint} (a list)", place=at)
    for decision in given:
        if not isinstance(decision, str):
            raise Misuse(f"{at} has an element {_kind(decision)}.", hint=hint, place=at)
        if decision not in DECISIONS:
            raise Misuse(
                f"{at} holds the unknown decision {decision!r}.",
                hint=unlike(decision, DECISIONS),
                place=at,
            )
    if len(set(given)) < len(given):
        raise Misuse(f"{at} names a decision twice.", hint="Name each once.", place=at)
    return tuple(given)


def _description(fields: dict[str, object], place: str) -> str | Describe | None:
    given = fields.get("description")
    if given is None or isinstance(given, str) or callable(given):
        return given
    at = f'{place}["description"]'
    hint = "Give a text or a function of tool_call, state and runtime."
    raise Misuse(f"{at} is {_kind(given)}.", hint=hint, place=at)


def _args_schema(fields: dict[str, object], place: str) -> str | None:
    given = fields.get("args_schema")
    if given is None:
        return None
    at = f'{place}["args_schema"]'
    hint = "Give a JSON Schema as a dict; a pydantic model has one: Model.model_json_schema()."
    if not isinstance(given, dict):
        raise Misuse(f"{at} is {_kind(given)}.", hint=hint, place=at)
    try:
        canonical(given)
        return json.dumps(given)
    except (TypeError, ValueError, RecursionError) as error:
        raise Misuse(f"{at} is not plain JSON: {error}.", hint=hint, place=at) from error


def _when(fields: dict[str, object], place: str) -> When | None:
    given = fields.get("when")
    if given is None or callable(given):
        return given
    at = f'{place}["when"]'
    hint = "Give a function of a ToolCallRequest that returns True or False."
    raise Misuse(f"{at} is {_kind(given)}.", hint=hint, place=at)


def _on_reject(fields: dict[str, object], place: str) -> OnReject:
    given = fields.get("on_reject", "continue")
    if given == "continue" or given == "stop":  # noqa: PLR1714 - narrows the type
        return "continue" if given == "continue" else "stop"
    at = f'{place}["on_reject"]'
    raise Misuse(f"{at} is {_kind(given)}.", hint='Known: "continue", "stop".', place=at)


def _kind(value: object) -> str:
    """Return a value in a few words: itself where it is short and plain, else its type."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str) and len(value) <= 40:
        return f"the text {value!r}"
    return f"of type {type(value).__name__}"
