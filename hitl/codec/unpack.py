"""JSON to values: the way back, which trusts nothing it reads.

Owns the reading of tags. A tag is looked up among the registered names and leads nowhere else;
whatever does not fit is an error about the log, never a call of something it names.
"""

from __future__ import annotations

from typing import cast

from hitl.codec.form import BUILT_IN, form
from hitl.codec.pack import DEPTH, TAG, VALUE
from hitl.codec.registry import enter, form_named
from hitl.errors import Damaged, HitlError
from hitl.values import Json

__all__ = ["unpack"]

_PAIRS = BUILT_IN + "dict"
_LEAVES = frozenset({str, bool, type(None), int, float})


def unpack(tree: Json) -> object:
    """Return the value that ``pack`` made a tree of, equal to it in value and exact type.

    Args:
        tree: Plain JSON; it is not kept.

    Raises:
        Damaged: A tag is malformed, names a type that is not registered here, or its payload
            does not fit the type; or the tree is nested deeper than ``pack`` allows.
    """
    try:
        return _build(tree, DEPTH)
    except RecursionError:
        raise Damaged("A stored value is nested too deeply to be read.") from None


def _build(tree: Json, room: int) -> object:
    kind = type(tree)
    if kind is dict:
        return _build_dict(tree, room)  # type: ignore[arg-type]
    if kind is list:
        return _build_list(tree, room)  # type: ignore[arg-type]
    return tree


def _build_list(tree: list[Json], room: int) -> list[object]:
    if not room:
        raise _too_deep()
    room -= 1
    return [item if type(item) in _LEAVES else _build(item, room) for item in tree]


def _build_dict(tree: dict[str, Json], room: int) -> object:
    if TAG in tree:
        return _build_tagged(tree, room)
    if not room:
        raise _too_deep()
    room -= 1
    return {
        key: item if type(item) in _LEAVES else _build(item, room) for key, item in tree.items()
    }


def _too_deep() -> Damaged:
    return Damaged(f"A stored value is nested more than {DEPTH} containers deep.")


def _build_tagged(tree: dict[str, Json], room: int) -> object:
    name = tree[TAG]
    if len(tree) != 2 or VALUE not in tree or not isinstance(name, str):
        raise Damaged(f"A stored value has a malformed tag {name!r:.80}.")
    if name == _PAIRS:
        return _build_pairs(tree[VALUE], room)
    known = form_named(name)
    if known is None:
        raise Damaged(
            f"A stored value is of a type {name!r:.200} that is not registered here.",
            hint="Import the module that registers it, or register its successor by that name.",
            type=name,
        )
    payload = _build(tree[VALUE], room)
    try:
        return known.unpack(payload)
    except HitlError:
        raise
    except Exception as error:
        raise Damaged(
            f"A stored {name!r:.200} cannot be rebuilt: {type(error).__name__}: {error!s:.200}",
            type=name,
        ) from error


def _build_pairs(payload: Json, room: int) -> dict[object, object]:
    if not room:
        raise _too_deep()
    room -= 1
    try:
        return {
            _build(key, room): _build(item, room)
            for key, item in cast("list[tuple[Json, Json]]", payload)
        }
    except (TypeError, ValueError) as error:
        raise Damaged(f"A stored dict has a malformed list of pairs: {error}") from error


def _as_list(payload: list[object]) -> list[object]:
    if type(payload) is not list:
        raise TypeError("its payload is not a list")
    return payload


def _read_float(text: str) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError("its payload is neither nan nor an infinity")
    return float(text)


# These are written by the walk itself, so only the way back is looked up.
enter(form(int, BUILT_IN + "int", hex, lambda text: int(text, 16)))
enter(form(float, BUILT_IN + "float", repr, _read_float))
enter(form(tuple, BUILT_IN + "tuple", list, lambda items: tuple(_as_list(items))))
enter(form(set, BUILT_IN + "set", list, lambda items: set(_as_list(items))))
enter(form(frozenset, BUILT_IN + "frozenset", list, lambda items: frozenset(_as_list(items))))
