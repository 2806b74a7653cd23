"""From what a reviewer sent to a decision on one item, or a refusal that consumes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass, replace

from hitl.codec import pack
from hitl.errors import (
    AlreadyDecided,
    Misuse,
    NotAllowed,
    Stale,
    UnknownId,
    WrongAnswer,
)
from hitl.ledger.deadlines import has_expired, late
from hitl.ledger.edits import read_edit
from hitl.ledger.grants import granted, read_wish
from hitl.ledger.schema import problems
from hitl.ledger.votes import cast, same
from hitl.ledger.wording import near
from hitl.values import (
    Decision,
    DecisionType,
    Item,
    ItemChange,
    Json,
    iso,
    plain,
)

__all__ = ["CLOSED", "check_reviewer", "decide", "decisions", "read_decision", "taken"]

CLOSED = frozenset({"superseded", "withdrawn"})
"""States in which an item was given up, whether it had a decision or not."""

_KEYS: dict[str, frozenset[str]] = {
    "approve": frozenset({"grant"}),
    "edit": frozenset({"edited_action"}),
    "reject": frozenset({"message"}),
    "respond": frozenset({"message"}),
    "retry": frozenset(),
}
_MEANT = {
    "reason": " Did you mean 'message'?",
    "args": ' An edit is {"type": "edit", "edited_action": {"name": ..., "args": {...}}}.',
    "name": ' An edit is {"type": "edit", "edited_action": {"name": ..., "args": {...}}}.',
}
_SEEN = frozenset({"fingerprint", "version"})
_SPELLINGS = {"editedAction": "edited_action"}
_TYPES: dict[str, DecisionType] = {
    "approve": "approve",
    "edit": "edit",
    "reject": "reject",
    "respond": "respond",
    "retry": "retry",
}


def check_reviewer(by: object, what: str) -> str | None:
    """Return who decides, an opaque id that the host vouches for; None for an unnamed reviewer.

    Args:
        by: What was given.
        what: The parameter, for the error.

    Raises:
        Misuse: It is no printable text of 1 to 512 characters.
    """
    if by is None or (isinstance(by, str) and 0 < len(by) <= 512 and by.isprintable()):
        return by
    raise Misuse(
        f"{what} must be a printable text of 1 to 512 characters.",
        hint="It is an opaque id that your host vouches for.",
    )


def decide(item: Item, raw: object, *, by: str | None, at: float) -> ItemChange | None:
    """Return the change that a decision makes of an item, None where it makes none.

    It decides the item, or is one vote more on it; nothing changes where the item is decided
    so already, or this person has said so already.

    Args:
        item: The item as it stands.
        raw: The answer of a question, or a decision such as ``{"type": "approve"}``.
        by: Who decides; an opaque id that the host vouches for.
        at: The store's time.

    Raises:
        WrongAnswer: It has not the form of a decision.
        NotAllowed: The item does not take this decision, or its edit does not fit.
        AlreadyDecided: The item has another decision.
        Stale: The item has changed since the reviewer saw it.
        UnknownId: The item is closed.
        Expired: Its deadline has passed.
    """
    decision = replace(read_decision(item, raw), by=by, at=at)
    if has_expired(item) or _is_late(item, at):
        raise late(item)
    if item.decision is not None and item.state not in CLOSED:
        if same(item.decision, decision):
            return None
        raise taken(item, item.decision)
    if item.state != "pending":
        raise UnknownId(
            f"Item {item.id} is {item.state}; it can no longer be decided.",
            hint="List what waits now.",
            item=item.id,
            state=item.state,
        )
    return cast(item, decision)


def _is_late(item: Item, at: float) -> bool:
    return item.state == "pending" and item.deadline is not None and item.deadline <= at


def decisions(
    pairs: Iterable[tuple[Item, object]], *, by: str | None, at: float
) -> list[ItemChange]:
    """Return all changes that decisions make: of the items, and the grants that come with them.

    Args:
        pairs: Each item as it stands, and what was sent for it.
        by: Who decides.
        at: The store's time.

    Raises:
        HitlError: See ``decide``; none of them counts then.
    """
    found = (decide(item, raw, by=by, at=at) for item, raw in pairs)
    changes = [change for change in found if change is not None]
    return changes + [more for change in changes if (more := granted(change.item)) is not None]


def taken(item: Item, first: Decision) -> AlreadyDecided:
    """Return the conflict that the loser of a race is told: who decided what, and when."""
    who = first.by or "an unnamed reviewer"
    return AlreadyDecided(
        f"Item {item.id} was decided already: {first.type} by {who} at {iso(first.at)}.",
        hint="The first decision stands.",
        item=item.id,
        decision=first.type,
        by=first.by,
        at=first.at,
    )


def read_decision(item: Item, raw: object) -> Decision:
    """Return a decision read from what was sent, checked against the item's frozen rules.

    Raises:
        WrongAnswer: It has not the form of a decision.
        NotAllowed: The item does not take this decision, or its edit does not fit.
        Stale: It names another fingerprint or version than the item has now.
    """
    if item.kind == "question":
        return Decision("answer", {"value": pack(_fitting(item, raw), "the answer")})
    sent = _spelled(item, raw)
    kind = _type_of(item, sent)
    _check_seen(item, sent)
    allowed = _KEYS[kind] | _SEEN | {"type"}
    for key in sent:
        if key not in allowed:
            raise WrongAnswer(
                f"A decision of type {kind!r} has no key {key!r} (item {item.id})."
                + (_MEANT.get(key) or near(key, allowed)),
                hint=f"Known keys: {', '.join(sorted(allowed))}.",
                item=item.id,
                key=key,
            )
    if kind == "edit":
        return Decision("edit", {"edited_action": read_edit(item, sent.get("edited_action"))})
    if sent.get("grant") is not None:
        return Decision(kind, {"grant": read_wish(item, sent["grant"])})
    if "message" in _KEYS[kind]:
        return Decision(kind, _message(item, kind, sent))
    return Decision(kind)


def _fitting(item: Item, raw: object) -> object:
    """Return an answer, as plain JSON where the question says what it must be."""
    schema = item.rules.get("response_schema")
    if schema is None:
        return raw
    try:
        given = plain(_as_json(raw))
        faults = ["answer" + fault.removeprefix("args") for fault in problems(schema, given)]
    except ValueError as error:
        given, faults = None, [f"answer: not plain JSON, {error}"]
    if faults:
        raise WrongAnswer(
            f"The answer to item {item.id} does not fit: {'; '.join(faults)}.",
            hint="The question is still open; send a corrected answer.",
            item=item.id,
            problems=tuple(faults),
        )
    return given


def _as_json(raw: object) -> object:
    """Return an instance of a class with fields as what it would be in JSON."""
    dump = getattr(raw, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if is_dataclass(raw) and not isinstance(raw, type):
        return asdict(raw)
    return raw


def _spelled(item: Item, raw: object) -> dict[str, object]:
    if not isinstance(raw, Mapping):
        raise WrongAnswer(
            f"A decision on item {item.id} must be a dict with 'type', not {type(raw).__name__}.",
            hint='Example: {"type": "approve"}.',
            item=item.id,
        )
    sent: dict[str, object] = {}
    for key, value in raw.items():
        name = _SPELLINGS.get(key, key)
        if not isinstance(name, str) or name in sent:
            raise WrongAnswer(
                f"A decision on item {item.id} has the key {key!r} twice or not as text.",
                item=item.id,
            )
        sent[name] = value
    return sent


def _type_of(item: Item, sent: Mapping[str, object]) -> DecisionType:
    kind = sent.get("type")
    offered = ", ".join(item.allowed)
    if "type" not in sent:
        raise WrongAnswer(
            f"A decision on item {item.id} has no 'type'." + near("type", sent),
            hint=f"Allowed here: {offered}.",
            item=item.id,
        )
    if not isinstance(kind, str) or kind not in _TYPES:
        raise WrongAnswer(
            f"There is no decision {kind!r} (item {item.id})." + near(kind, item.allowed),
            hint=f"Allowed here: {offered}.",
            item=item.id,
        )
    if kind not in item.allowed:
        raise NotAllowed(
            f"Decision {kind!r} is not allowed for {_label(item)} (item {item.id}).",
            hint=f"Allowed here: {offered}.",
            item=item.id,
            decision=kind,
            allowed=item.allowed,
        )
    return _TYPES[kind]


def _label(item: Item) -> str:
    name = item.subject.get("name") if isinstance(item.subject, dict) else None
    return f"tool {name!r}" if name else f"this {item.kind}"


def _check_seen(item: Item, sent: Mapping[str, object]) -> None:
    for key, now in (("fingerprint", item.fingerprint), ("version", item.version)):
        if item.decision is None and sent.get(key, now) != now:
            raise Stale(
                f"Item {item.id} has changed since it was shown: another {key}.",
                hint="Look at it again, then decide.",
                item=item.id,
            )


def _message(item: Item, kind: str, sent: Mapping[str, object]) -> dict[str, Json]:
    message = sent.get("message")
    if message is None and kind == "reject":
        return {}
    if not isinstance(message, str):
        raise WrongAnswer(
            f"Decision {kind!r} on item {item.id} needs 'message' as text.",
            hint=f'Example: {{"type": "{kind}", "message": "..."}}.',
            item=item.id,
        )
    return {"message": message}
