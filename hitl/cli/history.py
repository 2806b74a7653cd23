"""A thread's log told to people: what each entry says, in a line or two.

Reads bodies as loosely as it can: an entry that it does not understand is named, never fatal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hitl.checkpoint import BASE, Checkpointer, verify
from hitl.cli import facts
from hitl.codec import loads
from hitl.errors import HitlError
from hitl.values import CHECKPOINTS, Entry, Item, Json, iso

__all__ = ["Told", "short_names", "story", "told"]

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Told:
    """One entry, for people and for programs."""

    text: list[str]
    document: dict[str, Json]


def story(store: Checkpointer, thread: str) -> list[tuple[Entry, bool]]:
    """Return a thread's entries, each with whether the chain is first broken there."""
    found: list[Entry] = []
    page = store.entries(thread, limit=_PAGE)
    while page:
        found += page
        page = store.entries(thread, after=page[-1].seq, limit=_PAGE)
    bad = verify(found)
    first = found[0].seq if found and found[0].kind == BASE else 1
    return [(entry, bad is not None and place == bad - first) for place, entry in enumerate(found)]


def short_names(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the last dotted part of each node's name, where no other node's ends so."""
    names = {name for entry in entries if entry.kind in CHECKPOINTS for name in _due(_read(entry))}
    ends = Counter(name.rpartition(".")[2] for name in names)
    return {name: end for name in names if ends[end := name.rpartition(".")[2]] == 1}


def _read(entry: Entry) -> dict[str, Json]:
    """Return an entry's body, nothing where it cannot be read."""
    try:
        return _dict(loads(entry.body))
    except (HitlError, ValueError):
        return {}


def told(entry: Entry, items: Mapping[str, Item], names: Mapping[str, str]) -> Told:
    """Return what an entry says.

    Args:
        entry: The entry.
        items: The thread's items by id, to name what was asked and decided.
        names: Short names of nodes.
    """
    body: Json
    try:
        body = loads(entry.body)
        text = (
            list(_lines(entry.kind, body, items, names)) if isinstance(body, dict) else [entry.kind]
        )
    except (HitlError, AttributeError, KeyError, TypeError, ValueError):
        body, text = None, [f"{entry.kind}: its body cannot be read"]
    document: dict[str, Json] = {
        "seq": entry.seq,
        "at": iso(entry.at),
        "kind": entry.kind,
        "parent": entry.parent,
        "hash": entry.hash,
        "text": [*text],
        "body": body,
    }
    return Told(text, document)


def _lines(
    kind: str, body: dict[str, Json], items: Mapping[str, Item], names: Mapping[str, str]
) -> Iterator[str]:
    rows = body.get("items")
    if isinstance(rows, list):
        word = {"vote": "voted", "expire": "expired"}.get(kind, "decided")
        yield from (_decided(word, row, items) for row in rows)
    elif "grant" in body:
        who = f" by {body.get('by') or 'an unnamed reviewer'}" if kind == "revoke" else ""
        how = f"{body.get('left')} left" if kind == "use" else f"revoked{who}"
        where = f", for thread {body['for']}" if body.get("for") else ""
        yield f"grant    {body.get('name')} [{str(body['grant'])[:8]}]: {how}{where}"
    elif kind == BASE:
        kept = len(_list(body.get("decisions")))
        yield f"{kind:<8} stands for what was pruned; {kept} decisions kept"
    elif "due" in body:
        yield _checkpoint(kind, body, names)
        yield from map(_closed, _list(body.get("closed")))
    elif isinstance(body.get("tasks"), dict):
        for task in _dict(body["tasks"]).values():
            yield from _task(_dict(task), items)
    else:
        yield kind


def _decided(word: str, row: Json, items: Mapping[str, Item]) -> str:
    row = _dict(row)
    who = row.get("by") or ("nobody" if word == "expired" else "an unnamed reviewer")
    what = facts.decided(str(row.get("type")), _dict(row.get("payload")))
    item = items.get(str(row.get("id")))
    if item is None:
        return f"{word:<8} {who}: {what} for item {row.get('id')}"
    end = "; never ran" if facts.never_ran(item) else ""
    return f"{word:<8} {who}: {what} for {facts.title(item)} [{item.id[:8]}]{end}"


def _closed(row: Json) -> str:
    id, state = row if isinstance(row, list) and len(row) == 2 else (row, "given up")
    return f"closed   {str(id)[:8]}: {state}"


def _due(body: dict[str, Json]) -> list[str]:
    return [str(one[0]) for one in _list(body.get("due")) if isinstance(one, list) and one]


def _checkpoint(kind: str, body: dict[str, Json], names: Mapping[str, str]) -> str:
    channels = _dict(body.get("ch"))
    due = [names.get(name, name) for name in _due(body)]
    wrote = ", ".join(f"{name}{_added(change)}" for name, change in channels.items())
    then = f"; next: {', '.join(due)}" if due else "; the end"
    return f"{kind:<8} wrote {wrote or 'nothing'}{then}"


def _added(change: Json) -> str:
    tail = change.get("t") if isinstance(change, dict) else None
    return f" (+{len(tail)})" if isinstance(tail, list) else ""


def _task(task: dict[str, Json], items: Mapping[str, Item]) -> Iterator[str]:
    for ask in _list(task.get("ask")):
        for id in _list(_dict(ask).get("items")):
            yield f"asked    {_item(id, items)}"
    for intent in _dict(task.get("intents")).values():
        subject = _dict(_dict(intent).get("subject"))
        call = f"{subject.get('name')}({facts.call(_dict(subject.get('args')).items())})"
        yield f"starts   {call}, attempt {_dict(intent).get('n')}"
    for key in _dict(task.get("notes")):
        yield f"kept     the result of {key}"
    if "w" in task:
        wrote = ", ".join(str(one[0]) for one in _list(task["w"]) if isinstance(one, list))
        yield f"result   a task finished, wrote {wrote or 'nothing'}"
    if "err" in task:
        yield f"error    {task['err']}"


def _item(id: Json, items: Mapping[str, Item]) -> str:
    item = items.get(str(id))
    if item is None:
        return f"item {id}"
    return f"{facts.title(item)}({facts.effect(item)}) [{item.id[:8]}]"


def _dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
