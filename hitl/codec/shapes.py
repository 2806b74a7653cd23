"""How instances of dataclasses, pydantic models, enums and NamedTuples are taken apart.

Owns the two functions that ``register`` uses where it is given none. Taking apart reads
fields; rebuilding sets them, and runs no code of the class.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from hitl.errors import Damaged, Misuse

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

__all__ = ["shape_of"]

T = TypeVar("T")
Shape: TypeAlias = tuple[Callable[[T], object], Callable[[object], T]]

_UNSET = "$unset"
_EXTRA = "$extra"
_MISSING = object()


def shape_of(cls: type[T]) -> Shape[T]:
    """Return the functions that take an instance apart and rebuild it.

    Raises:
        Misuse: The class is none of the four kinds, or cannot be rebuilt by its fields.
    """
    if issubclass(cls, enum.Enum):
        return cast("Shape[T]", _flag(cls) if issubclass(cls, enum.Flag) else _enum(cls))
    if _is_model(cls):
        return cast("Shape[T]", _model(cast("type[BaseModel]", cls)))
    if dataclasses.is_dataclass(cls):
        return _dataclass(cls)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return cast("Shape[T]", _named_tuple(cls))
    raise Misuse(
        f"register({cls.__qualname__}): it is not a dataclass, pydantic model, enum or NamedTuple.",
        hint="Give pack= and unpack=, or put @register above @dataclass.",
    )


def _is_model(cls: type) -> bool:
    # A class can only be a model if pydantic is loaded; looking must not load it.
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(cls, pydantic.BaseModel)


def _fields(payload: object, cls: type) -> Mapping[str, object]:
    if not isinstance(payload, dict):
        raise Damaged(f"A stored {cls.__qualname__} has no fields.")
    return payload


def _missing(cls: type, field: str) -> Damaged:
    return Damaged(
        f"A stored {cls.__qualname__} has no field {field!r}, and the class has no default.",
        hint="Give the field a default, so that older logs can be read.",
        field=field,
    )


def _enum(cls: type[enum.Enum]) -> Shape[enum.Enum]:
    members = cls.__members__
    return (lambda member: member.name), (lambda payload: members[cast("str", payload)])


def _flag(cls: type[enum.Flag]) -> Shape[enum.Flag]:
    # A combination of flags has no name that can be looked up.
    return (lambda flag: flag.value), cls


def _named_tuple(cls: type[tuple[object, ...]]) -> Shape[tuple[object, ...]]:
    names: tuple[str, ...] = getattr(cls, "_fields")  # noqa: B009
    defaults: Mapping[str, object] = getattr(cls, "_field_defaults")  # noqa: B009

    def rebuild(payload: object) -> tuple[object, ...]:
        values = {**defaults, **_fields(payload, cls)}
        for name in names:
            if name not in values:
                raise _missing(cls, name)
        return tuple.__new__(cls, [values[name] for name in names])

    return (lambda row: dict(zip(names, row, strict=True))), rebuild


def _dataclass(cls: type[T]) -> Shape[T]:
    if not dataclasses.is_dataclass(cls):  # known; said for the type checker
        raise Misuse(f"{cls.__qualname__} is not a dataclass.")
    fields = dataclasses.fields(cls)
    _check_bare(cls)

    def take_apart(value: T) -> dict[str, object]:
        return {
            field.name: getattr(value, field.name)
            for field in fields
            if field.init or hasattr(value, field.name)
        }

    def rebuild(payload: object) -> T:
        stored = _fields(payload, cls)
        value = cast("T", object.__new__(cls))
        for field in fields:
            content = stored.get(field.name, _MISSING)
            if content is _MISSING:
                content = _default(field)
            if content is not _MISSING:
                object.__setattr__(value, field.name, content)
            elif field.init:
                raise _missing(cls, field.name)
        return value

    return take_apart, rebuild


def _check_bare(cls: type) -> None:
    try:
        object.__new__(cls)
    except TypeError as error:
        raise Misuse(
            f"register({cls.__qualname__}): an instance is more than its fields ({error}).",
            hint="Give pack= and unpack=.",
        ) from error


def _default(field: dataclasses.Field[object]) -> object:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return _MISSING


def _model(cls: type[BaseModel]) -> Shape[BaseModel]:
    def take_apart(model: BaseModel) -> dict[str, object]:
        content = model.__dict__
        parts: dict[str, object] = {name: content[name] for name in cls.model_fields}
        unset = [name for name in parts if name not in model.model_fields_set]
        if unset:
            parts[_UNSET] = unset
        if model.model_extra:
            parts[_EXTRA] = model.model_extra
        return parts

    return take_apart, (lambda payload: _rebuild_model(cls, _fields(payload, cls)))


def _rebuild_model(cls: type[BaseModel], stored: Mapping[str, object]) -> BaseModel:
    import pydantic

    content: dict[str, object] = {}
    for name, field in cls.model_fields.items():
        if name in stored:
            content[name] = stored[name]
        elif field.is_required():
            raise _missing(cls, name)
        else:
            content[name] = _model_default(field, content)
    extra = _extra(cls, stored)
    named = {name for name in content if name in stored} | set(extra or ())
    unset = cast("list[str]", stored.get(_UNSET, []))
    state: dict[str, object] = {
        "__dict__": content,
        "__pydantic_fields_set__": named.difference(unset),
        "__pydantic_extra__": extra,
        "__pydantic_private__": _private(cls),
    }
    # The base's own way to fill an instance: no validator and no hook of the class runs.
    base = pydantic.RootModel if issubclass(cls, pydantic.RootModel) else pydantic.BaseModel
    model = object.__new__(cls)
    base.__setstate__(model, state)
    return model


def _model_default(field: FieldInfo, before: dict[str, object]) -> object:
    # Since pydantic 2.10 a factory may look at the fields before its own.
    if getattr(field, "default_factory_takes_validated_data", False):
        return field.get_default(call_default_factory=True, validated_data=before)
    return field.get_default(call_default_factory=True)


def _extra(cls: type[BaseModel], stored: Mapping[str, object]) -> dict[str, object] | None:
    if cls.model_config.get("extra") != "allow":
        return None
    return dict(_fields(stored.get(_EXTRA, {}), cls))


def _private(cls: type[BaseModel]) -> dict[str, object] | None:
    from pydantic_core import PydanticUndefined

    if not cls.__private_attributes__:
        return None
    values = {name: attr.get_default() for name, attr in cls.__private_attributes__.items()}
    return {name: value for name, value in values.items() if value is not PydanticUndefined}
