"""The seam for those who trace runs. Knows no tracing library, no task and no stepper.

A process has one tracer or none. Where there is none, a run has no trace, and nothing here is
called for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hitl.values import Interrupt, ItemChange

__all__ = ["RunTrace", "Span", "Tracer", "start_trace", "trace_runs"]


class Span(Protocol):
    """Something that takes time, from the moment at which it was made."""

    def note(self, facts: Mapping[str, object]) -> None:
        """Add facts that were not known when it began."""
        ...

    def end(self, error: BaseException | None = None, *, paused: bool = False) -> None:
        """Say that it is over, and how it ended."""
        ...


class RunTrace(Protocol):
    """The trace of one run."""

    def begin(self) -> None:
        """Say that the run has begun."""
        ...

    def inside(self, kind: str, name: str, facts: Mapping[str, object]) -> Span:
        """Return a span of something inside the run.

        Args:
            kind: ``node``, ``model`` or ``tool``.
            name: Of the node, model or tool.
            facts: What is known of it; a tool's ``arguments`` among them.
        """
        ...

    def moved(self, changes: Sequence[ItemChange]) -> None:
        """Take changes of items that the run has committed."""
        ...

    def end(self, waits: Sequence[Interrupt] | None, error: BaseException | None) -> None:
        """Say that the run is over.

        Args:
            waits: What waits for a human; None where the run was left before its end.
            error: What it raised.
        """
        ...


class Tracer(Protocol):
    """What makes the traces of runs."""

    def run(self, name: str, thread: str, path: str) -> RunTrace:
        """Return the trace of a run that is about to begin.

        Args:
            name: Of its graph.
            thread: Its thread's id, empty where it is not saved.
            path: Names of the nodes around it, each with a slash behind.
        """
        ...


_tracer: Tracer | None = None


def trace_runs(tracer: Tracer | None) -> None:
    """Trace every run of this process that begins from now on, or none."""
    global _tracer  # noqa: PLW0603 - one for the process, as tracing libraries have it
    _tracer = tracer


def start_trace(name: str, thread: str, path: str) -> RunTrace | None:
    """Return the trace of a run, None where nobody traces."""
    return None if _tracer is None else _tracer.run(name, thread, path)
