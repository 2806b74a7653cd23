"""What a caller sees of a thread: results, and where it stands."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

from hitl.values.question import Interrupt

__all__ = [
    "INTERRUPT",
    "Config",
    "GraphOutput",
    "Output",
    "PregelTask",
    "StateSnapshot",
    "StateUpdate",
]

INTERRUPT = "__interrupt__"

Config = dict[str, object]
"""``{"configurable": {"thread_id": ..., "checkpoint_id"?: ..., "reviewer"?: ...}, ...}``"""


class PregelTask(NamedTuple):
    """One execution of a node in the superstep that a snapshot stands before."""

    id: str
    name: str
    path: tuple[str | int, ...]
    error: str | None = None
    interrupts: tuple[Interrupt, ...] = ()
    state: object = None
    result: object = None


class StateUpdate(NamedTuple):
    """One update of ``bulk_update_state``.

    Attributes:
        values: What is written, as a node would return it.
        as_node: The node whose write it is taken for.
        task_id: Not looked at; kept for code that moves over.
    """

    values: object
    as_node: str | None = None
    task_id: str | None = None


class StateSnapshot(NamedTuple):
    """A thread at one checkpoint.

    Attributes:
        values: The state, a dict of channel values (or the root value).
        next: Names of the nodes that are due.
        config: The config that reads this very checkpoint again.
        metadata: ``{"source", "step", "parents"}`` and the config's own metadata.
        created_at: ISO 8601, UTC.
        parent_config: The config of the checkpoint before, if there is one.
        tasks: What is due, with errors and interrupts.
        interrupts: Everything that waits for a human here.
    """

    values: object
    next: tuple[str, ...]
    config: Config
    metadata: dict[str, object] | None
    created_at: str | None
    parent_config: Config | None
    tasks: tuple[PregelTask, ...]
    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True)
class GraphOutput:
    """What a run came to (``version="v2"``).

    Attributes:
        value: The output, an instance of the output schema or a dict.
        interrupts: What waits for a human; empty when the run is finished.
        config: The config of the checkpoint the run stands at.
    """

    value: Any
    interrupts: tuple[Interrupt, ...] = ()
    config: Config | None = None

    def __getitem__(self, key: str) -> object:
        self._warn()
        if key == INTERRUPT:
            return list(self.interrupts)
        return self.value[key] if isinstance(self.value, dict) else getattr(self.value, key)

    def __contains__(self, key: str) -> bool:
        self._warn()
        if key == INTERRUPT:
            return bool(self.interrupts)
        return key in self.value if isinstance(self.value, dict) else hasattr(self.value, key)

    @staticmethod
    def _warn() -> None:
        warnings.warn(
            "Reading a GraphOutput like a dict is deprecated; use .value and .interrupts.",
            DeprecationWarning,
            stacklevel=3,
        )


class Output(dict[str, object]):
    """The dict that ``invoke`` returns by default, which also tells a pause as attributes.

    A paused run has the key ``"__interrupt__"`` with a list of interrupts.
    """

    __slots__ = ("config", "interrupts", "value")

    def __init__(
        self,
        value: object,
        interrupts: tuple[Interrupt, ...] = (),
        config: Config | None = None,
    ) -> None:
        super().__init__(value if isinstance(value, dict) else {})
        self.value = value
        self.interrupts = interrupts
        self.config = config
        if interrupts:
            self[INTERRUPT] = list(interrupts)
