"""What waits on a thread, and which of its tasks can run. Pure reading of a standing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from hitl.engine.standing import Asked, Intent, Record, Standing
from hitl.errors import OutcomeUnknown
from hitl.ledger import Ask, items_of, move
from hitl.values import Interrupt, Item, ItemChange, Json, derive, fingerprint

__all__ = [
    "delivered",
    "has_lost",
    "interrupts",
    "lost",
    "outcome_asks",
    "ready",
    "refuse_lost",
    "unprobed",
    "waiting",
]


Items = Mapping[str, Item]


def waiting(items: Items, record: Record) -> list[Asked]:
    """Return the questions of a task that have not been answered in full, nested ones last."""
    own = [
        asked
        for asked in record.asked
        if any(items[id].decision is None for id in asked.items if id in items)
    ]
    for inner in record.subs.values():
        own.extend(_waiting_in(items, inner))
    return own


def _waiting_in(items: Items, standing: Standing) -> Iterator[Asked]:
    for place in sorted(standing.records):
        record = standing.records[place]
        if record.done is None:
            yield from waiting(items, record)


def interrupts(standing: Standing) -> tuple[Interrupt, ...]:
    """Return everything that waits for a human on a thread, in the order of its tasks."""
    if not standing.records:
        return ()
    waits = _waiting_in(standing.items, standing)
    return tuple(asked.shown() for asked in waits)


def lost(record: Record) -> list[tuple[str, Intent]]:
    """Return the calls of a task that started, left no result, and may not start again.

    Where the tool may know what became of one, its task runs and asks the tool first.
    """
    return [(key, intent) for key, intent in _unsure(record) if not intent.probe]


def _unsure(record: Record) -> list[tuple[str, Intent]]:
    if record.done is not None:
        return []
    return [
        (key, intent)
        for key, intent in record.intents.items()
        if key not in record.notes  # its result
        and intent.open
    ]


def unprobed(standing: Standing) -> list[Intent]:
    """Return the lost calls of whose outcome a tool has not been asked, nested ones too."""
    found: list[Intent] = []
    for record in standing.records.values():
        found += [intent for _, intent in _unsure(record) if intent.probe]
        if record.done is None:
            found += [intent for inner in record.subs.values() for intent in unprobed(inner)]
    return found


def has_lost(standing: Standing) -> bool:
    """Return whether a call of a task, or of a run inside one, left no result."""
    return any(
        lost(record) or (record.done is None and any(map(has_lost, record.subs.values())))
        for record in standing.records.values()
    )


def ready(standing: Standing, items: Items | None = None) -> list[int]:
    """Return the places of the tasks that can run now.

    Args:
        standing: Where a run stands.
        items: The thread's live items; the standing's own where None.
    """
    known = standing.items if items is None else items
    return [
        place
        for place in range(len(standing.due))
        if (record := standing.records.get(place)) is None or _is_ready(record, known)
    ]


def _is_ready(record: Record, items: Items) -> bool:
    if record.done is not None or lost(record):
        return False
    if any(items[id].decision is None for ask in record.asked for id in ask.items if id in items):
        return False
    # A task with runs inside goes on as soon as one of them can; the others pause again.
    open_runs = [inner for inner in record.subs.values() if inner.due]
    return not open_runs or any(ready(inner, items) or has_lost(inner) for inner in open_runs)


def outcome_asks(
    standing: Standing, at: float, path: str = "", places: Collection[int] | None = None
) -> tuple[dict[int, list[Asked]], list[ItemChange]]:
    """Return the questions to put for calls whose outcome is not known, by place.

    Where places are given, only calls of the tasks there are asked about. With the questions go
    the changes of items: the new items, and the lost calls' own.
    """
    asked: dict[int, list[Asked]] = {}
    changes: list[ItemChange] = []
    for place, record in standing.records.items():
        if places is not None and place not in places:
            continue
        for key, intent in lost(record):
            question, items = _outcome(standing, place, key, intent, at, path)
            asked.setdefault(place, []).append(question)
            changes.extend(ItemChange(item) for item in items)
            own = standing.items.get(intent.item)
            if own is not None and own.state == "started":
                changes.append(move(own, "lose"))
    return asked, changes


def _outcome(
    standing: Standing, place: int, key: str, intent: Intent, at: float, path: str
) -> tuple[Asked, list[Item]]:
    node = standing.due[place][0]
    position = ("outcome", standing.checkpoint, place, key, intent.attempt)
    id = derive(standing.salt, *position)
    subject = dict(intent.subject) if isinstance(intent.subject, dict) else {}
    name = str(subject.get("name", node))
    subject["description"] = (
        f"The call of {name!r} was started (attempt {intent.attempt}) and left no result; "
        "whether it took effect is not known. Answer 'respond' with its result if it happened, "
        "'retry' if it did not, 'reject' to give it up."
    )
    ask = Ask(
        "outcome",
        fingerprint(name, subject.get("args")),
        subject,
        ("respond", "retry", "reject"),
        _reviewed(standing, intent),
        call_id=str(subject.pop("call_id", None) or ""),
    )
    items = items_of([ask], [id], id, thread=standing.thread, path=path + node, at=at)
    value = {
        "outcome_unknown": {"id": id, **subject},
        "allowed_decisions": list(ask.allowed),
    }
    return Asked(id, value, (id,), key), items


def _reviewed(standing: Standing, intent: Intent) -> dict[str, Json]:
    """Return who may say what became of a call: those who could let it start."""
    allowed = standing.items.get(intent.item)
    rules = {} if allowed is None else allowed.rules
    return {key: rules[key] for key in ("reviewers", "requester") if key in rules}


def delivered(standing: Standing, record: Record, skip: Iterable[str] = ()) -> list[ItemChange]:
    """Return the moves of decided items whose task has taken the answers."""
    done = set(skip)
    changes: list[ItemChange] = []
    for asked in record.asked:
        for id in asked.items:
            item = standing.items.get(id)
            if item is None or item.state not in ("decided", "expired") or id in done:
                continue
            runs = (
                item.kind == "action"
                and item.decision is not None
                and (item.decision.type in ("approve", "edit"))
            )
            changes.append(move(item, "clear" if runs else "close"))
    return changes


def refuse_lost(standing: Standing) -> OutcomeUnknown:
    """Return the error for new input on a thread that holds a call of unknown outcome."""
    items = [item for item in standing.items.values() if item.kind == "outcome"]
    ids = [item.id for item in items]
    if not items:
        what = "was not asked about yet; invoke(None, config) does"
    elif all(item.decision is not None for item in items):
        what = "is settled; invoke(None, config) delivers it"
    else:
        what = f"is not: respond, retry or reject item {', '.join(ids)}"
    return OutcomeUnknown(
        f"Thread {standing.thread!r} holds a call that was started and left no result; new "
        "input would close it unseen.",
        hint=f'It {what}. Or invoke with on_unknown="tell_model".',
        thread=standing.thread,
        items=tuple(ids),
    )
