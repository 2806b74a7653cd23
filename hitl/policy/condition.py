"""Conditions on a call's arguments, and groups of them, in three-valued (Kleene) logic.

Owns where in the arguments a condition looks, and how truths combine: False beats unknown in
"and", True beats it in "or", and "not" leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from hitl.policy.operators import MISSING, Test, Truth
from hitl.values import Json

__all__ = [
    "NO_ARGS",
    "Args",
    "Check",
    "Condition",
    "Group",
    "every",
    "exists",
    "looks_at",
    "parse_pointer",
    "value_at",
]

Args = dict[str, object]
Check = Callable[[Args], Truth]

NO_ARGS: Final[Args] = {}
"""Stands for arguments that are no map: nothing can be told about them, not what is missing."""

_DEAR = {"contains": 1, "glob": 1, "host_in": 2, "argv": 3, "within": 4, "sql": 5}


@dataclass(frozen=True, slots=True)
class Condition:
    """One operator on one argument.

    Attributes:
        pointer: The argument as the file names it: a name, or a JSON pointer.
        operator: The operator's name.
        wanted: What the file gives it.
        line: Where it stands.
        check: Tells whether it holds for some arguments.
    """

    pointer: str
    operator: str
    wanted: Json
    line: int
    check: Check

    @property
    def cost(self) -> int:
        """How dear it is to check, to ask cheap ones first."""
        return _DEAR.get(self.operator, 0)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Itself, as groups tell theirs."""
        return (self,)


@dataclass(frozen=True, slots=True)
class Group:
    """Several sets of conditions: ``any`` of them holds, ``all`` do, or ``not`` the one."""

    kind: Literal["any", "all", "not"]
    members: tuple[tuple[Condition, ...], ...]

    def check(self, args: Args) -> Truth:
        """Return whether the group holds for some arguments."""
        truths = (every(member, args) for member in self.members)
        if self.kind == "all":
            return _and(truths)
        if self.kind == "not":
            return _not(_and(truths))
        return _not(_and(_not(truth) for truth in truths))

    @property
    def cost(self) -> int:
        """How dear it is to check."""
        return 6

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions inside."""
        return tuple(condition for member in self.members for condition in member)


def every(parts: Iterable[Condition | Group], args: Args) -> Truth:
    """Return whether all parts hold."""
    return _and(part.check(args) for part in parts)


def _and(truths: Iterable[Truth]) -> Truth:
    result: Truth = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def parse_pointer(text: str) -> tuple[str, ...]:
    """Return the steps of a condition's key: a name, or a JSON pointer if it begins with "/".

    Raises:
        ValueError: It is a pointer with a ``~`` that stands for nothing.
    """
    if not text.startswith("/"):
        return (text,)
    steps = text[1:].split("/")
    for step in steps:
        if "~" in step.replace("~0", "").replace("~1", ""):
            raise ValueError("in a pointer ~ is written ~0 and / is written ~1")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def value_at(args: Args, steps: tuple[str, ...]) -> object:
    """Return the argument at a pointer, MISSING where there is none."""
    value: object = args
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(value, list):
            index = _index(step)
            value = value[index] if 0 <= index < len(value) else MISSING
        else:
            return MISSING
    return value


def _index(step: str) -> int:
    plain = step.isascii() and step.isdigit() and len(step) < 10 and (step == "0" or step[0] != "0")
    return int(step) if plain else -1


def looks_at(steps: tuple[str, ...], test: Test) -> Check:
    """Return the check that applies a test to one argument."""
    if len(steps) > 1:
        return lambda args: test(value_at(args, steps))
    name = steps[0]
    return lambda args: test(args.get(name, MISSING))


def exists(steps: tuple[str, ...], wanted: bool) -> Check:
    """Return the check that an argument is there, or is not."""

    def check(args: Args) -> Truth:
        around = value_at(args, steps[:-1])
        if args is NO_ARGS or not (around is MISSING or isinstance(around, dict | list)):
            return None  # inside a text or a number nothing can be looked for
        return (value_at(args, steps) is not MISSING) is wanted

    return check
