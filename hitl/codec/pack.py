"""Values to JSON: a strict walk over exact types.

Owns the tag. A value that JSON cannot tell apart is written as ``{"$": name, "v": payload}``;
a dict that has the key ``"$"`` itself, or a key that is no string, is written as a tagged list
of pairs. So data can never look like a tag, and whatever is not known by its exact type is
refused with the path to it.
"""

from __future__ import annotations

from itertools import islice
from math import isfinite

from hitl.codec.form import BUILT_IN
from hitl.codec.refusal import ELEMENT, Key, Refusal
from hitl.codec.registry import form_of
from hitl.errors import HitlError, NotStorable
from hitl.values import Json

__all__ = ["DEPTH", "PLAIN", "TAG", "VALUE", "pack"]

TAG = "$"
VALUE = "v"
DEPTH = 100
"""How many containers may stand in each other."""

PLAIN = frozenset({str, bool, type(None)})
_LEAST, _MOST = -(2**63), 2**63 - 1


def pack(value: object, where: str = "value") -> Json:
    """Return a value as plain JSON from which ``unpack`` makes an equal one.

    Nothing in the result is shared with the value, so either may change later.

    Args:
        value: Anything made of the built-in and the registered types.
        where: What the value is called in the path of an error.

    Raises:
        NotStorable: Something in it is of a type that is not known exactly, or stands too
            deep, or in itself. ``fields["path"]`` says where.
    """
    try:
        return _walk(value, DEPTH)
    except Refusal as refusal:
        raise refusal.as_error(where) from refusal.__cause__
    except RecursionError:
        raise NotStorable(
            f"{where} needs more room than the interpreter's stack has left.",
            hint="Call from a less nested place, or store flatter data.",
            path=where,
        ) from None


# The walk is hot: it asks for the exact type first and trusts it, which a type checker cannot
# follow through a variable; hence the ignores. A ``cast`` would cost a call for each element.


def _walk(value: object, room: int) -> Json:
    kind = type(value)
    if kind is dict:
        return _walk_dict(value, room)  # type: ignore[arg-type]
    if kind is list:
        return _walk_list(value, room)  # type: ignore[arg-type]
    if kind is int:
        return value if _LEAST <= value <= _MOST else _tag("int", hex(value))  # type: ignore[operator, return-value, arg-type]
    if kind is float:
        return value if isfinite(value) else _tag("float", repr(value))  # type: ignore[return-value, arg-type]
    if kind is tuple:
        return _tag("tuple", _walk_list(value, room))  # type: ignore[arg-type]
    if kind is set or kind is frozenset:
        return _tag(kind.__name__, _walk_set(value, room))  # type: ignore[arg-type]
    if kind in PLAIN:
        return value  # type: ignore[return-value]
    return _walk_form(value, room)


def _tag(name: str, payload: Json) -> Json:
    return {TAG: BUILT_IN + name, VALUE: payload}


def _too_deep() -> Refusal:
    return Refusal(
        f"stands more than {DEPTH} containers deep",
        "Store flatter data.",
        too_deep=True,
    )


def _walk_list(value: list[object] | tuple[object, ...], room: int) -> list[Json]:
    if not room:
        raise _too_deep()
    out: list[Json] = []
    put = out.append
    room -= 1
    try:
        for item in value:
            put(item if type(item) in PLAIN else _walk(item, room))  # type: ignore[arg-type]
    except Refusal as refusal:
        refusal.below(value, len(out))
        raise
    return out


def _walk_dict(value: dict[object, object], room: int) -> Json:
    if not room:
        raise _too_deep()
    out: dict[str, Json] = {}
    if TAG in value:
        return _walk_pairs(value, out, room - 1)
    key: object = None
    room -= 1
    try:
        for key, item in value.items():
            if type(key) is not str:
                break
            out[key] = item if type(item) in PLAIN else _walk(item, room)  # type: ignore[assignment]
        else:
            return out
    except Refusal as refusal:
        refusal.below(value, key)
        raise
    return _walk_pairs(value, out, room)


def _walk_pairs(value: dict[object, object], done: dict[str, Json], room: int) -> Json:
    # What is done is kept: walking it again would double the work at every level.
    pairs: list[Json] = [[key, item] for key, item in done.items()]
    step: object = None
    try:
        for key, item in islice(value.items(), len(done), None):
            step = Key(len(pairs))
            packed = _walk(key, room)
            step = key
            pairs.append([packed, _walk(item, room)])
    except Refusal as refusal:
        refusal.below(value, step)
        raise
    return _tag("dict", pairs)


def _walk_set(value: set[object] | frozenset[object], room: int) -> list[Json]:
    if not room:
        raise _too_deep()
    try:
        out = [_walk(item, room - 1) for item in value]
    except Refusal as refusal:
        refusal.below(value, ELEMENT)
        raise
    # The order of a set differs from process to process; equal sets must be equal text.
    return sorted(out, key=repr)


def _walk_form(value: object, room: int) -> Json:
    form = form_of(type(value))
    if form is None:
        raise Refusal.of_type(value)
    try:
        payload = form.pack(value)
    except HitlError:
        raise
    except Exception as error:
        raise Refusal(
            f"is a {type(value).__qualname__} that cannot be taken apart: {error}",
            "Complete the value, or mend the pack function of its type.",
        ) from error
    try:
        return {TAG: form.name, VALUE: _walk(payload, room)}
    except Refusal as refusal:
        refusal.through(payload, value)
        raise
