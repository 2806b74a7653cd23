"""The sync hand: carries out the stepper's effects in this thread, with a pool for siblings."""

from __future__ import annotations

import contextvars
import os
import queue
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from hitl.engine.commits import answer_kept
from hitl.engine.effects import Append, Emit, Ending, Load, Look, Settle, Start
from hitl.engine.nested import NestedWriter
from hitl.engine.patience import Patience
from hitl.engine.run import run_task
from hitl.engine.standing import Standing
from hitl.engine.stepper import Steps
from hitl.engine.task import Task
from hitl.engine.writer import NoJournal, Writer
from hitl.errors import Busy, Conflict, Stale
from hitl.values import Item, Receipt

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["Desk", "drive", "exhaust"]

Part = tuple[str, object]


class Desk:
    """What a hand reads from and writes to: the thread and its items.

    Args:
        load: Reads where the thread stands.
        look: Reads items.
        writer: Commits.
        wait: Seconds to wait, in all, for another run that holds the thread.
    """

    def __init__(
        self,
        load: Callable[[int], Standing],
        look: Callable[[tuple[str, ...]], list[Item]],
        writer: Writer | NestedWriter | NoJournal,
        wait: float = 0.0,
    ) -> None:
        self.load = load
        self.look = look
        self.writer = writer
        self.patience = Patience(wait)
        self.kept = False

    def append(self, effect: Append) -> Receipt | Conflict | Stale:
        """Commit; an opening commit that came too late is told to the stepper as its reply.

        Raises:
            Busy, Stale, Conflict, StoreFailed: See ``Checkpointer.append``.
        """
        try:
            receipt = self.writer.append(effect)
            self.kept = self.kept or (effect.decision and receipt.fence is None)
            return receipt
        except Busy as error:
            if self.kept:
                raise answer_kept(str(error.fields.get("thread"))) from error
            raise
        except (Conflict, Stale) as error:
            if effect.lease != "acquire":
                raise
            return error


def _append(desk: Desk, effect: Append) -> Receipt | Conflict | Stale:
    """Commit, with patience where another run holds the thread."""
    while True:
        try:
            return desk.append(effect)
        except Busy:
            pause = desk.patience.pause()
            if pause is None or effect.lease != "acquire":
                raise
        time.sleep(pause)


def drive(steps: Steps, desk: Desk, max_concurrency: int) -> Generator[Part, None, Ending]:
    """Carry out a run's effects; yield what those who watch are told; return its ending.

    Raises:
        BaseException: What the run raises; the thread's lease is given back first.
    """
    reply: object = None
    siblings = _Siblings(max_concurrency)
    try:
        while True:
            try:
                effect = steps.send(reply)
            except StopIteration as stop:
                ending: Ending = stop.value
                return ending
            reply = None
            if type(effect) is Start:
                siblings.start(effect.tasks)
            elif type(effect) is Settle:
                reply = siblings.settle()
            elif type(effect) is Append:
                reply = _append(desk, effect)
            elif type(effect) is Load:
                reply = desk.load(effect.checkpoint)
            elif type(effect) is Look:
                reply = desk.look(effect.ids)
            elif type(effect) is Emit:
                yield effect.mode, effect.data
    finally:
        siblings.close()
        desk.writer.release()


def exhaust(parts: Generator[Part, None, Ending]) -> Ending:
    """Drive a run that nobody watches to its end."""
    while True:
        try:
            next(parts)
        except StopIteration as stop:
            ending: Ending = stop.value
            return ending


_idle: dict[int, list[ThreadPoolExecutor]] = {}
"""Pools between two runs, by size. Each has one run at a time, so that a run inside a node of
another cannot wait for threads that wait for it; and most runs start no threads."""


def _take_pool(size: int) -> ThreadPoolExecutor:
    try:
        return _idle[size].pop()
    except (KeyError, IndexError):
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(size, thread_name_prefix="hitl-node")


if hasattr(os, "register_at_fork"):  # a child has the pools, but not their threads
    os.register_at_fork(after_in_child=_idle.clear)


class _Siblings:
    """The tasks of a superstep: one runs in place, several in a pool."""

    def __init__(self, max_concurrency: int) -> None:
        self._single: Task | None = None
        self._limit = max_concurrency
        self._pool: ThreadPoolExecutor | None = None
        self._open = 0
        self._waiting: deque[tuple[contextvars.Context, Task]] = deque()
        self._settled: queue.SimpleQueue[Task | BaseException] = queue.SimpleQueue()

    def start(self, tasks: list[Task]) -> None:
        if len(tasks) == 1:
            self._single = tasks[0]
            return
        if self._pool is None:
            self._pool = _take_pool(self._limit)
        context = contextvars.copy_context()
        self._waiting.extend((context.copy(), task) for task in tasks)
        self._open = len(tasks)
        for _ in range(min(self._limit, len(tasks))):
            self._pool.submit(self._work)

    def _work(self) -> None:
        """Run tasks until none waits: a future a thread, not one a task."""
        while True:
            try:
                context, task = self._waiting.popleft()
            except IndexError:
                return
            context.run(self._run, task)

    def _run(self, task: Task) -> None:
        try:
            self._settled.put(run_task(task))
        except BaseException as error:  # noqa: BLE001 - raised again where the run is driven
            self._settled.put(error)

    def settle(self) -> list[Task]:
        single, self._single = self._single, None
        if single is not None:
            return [run_task(single)]
        found = [self._settled.get()]
        while not self._settled.empty():
            found.append(self._settled.get())
        self._open -= len(found)
        tasks: list[Task] = []
        for one in found:
            if isinstance(one, BaseException):
                raise one
            tasks.append(one)
        return tasks

    def close(self) -> None:
        if self._pool is not None:
            self._waiting.clear()
            if self._open:  # its threads are busy with tasks that were given up
                self._pool.shutdown(wait=False, cancel_futures=True)
            else:
                _idle.setdefault(self._limit, []).append(self._pool)
