"""What a changed policy changes: which past calls would now get another verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hitl.policy.policy import Policy
from hitl.policy.strictest import RANK
from hitl.policy.verdict import Verdict
from hitl.values import ToolCall

__all__ = ["Change", "diff"]


@dataclass(frozen=True, slots=True)
class Change:
    """A call that two policies judge differently.

    Attributes:
        call: The call.
        old: What the old policy says.
        new: What the new one says.
        direction: ``looser`` or ``stricter`` in effect; ``other`` where it still asks, but for
            other decisions, or under other obligations.
    """

    call: ToolCall
    old: Verdict
    new: Verdict
    direction: Literal["looser", "stricter", "other"]


def diff(old: Policy, new: Policy, calls: Iterable[ToolCall]) -> list[Change]:
    """Return the calls whose verdict a new policy changes, in their order.

    Args:
        old: The policy that was.
        new: The policy that is to be.
        calls: Calls to judge by both, such as those of a log.
    """
    changes = []
    for call in calls:
        before, after = old.judge(call), new.judge(call)
        step = RANK[after.effect] - RANK[before.effect]
        same = (before.allowed, before.obligations) == (after.allowed, after.obligations)
        if step or not same:
            direction: Literal["looser", "stricter", "other"] = "other"
            if step:
                direction = "stricter" if step > 0 else "looser"
            changes.append(Change(call, before, after, direction))
    return changes
