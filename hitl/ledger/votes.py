"""Who may say yes to an item, and when enough have: a vote of each person.

``rules["reviewers"]`` is a list of requirements ``{"any_of", "people", "need",
"not_requester"}``, all of which must be met; ``rules["requester"]`` is the one on whose behalf
the agent runs. The item is decided once every requirement has ``need`` different people who
said the same yes: the same type and payload. The no of one of them decides at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from hitl.errors import NotAllowed
from hitl.ledger.deadlines import escalation, in_time
from hitl.ledger.lifecycle import move
from hitl.values import Decision, Item, ItemChange, Json, canonical, iso

__all__ = ["cast", "needs_votes", "progress", "same"]

_NO = frozenset({"reject", "respond"})


@dataclass(frozen=True, slots=True)
class _Requirement:
    """Some people, of whom so many must say the same yes; no names for anybody."""

    names: tuple[str, ...]
    people: frozenset[str]
    need: int
    not_requester: bool


def _requirements(rules: Mapping[str, Json]) -> list[_Requirement]:
    given = rules.get("reviewers")
    found = []
    for one in given if isinstance(given, list) else ():
        assert isinstance(one, dict)
        need = one.get("need", 1)
        found.append(
            _Requirement(
                _texts(one.get("any_of")),
                frozenset(_texts(one.get("people"))),
                need if isinstance(need, int) else 1,
                bool(one.get("not_requester")),
            )
        )
    return found


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def needs_votes(item: Item) -> bool:
    """Return whether it may take more than one person to say yes."""
    needs = _requirements(item.rules)
    return len(needs) > 1 or any(one.need > 1 for one in needs)


def same(one: Decision, other: Decision) -> bool:
    """Return whether both say the same; as JSON, in which 1 and True differ."""
    return one.type == other.type and canonical(one.payload) == canonical(other.payload)


def cast(item: Item, decision: Decision) -> ItemChange | None:
    """Return what a decision of one person makes of a pending item.

    Args:
        item: As it stands.
        decision: What they say; whoever speaks to an item without reviewers decides it.

    Returns:
        The item decided, or with one vote more; None where they have said just that before.

    Raises:
        NotAllowed: They may not say so.
    """
    needs = _requirements(item.rules)
    if decision.by is None and (needs or "grant" in decision.payload):
        raise NotAllowed(
            f"Item {item.id} takes no such decision of an unnamed reviewer.",
            hint="Say who decides: by=, config['configurable']['reviewer'], or --by.",
            item=item.id,
        )
    if not needs:
        return in_time(move(item, "decide", decision))
    since = _entitled(item, needs, decision)
    for vote in item.votes:
        if (
            vote.by == decision.by
            and same(vote, decision)
            and all(_counts(item, one, vote) == _counts(item, one, decision) for one in needs)
        ):
            return None
    others = tuple(vote for vote in item.votes if vote.by != decision.by)
    voted = replace(item, votes=(*others, decision))
    if decision.type not in _NO and not _complete(voted, needs, decision):
        return in_time(move(voted, "vote"), since)
    return in_time(move(voted, "decide", decision), since)


def _entitled(item: Item, needs: Sequence[_Requirement], decision: Decision) -> float:
    """Return since when a person may say what they say.

    Raises:
        NotAllowed: They may not, at the time of their decision.
    """
    who, yes = decision.by, decision.type not in _NO
    if yes and item.rules.get("requester") is None and any(one.not_requester for one in needs):
        raise NotAllowed(
            f"Item {item.id} must not be approved by whoever asked for it, and that is not known.",
            hint="Name them when the run begins: config['configurable']['requester'].",
            item=item.id,
        )
    if any(_counts(item, one, decision) for one in needs):
        more = escalation(item)
        return more[0] if more and who in more[1] and decision.at >= more[0] else -inf
    raise NotAllowed(
        f"{who!r} may not {decision.type} item {item.id}.",
        hint=_who_may(item, needs),
        item=item.id,
        by=who,
    )


def _counts(item: Item, need: _Requirement, vote: Decision) -> bool:
    """Return whether a vote counts for a requirement; a no of whoever asked for it does."""
    own = need.not_requester and item.rules.get("requester") == vote.by
    if own and vote.type not in _NO:
        return False
    if not need.people or vote.by in need.people:
        return True
    more = escalation(item)
    return more is not None and vote.at >= more[0] and vote.by in more[1]


def _tally(item: Item, needs: Sequence[_Requirement], like: Decision) -> list[int]:
    """Return how many people said the same as one, for each requirement."""
    votes = [vote for vote in item.votes if same(vote, like)]
    return [sum(_counts(item, one, vote) for vote in votes) for one in needs]


def _complete(item: Item, needs: Sequence[_Requirement], like: Decision) -> bool:
    tally = _tally(item, needs, like)
    return all(have >= one.need for have, one in zip(tally, needs, strict=True))


def _who_may(item: Item, needs: Sequence[_Requirement]) -> str:
    told = []
    for one in needs:
        who = " or ".join(one.names) or ", ".join(sorted(one.people)) or "anybody"
        but = ", not whoever asked for it" if one.not_requester else ""
        told.append(f"{one.need} of {who}{but}")
    more = escalation(item)
    later = f" From {iso(more[0])} on also: {', '.join(sorted(more[1]))}." if more else ""
    return f"It takes {' and '.join(told)}.{later}"


def progress(item: Item) -> str:
    """Return how far the votes of an item have come, such as ``"1 of 2"``.

    Of several requirements each is told, with its names. It is that of the yes which most
    people have said; empty where no votes are needed.
    """
    needs = _requirements(item.rules)
    if not needs:
        return ""
    tallies = [_tally(item, needs, vote) for vote in item.votes if vote.type not in _NO]
    best = max(tallies, key=sum, default=[0] * len(needs))
    told = []
    for have, one in zip(best, needs, strict=True):
        names = " or ".join(one.names)
        label = f" ({names})" if names and len(needs) > 1 else ""
        told.append(f"{min(have, one.need)} of {one.need}{label}")
    return ", ".join(told)
