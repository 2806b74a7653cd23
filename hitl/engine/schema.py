"""Reading state classes: which channels they have, how a node's state is built from them.

A state class is a TypedDict, a dataclass, a pydantic model, or a bare ``Annotated[type,
reducer]`` for a state that is one value (kept in the channel ``ROOT``).
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args, get_origin, get_type_hints, is_typeddict

from hitl.codec import register, registered
from hitl.engine.merge import Channel, empty_of, own
from hitl.errors import InvalidUpdateError, Misuse

__all__ = ["ROOT", "Hidden", "Schema", "read_schema"]

ROOT = "__root__"

Form = Literal["dict", "dataclass", "model", "root"]


@dataclass(frozen=True, slots=True)
class Hidden:
    """A mark for ``Annotated``: this channel is kept out of inputs, outputs, or both."""

    from_input: bool = True
    from_output: bool = True


@dataclass(frozen=True, slots=True)
class Schema:
    """A state class, read once.

    Attributes:
        cls: The class (or the annotated type of a root state).
        form: How instances look.
        channels: Its channels by name, in the order in which they are declared.
        hidden: What is kept out of inputs and outputs.
    """

    cls: object
    form: Form
    channels: Mapping[str, Channel]
    hidden: Mapping[str, Hidden]

    @property
    def typed(self) -> bool:
        """Return whether the state is an instance of a class of its own, not a dict."""
        return self.form in ("dataclass", "model")

    def gives(self, name: str) -> bool:
        """Return whether a channel is part of what runs give back."""
        mark = self.hidden.get(name)
        return mark is None or not mark.from_output

    def build(self, values: Mapping[str, object]) -> object:
        """Return the state as a node gets it; lists, dicts and sets are the caller's own."""
        if self.form == "root":
            return own(values[ROOT]) if ROOT in values else None
        known: dict[str, object] = {}
        for name in self.channels:  # a loop, since every task comes by here
            if name in values:
                known[name] = own(values[name])
        if self.form == "dict":
            return known
        if self.form == "model":
            return self.cls.model_validate(known)  # type: ignore[attr-defined]
        assert callable(self.cls)
        return self.cls(**known)

    def writes(self, value: object, where: str) -> dict[str, object]:
        """Return what a value writes, by channel name.

        Args:
            value: A dict, an instance of the class, or (root state) anything.
            where: What returned it, for the error.

        Raises:
            InvalidUpdateError: It is none of these.
        """
        if self.form == "root":
            return {ROOT: own(value)}
        if type(value) is dict or isinstance(value, Mapping):
            return {name: own(part) for name, part in value.items()}
        if self.form == "model" and isinstance(value, self._class()):
            given: set[str] = getattr(value, "model_fields_set")  # noqa: B009 - as any model has
            return {name: own(getattr(value, name)) for name in self.channels if name in given}
        if self.form == "dataclass" and isinstance(value, self._class()):
            return {
                name: own(getattr(value, name))
                for name, field in self._fields().items()
                if getattr(value, name) != _default(field)
            }
        raise InvalidUpdateError(
            f"{where} must give a dict of state keys, not {type(value).__name__}.",
            hint=f"Known keys: {', '.join(self.channels)}.",
        )

    def check_input(self, value: object) -> object:
        """Return an input, checked by the model where the state is one.

        Raises:
            Misuse: The model refuses it.
        """
        if self.form != "model" or not isinstance(value, Mapping):
            return value
        try:
            return self.cls.model_validate(value)  # type: ignore[attr-defined]
        except ValueError as error:
            raise Misuse(f"The input does not fit {self._class().__name__}: {error}") from error

    def _fields(self) -> dict[str, dataclasses.Field[object]]:
        fields = dataclasses.fields(self.cls)  # type: ignore[arg-type]
        return {field.name: field for field in fields if field.name in self.channels}

    def _class(self) -> type:
        assert isinstance(self.cls, type)
        return self.cls


def _default(field: dataclasses.Field[object]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def read_schema(cls: object, what: str = "state_schema") -> Schema:
    """Return a state class, read.

    Raises:
        Misuse: It is no state class, or an annotation cannot be resolved.
    """
    if get_origin(cls) is Annotated:
        return Schema(cls, "root", {ROOT: _channel(ROOT, cls)}, {})
    if not isinstance(cls, type):
        raise Misuse(
            f"{what} is {cls!r}, not a class.",
            hint="Give a TypedDict, a dataclass, a pydantic model, or Annotated[type, reducer].",
        )
    form = _form(cls, what)
    try:
        hints = get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise Misuse(
            f"An annotation of {what} {cls.__name__} cannot be resolved: {error}.",
            hint="Define the name at module level, or import it outside TYPE_CHECKING.",
        ) from error
    hints = {name: hint for name, hint in hints.items() if not name.startswith("__")}
    if form == "model":
        hints = {name: hint for name, hint in hints.items() if name in cls.model_fields}  # type: ignore[attr-defined]
    if form == "dataclass":
        names = {field.name for field in dataclasses.fields(cls)}
        hints = {name: hint for name, hint in hints.items() if name in names}
    _register_types(hints.values())
    hidden = {
        name: mark
        for name, hint in hints.items()
        for mark in _marks(hint)
        if isinstance(mark, Hidden)
    }
    return Schema(cls, form, {name: _channel(name, hint) for name, hint in hints.items()}, hidden)


def _form(cls: type, what: str) -> Form:
    if _is_typed_dict(cls):
        return "dict"
    if hasattr(cls, "model_fields") and hasattr(cls, "model_validate"):
        return "model"
    if dataclasses.is_dataclass(cls):
        return "dataclass"
    raise Misuse(
        f"{what} is the class {cls.__name__}, which has no fields to make channels of.",
        hint="Give a TypedDict, a dataclass, a pydantic model, or Annotated[type, reducer].",
    )


def _is_typed_dict(cls: type) -> bool:
    # ``typing`` does not know the TypedDict of typing_extensions, which pydantic wants.
    return is_typeddict(cls) or (issubclass(cls, dict) and hasattr(cls, "__required_keys__"))


def _marks(hint: object) -> tuple[object, ...]:
    """Return the extras of an annotation, through Required and NotRequired."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *extras = get_args(hint)
        return (*_marks(inner), *extras)
    if getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly"):
        return _marks(get_args(hint)[0])
    return ()


def _bare(hint: object) -> object:
    origin = get_origin(hint)
    if origin is Annotated or getattr(origin, "_name", None) in (
        "Required",
        "NotRequired",
        "ReadOnly",
    ):
        return _bare(get_args(hint)[0])
    return hint


def _channel(name: str, hint: object) -> Channel:
    for mark in reversed(_marks(hint)):
        if callable(mark) and not isinstance(mark, Hidden | type) and _is_binary(mark):
            return Channel(name, mark, empty_of(_bare(hint)))
    return Channel(name)


def _is_binary(mark: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(mark).parameters.values()
    except ValueError:
        return True  # a builtin without a signature, such as operator.add on some versions
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(places) == 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _register_types(hints: Iterable[object]) -> None:
    """Let the types that a state names cross into the log; nothing else may."""
    waiting = list(hints)
    seen: set[int] = set()
    while waiting:
        hint = waiting.pop()
        if id(hint) in seen:
            continue
        seen.add(id(hint))
        waiting.extend(get_args(hint))
        if isinstance(hint, type) and _is_own_type(hint):
            if not registered(hint):
                register(hint)
            waiting.extend(_inner(hint))


def _inner(cls: type) -> Iterable[object]:
    """Return the types of a class's fields, as far as their names can be resolved."""
    fields = getattr(cls, "model_fields", None)
    if isinstance(fields, Mapping):
        return [getattr(field, "annotation", None) for field in fields.values()]
    try:
        return get_type_hints(cls).values()
    except NameError:
        return ()


def _is_own_type(cls: type) -> bool:
    if _is_typed_dict(cls) or cls.__module__ in ("builtins", "typing", "datetime"):
        return False
    return (
        dataclasses.is_dataclass(cls)
        or hasattr(cls, "model_fields")
        or hasattr(cls, "__members__")
        or (issubclass(cls, tuple) and hasattr(cls, "_fields"))
    )
