"""Channels: how writes of one superstep become the next value of a key of the state."""

from __future__ import annotations

import collections.abc
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import get_origin

from hitl.errors import InvalidUpdateError
from hitl.ledger import near
from hitl.values import Overwrite

__all__ = ["Channel", "Write", "empty_of", "initial", "merge", "own"]

Reducer = Callable[[object, object], object]
Write = tuple[str, object]


@dataclass(frozen=True, slots=True)
class Channel:
    """One key of the state.

    Attributes:
        name: The key.
        reducer: Joins the old value and a write; None where a write replaces the value.
        empty: Makes the value that a reducer starts from; None where the first write is it.
    """

    name: str
    reducer: Reducer | None = None
    empty: Callable[[], object] | None = None


_CONCRETE: dict[object, Callable[[], object]] = {
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
}


def empty_of(hint: object) -> Callable[[], object] | None:
    """Return what makes an empty value of a type, or None where it has none."""
    kind = get_origin(hint) or hint
    if kind in _CONCRETE:
        return _CONCRETE[kind]
    if isinstance(kind, type):
        try:
            kind()
        except Exception:  # noqa: BLE001 - a type that needs arguments has no empty value
            return None
        return kind
    return None


def initial(channels: Mapping[str, Channel]) -> dict[str, object]:
    """Return the values of a state before anything was written."""
    return {
        name: channel.empty() for name, channel in channels.items() if channel.empty is not None
    }


def merge(
    channels: Mapping[str, Channel], values: dict[str, object], writes: Iterable[Write]
) -> dict[str, object]:
    """Return the channels that writes change, with their new values; ``values`` is not changed.

    Args:
        channels: The graph's channels.
        values: The state as it stands.
        writes: All writes of a superstep, in the order of their tasks.

    Raises:
        InvalidUpdateError: A key is unknown, or one without a reducer is written twice,
            or two writes of one superstep overwrite the same key.
    """
    changed: dict[str, object] = {}
    fixed: set[str] = set()
    grown: dict[str, list[object]] = {}
    for name, value in writes:
        channel = channels.get(name)
        if channel is None:
            raise InvalidUpdateError(
                f"The state has no key {name!r}." + near(name, channels),
                hint=f"Known keys: {', '.join(channels)}.",
                key=name,
            )
        if type(value) is Overwrite:
            if name in fixed or (channel.reducer is None and name in changed):
                raise _twice(name, "overwritten")
            fixed.add(name)
            changed[name] = own(value.value)
        elif channel.reducer is None:
            if name in changed:
                raise _twice(name, "written")
            changed[name] = value
        elif name not in fixed:  # what was overwritten stays as it was written
            changed[name] = _joined(channel.reducer, name, value, changed, values, grown)
    return changed


def _joined(
    reducer: Reducer,
    name: str,
    value: object,
    changed: Mapping[str, object],
    values: Mapping[str, object],
    grown: dict[str, list[object]],
) -> object:
    """Return a channel's value after one more write.

    Lists that are added up grow in place, once there is one that was made here: a superstep of
    thousands of tasks would else copy what the tasks before have written for each of them.
    """
    if name in grown and type(value) is list:
        grown[name] += value
        return grown[name]
    if name in changed:
        old = changed[name]
    elif name in values:
        old = values[name]
    else:
        return value
    if reducer is operator.add and type(old) is list and type(value) is list:
        grown[name] = old + value
        return grown[name]
    return reducer(own(old), value)


def _twice(name: str, how: str) -> InvalidUpdateError:
    no_reducer = how == "written"
    return InvalidUpdateError(
        f"The key {name!r} was {how} twice in one step"
        + (", and it has no reducer." if no_reducer else "."),
        hint=f"Annotate it: {name}: Annotated[list, operator.add]."
        if no_reducer
        else "Let one node of a step overwrite it.",
        key=name,
    )


def own(value: object) -> object:
    """Return a list, dict or set as a copy of its own, anything else as it is.

    What is committed belongs to the log: neither a node that keeps what it returned nor a
    reducer that works in place may change it.
    """
    if type(value) is list or type(value) is dict or type(value) is set:
        return value.copy()
    return value
