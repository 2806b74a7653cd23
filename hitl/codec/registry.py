"""Which types may cross into the log, and under which name.

Owns the two tables, type to form and name to form. A type is found by itself, never by a
base class, and a name only ever leads to a type that the program registered: nothing that
stands in a log is imported or called by name. It knows nothing of JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar, overload

from hitl.codec.form import BUILT_IN, Form, form
from hitl.codec.shapes import shape_of
from hitl.errors import Misuse

__all__ = ["enter", "form_named", "form_of", "register", "registered"]

T = TypeVar("T")
P = TypeVar("P")

_NATIVE = frozenset({str, bool, type(None), list, dict})  # JSON has them; the walk knows them
_by_type: dict[type, Form] = {}
_by_name: dict[str, Form] = {}


def form_of(cls: type) -> Form | None:
    """Return the form of exactly this type, or None."""
    return _by_type.get(cls) or (_by_type.get(cls) if _load_standard() else None)


def form_named(name: str) -> Form | None:
    """Return the form that a name stands for, or None."""
    return _by_name.get(name) or (_by_name.get(name) if _load_standard() else None)


def enter(new: Form) -> None:
    """Let a form be that of its name and of its type."""
    _by_name[new.name] = new
    _by_type[new.cls] = new


@cache
def _load_standard() -> bool:
    # decimal, uuid, pathlib and so on cost more to import than all of the codec.
    from hitl.codec.standard import FORMS

    for each in FORMS:
        _by_name.setdefault(each.name, each)
        _by_type.setdefault(each.cls, each)
    return True


@overload
def register(
    cls: type[T],
    *,
    name: str | None = None,
    pack: Callable[[T], P] | None = None,
    unpack: Callable[[P], T] | None = None,
) -> type[T]: ...


@overload
def register(cls: None = None, *, name: str | None = None) -> Callable[[type[T]], type[T]]: ...


@overload
def register(
    cls: None = None,
    *,
    name: str | None = None,
    pack: Callable[[T], P],
    unpack: Callable[[P], T],
) -> Callable[[type[T]], type[T]]: ...


def register(
    cls: type[T] | None = None,
    *,
    name: str | None = None,
    pack: Callable[[T], P] | None = None,
    unpack: Callable[[P], T] | None = None,
) -> type[T] | Callable[[type[T]], type[T]]:
    """Return the class after letting its instances cross; also a decorator.

    Dataclasses, pydantic models, enums and NamedTuples need no functions. They are written
    by field (an enum member by its name) and rebuilt without running any ``__init__``,
    ``__post_init__``, ``__new__`` or validator. A field that an old log does not have takes
    its default, one that the class no longer has is left out. Only fields are kept: other
    attributes are not, and private attributes of pydantic models come back as their defaults.

    A subclass is a type of its own. Registering a class again under another name writes the
    new name from then on and still reads the old one. A class defined again (a notebook's
    cell, a reload) takes the place of the one before.

    Args:
        cls: The class. Left out, a decorator is returned; it goes above ``@dataclass``.
        name: What stands for the class in the log, ``module:qualname`` by default. Keep it
            when the class moves.
        pack: Returns storable values that stand for an instance. Needs ``unpack``.
        unpack: Returns an instance made of what ``pack`` returned. Needs ``pack``.

    Raises:
        Misuse: Another class has the name, only one of the functions is given, or the class
            needs them.
    """
    if cls is None:
        return lambda decorated: register(decorated, name=name, pack=pack, unpack=unpack)
    chosen = name or f"{cls.__module__}:{cls.__qualname__}"
    _check_free(chosen, cls)
    if pack is not None and unpack is not None:
        _check_own(cls)
        enter(form(cls, chosen, pack, unpack))
    elif pack is None and unpack is None:
        enter(form(cls, chosen, *shape_of(cls)))
    else:
        raise Misuse(
            f"register({cls.__qualname__}) got only one of pack and unpack.",
            hint="Give both, or neither.",
        )
    return cls


def _check_own(cls: type) -> None:
    # Asked only where functions are given: without them a built-in type is refused anyway.
    there = form_of(cls)
    if cls in _NATIVE or (there is not None and there.name.startswith(BUILT_IN)):
        raise Misuse(
            f"register({cls.__qualname__}) would change how a built-in type is stored.",
            hint="Register a class of yours.",
        )


def _check_free(name: str, cls: type) -> None:
    if name.startswith(BUILT_IN):
        raise Misuse(
            f"register({cls.__qualname__}, name={name!r}): the names that begin with "
            f"{BUILT_IN!r} belong to built-in types.",
            hint="Give another name=.",
            name=name,
        )
    there = _by_name.get(name)
    if there is None or there.cls is cls:
        return
    if (there.cls.__module__, there.cls.__qualname__) != (cls.__module__, cls.__qualname__):
        raise Misuse(
            f"The name {name!r} stands for {there.cls.__module__}.{there.cls.__qualname__}; "
            f"{cls.__module__}.{cls.__qualname__} cannot have it too.",
            hint="Give another name=.",
            name=name,
        )


def registered(cls: type) -> bool:
    """Return whether instances of exactly this class can be stored."""
    return cls in _NATIVE or form_of(cls) is not None
