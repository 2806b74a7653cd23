"""An item as a row of plain columns, and back: the one form in which all stores keep it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple, TypedDict, cast

from hitl.checkpoint.door import storable
from hitl.errors import Damaged, NotStorable
from hitl.values import Decision, DecisionType, Item, ItemKind, ItemState, Json

__all__ = ["ItemRow", "pack_item", "show_item", "unpack_item"]


class _Tree(TypedDict):
    """A decision as it is kept."""

    type: DecisionType
    payload: dict[str, Json]
    by: str | None
    at: float


_encode = json.JSONEncoder(separators=(",", ":")).encode


class ItemRow(NamedTuple):
    """The columns of an item; ``subject`` to ``decision`` and ``votes`` are JSON text."""

    id: str
    thread: str
    interrupt: str
    idx: int
    kind: str
    state: str
    version: int
    fingerprint: str
    asked_at: float
    path: str
    call_id: str
    subject: str
    allowed: str
    rules: str
    decision: str | None
    deadline: float | None = None
    votes: str = "[]"


def pack_item(item: Item) -> ItemRow:
    """Return an item as a row.

    Raises:
        NotStorable: One of its fields is not plain JSON.
    """
    try:
        return ItemRow(
            item.id,
            item.thread,
            item.interrupt,
            item.index,
            item.kind,
            item.state,
            item.version,
            item.fingerprint,
            float(item.asked_at),
            storable(item.path),
            storable(item.call_id),
            _encode(item.subject),
            _pack_allowed(item.allowed),
            _encode(item.rules) if item.rules else "{}",
            _encode(_tree(item.decision)) if item.decision else None,
            None if item.deadline is None else float(item.deadline),
            _encode([_tree(vote) for vote in item.votes]) if item.votes else "[]",
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise NotStorable(
            f"Item {item.id} of thread {item.thread!r} is not plain JSON: {error}.",
            hint="Pack values before they are put into an item.",
            path=f"item {item.id}",
        ) from error


def unpack_item(row: ItemRow) -> Item:
    """Return the item of a row.

    Raises:
        Damaged: A column does not hold what was written there.
    """
    try:
        return Item(
            id=row.id,
            thread=row.thread,
            interrupt=row.interrupt,
            kind=cast(ItemKind, row.kind),
            fingerprint=row.fingerprint,
            subject=json.loads(row.subject),
            allowed=_unpack_allowed(row.allowed),
            index=row.idx,
            state=cast(ItemState, row.state),
            version=row.version,
            rules={} if row.rules == "{}" else json.loads(row.rules),
            path=row.path,
            call_id=row.call_id,
            asked_at=row.asked_at,
            decision=None if row.decision is None else _decision(json.loads(row.decision)),
            deadline=row.deadline,
            votes=() if row.votes == "[]" else tuple(map(_decision, json.loads(row.votes))),
        )
    except (TypeError, ValueError, KeyError, RecursionError) as error:
        raise Damaged(
            f"Item {row.id} of thread {row.thread!r} cannot be read: {error}.",
            hint="Its row was changed outside of this library; restore it from a copy.",
            thread=row.thread,
            id=row.id,
        ) from error


def show_item(row: ItemRow) -> Item:
    """Return the item of a row for a listing, which goes on where a row is damaged.

    A damaged one shows ``{"damaged": why}`` as its subject and allows no decision.
    """
    try:
        return unpack_item(row)
    except Damaged as error:
        why: dict[str, Json] = {"damaged": error.message}
        broken = row._replace(subject=_encode(why), allowed="[]", rules="{}")
        broken = broken._replace(decision=None, votes="[]")
        return unpack_item(broken)


@lru_cache
def _pack_allowed(allowed: tuple[str, ...]) -> str:
    """Return a list of decisions as text; there are few of them, written again and again."""
    return _encode(allowed)


@lru_cache
def _unpack_allowed(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def _tree(decision: Decision) -> _Tree:
    return {
        "type": decision.type,
        "payload": decision.payload,
        "by": decision.by,
        "at": float(decision.at),
    }


def _decision(tree: _Tree) -> Decision:
    return Decision(tree["type"], tree["payload"], tree["by"], tree["at"])
