"""What a node can ask for beside its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Generic, get_origin

from hitl.errors import Misuse

if TYPE_CHECKING:  # a default of its own, so that Runtime stands for Runtime[object]
    from typing_extensions import TypeVar

    C = TypeVar("C", default=object)
else:
    from typing import TypeVar

    C = TypeVar("C")

__all__ = ["Runtime", "context_of", "is_runtime"]


def _nowhere(_: object) -> None:
    """Take what a node writes to a stream that nobody reads."""


@dataclass(frozen=True, slots=True)
class Runtime(Generic[C]):
    """A run's surroundings, given to a node that has a parameter ``runtime``.

    A parameter of any name does that is annotated with it: ``Runtime``, or ``Runtime[Context]``.

    Attributes:
        context: What the caller gave as ``context=``, an instance of the graph's
            ``context_schema`` where that is a class of fields.
        store: What the graph was compiled with as ``store=``, passed through.
        stream_writer: Writes to the ``custom`` stream.
        previous: Always None; kept for code that moves over.
        execution_info: Always None.
        server_info: Always None.
        control: Always None.
    """

    context: C = None  # type: ignore[assignment]  # a run without a context has none
    store: object = None
    stream_writer: Callable[[object], None] = _nowhere
    previous: object = None
    execution_info: object = None
    server_info: object = None
    control: object = None


def is_runtime(annotation: object) -> bool:
    """Return whether a parameter's annotation, resolved or as text, is ``Runtime``."""
    if isinstance(annotation, str):
        return annotation.partition("[")[0].rpartition(".")[2] == "Runtime"
    return (get_origin(annotation) or annotation) is Runtime


def context_of(schema: object, given: object) -> object:
    """Return a run's context: a dict becomes an instance of the schema.

    Raises:
        Misuse: It does not fit.
    """
    if not isinstance(schema, type) or not isinstance(given, Mapping):
        return given
    validate = getattr(schema, "model_validate", None)
    try:
        if callable(validate):
            return validate(given)
        return schema(**given) if is_dataclass(schema) else given
    except (TypeError, ValueError) as error:
        raise Misuse(
            f"The context does not fit {schema.__name__}: {error}",
            hint=f"Give context={schema.__name__}(...), or a dict of its fields.",
        ) from error
