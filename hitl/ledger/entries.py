"""What the log tells of items that people decided, voted on, or let expire."""

from __future__ import annotations

from collections.abc import Iterable

from hitl.codec import dumps
from hitl.errors import Broken
from hitl.ledger.deadlines import has_expired
from hitl.values import Decision, Draft, Item, ItemChange, Json

__all__ = ["entries_of"]


def entries_of(changes: Iterable[ItemChange]) -> tuple[Draft, ...]:
    """Return the entries that tell of changes: votes, decisions, what nobody decided in time.

    A grant is told with the decision that gave it.

    Raises:
        Broken: A change carries none of these.
    """
    rows: dict[str, list[Json]] = {"vote": [], "decide": [], "expire": []}
    for change in changes:
        if change.item.kind != "grant":
            kind, said = _said(change.item)
            rows[kind].append(_row(change.item, said))
    return tuple(Draft(kind, dumps({"items": told})) for kind, told in rows.items() if told)


def _said(item: Item) -> tuple[str, Decision]:
    if item.decision is not None:
        return "expire" if has_expired(item) else "decide", item.decision
    if item.votes:
        return "vote", item.votes[-1]
    raise Broken(f"Item {item.id} is to be decided without a decision.", item=item.id)


def _row(item: Item, said: Decision) -> Json:
    return {
        "id": item.id,
        "version": item.version,
        "fingerprint": item.fingerprint,
        "type": said.type,
        "payload": said.payload,
        "by": said.by,
    }
