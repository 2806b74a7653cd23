"""What the last tasks of a superstep wrote, kept with its end for who looks back at them.

Tasks that settle early have an entry of their own. What the last ones write goes into the end of
the superstep, where it is merged into the channels; only what cannot be read from those changes is
written beside them.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hitl.codec import loads, pack, unpack
from hitl.engine.merge import Write
from hitl.engine.standing import Done, Standing
from hitl.errors import Damaged, NotStorable
from hitl.values import Entry, Json

__all__ = ["Wrote", "complete", "unseen"]


class Wrote(NamedTuple):
    """What the last tasks of a superstep wrote.

    Attributes:
        writes: Their writes, by place.
        folded: The channels that have a reducer.
        alone: Whether the superstep had one task, whose writes show in the changes.
    """

    writes: Mapping[int, Sequence[Write]]
    folded: frozenset[str]
    alone: bool


def unseen(standing: Standing, wrote: Wrote, *, base: bool) -> dict[str, Json]:
    """Return the writes that the changes of channels do not show, by place.

    Args:
        standing: As it stands after the step, which is not written yet.
        wrote: What its last tasks wrote.
        base: Whether every channel is written whole.
    """
    whole = base or not wrote.alone
    told: dict[str, Json] = {}
    for place, writes in wrote.writes.items():
        own: dict[str, Json] = {}
        for name, value in writes:
            if not whole and (name not in wrote.folded or _appended(standing, name, value)):
                continue
            try:
                own[name] = pack(value, name)
            except NotStorable:  # its reducer has made something else of it, which is stored
                continue
        if own:
            told[str(place)] = own
    return told


def _appended(standing: Standing, name: str, value: object) -> bool:
    """Return whether a write became the new end of a list, so that the change is the write."""
    new, kept = standing.values[name], standing.kept.get(name)
    old = kept.elements if kept is not None else []
    return (
        type(value) is list
        and type(new) is list
        and len(new) == len(old) + len(value)
        and all(map(operator.is_, old, new))
    )


def complete(standing: Standing, entry: Entry, folded: frozenset[str]) -> None:
    """Give the tasks of a superstep what they wrote, as the entry that ends it shows it.

    Args:
        standing: The thread before that entry.
        entry: It.
        folded: The channels that have a reducer.

    Raises:
        Damaged: The entry cannot be read.
    """
    body = _table(loads(entry.body))
    told = _table(body.get("res", {}))
    alone = len(standing.due) == 1 and not body.get("base")
    for place in range(len(standing.due)):
        record = standing.record(place)
        if record.done is None:
            own = _table(told.get(str(place), {}))
            writes = {name: unpack(value) for name, value in own.items()}
            for name, change in _table(body["ch"]).items() if alone else ():
                if name not in writes and ("t" in _table(change) or name not in folded):
                    writes[name] = _written(standing, name, _table(change), folded)
            record.done, record.error = Done(list(writes.items()), []), None


def _written(
    standing: Standing, name: str, change: Mapping[str, Json], folded: frozenset[str]
) -> object:
    if "v" in change:
        return unpack(change["v"])
    tail, keep, kept = change["t"], change["k"], standing.kept.get(name)
    if not isinstance(tail, list) or not isinstance(keep, int):
        raise Damaged(f"A change of {name!r} cannot be read.")
    new = [unpack(element) for element in tail]
    return new if name in folded or kept is None else kept.elements[:keep] + new


def _table(tree: Json) -> dict[str, Json]:
    if not isinstance(tree, dict):
        raise Damaged(f"An object was expected, not {type(tree).__name__}.")
    return tree
