"""Running one task: call its node, perhaps again, and let a pause or an error be a fact."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from functools import partial

from hitl.engine.plan import ParentCommand
from hitl.engine.retry import wait_before_retry
from hitl.engine.task import CURRENT, Pause, Task
from hitl.engine.trace import RunTrace, Span
from hitl.engine.waits import has_lost, lost
from hitl.errors import Broken, Misuse, NodeTimeoutError

__all__ = ["arun_task", "run_task"]


def run_task(task: Task) -> Task:
    """Run a task in this thread; return it, settled.

    Raises:
        BaseException: What is no ``Exception``, such as ``KeyboardInterrupt``.
    """
    token = CURRENT.set(task)
    span = None if task.run.trace is None else _span(task, task.run.trace)
    try:
        _attempt(task)
        while task.error is not None and (seconds := _wait(task)) is not None:
            (task.run.sleep or time.sleep)(seconds)
            task.again()
            _attempt(task)
    finally:
        task.ended = True
        CURRENT.reset(token)
        if span is not None:
            span.end(task.error or sys.exception(), paused=task.paused)
    return task


def _span(task: Task, trace: RunTrace) -> Span:
    facts = {"step": task.checkpoint, "place": task.place, "task": task.id}
    return trace.inside("node", task.node.name, facts)


def _attempt(task: Task) -> None:
    try:
        try:
            value = task.start()
        except ParentCommand as up:
            value = up.command
        if value is not None and type(value) is not dict and inspect.isawaitable(value):
            raise _needs_async(task, value)
        for branch in task.finish(value):
            chosen = task.ask_branch(branch)
            if branch.is_async or inspect.isawaitable(chosen):
                raise _needs_async(task, chosen)
            task.route(branch, chosen)
    except Pause:
        _check_pause(task)
    except Exception as error:  # noqa: BLE001 - whatever a node raises is a fact of its task
        _take_error(task, error)
    except BaseExceptionGroup as group:
        _take_group(task, group)


async def arun_task(task: Task) -> Task:
    """Run a task on an event loop, sync code of its own in a thread; return it, settled.

    Raises:
        BaseException: What is no ``Exception``, such as ``asyncio.CancelledError``.
    """
    token = CURRENT.set(task)
    span = None if task.run.trace is None else _span(task, task.run.trace)
    try:
        await _aattempt(task)
        while task.error is not None and (seconds := _wait(task)) is not None:
            await _asleep(task, seconds)
            task.again()
            await _aattempt(task)
    finally:
        task.ended = True
        CURRENT.reset(token)
        if span is not None:
            span.end(task.error or sys.exception(), paused=task.paused)
    return task


async def _aattempt(task: Task) -> None:
    in_place = task.node.is_async or task.node.afn is not None
    call: Callable[[], object]
    try:
        try:
            call = partial(task.start, awaited=True)
            if task.run.watch is not None:
                call = task.run.watch.paced(call)
            value = await (
                _call(call, in_place=in_place)
                if task.node.timeout is None
                else _in_time(task, call, task.node.timeout)
            )
        except ParentCommand as up:
            value = up.command
        for branch in task.finish(value):
            # A sync path function of an async node is taken to be quick, as its edges are.
            ask = task.asking(branch)
            task.route(branch, await _call(ask, in_place=in_place or branch.is_async))
    except Pause:
        _check_pause(task)
    except Exception as error:  # noqa: BLE001 - whatever a node raises is a fact of its task
        _take_error(task, error)
    except BaseExceptionGroup as group:
        _take_group(task, group)


async def _in_time(task: Task, call: Callable[[], object], seconds: float) -> object:
    """Return what an async node returns, or cancel it when its time is up."""
    import asyncio

    try:
        async with asyncio.timeout(seconds) as limit:
            return await _call(call, in_place=True)
    except TimeoutError as error:
        if not limit.expired():
            raise  # it is the node's own
        raise NodeTimeoutError(
            f"Node {task.node.name!r} took longer than its timeout of {seconds:g} s.",
            hint="Give it more time, or a retry_policy.",
            node=task.node.name,
            timeout=seconds,
        ) from error


def _wait(task: Task) -> float | None:
    """Return the seconds before a failed task is tried again; None where it is not.

    A call that was started and left no result is a human's matter: nothing that could start it
    again runs before that is settled.
    """
    if not task.node.retry or task.paused or task.error is None:
        return None
    if lost(task.record) or any(map(has_lost, task.record.subs.values())):
        return None
    return wait_before_retry(task.node.retry, task.error, task.attempt)


async def _asleep(task: Task, seconds: float) -> None:
    import asyncio

    if task.run.sleep is None:
        await asyncio.sleep(seconds)
    else:
        await asyncio.to_thread(task.run.sleep, seconds)


async def _call(fn: Callable[[], object], *, in_place: bool) -> object:
    if in_place:
        value = fn()
    else:
        import asyncio

        value = await asyncio.to_thread(_guarded, fn)
    return await value if inspect.isawaitable(value) else value


def _guarded(fn: Callable[[], object]) -> object:
    try:
        return fn()
    except StopIteration as error:  # which no future can carry
        raise RuntimeError("A node raised StopIteration.") from error


def _needs_async(task: Task, value: object) -> Misuse:
    if inspect.iscoroutine(value):
        value.close()
    return Misuse(
        f"Node {task.node.name!r} is async, but the graph was run with a sync method.",
        hint="Use ainvoke or astream.",
        node=task.node.name,
    )


def _check_pause(task: Task) -> None:
    if not task.paused:
        raise Broken(f"Node {task.node.name!r} paused without a question.")


def _take_error(task: Task, error: Exception) -> None:
    # The record decides: a task that turned its pause into another error still pauses.
    if not task.paused:
        task.error = error
        error.add_note(f"In node {task.node.name!r}, task {task.place}, of the graph's run.")
    else:
        task.swallowed = True


def _take_group(task: Task, group: BaseExceptionGroup[BaseException]) -> None:
    """Take the pause that a task group wrapped; anything beside it that is graver goes on."""
    _, rest = group.split((Pause, Exception))
    if not task.paused or rest is not None:
        raise group
