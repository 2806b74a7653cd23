"""Threads as JSON lines, out of a store and into another one: the same numbers, dates, hashes.

A thread is a line that names it and says where it stands, a line for each entry and each item,
and a line that ends it with the hash of its newest entry. What was cut short or changed on its
way is refused, and nothing of that thread is taken in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import cast

from hitl.checkpoint.chain import head_hash, verify
from hitl.checkpoint.port import Checkpointer
from hitl.checkpoint.rows import ItemRow, pack_item, unpack_item
from hitl.errors import Busy, Damaged, StoreFailed
from hitl.values import Entry, Item, Json, Mark

__all__ = ["export_thread", "import_threads"]

FORMAT = 2
_READ = (1, FORMAT)  # in the first one items had no deadline and no votes
_PAGE = 1000
_TRIES = 5

Tree = dict[str, Json]


def export_thread(store: Checkpointer, thread: str) -> Iterator[str]:
    """Yield a thread as lines of plain ASCII, without line ends; nothing for an unknown one.

    Raises:
        Damaged: Its log is not whole, or an item cannot be read; nothing was yielded.
        Busy: It moves faster than it can be read.
        StoreFailed: The store could not be read.
    """
    mark, entries, items = _read(store, thread)
    if not entries:
        return
    still: Tree = {**mark._asdict(), "owner": "", "until": 0.0}
    yield _line({"thread": thread, "format": FORMAT, "mark": still})
    for entry in entries:
        yield _line({"entry": cast(Tree, entry._asdict())})
    for item in items:
        yield _line({"item": cast(Tree, pack_item(item)._asdict())})
    count: Tree = {"entries": len(entries), "items": len(items), "hash": head_hash(entries[-1])}
    yield _line({"end": count})


def _line(tree: Tree) -> str:
    return json.dumps(tree, separators=(",", ":"))


def _read(store: Checkpointer, thread: str) -> tuple[Mark, tuple[Entry, ...], list[Item]]:
    """Return all of a thread as of one moment."""
    for _ in range(_TRIES):
        loaded = store.load(thread, whole=True)
        bad = verify(loaded.entries)
        if bad:
            raise Damaged(
                f"Entry {bad} of thread {thread!r} is not what was written.",
                hint="`hitl store export` of the other threads works.",
                thread=thread,
                seq=bad,
            )
        items = list(_items(store, thread))
        if store.load(thread, loaded.mark.seq).mark == loaded.mark:
            return loaded.mark, loaded.entries, items
    raise Busy(
        f"Thread {thread!r} is written to all the time.",
        hint="Export it when its run has ended or paused.",
        thread=thread,
    )


def _items(store: Checkpointer, thread: str) -> Iterator[Item]:
    page = store.items(thread=thread, limit=_PAGE)
    while page:
        for item in page:
            if not item.allowed and isinstance(item.subject, dict) and "damaged" in item.subject:
                raise Damaged(
                    f"Item {item.id} of thread {thread!r} cannot be read.",
                    hint="Its row was changed outside of this library.",
                    thread=thread,
                    id=item.id,
                )
            yield item
        page = store.items(thread=thread, after=(page[-1].asked_at, page[-1].id), limit=_PAGE)


def import_threads(store: Checkpointer, lines: Iterable[str]) -> Iterator[Mark]:
    """Take in threads, one transaction each; yield the mark of each once it is there.

    Args:
        store: Where they shall be kept.
        lines: What ``export_thread`` yielded, of any number of threads.

    Raises:
        Damaged: A line is not what was given out; the threads before it are kept.
        Conflict: A thread or an item of the same name is there; the threads before are kept.
        StoreFailed: The store could not be written.
    """
    thread: _Thread | None = None
    number = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            tree = json.loads(line)
            if thread is None:
                thread = _Thread(tree)
                continue
            whole = thread.take(tree)
        except (StoreFailed, KeyError, TypeError, ValueError, RecursionError) as error:
            raise _broken(number, error) from error
        if whole:
            store.restore(thread.mark, thread.entries, thread.items)
            yield thread.mark
            thread = None
    if thread is not None:
        raise _broken(number, "the file ends within a thread")


def _broken(number: int, why: object) -> Damaged:
    return Damaged(
        f"Line {number} is not what was exported: {why}.",
        hint="Export again; what stands before this thread was taken in.",
        line=number,
    )


class _Thread:
    """A thread whose lines are coming in."""

    def __init__(self, tree: Tree) -> None:
        if tree["format"] not in _READ:
            raise ValueError(f"format {tree['format']!r} is not known to this version")
        self.mark = cast(Mark, _checked(Mark(""), tree["mark"]))
        if self.mark.thread != tree["thread"] or self.mark.owner:
            raise ValueError("its mark is another thread's")
        self.entries: list[Entry] = []
        self.items: list[Item] = []

    def take(self, tree: Tree) -> bool:
        """Take in a line; return whether it was the last one.

        Raises:
            ValueError: It does not fit.
        """
        if "entry" in tree:
            self.entries.append(cast(Entry, _checked(Entry(0, "", 0, 0.0, "", ""), tree["entry"])))
        elif "item" in tree:
            self.items.append(unpack_item(ItemRow(**cast(dict[str, str], tree["item"]))))  # type: ignore[arg-type]
        else:
            self._end(cast(Tree, tree["end"]))
            return True
        return False

    def _end(self, said: Tree) -> None:
        head = head_hash(self.entries[-1]) if self.entries else ""
        if said != {"entries": len(self.entries), "items": len(self.items), "hash": head}:
            raise ValueError("lines of the thread are missing, or there are more than it had")


def _checked(like: Mark | Entry, tree: Json) -> Mark | Entry:
    """Return a tuple of the same kind with values of the same types."""
    if not isinstance(tree, dict):
        raise TypeError("an object was expected")
    made = type(like)(**cast(dict[str, str], tree))  # type: ignore[arg-type]
    for name, old, new in zip(like._fields, like, made, strict=True):
        if type(new) is not type(old):
            raise TypeError(f"{name} is {type(new).__name__}, not {type(old).__name__}")
    return made
