"""The async hand: carries out the same effects on an event loop, and never blocks it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

from hitl.engine.drive import Desk
from hitl.engine.effects import Append, Ending, Load, Look, Settle, Start
from hitl.engine.run import arun_task, run_task
from hitl.engine.stepper import Steps
from hitl.engine.task import Task

__all__ = ["adrive"]

T = TypeVar("T")


async def adrive(
    steps: Steps, desk: Desk, max_concurrency: int
) -> AsyncGenerator[tuple[str, object] | Ending, None]:
    """Carry out a run's effects; yield what those who watch are told, and last its ending.

    Raises:
        BaseException: What the run raises; the thread's lease is given back first.
    """
    reply: object = None
    siblings = _Siblings(max_concurrency)
    call = _in_thread if desk.writer.blocking else _in_place
    try:
        while True:
            try:
                effect = steps.send(reply)
            except StopIteration as stop:
                yield stop.value
                return
            kind = type(effect)
            reply = None
            if kind is Start:
                siblings.start(effect.tasks)  # type: ignore[union-attr]
            elif kind is Settle:
                reply = await siblings.settle()
            elif kind is Append:
                append = effect
                reply = await call(lambda e=append: desk.writer.append(e))  # type: ignore[misc]
            elif kind is Load:
                reply = await call(desk.load)
            elif kind is Look:
                look = effect
                reply = await call(lambda e=look: desk.look(e.ids))  # type: ignore[misc]
            else:
                yield effect.mode, effect.data  # type: ignore[union-attr]
    finally:
        await siblings.close()
        await asyncio.shield(asyncio.ensure_future(call(desk.writer.release)))


async def _in_place(fn: Callable[[], T]) -> T:
    return fn()


async def _in_thread(fn: Callable[[], T]) -> T:
    return await asyncio.to_thread(fn)


class _Siblings:
    """The tasks of a superstep: one is awaited in place, several side by side."""

    def __init__(self, max_concurrency: int) -> None:
        self._single: Task | None = None
        self._gate = asyncio.Semaphore(max_concurrency)
        self._running: set[asyncio.Task[Task]] = set()

    def start(self, tasks: list[Task]) -> None:
        if len(tasks) == 1:
            self._single = tasks[0]
            return
        self._running = {asyncio.create_task(self._gated(task)) for task in tasks}

    async def _gated(self, task: Task) -> Task:
        async with self._gate:
            return await _run(task)

    async def settle(self) -> list[Task]:
        single, self._single = self._single, None
        if single is not None:
            return [await _run(single)]
        done, self._running = await asyncio.wait(
            self._running, return_when=asyncio.FIRST_COMPLETED
        )
        return sorted((one.result() for one in done), key=lambda task: task.place)

    async def close(self) -> None:
        for running in self._running:
            running.cancel()
        if self._running:
            await asyncio.gather(*self._running, return_exceptions=True)


async def _run(task: Task) -> Task:
    if task.node.is_async or task.node.afn is not None:
        return await arun_task(task)
    settled = await asyncio.to_thread(run_task, task)
    return settled
