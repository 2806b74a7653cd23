"""What the run gives to a tool, and by which marks a parameter asks for it.

No schema shows such a parameter, and no model can set it.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic

from typing_extensions import TypeVar

from hitl.values import Config

__all__ = [
    "InjectedState",
    "InjectedStore",
    "InjectedToolArg",
    "InjectedToolCallId",
    "Injection",
    "ToolRuntime",
    "injection_of",
    "is_injected",
    "marks_of",
]

ContextT = TypeVar("ContextT", default=Any)
StateT = TypeVar("StateT", default=Any)


def _write_nothing(_: object) -> None:
    pass


@dataclass(slots=True)
class ToolRuntime(Generic[ContextT, StateT]):
    """What the run hands to a tool whose parameter is annotated with this class.

    Attributes:
        state: The graph's state as it was when the call was proposed.
        context: The run's context, given to ``invoke``.
        config: The run's config.
        stream_writer: Writes to the ``custom`` stream.
        tool_call_id: The provider's id of this call.
        store: The run's store, if it has one.
        tools: All tools of the agent.
        execution_info: Where the run stands.
        server_info: What serves the run.
        idempotency_key: The same whenever this very call runs again; give it to the system
            outside, so that it can tell a repeat. Empty where nothing is stored.
        attempt: 1 for the first start of this call.
    """

    state: StateT = None  # type: ignore[assignment]
    context: ContextT = None  # type: ignore[assignment]
    config: Config = field(default_factory=dict)
    stream_writer: Callable[[object], None] = _write_nothing
    tool_call_id: str | None = None
    store: object = None
    tools: list[object] = field(default_factory=list)
    execution_info: object = None
    server_info: object = None
    idempotency_key: str = ""
    attempt: int = 1


class InjectedToolArg:
    """Marks a parameter that the calling code gives: ``Annotated[int, InjectedToolArg]``."""


class InjectedToolCallId(InjectedToolArg):
    """Marks a parameter that gets the id of the tool call."""


class InjectedStore(InjectedToolArg):
    """Marks a parameter that gets the run's store."""


class InjectedState(InjectedToolArg):
    """Marks a parameter that gets the graph's state, or one field of it.

    Args:
        field: The field's name; None for the whole state.
    """

    def __init__(self, field: str | None = None) -> None:
        self.field = field


Injection = Callable[[ToolRuntime[Any, Any]], object]
"""Takes a parameter's value from the runtime."""


def marks_of(annotation: object) -> tuple[object, ...]:
    """Return what stands behind the type in an ``Annotated``, nothing for other types."""
    return typing.get_args(annotation)[1:] if typing.get_origin(annotation) is Annotated else ()


def _is_runtime(annotation: object) -> bool:
    return annotation is ToolRuntime or typing.get_origin(annotation) is ToolRuntime


def _is_mark(mark: object) -> bool:
    kind = mark if isinstance(mark, type) else type(mark)
    return issubclass(kind, InjectedToolArg)


def is_injected(annotation: object) -> bool:
    """Return whether a parameter so annotated is given by the run, not by the model."""
    return _is_runtime(annotation) or any(map(_is_mark, marks_of(annotation)))


def injection_of(annotation: object) -> Injection | None:
    """Return how a parameter so annotated is taken from the runtime.

    Args:
        annotation: One for which ``is_injected`` is true.

    Returns:
        None for a parameter that only the calling code can give.
    """
    if _is_runtime(annotation):
        return lambda runtime: runtime
    mark = next(filter(_is_mark, marks_of(annotation)))
    kind = mark if isinstance(mark, type) else type(mark)
    if issubclass(kind, InjectedToolCallId):
        return lambda runtime: runtime.tool_call_id
    if issubclass(kind, InjectedStore):
        return lambda runtime: runtime.store
    if issubclass(kind, InjectedState):
        key = mark.field if isinstance(mark, InjectedState) else None
        return lambda runtime: _from_state(runtime.state, key)
    return None


def _from_state(state: object, key: str | None) -> object:
    if key is None:
        return state
    return state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
