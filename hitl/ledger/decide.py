"""From what a reviewer sent to a decision on one item, or a refusal that consumes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass, replace

from hitl.codec import dumps, pack
from hitl.errors import (
    AlreadyDecided,
    Broken,
    Misuse,
    NotAllowed,
    Stale,
    UnknownId,
    WrongAnswer,
)
from hitl.ledger.lifecycle import move
from hitl.ledger.schema import problems
from hitl.ledger.wording import closest
from hitl.values import (
    Decision,
    DecisionType,
    Item,
    ItemChange,
    Json,
    canonical,
    iso,
    plain,
)

__all__ = ["CLOSED", "check_reviewer", "decide", "decision_entry", "near", "read_decision", "taken"]

CLOSED = frozenset({"superseded", "withdrawn", "expired"})
"""States in which an item was given up, whether it had a decision or not."""

_KEYS: dict[str, frozenset[str]] = {
    "approve": frozenset(),
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


def near(word: object, known: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` where a known word is close, else nothing."""
    match = closest(str(word), known)
    return f" Did you mean {match!r}?" if match else ""


def decide(item: Item, raw: object, *, by: str | None, at: float) -> ItemChange | None:
    """Return the change that decides an item, or None where it is decided so already.

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
    """
    decision = replace(read_decision(item, raw), by=by, at=at)
    if item.decision is not None and item.state not in CLOSED:
        if _same(item.decision, decision):
            return None
        raise taken(item, item.decision)
    if item.state != "pending":
        raise UnknownId(
            f"Item {item.id} is {item.state}; it can no longer be decided.",
            hint="List what waits now.",
            item=item.id,
            state=item.state,
        )
    return move(item, "decide", decision)


def _same(one: Decision, other: Decision) -> bool:
    """Return whether both say the same; as JSON, in which 1 and True differ."""
    return one.type == other.type and canonical(one.payload) == canonical(other.payload)


def decision_entry(changes: Sequence[ItemChange]) -> str:
    """Return the text of a log entry that tells decisions: who, what, on which version.

    Raises:
        Broken: A change carries no decision.
    """
    rows: list[Json] = []
    for change in changes:
        decision = change.item.decision
        if decision is None:
            raise Broken(f"Item {change.item.id} is to be decided without a decision.")
        rows.append(
            {
                "id": change.item.id,
                "version": change.item.version,
                "fingerprint": change.item.fingerprint,
                "type": decision.type,
                "payload": decision.payload,
                "by": decision.by,
            }
        )
    return dumps({"items": rows})


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
        return Decision("edit", {"edited_action": _edited(item, sent.get("edited_action"))})
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


def _edited(item: Item, action: object) -> dict[str, Json]:
    if not isinstance(action, Mapping) or set(action) != {"name", "args"}:
        got = sorted(map(str, action)) if isinstance(action, Mapping) else type(action).__name__
        raise WrongAnswer(
            f"An edit of item {item.id} needs 'edited_action' with exactly 'name' and 'args'; "
            f"got {got}.",
            hint='Example: {"type": "edit", "edited_action": {"name": "tool", "args": {...}}}.',
            item=item.id,
        )
    name, args = action["name"], action["args"]
    if not isinstance(name, str) or not isinstance(args, Mapping):
        raise WrongAnswer(
            f"An edit of item {item.id} needs 'name' as text and 'args' as a dict.", item=item.id
        )
    try:
        copy = plain(dict(args))
    except ValueError as error:
        raise WrongAnswer(
            f"The edited arguments of item {item.id} are not plain JSON: {error}.", item=item.id
        ) from error
    _check_edit(item, name, copy)
    return {"name": name, "args": copy}


def _check_edit(item: Item, name: str, args: Json) -> None:
    own = item.subject.get("name") if isinstance(item.subject, dict) else None
    faults = problems(item.rules.get("args_schema"), args) if name == own else _renamed(item, name)
    if faults:
        raise NotAllowed(
            f"The edit of item {item.id} does not fit {name!r}: {'; '.join(faults)}.",
            hint="The item is still open; send a corrected edit.",
            item=item.id,
            problems=tuple(faults),
        )


def _renamed(item: Item, name: str) -> list[str]:
    """Judge an edit into another tool by the verdicts that were frozen with the question."""
    tools = item.rules.get("tools")
    if not isinstance(tools, dict) or name not in tools:
        known = tools if isinstance(tools, dict) else {}
        return [f"there is no tool {name!r} here.{near(name, known)}"]
    allowed = tools[name]
    if allowed is None or (isinstance(allowed, list) and "approve" in allowed):
        return []
    return [f"tool {name!r} does not let a reviewer approve it"]
