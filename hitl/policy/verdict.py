"""What a policy says about one call. Every layer that judges speaks in this form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["DECISIONS", "Verdict", "VerdictEffect"]

DECISIONS = ("approve", "edit", "reject", "respond")
"""The decisions that a human can take about a tool call, in the order they are offered."""

VerdictEffect = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to happen with a call, and why.

    Attributes:
        effect: ``allow`` runs it, ``ask`` waits for a human, ``deny`` refuses it.
        allowed: The decisions an ``ask`` can take, in the order they are offered.
        why: One sentence for people.
        rule: The place of the rule that decided, empty where none matched.
    """

    effect: VerdictEffect
    allowed: tuple[str, ...] = ()
    why: str = ""
    rule: str = ""
