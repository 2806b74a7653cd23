"""A compiled rule: which tools it speaks of, when it matches, and what it then says.

Owns the law of the unknown: a rule that cannot tell whether it matches does match if it asks
or denies, and does not if it allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hitl.policy.condition import Args, Condition, Group, every
from hitl.policy.operators import Truth
from hitl.policy.verdict import Verdict, VerdictEffect
from hitl.values import Json

__all__ = ["EVERY_TOOL", "Part", "Rule", "ToolPattern"]

EVERY_TOOL = "*"
"""This pattern alone stands for every tool, those with a dot or a slash in their name too."""

Part = Condition | Group


@dataclass(frozen=True, slots=True)
class ToolPattern:
    """A tool's name or a glob over names.

    Attributes:
        text: As the file gives it.
        start: The text with which every name that fits begins; the name itself if it is exact.
        fits: Tells whether a name fits, None if only ``start`` itself does.
    """

    text: str
    start: str
    fits: Callable[[str], bool] | None = None

    def __call__(self, name: str) -> bool:
        """Return whether the pattern speaks of a tool."""
        return name == self.start if self.fits is None else self.fits(name)


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One rule of a policy file, ready to judge.

    Attributes:
        id: Its name in the file.
        effect: What it says.
        tools: The tools it speaks of.
        where: What must hold, cheap checks first.
        unless: What must not hold as a whole.
        verdict: What it says where it alone matches.
        broad: Whether the author meant it to allow tools that nobody has seen yet.
        line: Where it stands.
        hits: Arguments that it must match, with their lines.
        misses: Arguments that it must not match, with their lines.
    """

    id: str
    effect: VerdictEffect
    tools: tuple[ToolPattern, ...]
    where: tuple[Part, ...]
    unless: tuple[Part, ...]
    verdict: Verdict
    broad: bool = False
    line: int = 0
    hits: tuple[tuple[int, dict[str, Json]], ...] = ()
    misses: tuple[tuple[int, dict[str, Json]], ...] = ()
    _checks: tuple[Callable[[Args], Truth], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_checks", tuple(part.check for part in self.where))

    def speaks_of(self, name: str) -> bool:
        """Return whether the rule speaks of a tool."""
        return any(pattern(name) for pattern in self.tools)

    def truth(self, args: Args) -> Truth:
        """Return whether the rule's conditions hold for some arguments."""
        result: Truth = True
        for check in self._checks:
            truth = check(args)
            if truth is False:
                return False
            if truth is None:
                result = None
        if not self.unless:
            return result
        excepted = every(self.unless, args)
        if excepted is True:
            return False
        return None if excepted is None else result

    def matches(self, args: Args) -> bool:
        """Return whether the rule votes on a call with some arguments."""
        truth = self.truth(args)
        return truth is True or (truth is None and self.effect != "allow")
