"""The approval middleware's options: checked when they are given, in one spelling inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hitl.errors import Misuse
from hitl.ledger import near, schema_faults
from hitl.policy import DESCRIPTION_PREFIX, InterruptOn

__all__ = ["MAX_ASKS", "check_options", "check_schemas", "one_spelling"]

MAX_ASKS = 3
"""Once, and twice more: a model may take up a call again that was rejected too early; one that
repeats it a fourth time is in a loop, and a person is the last who should break it."""

_NAMES = {"interruptOn": "interrupt_on", "descriptionPrefix": "description_prefix"}


def one_spelling(
    interrupt_on: object, description_prefix: str, javascript: Mapping[str, Any]
) -> tuple[Any, str]:
    """Return the map and the prefix, in whichever spelling they were given.

    Args:
        interrupt_on: The map, an object of options as JavaScript takes it
            (``{"interruptOn": {...}, "descriptionPrefix": ...}``), or None.
        description_prefix: The prefix under its Python name.
        javascript: Further keyword arguments.

    Raises:
        Misuse: A keyword is not known, both spellings are mixed, or there is no map.
    """
    given = dict(javascript)
    if isinstance(interrupt_on, Mapping) and "interruptOn" in interrupt_on:
        given = {**interrupt_on, **given}
        interrupt_on = None
    for key in given:
        if key not in _NAMES:
            raise Misuse(
                f"HumanInTheLoopMiddleware has no option {key!r}."
                + near(key, [*_NAMES, *_NAMES.values(), "interrupt_mode", "edit_notice"]),
                hint="Known in JavaScript's spelling: interruptOn, descriptionPrefix.",
            )
    if "interruptOn" in given and interrupt_on is not None:
        raise _mixed("interruptOn")
    if "descriptionPrefix" in given and description_prefix != DESCRIPTION_PREFIX:
        raise _mixed("descriptionPrefix")
    found = given.get("interruptOn", interrupt_on)
    if found is None:
        raise Misuse(
            "HumanInTheLoopMiddleware was given no interrupt_on.",
            hint='Example: HumanInTheLoopMiddleware({"pay": True}).',
        )
    return found, given.get("descriptionPrefix", description_prefix)


def _mixed(key: str) -> Misuse:
    return Misuse(
        f"HumanInTheLoopMiddleware was given {key!r} and {_NAMES[key]!r}.", hint="Give one."
    )


def check_options(interrupt_mode: object, edit_notice: str | None, max_asks: object) -> None:
    """Refuse options that could not be followed.

    Raises:
        Misuse: One of them is not what it should be.
    """
    if interrupt_mode not in ("batched", "per_call"):
        raise Misuse(f"interrupt_mode is {interrupt_mode!r}.", hint='Known: "batched", "per_call".')
    _check_notice(edit_notice)
    _check_asks(max_asks)


def _check_asks(max_asks: object) -> None:
    if max_asks is not None and (type(max_asks) is not int or max_asks < 1):
        raise Misuse(
            f"max_asks is {max_asks!r}.", hint="Give a number from 1, or None for no bound."
        )


def check_schemas(rules: InterruptOn) -> None:
    """Refuse a schema by which no edit could be checked.

    Raises:
        Misuse: There is one in the map.
    """
    for name in (*rules.tools, "*"):
        schema = rules.args_schema(name)
        faults = [] if schema is None else schema_faults(schema)
        if faults:
            raise Misuse(
                f'interrupt_on["{name}"]["args_schema"] is no JSON Schema: {"; ".join(faults)}.',
                hint="A pydantic model has one: Model.model_json_schema().",
                tool=name,
            )


def _check_notice(notice: str | None) -> None:
    """Refuse a notice that could not be filled in: the edited call would have run by then."""
    try:
        if notice is not None:
            notice.format(name="", args={})
    except (LookupError, ValueError, AttributeError) as error:
        raise Misuse(
            f"edit_notice cannot be filled in: {type(error).__name__}: {error}.",
            hint="It may hold {name} and {args}; write {{ and }} for braces.",
        ) from error
