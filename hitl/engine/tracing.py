"""What a run and the code inside its nodes tell to a trace, where there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from hitl.engine.stepper import Steps
from hitl.engine.task import CURRENT, Task
from hitl.engine.trace import RunTrace, Span
from hitl.values import Interrupt

__all__ = ["span", "traced"]


def traced(steps: Steps, trace: RunTrace) -> Steps:
    """Return a run's steps, of which a trace is told when they begin, and how they end."""
    trace.begin()
    waits: Sequence[Interrupt] | None = None
    error: BaseException | None = None
    try:
        ending = yield from steps
        waits = ending.interrupts
        return ending
    except GeneratorExit:
        raise
    except BaseException as raised:
        error = raised
        raise
    finally:
        trace.end(waits, error)


def span(
    kind: str, name: str, facts: Callable[[], Mapping[str, object]] = dict
) -> AbstractContextManager[Span | None]:
    """Trace what a node does in a block; nothing happens where nobody traces its run.

    Args:
        kind: ``model`` or ``tool``.
        name: Of the model or tool.
        facts: Makes what is known of it; called only where somebody traces.
    """
    task = CURRENT.get()
    if task is None or task.run.trace is None:
        return _NOTHING
    return _inside(task, task.run.trace.inside(kind, name, facts()))


_NOTHING = nullcontext(None)


@contextmanager
def _inside(task: Task, own: Span) -> Iterator[Span]:
    try:
        yield own
    except BaseException as error:
        own.end(error, paused=task.paused)
        raise
    own.end()
