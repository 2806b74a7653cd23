"""How verdicts are put together: deny beats ask beats allow, and askings merge.

Owns the one law between rules and between layers. Its result does not depend on the order of
what is merged, nor on what was merged first, and is never looser than any part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hitl.policy.verdict import (
    DECISIONS,
    DeadlineRule,
    GrantRule,
    Obligations,
    ReviewerRule,
    Verdict,
)

__all__ = ["RANK", "strictest"]

RANK = {"allow": 0, "ask": 1, "deny": 2}
_TOLD = 3


def strictest(verdicts: Iterable[Verdict], policy_id: str = "") -> Verdict:
    """Return what some verdicts say together; of at least one.

    Args:
        verdicts: What rules, or layers, say about one call.
        policy_id: The policy in whose name it is said; that of the verdicts where not given.
    """
    said = list(verdicts)
    top = max(RANK[verdict.effect] for verdict in said)
    said = sorted(
        (verdict for verdict in said if RANK[verdict.effect] == top),
        key=lambda verdict: (verdict.rules, verdict.rule, verdict.why),
    )
    whole = said[0]
    if len(said) > 1:
        whole = Verdict(
            whole.effect,
            why=_why(said),
            rule=next((verdict.rule for verdict in said if verdict.rule), ""),
            rules=tuple(dict.fromkeys(rule for verdict in said for rule in verdict.rules)),
            policy_id=whole.policy_id,
        )
        if whole.effect == "ask":
            whole = _asking(whole, said)
    return replace(whole, policy_id=policy_id) if policy_id else whole


def _asking(whole: Verdict, said: Sequence[Verdict]) -> Verdict:
    """Return the askings as one: whatever each of them demands."""
    editable = _editable(said)
    allowed = [word for word in DECISIONS if all(word in verdict.allowed for verdict in said)]
    if editable == () and "edit" in allowed:
        allowed.remove("edit")
    if not allowed:
        why = f"No decision is open to all rules that ask. {whole.why}"
        return replace(whole, effect="deny", why=why)
    parts = [verdict.obligations for verdict in said]
    obligations = Obligations(
        editable=editable,
        keep=tuple(sorted({name for part in parts for name in part.keep})),
        reviewers=_reviewers(parts),
        deadline=_deadline(parts),
        grants=_grants([part.grants for part in parts]),
    )
    return replace(whole, allowed=tuple(allowed), obligations=obligations)


def _why(said: Sequence[Verdict]) -> str:
    whys = list(dict.fromkeys(verdict.why for verdict in said if verdict.why))
    more = f" And {len(whys) - _TOLD} rules more." if len(whys) > _TOLD else ""
    return " ".join(whys[:_TOLD]) + more


def _editable(said: Sequence[Verdict]) -> tuple[str, ...] | None:
    given = [set(v.obligations.editable) for v in said if v.obligations.editable is not None]
    return tuple(sorted(set.intersection(*given))) if given else None


def _reviewers(parts: Sequence[Obligations]) -> tuple[ReviewerRule, ...]:
    rules = {rule for part in parts for rule in part.reviewers}
    return tuple(
        sorted(rules, key=lambda rule: (rule.any_of, rule.people, rule.need, rule.not_requester))
    )


def _deadline(parts: Sequence[Obligations]) -> DeadlineRule | None:
    """Return the nearest deadline. More people may decide only where all reviewers' rules say so.

    An escalation lets others in, so it is the one obligation that loosens: it counts from the
    latest of its times, for the people whom all name.
    """
    deadlines = [part.deadline for part in parts if part.deadline]
    if not deadlines:
        return None
    after = min(deadline.after for deadline in deadlines)
    escalating = [part.deadline for part in parts if part.reviewers]
    found = [deadline for deadline in escalating if deadline and deadline.escalate_at is not None]
    people = set.intersection(*(set(deadline.people) for deadline in found)) if found else set()
    if len(found) < len(escalating) or not people:
        return DeadlineRule(after)
    return DeadlineRule(
        after,
        max(deadline.escalate_at or 0.0 for deadline in found),
        tuple(sorted(set.intersection(*(set(deadline.to) for deadline in found)))),
        tuple(sorted(people)),
    )


def _grants(grants: Sequence[GrantRule | None]) -> GrantRule | None:
    given = [grant for grant in grants if grant is not None]
    if len(given) < len(grants):
        return None
    return GrantRule(
        "same_args" if any(grant.scope == "same_args" for grant in given) else "same_tool",
        min(grant.ttl for grant in given),
        min(grant.uses for grant in given),
    )
