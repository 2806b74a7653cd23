"""Until when an item can be decided, and what becomes of one that nobody decided.

``rules["deadline"]`` is ``{"after": seconds, "escalate_at"?: seconds, "people"?: [...]}``, from
the moment of asking by the store's clock. No timer is needed: whoever looks next expires it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from hitl.errors import Expired
from hitl.ledger.lifecycle import move
from hitl.values import Decision, Item, ItemChange, Json, iso

__all__ = ["deadline_of", "escalation", "has_expired", "in_time", "late", "overdue"]


def deadline_of(rules: Mapping[str, Json], at: float) -> float | None:
    """Return until when an item with some rules waits that is asked now, None for ever."""
    rule = rules.get("deadline")
    after = rule.get("after") if isinstance(rule, dict) else None
    return at + after if isinstance(after, int | float) else None


def escalation(item: Item) -> tuple[float, frozenset[str]] | None:
    """Return from when on more people may decide, and who; None where nobody else ever may."""
    rule = item.rules.get("deadline")
    if not isinstance(rule, dict):
        return None
    at, people = rule.get("escalate_at"), rule.get("people")
    if not isinstance(at, int | float) or not isinstance(people, list) or not people:
        return None
    return item.asked_at + at, frozenset(map(str, people))


def in_time(change: ItemChange, since: float = -inf) -> ItemChange:
    """Return a change that counts only before the item's deadline, and not before a time."""
    until = change.item.deadline
    if until is None and since == -inf:
        return change
    return change._replace(within=(since, inf if until is None else until))


def has_expired(item: Item) -> bool:
    """Return whether it is settled that nobody decided an item in time."""
    return item.decision is not None and item.decision.type == "expire"


def overdue(items: Iterable[Item], at: float) -> list[ItemChange]:
    """Return the changes that expire those items whose deadline has passed undecided.

    Args:
        items: Any items.
        at: The store's time.
    """
    changes = []
    for item in items:
        if item.state == "pending" and item.deadline is not None and item.deadline <= at:
            said: Json = f"nobody decided in time, which was until {iso(item.deadline)}"
            expired = move(item, "expire", Decision("expire", {"message": said}, at=at))
            changes.append(expired._replace(within=(item.deadline, inf)))
    return changes


def late(item: Item) -> Expired:
    """Return what somebody is told who decides after the deadline."""
    at = item.deadline or 0.0
    return Expired(
        f"Item {item.id} expired at {iso(at)}; it can no longer be decided.",
        hint="The call does not run. Going on with the thread tells the agent so.",
        item=item.id,
        at=at,
    )
