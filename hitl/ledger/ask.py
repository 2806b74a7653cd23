"""What a run asks of a human, before it has ids: asks become items, items become an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hitl.codec import unpack
from hitl.ledger.deadlines import deadline_of
from hitl.values import Decision, Item, ItemKind, Json

__all__ = ["Ask", "answer", "answered", "items_of", "public"]

_NO_RULES: Mapping[str, Json] = {}


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing to decide: see the attributes of ``Item`` of the same names."""

    kind: ItemKind
    fingerprint: str
    subject: Json
    allowed: tuple[str, ...]
    rules: Mapping[str, Json] = field(default_factory=lambda: _NO_RULES)
    call_id: str = ""


def items_of(
    asks: Sequence[Ask], ids: Sequence[str], interrupt: str, *, thread: str, path: str, at: float
) -> list[Item]:
    """Return the items of one question, all pending.

    Listings go by the time of asking: a microsecond for each place keeps a turn in its order.
    """
    return [
        Item(
            id=id,
            thread=thread,
            interrupt=interrupt,
            kind=ask.kind,
            fingerprint=ask.fingerprint,
            subject=ask.subject,
            allowed=ask.allowed,
            index=index,
            rules=dict(ask.rules),
            path=path,
            call_id=ask.call_id,
            asked_at=at + index * 1e-6,
            deadline=deadline_of(ask.rules, at) if ask.kind == "action" else None,
        )
        for index, (ask, id) in enumerate(zip(asks, ids, strict=True))
    ]


def answered(items: Sequence[Item]) -> bool:
    """Return whether every item of a question has its decision."""
    return all(item.decision is not None for item in items)


def public(decision: Decision) -> dict[str, Json]:
    """Return a decision in the form in which people write it.

    That nobody decided in time is told as a rejection, which all readers know.
    """
    if decision.type == "expire":
        return {"type": "reject", **decision.payload}
    return {"type": decision.type, **decision.payload}


def answer(items: Sequence[Item]) -> object:
    """Return what the node that asked gets: the value, or ``{"decisions": [...]}``.

    Args:
        items: All items of one question, in order, all decided.
    """
    first = items[0]
    if first.kind == "question" and first.decision is not None:
        return unpack(first.decision.payload["value"])
    return {"decisions": [public(item.decision) for item in items if item.decision is not None]}
