"""The JavaScript spelling of the approval middleware's options; inside there is one spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hitl.errors import Misuse
from hitl.ledger import near
from hitl.policy import DESCRIPTION_PREFIX

__all__ = ["one_spelling"]

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
