"""The async hand: carries out the same effects on an event loop, and never blocks it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import TypeVar

from hitl.engine.drive import Desk
from hitl.engine.effects import Append, Emit, Ending, Load, Look, Settle, Start
from hitl.engine.run import arun_task
from hitl.engine.stepper import Steps
from hitl.engine.task import Task
from hitl.errors import Busy, Conflict, Stale
from hitl.values import Receipt

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
    blocking = desk.writer.blocking
    try:
        while True:
            try:
                effect = steps.send(reply)
            except StopIteration as stop:
                yield stop.value
                return
            reply = None
            if type(effect) is Start:
                siblings.start(effect.tasks)
            elif type(effect) is Settle:
                reply = await siblings.settle()
            elif type(effect) is Append:
                reply = await _append(blocking, desk, effect)
            elif type(effect) is Load:
                reply = await _call(blocking, partial(desk.load, effect.checkpoint))
            elif type(effect) is Look:
                reply = await _call(blocking, desk.look, effect.ids)
            elif type(effect) is Emit:
                yield effect.mode, effect.data
    finally:
        await siblings.close()
        # Whoever cancels once more must not keep the lease from being given back.
        await asyncio.shield(_call(blocking and desk.writer.holds, desk.writer.release))


async def _append(blocking: bool, desk: Desk, effect: Append) -> Receipt | Conflict | Stale:
    """Commit, with patience where another run holds the thread."""
    while True:
        try:
            return await _call(blocking, desk.append, effect)
        except Busy:
            pause = desk.patience.pause()
            if pause is None or effect.lease != "acquire":
                raise
        await asyncio.sleep(pause)


async def _call(blocking: bool, fn: Callable[..., T], *args: object) -> T:
    return await asyncio.to_thread(fn, *args) if blocking else fn(*args)


class _Siblings:
    """The tasks of a superstep: one is awaited in place, several side by side."""

    def __init__(self, max_concurrency: int) -> None:
        self._single: Task | None = None
        self._limit = max_concurrency
        self._waiting: deque[Task] = deque()
        self._running: set[asyncio.Task[Task]] = set()
        self._settled: list[asyncio.Task[Task]] = []
        self._news = asyncio.Event()

    def start(self, tasks: list[Task]) -> None:
        if len(tasks) == 1:
            self._single = tasks[0]
            return
        self._waiting.extend(tasks)
        for _ in range(min(self._limit, len(tasks))):
            self._begin()

    def _begin(self) -> None:
        """Begin the next task: of thousands only those exist that may run."""
        running = asyncio.create_task(arun_task(self._waiting.popleft()))
        running.add_done_callback(self._note)
        self._running.add(running)

    def _note(self, done: asyncio.Task[Task]) -> None:
        # To be told costs the same for each of thousands; asyncio.wait looks at all every time.
        self._running.discard(done)
        self._settled.append(done)
        self._news.set()
        if self._waiting:
            self._begin()

    async def settle(self) -> list[Task]:
        single, self._single = self._single, None
        if single is not None:
            return [await arun_task(single)]
        await self._news.wait()
        self._news.clear()
        done, self._settled = self._settled, []
        return sorted((one.result() for one in done), key=lambda task: task.place)

    async def close(self) -> None:
        self._waiting.clear()
        given_up = [*self._running, *self._settled]  # those that nobody has asked for as well
        for one in given_up:
            one.cancel()
        if given_up:
            await asyncio.gather(*given_up, return_exceptions=True)
