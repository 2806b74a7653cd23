"""What a node can ask for beside its state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Runtime"]


def _nowhere(_: object) -> None:
    """Take what a node writes to a stream that nobody reads."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """A run's surroundings, given to a node that has a parameter ``runtime``.

    Attributes:
        context: What the caller gave as ``context=``.
        store: What the graph was compiled with as ``store=``, passed through.
        stream_writer: Writes to the ``custom`` stream.
        previous: Always None; kept for code that moves over.
        execution_info: Always None.
        server_info: Always None.
        control: Always None.
    """

    context: object = None
    store: object = None
    stream_writer: Callable[[object], None] = _nowhere
    previous: object = None
    execution_info: object = None
    server_info: object = None
    control: object = None
