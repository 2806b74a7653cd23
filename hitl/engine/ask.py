"""What code inside a node calls: ``interrupt`` asks a human, ``step`` keeps a result."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast

from hitl.codec import pack, unpack
from hitl.engine.response import read_response
from hitl.engine.runtime import Runtime
from hitl.engine.shape import is_async
from hitl.engine.task import CURRENT, Task
from hitl.errors import Misuse, OutsideRun
from hitl.ledger import Ask
from hitl.values import Config, fingerprint

__all__ = [
    "astep",
    "current_config",
    "current_task",
    "get_runtime",
    "interrupt",
    "running_task",
    "step",
]

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")


def current_task(what: str) -> Task:
    """Return the task that is running here.

    Raises:
        OutsideRun: None is.
    """
    task = CURRENT.get()
    if task is None or task.ended:
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


def get_runtime(context_schema: type[C] | None = None) -> Runtime[C]:  # noqa: ARG001 - its type
    """Return the run's surroundings: its context, the graph's store, the stream writer.

    Args:
        context_schema: The class of the context, for type checkers only.

    Raises:
        OutsideRun: No node is running here.
    """
    return cast("Runtime[C]", current_task("get_runtime()").runtime)


def interrupt(value: object, *, response_schema: object = None) -> Any:
    """Pause here until a human has answered, and return the answer.

    The node starts again from its beginning when it is resumed: the n-th call in it gets the
    n-th answer. Put code that must not run twice into ``step`` or after the call.

    Args:
        value: What is asked, any storable value. A reviewer sees it.
        response_schema: What an answer must be: a JSON Schema, or a type that pydantic knows.
            An answer that does not fit is refused before it is stored.

    Returns:
        What ``Command(resume=...)`` gave for it; any value, ``None`` and ``False`` included.
        With a type, an instance of that.

    Raises:
        OutsideRun: No node is running here.
        Misuse: ``response_schema`` is neither.
        NoCheckpointer: The graph was compiled without one.
        NotStorable: The value cannot be saved.
    """
    task = current_task("interrupt()")
    subject = pack(value, "interrupt(value)")
    ask = Ask("question", fingerprint("interrupt", subject), subject, ("answer",))
    if response_schema is None:
        return task.ask([ask], lambda _: value)
    response = read_response(response_schema)
    ask = replace(ask, rules={"response_schema": response.schema})
    while True:
        given = task.ask([ask], lambda _: value)
        try:
            return response.convert(given)
        except ValueError as error:
            # A validator knows more than the schema could say: the question is put once more.
            ask = replace(ask, rules={**ask.rules, "refused": str(error)})


def step(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function once and keep its result, so that a resumed node does not call it again.

    The function is at-least-once: a crash inside it, before its result is kept, runs it again.
    An async node awaits ``astep`` instead: to keep a result is to write to the store, which must
    not block the event loop. An async function may be given here too: ``await step(fetch, url)``.

    Args:
        fn: What to call; its name and its order in the node are its key.
        *args: Passed on.
        **kwargs: Passed on.

    Returns:
        Its result, from now or from before.

    Raises:
        OutsideRun: No node is running here.
        Misuse: The node's steps come in another order than when the result was kept, a function
            that is not known as async gave something to await, or a sync one was given on an
            event loop.
        NotStorable: The result cannot be saved.
    """
    task = current_task("step()")
    name = _name(fn)
    if is_async(fn):
        key, known = task.next_note(name)
        return _awaited(task, key, name, None if known else fn(*args, **kwargs))  # type: ignore[return-value]
    if task.awaited and _on_event_loop():
        raise Misuse(
            f"step({name}) was called on an event loop, in node {task.node.name!r}; keeping its "
            "result would block it.",
            hint=f"In async code: await astep({name}, ...), which runs a sync function in a "
            "thread.",
            node=task.node.name,
        )
    key, known = task.next_note(name)
    if known:
        return unpack(task.record.notes[key])  # type: ignore[return-value]
    result = fn(*args, **kwargs)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise Misuse(
            f"step({name}) was given a function whose result is to be awaited.",
            hint="Give the async function itself: await step(fetch, url).",
        )
    note = pack(result, f"step({name})")
    task.run.journal.note(task.place, key, note)
    task.record.notes[key] = note
    return result


def astep(
    fn: Callable[P, Awaitable[T]] | Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> Coroutine[object, object, T]:
    """Call a function once and keep its result, without blocking the event loop; see ``step``.

    ``await astep(fetch, url)``. An async function is awaited; a sync one runs in a thread, as
    sync nodes of async runs do. Its place among the node's steps is that of this call.

    Args:
        fn: What to call; its name and its order in the node are its key.
        *args: Passed on.
        **kwargs: Passed on.

    Returns:
        What to await for its result, from now or from before.

    Raises:
        OutsideRun: No node is running here.
        Misuse: The node's steps come in another order than when the result was kept.
        NotStorable: The result cannot be saved.
    """
    task = current_task("astep()")
    name = _name(fn)
    key, known = task.next_note(name)
    call: object = None
    if not known:
        call = fn(*args, **kwargs) if is_async(fn) else _in_thread(partial(fn, *args, **kwargs))
    return cast("Coroutine[object, object, T]", _awaited(task, key, name, call))


async def _in_thread(fn: Callable[[], object]) -> object:
    import asyncio

    result = await asyncio.to_thread(fn)
    return await result if inspect.isawaitable(result) else result


def _on_event_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _awaited(task: Task, key: str, name: str, call: object) -> object:
    if key in task.record.notes:
        return unpack(task.record.notes[key])
    assert inspect.isawaitable(call)
    result = await call
    note = pack(result, f"step({name})")
    await task.run.journal.anote(task.place, key, note)
    task.record.notes[key] = note
    return result


def _name(fn: Callable[..., object]) -> str:
    """Return a name that is the same in the next process."""
    while isinstance(fn, partial):
        fn = fn.func
    return str(getattr(fn, "__qualname__", None) or type(fn).__qualname__)
