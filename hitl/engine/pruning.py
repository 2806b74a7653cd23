"""Pruning: a thread forgets how it came to its state, and keeps the state and all decisions.

The log is cut just before a checkpoint. What goes is folded into one base entry, as JSON: no
value is built, so that a program that does not know the state's types can prune it. The
checkpoint and all that follows it stay as they are, with their numbers: a paused thread has the
same questions, the same ids and the same keys as before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from hitl.checkpoint import BASE, Checkpointer
from hitl.codec import dumps, loads
from hitl.engine.standing import KEPT
from hitl.errors import Damaged, Misuse
from hitl.values import CHECKPOINTS, RUN_KINDS, Entry, Json

__all__ = ["prune"]

Tree = dict[str, Json]


def prune(
    store: Checkpointer, thread: str, *, keep_last: int = 1, before: float | None = None
) -> int:
    """Remove a thread's older entries; return by how many its log is shorter.

    A thread that holds the state of a nested graph which outlives its tasks
    (``compile(checkpointer=True)``) is left as it is.

    Args:
        store: Where the thread is kept.
        thread: Its id; nothing is done where there is no such thread.
        keep_last: How many of the newest checkpoints stay, at least.
        before: Only entries older than this go (seconds since 1970, by the store's clock);
            None for all.

    Raises:
        Misuse: ``keep_last`` is no number from 1 on, or ``before`` is no time.
        Busy: A run of the thread is in progress; it is left alone.
        Stale: The thread moved meanwhile; it is left alone.
        StoreFailed: The store could not be read or written; nothing was changed.
        Damaged: The log is not whole; it is left alone.
    """
    if type(keep_last) is not int or keep_last < 1:
        raise Misuse(
            f"keep_last={keep_last!r}: a thread keeps at least its newest checkpoint.",
            hint="delete_thread removes a thread whole.",
        )
    if before is not None and type(before) not in (int, float):
        raise Misuse(
            f"before={before!r} is no time.", hint="Give seconds since 1970, as the clock does."
        )
    entries = store.load(thread, whole=True).entries
    try:
        end = _cut(entries, keep_last, before)
        if end < 2 or any(map(_outlives, entries[:end])):
            return 0  # a base in place of one entry saves nothing
        body = _folded(entries[:end])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise Damaged(
            f"Thread {thread!r} cannot be pruned: an entry cannot be read ({error!r}).",
            hint="Other threads are not affected.",
            thread=thread,
        ) from error
    return store.prune(thread, entries[end - 1], body)


def _outlives(entry: Entry) -> bool:
    """Return whether an entry holds the state of a nested graph that outlives its task.

    Such a state is folded from the entries of many supersteps, which JSON alone cannot do; a
    log that has one stays as it is.
    """
    if entry.kind != "sub":
        return entry.kind in CHECKPOINTS and "spaces" in _body(entry)
    tasks = cast(dict[str, Tree], _body(entry)["tasks"])
    return any(key.startswith(KEPT) for tree in tasks.values() for key in cast(Tree, tree["sub"]))


def _cut(entries: tuple[Entry, ...], keep_last: int, before: float | None) -> int:
    """Return how many of a log's first entries may go."""
    places = [place for place, entry in enumerate(entries) if entry.kind in CHECKPOINTS]
    if len(places) < keep_last:
        return 0
    end = places[-keep_last]
    if before is not None:
        young = next((i for i, e in enumerate(entries) if e.at >= before), len(entries))
        end = min(end, young)
    # Neither in the midst of a superstep, nor before an update that goes on with its tasks.
    fit = [place for place in places if place <= end and not _body(entries[place]).get("keep")]
    return fit[-1] if fit else 0


def _folded(entries: Iterable[Entry]) -> str:
    """Return the body of the base that stands for some first entries of a log."""
    head: Tree = {"due": []}
    channels: dict[str, Tree] = {}
    decisions: list[Json] = []
    for entry in entries:
        if entry.kind in CHECKPOINTS or entry.kind == BASE:
            body = _body(entry)
            decisions += cast(list[Json], body.get("decisions", []))
            _fold(head, channels, entry.kind, body)
        elif entry.kind not in RUN_KINDS:
            said: Tree = {"seq": entry.seq, "at": entry.at, "kind": entry.kind}
            decisions.append({**_body(entry), **said})
    changes: Json = {**channels}
    return dumps({**head, "base": True, "up": 0, "decisions": decisions, "ch": changes})


def _fold(head: Tree, channels: dict[str, Tree], kind: str, body: Tree) -> None:
    if body.get("base"):
        channels.clear()
    due = cast(list[list[Json]], head["due"])
    ran: list[Json] = [one[0] for one in due] if kind == "step" else []
    for name, change in cast(dict[str, Tree], body["ch"]).items():
        channels[name] = _changed(channels.get(name, {}), change)
    head["by"] = body.get("by", ran)
    head["joins"] = body.get("joins", {})
    for key in ("n", "src", "due"):
        head[key] = body[key]
    for key in ("salt", "sig", "meta"):
        if key in body:
            head[key] = body[key]


def _changed(old: Tree, change: Tree) -> Tree:
    if "v" in change:
        return change
    kept = cast(list[Json], old.get("t", []))
    keep = cast(int, change["k"])
    if not 0 <= keep <= len(kept):
        raise ValueError(f"a change keeps {keep} of {len(kept)} elements")
    del kept[keep:]
    kept += cast(list[Json], change["t"])
    return {"k": 0, "t": kept}


def _body(entry: Entry) -> Tree:
    tree = loads(entry.body)
    if not isinstance(tree, dict):
        raise TypeError(f"entry {entry.seq} is no object")
    return tree
