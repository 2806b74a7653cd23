"""Types that every program may store, beyond the plainest: the standard library's and ours.

Owns how each is written. Loaded on first use only: these imports cost more than the rest of
the codec together.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TypeAlias, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from hitl.codec.form import BUILT_IN, Form, form
from hitl.codec.shapes import shape_of
from hitl.values import Interrupt, Overwrite, Send

__all__ = ["FORMS"]

T = TypeVar("T")
P = TypeVar("P")
Moment: TypeAlias = "str | list[str | int | tzinfo]"


def _to_base64(data: bytes | bytearray) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _is_plain(zone: tzinfo | None) -> bool:
    # An offset without a name of its own is all there in the ISO text.
    if type(zone) is not timezone:
        return zone is None
    return zone.tzname(None) == timezone(zone.utcoffset(None)).tzname(None)


def _pack_moment(moment: datetime | time) -> Moment:
    zone = moment.tzinfo
    if not moment.fold and _is_plain(zone):
        return moment.isoformat()
    bare = moment.replace(tzinfo=None, fold=0).isoformat()
    return [bare, moment.fold] if zone is None else [bare, moment.fold, zone]


def _unpack_datetime(payload: Moment) -> datetime:
    if isinstance(payload, str):
        return datetime.fromisoformat(payload)
    bare, fold, zone = _parts(payload)
    return datetime.fromisoformat(bare).replace(tzinfo=zone, fold=fold)


def _unpack_time(payload: Moment) -> time:
    if isinstance(payload, str):
        return time.fromisoformat(payload)
    bare, fold, zone = _parts(payload)
    return time.fromisoformat(bare).replace(tzinfo=zone, fold=fold)


def _parts(payload: list[str | int | tzinfo]) -> tuple[str, int, tzinfo | None]:
    bare, fold, *rest = payload
    zone = rest[0] if rest else None
    if isinstance(bare, str) and isinstance(fold, int) and isinstance(zone, tzinfo | None):
        return bare, fold, zone
    raise ValueError("not a time, its fold and its zone")


def _pack_timedelta(span: timedelta) -> list[int]:
    return [span.days, span.seconds, span.microseconds]


def _pack_timezone(zone: timezone) -> list[timedelta | str]:
    offset = zone.utcoffset(None)
    return [offset] if _is_plain(zone) else [offset, zone.tzname(None)]


def _unpack_timezone(payload: list[timedelta | str]) -> timezone:
    offset, *name = payload
    if isinstance(offset, timedelta) and not name:
        return timezone(offset)
    if isinstance(offset, timedelta) and isinstance(name[0], str):
        return timezone(offset, name[0])
    raise ValueError("not an offset and a name")


def _pack_zoneinfo(zone: ZoneInfo) -> str:
    if zone.key is None:
        raise ValueError("a ZoneInfo without a key, made by from_file(), has no name to store")
    return zone.key


def _built_in(cls: type[T], name: str, pack: Callable[[T], P], unpack: Callable[[P], T]) -> Form:
    return form(cls, BUILT_IN + name, pack, unpack)


FORMS: tuple[Form, ...] = (
    _built_in(bytes, "bytes", _to_base64, _from_base64),
    _built_in(bytearray, "bytearray", _to_base64, lambda text: bytearray(_from_base64(text))),
    _built_in(datetime, "datetime", _pack_moment, _unpack_datetime),
    _built_in(date, "date", date.isoformat, date.fromisoformat),
    _built_in(time, "time", _pack_moment, _unpack_time),
    _built_in(timedelta, "timedelta", _pack_timedelta, lambda parts: timedelta(*parts)),
    _built_in(timezone, "timezone", _pack_timezone, _unpack_timezone),
    _built_in(ZoneInfo, "zoneinfo", _pack_zoneinfo, ZoneInfo),
    _built_in(Decimal, "decimal", str, Decimal),
    _built_in(UUID, "uuid", str, UUID),
    # A path of this machine comes back as one of the machine that reads it.
    _built_in(type(Path()), "path", str, Path),
    _built_in(PurePosixPath, "pure_posix_path", str, PurePosixPath),
    _built_in(PureWindowsPath, "pure_windows_path", str, PureWindowsPath),
    _built_in(complex, "complex", lambda z: [z.real, z.imag], lambda parts: complex(*parts)),
    form(Interrupt, "hitl:Interrupt", *shape_of(Interrupt)),
    form(Overwrite, "hitl:Overwrite", *shape_of(Overwrite)),
    form(Send, "hitl:Send", *shape_of(Send)),
)
