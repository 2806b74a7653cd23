"""What code inside a node calls: ``interrupt`` asks a human, ``step`` keeps a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from hitl.codec import pack, unpack
from hitl.engine.task import CURRENT, Task
from hitl.errors import OutsideRun
from hitl.ledger import Ask
from hitl.values import Config, canonical

__all__ = ["current_config", "current_task", "interrupt", "running_task", "step"]

P = ParamSpec("P")
T = TypeVar("T")


def current_task(what: str) -> Task:
    """Return the task that is running here.

    Raises:
        OutsideRun: None is.
    """
    task = CURRENT.get()
    if task is None:
        raise OutsideRun(
            f"{what} was called outside a running node.",
            hint="Call it inside a node or tool, in the thread or task that runs it.",
        )
    return task


def running_task() -> Task | None:
    """Return the task that is running here, None outside a running node."""
    return CURRENT.get()


def current_config() -> Config:
    """Return the config of the run, ``{}`` outside one."""
    task = CURRENT.get()
    return {} if task is None else task.run.config


def interrupt(value: object) -> Any:
    """Pause here until a human has answered, and return the answer.

    The node starts again from its beginning when it is resumed: the n-th call in it gets the
    n-th answer. Put code that must not run twice into ``step`` or after the call.

    Args:
        value: What is asked, any storable value. A reviewer sees it.

    Returns:
        What ``Command(resume=...)`` gave for it; any value, ``None`` and ``False`` included.

    Raises:
        OutsideRun: No node is running here.
        NoCheckpointer: The graph was compiled without one.
        NotStorable: The value cannot be saved.
    """
    task = current_task("interrupt()")
    subject = pack(value, "interrupt(value)")
    digest = _digest(subject)
    ask = Ask("question", digest, subject, ("answer",))
    return task.ask([ask], lambda _: value)


def _digest(subject: object) -> str:
    import hashlib

    return hashlib.blake2b(canonical(subject), digest_size=16).hexdigest()  # type: ignore[arg-type]


def step(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function once and keep its result, so that a resumed node does not call it again.

    The function is at-least-once: a crash inside it, before its result is kept, runs it again.

    Args:
        fn: What to call; its name and its order in the node are its key.
        *args: Passed on.
        **kwargs: Passed on.

    Returns:
        Its result, from now or from before.

    Raises:
        OutsideRun: No node is running here.
        Misuse: The node's steps come in another order than when the result was kept.
        NotStorable: The result cannot be saved.
    """
    task = current_task("step()")
    key, known = task.next_note(getattr(fn, "__qualname__", repr(fn)))
    if known:
        return unpack(task.record.notes[key])  # type: ignore[return-value]
    result = fn(*args, **kwargs)
    note = pack(result, f"step({key.split(':', 2)[2]})")
    if task.run.journal.saved:
        task.run.journal.note(task.place, key, note)
    task.record.notes[key] = note
    return result
