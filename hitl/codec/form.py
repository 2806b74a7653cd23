"""How one type is written: its name in the log and the two functions.

Owns the record that the registry keeps for each type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

__all__ = ["BUILT_IN", "Form", "form"]

T = TypeVar("T")
P = TypeVar("P")

BUILT_IN = "py:"
"""How the names of the built-in types begin; no other name may."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the instances of one type are written and read back.

    Attributes:
        name: What stands for the type in the log.
        cls: The type.
        pack: Returns simpler storable values that stand for an instance.
        unpack: Returns an instance made of what ``pack`` returned.
    """

    name: str
    cls: type
    pack: Callable[[object], object]
    unpack: Callable[[object], object]


def form(cls: type[T], name: str, pack: Callable[[T], P], unpack: Callable[[P], T]) -> Form:
    """Return a form made of functions that fit the type and each other."""
    return Form(
        name,
        cls,
        cast("Callable[[object], object]", pack),
        cast("Callable[[object], object]", unpack),
    )
