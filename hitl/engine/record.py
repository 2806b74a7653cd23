"""Entries as text: what each kind of run entry says, written and read in one place.

Checkpoints (``input``, ``step``, ``update``, ``fork``) carry changes of channels and what is
due; ``pause``, ``result``, ``intent`` and ``note`` add to the records of tasks. Channels are
written as changes: ``{"k": n, "t": [...]}`` keeps the first n elements of a list and appends,
``{"v": ...}`` replaces. A whole state is written (a *base*) when dead text outweighs the live.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from hitl.checkpoint import BASE
from hitl.codec import dumps, loads, pack, unpack
from hitl.engine.standing import NO_ARG, Asked, Done, Due, Intent, Kept, Record, Standing
from hitl.errors import Damaged, InvalidUpdateError
from hitl.values import CHECKPOINTS, Entry, ItemChange, Json

__all__ = [
    "apply",
    "checkpoint_body",
    "intent_tree",
    "is_wasteful",
    "record_body",
    "task_tree",
]

_STATES = CHECKPOINTS | {BASE}
_READ = _STATES | {"pause", "result", "intent", "note", "sub"}
_SPARE = 16_384  # dead characters below which a base is never worth its bytes


def is_wasteful(standing: Standing) -> bool:
    """Return whether more dead text than live lies behind, so that a base pays off."""
    if standing.spent <= _SPARE:
        return False
    live = sum(standing.live.values())
    return standing.spent - live > max(live, _SPARE)


def checkpoint_body(
    standing: Standing,
    changed: Iterable[str],
    *,
    base: bool,
    first: bool,
    keep: bool = False,
    closed: Sequence[ItemChange] = (),
    wrote: Mapping[str, Json] | None = None,
) -> str:
    """Return the text of a checkpoint entry, and remember what is committed by it.

    Args:
        standing: As it stands after the step.
        changed: Names of the channels that the step wrote.
        base: Write every channel whole.
        first: The thread's first entry, or the first of a run: carries salt and signature.
        keep: The records of the tasks that are due stay (an update of a paused thread).
        closed: Items that are given up with it; told, not read back.
        wrote: What its tasks wrote and the changes do not show; read by who looks back.

    Raises:
        NotStorable: A value cannot be written; the path names it.
        InvalidUpdateError: A committed element of a list was changed in place.
    """
    if base:
        standing.kept.clear()
        standing.spent = 0
    names = list(standing.values) if base else changed
    channels = ",".join([f"{_quoted(name)}:{_change(standing, name)}" for name in names])
    due = ",".join(
        [
            f"[{_quoted(node)}]" if arg is NO_ARG else dumps(_due((node, arg)))
            for node, arg in standing.due
        ]
    )
    head: dict[str, Json] = {}
    if wrote:
        head["res"] = dict(wrote)
    if standing.arrived:
        head["joins"] = {name: list(nodes) for name, nodes in standing.arrived.items()}
    if base or first:
        head["salt"] = standing.salt
        head["sig"] = standing.signature
        head["meta"] = dict(standing.metadata)
    if closed:
        head["closed"] = [[change.item.id, change.item.state] for change in closed]
    if keep:
        head["keep"] = True
    if base:
        head["base"] = True
        head["up"] = standing.checkpoint
    if base or standing.source in ("update", "fork"):
        head["by"] = list(standing.ran)
    rest = f",{dumps(head)[1:-1]}" if head else ""
    if base and standing.spaces:
        rest += f',"spaces":{{{",".join(map(_space, standing.spaces.items()))}}}'
    start = f'{{"n":{standing.step},"src":"{standing.source}","due":[{due}]'
    return f'{start}{rest},"ch":{{{channels}}}}}'


def _space(space: tuple[str, Standing]) -> str:
    """Return the text of a run inside a task that outlives it, whole."""
    key, inner = space
    body = checkpoint_body(inner, (), base=True, first=True)
    return f"{dumps(key)}:[{inner.checkpoint},{inner.before},{dumps(inner.at)},{body}]"


@lru_cache(4096)
def _quoted(name: str) -> str:
    """Return a name of a node or a channel as JSON text: there are few, and they come back."""
    return dumps(name)


def _due(due: Due) -> Json:
    node, arg = due
    return [node] if arg is NO_ARG else [node, pack(arg, f"Send({node!r}).arg")]


def _change(standing: Standing, name: str) -> str:
    value = standing.values[name]
    if type(value) is list:
        text, live = _list_change(standing, name, value)
        standing.spent += len(text)
    else:
        text = f'{{"v":{dumps(pack(value, f"state[{name!r}]"))}}}'
        live = len(text)
        standing.spent += live
        standing.kept.pop(name, None)
    standing.live[name] = live
    return text


def _list_change(standing: Standing, name: str, value: list[object]) -> tuple[str, int]:
    kept = standing.kept.get(name)
    old = kept.elements if kept is not None else []
    keep = _common(old, value)
    if kept is not None and keep and keep == len(old):
        _check_last(kept, name, keep)
    tail = [pack(value[index], f"state[{name!r}][{index}]") for index in range(keep, len(value))]
    text = dumps({"k": keep, "t": tail})
    last = _last(text, tail) or (kept.last if kept is not None and keep == len(old) else "")
    standing.kept[name] = Kept(value.copy(), last)
    before = standing.live.get(name, 0)
    share = before if keep == len(old) else before * keep // (len(old) or 1)
    return text, len(text) + (share if keep else 0)


def _last(text: str, tail: list[Json]) -> str:
    """Return the text of a change's last element, "" where it appends none."""
    if len(tail) == 1:  # it stands in the text of the change already
        return text[text.index("[") + 1 : -2]
    return dumps(tail[-1]) if tail else ""


def _common(old: list[object], new: list[object]) -> int:
    """Return how many first elements are the very same objects in both."""
    count = min(len(old), len(new))
    if all(map(operator.is_, old, new)):
        return count
    return next(i for i in range(count) if old[i] is not new[i])


def _check_last(kept: Kept, name: str, keep: int) -> None:
    if kept.last and dumps(pack(kept.elements[keep - 1], name)) != kept.last:
        raise InvalidUpdateError(
            f"Element {keep - 1} of {name!r} was changed in place after it was committed.",
            hint="Write a changed copy; committed values belong to the log.",
            key=name,
        )


def task_tree(record: Record, node: str, asked: Sequence[Asked] = ()) -> dict[str, Json]:
    """Return what a task that settled leaves: done, an error, or new questions."""
    if record.done is not None:
        return {
            "w": [[key, pack(value, f"state[{key!r}]")] for key, value in record.done.writes],
            "go": [_due(due) for due in record.done.goto],
        }
    if record.error is not None:
        return {"err": record.error}
    paused: list[Json] = [key for key, intent in record.intents.items() if intent.paused]
    tree: dict[str, Json] = {"ask": [_asked_tree(question, node) for question in asked]}
    if paused:
        tree["in"] = paused
    return tree


def _asked_tree(asked: Asked, node: str) -> dict[str, Json]:
    tree: dict[str, Json] = {
        "id": asked.id,
        "v": pack(asked.value, f"interrupt() in node {node!r}"),
        "items": list(asked.items),
    }
    if asked.lost:
        tree["lost"] = asked.lost
    if asked.schema is not None:
        tree["schema"] = asked.schema
    return tree


def record_body(trees: Mapping[int, dict[str, Json]]) -> str:
    """Return the text of an entry that adds to the records of tasks, by place."""
    return dumps({"tasks": {str(place): tree for place, tree in trees.items()}})


def apply(standing: Standing, entry: Entry) -> None:
    """Let an entry change where a thread stands; decisions and the like change nothing here.

    Raises:
        Damaged: The entry cannot be read.
    """
    try:
        if entry.kind in _STATES:
            body = _table(loads(entry.body))
            _apply_checkpoint(standing, entry, entry.kind, body, entry.body)
        elif entry.kind in _READ:
            _apply_body(standing, entry.kind, _table(loads(entry.body)), entry)
    except (Damaged, KeyError, TypeError, ValueError, IndexError) as error:
        why = error.message if isinstance(error, Damaged) else f"{type(error).__name__}: {error}."
        raise Damaged(
            f"Entry {entry.seq} ({entry.kind}) of thread {standing.thread!r} cannot be read: {why}",
            hint="Other threads are not affected.",
            thread=standing.thread,
            seq=entry.seq,
        ) from error


def _apply_body(standing: Standing, kind: str, body: dict[str, Json], entry: Entry) -> None:
    if kind in _STATES:
        _apply_checkpoint(standing, entry, kind, body)
        return
    for place, tree in _table(body["tasks"]).items():
        _apply_task(standing, int(place), _table(tree), entry)
    if kind == "pause":
        standing.pause = entry.seq


def _table(tree: Json) -> dict[str, Json]:
    if not isinstance(tree, dict):
        raise TypeError(f"an object was expected, not {type(tree).__name__}")
    return tree


def _rows(tree: Json) -> list[Json]:
    if not isinstance(tree, list):
        raise TypeError(f"a list was expected, not {type(tree).__name__}")
    return tree


def _texts(tree: Json) -> list[str]:
    return [str(element) for element in _rows(tree)]


def _number(tree: Json) -> int:
    if not isinstance(tree, int):
        raise TypeError(f"a whole number was expected, not {type(tree).__name__}")
    return tree


def _apply_checkpoint(
    standing: Standing, entry: Entry, kind: str, body: dict[str, Json], text: str = ""
) -> None:
    base = body.get("base")
    if base:
        standing.values.clear()
        standing.kept.clear()
        standing.live.clear()
        standing.spent = 0
        # A reader who begins here has not seen the checkpoint before.
        standing.checkpoint = _number(body["up"])
    if "salt" in body:
        standing.salt = str(body["salt"])
        standing.signature = str(body["sig"])
        standing.metadata = dict(_table(body["meta"]))
    due = [_read_due(tree) for tree in _rows(body["due"])]
    changes = _table(body["ch"])
    # Cut out of the entry's text where it is easy to find, since writing it anew takes long.
    cut = len(changes) == 1 and not base and all(arg is NO_ARG for _, arg in due) and text
    for name, tree in changes.items():
        change = _cut(text, name) if cut else dumps(tree)
        _apply_change(standing, name, _table(tree), change)
    if "by" in body:
        standing.ran = _texts(body["by"])
    else:
        standing.ran = [node for node, _ in standing.due] if kind == "step" else []
    standing.step = _number(body["n"])
    standing.source = str(body["src"])
    standing.due = due
    joins = _table(body["joins"]) if "joins" in body else {}
    standing.arrived = {name: _texts(nodes) for name, nodes in joins.items()} if joins else {}
    if not body.get("keep"):
        standing.drop_records()
    if base:
        spaces = _table(body.get("spaces", {}))
        standing.spaces = {key: _read_space(tree, entry) for key, tree in spaces.items()}
    # What a base stands for is no checkpoint to go back to; one always follows it.
    own = 0 if kind == BASE else entry.seq
    standing.before, standing.checkpoint = standing.checkpoint, own
    standing.at = entry.at


def _read_space(tree: Json, entry: Entry) -> Standing:
    seq, before, at, body = _rows(tree)
    inner = Standing()
    _apply_checkpoint(inner, entry, "update", _table(body))
    inner.checkpoint, inner.before, inner.at = _number(seq), _number(before), float(str(at))
    return inner


def _cut(body: str, name: str) -> str:
    """Return the text of an entry's only change; nothing before it can look like its key."""
    key = f',"ch":{{{_quoted(name)}:'
    return body[body.index(key) + len(key) : -2]


def _apply_change(standing: Standing, name: str, tree: dict[str, Json], text: str) -> None:
    standing.spent += len(text)
    if "v" in tree:
        standing.values[name] = unpack(tree["v"])
        standing.kept.pop(name, None)
        standing.live[name] = len(text)
        return
    keep, tail = _number(tree["k"]), _rows(tree["t"])
    kept = standing.kept.get(name)
    old = kept.elements if kept is not None else []
    if not 0 <= keep <= len(old):
        raise Damaged(f"A change of {name!r} keeps {keep} of {len(old)} elements.")
    before = standing.live.get(name, 0)
    share = before * keep // len(old) if old else 0
    last = _last(text, tail) or (kept.last if kept is not None and keep == len(old) else "")
    new = [unpack(element) for element in tail]
    value = standing.values.get(name)
    if kept is not None and keep == len(old) and type(value) is list:
        # The fold's own lists: a log that only grows is read in the time of its length.
        old += new
        value += new
        kept.last = last
    else:
        elements = old[:keep] + new
        standing.kept[name] = Kept(elements, last)
        standing.values[name] = elements.copy()
    standing.live[name] = len(text) + share


def _read_due(tree: Json) -> Due:
    parts = _rows(tree)
    return str(parts[0]), NO_ARG if len(parts) == 1 else unpack(parts[1])


def _apply_task(standing: Standing, place: int, tree: dict[str, Json], entry: Entry) -> None:
    record = standing.record(place)
    if "w" in tree:
        pairs = [_rows(pair) for pair in _rows(tree["w"])]
        writes = [(str(key), unpack(value)) for key, value in pairs]
        record.done = Done(writes, [_read_due(due) for due in _rows(tree["go"])])
        record.error = None
    if "err" in tree:
        record.error = str(tree["err"])
    for ask in _rows(tree.get("ask", [])):
        _apply_ask(record, _table(ask))
    for key in _texts(tree.get("in", [])):
        record.intents[key].paused = True
    record.notes.update(_table(tree.get("notes", {})))
    for key, intent in _table(tree.get("intents", {})).items():
        record.intents[key] = _read_intent(_table(intent))
    for key, entries in _table(tree.get("sub", {})).items():
        inner = standing.inside(record, key)
        inner.begun = True
        for kind, body in map(_rows, _rows(entries)):
            _apply_body(inner, str(kind), _table(body), entry)


def _apply_ask(record: Record, tree: dict[str, Json]) -> None:
    items = tuple(_texts(tree["items"]))
    schema = _table(tree["schema"]) if "schema" in tree else None
    asked = Asked(str(tree["id"]), unpack(tree["v"]), items, str(tree.get("lost", "")), schema)
    record.asked.append(asked)
    record.error = None
    if asked.lost:
        record.intents[asked.lost].outcome = items[0]


def intent_tree(intent: Intent) -> dict[str, Json]:
    """Return an intent as it is written."""
    tree: dict[str, Json] = {
        "n": intent.attempt,
        "safe": intent.safe,
        "subject": intent.subject,
        "item": intent.item,
    }
    if intent.probe:
        tree["probe"] = True
    return tree


def _read_intent(tree: dict[str, Json]) -> Intent:
    item, probe = str(tree["item"]), bool(tree.get("probe"))
    return Intent(_number(tree["n"]), bool(tree["safe"]), tree["subject"], item, probe=probe)
