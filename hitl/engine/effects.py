"""What the stepper asks of its hand, and what a run is asked to do. Plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hitl.engine.standing import Standing
from hitl.engine.task import Task
from hitl.values import Draft, Interrupt, ItemChange

__all__ = ["Append", "Effect", "Emit", "Ending", "Load", "Look", "Request", "Settle", "Start"]


@dataclass(frozen=True, slots=True)
class Load:
    """Read where the thread stands, or stood at a checkpoint. Reply: ``Standing``."""

    checkpoint: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    """Find items by their own or their interrupt's id, closed ones too. Reply: a list."""

    ids: tuple[str, ...]


@dataclass(slots=True)  # not frozen, which takes three times as long: one is made at every step
class Append:
    """Commit together, or not at all. Reply: ``Receipt``.

    One that acquires the lease opens a run and stores nothing where the thread has moved since
    it was read; its reply is the ``Conflict`` or ``Stale`` that says so, and the run begins anew.
    ``decision`` says that the items are a human's decisions: they are
    kept even where another run holds the thread.
    """

    entries: tuple[Draft, ...] = ()
    items: tuple[ItemChange, ...] = ()
    lease: Literal["acquire", "release"] | None = None
    decision: bool = False


@dataclass(slots=True)
class Start:
    """Begin tasks; all of them belong to one superstep. No reply."""

    tasks: list[Task]


@dataclass(frozen=True, slots=True)
class Settle:
    """Wait until at least one task has settled. Reply: all that have, in any order."""


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell those who watch. No reply."""

    mode: str
    data: object


LOAD, SETTLE = Load(), Settle()

Effect = Load | Look | Append | Start | Settle | Emit


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is asked to do.

    Attributes:
        input: A state to begin with, a ``Command``, or None to go on.
        modes: Which parts are wanted by those who watch; empty where nobody does.
        limit: The most supersteps that it may take.
        by: Who answers, if it is an answer.
        checkpoint: The checkpoint that the config names, 0 for the newest.
        pause: The pause that the config names, 0 for none.
        unknown: What new input does to a call whose outcome is not known.
        before: Nodes before which it stops.
        after: Nodes after which it stops.
        waits: Whether it waits where another run holds the thread.
    """

    input: object
    modes: frozenset[str] = frozenset()
    limit: int = 1000
    by: str | None = None
    checkpoint: int = 0
    pause: int = 0
    unknown: Literal["refuse", "tell_model"] = "refuse"
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    metadata: dict[str, str | int | float | bool] = field(default_factory=dict)
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: where it stands, and what waits for a human."""

    standing: Standing
    interrupts: tuple[Interrupt, ...] = ()
