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
        if end < 2:
            return 0  # a base in place of one entry saves nothing
        body = _folded(entries[:end])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise Damaged(
            f"Thread {thread!r} cannot be pruned: an entry cannot be read ({error!r}).",
            hint="Other threads are not affected.",
            thread=thread,
        ) from error
    return store.prune(thread, entries[end - 1], body)


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
    state = _State()
    decisions: list[Json] = []
    for entry in entries:
        if entry.kind in RUN_KINDS or entry.kind == BASE:
            body = _body(entry)
            decisions += cast(list[Json], body.get("decisions", []))
            state.take(entry.kind, body, entry.seq, entry.at)
        else:
            said: Tree = {"seq": entry.seq, "at": entry.at, "kind": entry.kind}
            decisions.append({**_body(entry), **said})
    state.settle()  # the next entry ends the superstep
    return dumps({**state.base(), "decisions": decisions})


class _State:
    """A thread, or a run inside its tasks whose state outlives them, as JSON."""

    def __init__(self) -> None:
        self.head: Tree = {"due": []}
        self.channels: dict[str, Tree] = {}
        self.spaces: dict[str, _State] = {}
        self.open: dict[str, _State] = {}
        self.seq, self.before, self.at = 0, 0, 0.0

    def take(self, kind: str, body: Tree, seq: int, at: float) -> None:
        """Take the next entry."""
        if kind in CHECKPOINTS or kind == BASE:
            self._checkpoint(kind, body, seq, at)
            return
        for tree in cast(dict[str, Tree], body["tasks"]).values():
            for key, entries in cast(Tree, tree.get("sub", {})).items():
                if key.startswith(KEPT):
                    inner = self.open.setdefault(key, self.spaces.get(key) or _State())
                    for one, text in cast(list[tuple[str, Tree]], entries):
                        inner.take(one, text, seq, at)

    def _checkpoint(self, kind: str, body: Tree, seq: int, at: float) -> None:
        if body.get("base"):
            self.channels.clear()
        due = cast(list[list[Json]], self.head["due"])
        ran: list[Json] = [one[0] for one in due] if kind == "step" else []
        for name, change in cast(dict[str, Tree], body["ch"]).items():
            self.channels[name] = _changed(self.channels.get(name, {}), change)
        self.head["by"] = body.get("by", ran)
        self.head["joins"] = body.get("joins", {})
        for key in ("n", "src", "due"):
            self.head[key] = body[key]
        for key in ("salt", "sig", "meta"):
            if key in body:
                self.head[key] = body[key]
        if not body.get("keep"):
            self.settle()
        if body.get("base"):
            spaces = cast(Tree, body.get("spaces", {}))
            self.spaces = {key: _State.read(tree) for key, tree in spaces.items()}
        self.before, self.seq, self.at = self.seq, seq, at

    @classmethod
    def read(cls, tree: Json) -> _State:
        """Return a run inside a task as a base has it."""
        seq, before, at, body = cast(tuple[int, int, float, Tree], tree)
        state = cls()
        state.take("update", body, seq, at)
        state.before = before
        return state

    def settle(self) -> None:
        """End the tasks of a superstep: what their runs came to is kept."""
        for inner in self.open.values():
            inner.settle()
        self.spaces.update(self.open)
        self.open = {}

    def base(self) -> Tree:
        """Return the body of an entry that stands for all that was taken."""
        spaces: Tree = {
            key: [inner.seq, inner.before, inner.at, inner.base()]
            for key, inner in self.spaces.items()
            if inner.seq
        }
        rest: Tree = {"spaces": spaces} if spaces else {}
        return {**self.head, "base": True, "up": 0, **rest, "ch": {**self.channels}}


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
