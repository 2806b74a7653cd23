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

__all__ = ["ExecutionInfo", "Runtime", "ServerInfo", "StreamWriter", "context_of", "is_runtime"]

StreamWriter = Callable[[object], None]
"""Writes to the ``custom`` stream of a run."""


def _nowhere(_: object) -> None:
    """Take what a node writes to a stream that nobody reads."""


@dataclass(frozen=True, slots=True)
class ExecutionInfo:
    """Which execution of which node this is.

    Attributes:
        checkpoint_id: The checkpoint it runs from.
        checkpoint_ns: The tasks around it and its own, outermost first: ``node:task|node:task``.
        task_id: The task, the same after a pause or a restart.
        thread_id: The thread, None for a run that is not saved.
        run_id: What the config says of it, if anything.
        node_attempt: Counts the attempts of the node in this execution, from 1.
    """

    checkpoint_id: str
    checkpoint_ns: str
    task_id: str
    thread_id: str | None = None
    run_id: str | None = None
    node_attempt: int = 1


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Of a server that runs the graph, which this library has none of; for code that moves over.

    Attributes:
        assistant_id: The assistant there.
        graph_id: The graph there.
        user: Who is signed in.
    """

    assistant_id: str
    graph_id: str
    user: object = None


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
        execution_info: Which execution of the node this is; None outside a node.
        server_info: Always None.
        control: Always None.
    """

    context: C = None  # type: ignore[assignment]  # a run without a context has none
    store: object = None
    stream_writer: StreamWriter = _nowhere
    previous: object = None
    execution_info: ExecutionInfo | None = None
    server_info: ServerInfo | None = None
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
