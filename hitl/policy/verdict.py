"""What a policy says about one call. Every layer that judges speaks in this form."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from hitl.values import Json

__all__ = [
    "DECISIONS",
    "NO_OBLIGATIONS",
    "DeadlineRule",
    "GrantRule",
    "Obligations",
    "ReviewerRule",
    "Verdict",
    "VerdictEffect",
]

DECISIONS = ("approve", "edit", "reject", "respond")
"""The decisions that a human can take about a tool call, in the order they are offered."""

VerdictEffect = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class ReviewerRule:
    """Who may say yes to a call: one requirement; of several, each must be met.

    Attributes:
        any_of: Names of the policy's groups; anybody where empty.
        people: The members of those groups, as they were when the call was judged.
        need: How many different people must give the same yes.
        not_requester: Whether the one on whose behalf the agent runs may not say yes.
    """

    any_of: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    need: int = 1
    not_requester: bool = False


@dataclass(frozen=True, slots=True)
class DeadlineRule:
    """Until when a call waits. Times are seconds from the moment of asking.

    Attributes:
        after: When the question expires; the call then never runs.
        escalate_at: When more people may decide, None for never.
        to: The groups that may then decide.
        people: The members of those groups.
    """

    after: float
    escalate_at: float | None = None
    to: tuple[str, ...] = ()
    people: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GrantRule:
    """What a reviewer's yes may be remembered for; a grant can ask for less, never for more.

    Attributes:
        scope: ``same_args``: only the same call again; ``same_tool``: whatever the same rules
            ask about of this tool.
        ttl: Seconds that a grant lives at most.
        uses: How often it can be used at most.
    """

    scope: Literal["same_args", "same_tool"] = "same_args"
    ttl: float = 3600.0
    uses: int = 1


@dataclass(frozen=True, slots=True)
class Obligations:
    """What comes with an ``ask``, merged to the stricter whole of all rules that asked.

    Attributes:
        editable: Top-level arguments that an edit may change, None for all.
        keep: Top-level arguments that an edit must leave as they are.
        reviewers: Requirements on who says yes; each must be met.
        deadline: Until when it waits, None for ever.
        grants: What may be remembered, None where an answer counts once.
    """

    editable: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    reviewers: tuple[ReviewerRule, ...] = ()
    deadline: DeadlineRule | None = None
    grants: GrantRule | None = None

    def as_rules(self) -> dict[str, Json]:
        """Return them as plain JSON, in the form that is frozen with a question."""
        rules: dict[str, Json] = {}
        if self.editable is not None or self.keep:
            rules["edit"] = {"fields": _listed(self.editable), "keep": _listed(self.keep)}
        if self.reviewers:
            rules["reviewers"] = [_json(rule) for rule in self.reviewers]
        if self.deadline is not None:
            rules["deadline"] = _json(self.deadline)
        if self.grants is not None:
            rules["grants"] = _json(self.grants)
        return rules


def _json(rule: ReviewerRule | DeadlineRule | GrantRule) -> Json:
    return {name: _listed(value) for name, value in asdict(rule).items()}


def _listed(value: object) -> Json:
    return list(value) if isinstance(value, tuple) else value  # type: ignore[return-value]


NO_OBLIGATIONS = Obligations()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to happen with a call, and why.

    Attributes:
        effect: ``allow`` runs it, ``ask`` waits for a human, ``deny`` refuses it.
        allowed: The decisions an ``ask`` can take, in the order they are offered.
        why: One sentence for people.
        rule: The place of the rule that decided, empty where none matched.
        rules: Ids of the policy rules that decided.
        policy_id: The hash of the policy that judged, empty for code.
        obligations: What an answer must fulfil.
    """

    effect: VerdictEffect
    allowed: tuple[str, ...] = ()
    why: str = ""
    rule: str = ""
    rules: tuple[str, ...] = ()
    policy_id: str = ""
    obligations: Obligations = NO_OBLIGATIONS
