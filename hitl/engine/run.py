"""Running one task: call its node, take what it returns, let a pause or an error be a fact."""

from __future__ import annotations

import inspect

from hitl.engine.task import CURRENT, Pause, Task
from hitl.errors import Broken, Misuse

__all__ = ["arun_task", "run_task"]


def run_task(task: Task) -> Task:
    """Run a task in this thread; return it, settled.

    Raises:
        BaseException: What is no ``Exception``, such as ``KeyboardInterrupt``.
    """
    token = CURRENT.set(task)
    try:
        value = task.start()
        if task.node.is_async or inspect.isawaitable(value):
            raise _needs_async(task, value)
        for branch in task.finish(value):
            chosen = task.ask_branch(branch)
            if branch.is_async or inspect.isawaitable(chosen):
                raise _needs_async(task, chosen)
            task.route(branch, chosen)
    except Pause:
        _check_pause(task)
    except Exception as error:
        _take_error(task, error)
    finally:
        CURRENT.reset(token)
    return task


async def arun_task(task: Task) -> Task:
    """Run a task whose node is awaited; return it, settled.

    Raises:
        BaseException: What is no ``Exception``, such as ``asyncio.CancelledError``.
    """
    token = CURRENT.set(task)
    try:
        value = task.start(awaited=True)
        if inspect.isawaitable(value):
            value = await value
        for branch in task.finish(value):
            chosen = task.ask_branch(branch)
            if inspect.isawaitable(chosen):
                chosen = await chosen
            task.route(branch, chosen)
    except Pause:
        _check_pause(task)
    except Exception as error:
        _take_error(task, error)
    finally:
        CURRENT.reset(token)
    return task


def _needs_async(task: Task, value: object) -> Misuse:
    if inspect.iscoroutine(value):
        value.close()
    return Misuse(
        f"Node {task.node.name!r} is async, but the graph was run with a sync method.",
        hint="Use ainvoke or astream.",
        node=task.node.name,
    )


def _check_pause(task: Task) -> None:
    if task.asked is None:
        raise Broken(f"Node {task.node.name!r} paused without a question.")


def _take_error(task: Task, error: Exception) -> None:
    # The record decides: a task that turned its pause into another error still pauses.
    if task.asked is None:
        task.error = error
        error.add_note(f"In node {task.node.name!r}, task {task.place}, of the graph's run.")
