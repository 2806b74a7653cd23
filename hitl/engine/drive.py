"""The sync hand: carries out the stepper's effects in this thread, with a pool for siblings."""

from __future__ import annotations

import contextvars
import queue
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor

from hitl.engine.effects import Append, Ending, Load, Look, Settle, Start
from hitl.engine.run import run_task
from hitl.engine.standing import Standing
from hitl.engine.stepper import Steps
from hitl.engine.task import Task
from hitl.engine.writer import NoJournal, Writer
from hitl.values import Item

__all__ = ["MAX_THREADS", "Desk", "drive"]

MAX_THREADS = 32

Part = tuple[str, object]


class Desk:
    """What a hand reads from: the thread and its items."""

    def __init__(
        self,
        load: Callable[[], Standing],
        look: Callable[[tuple[str, ...]], list[Item]],
        writer: Writer | NoJournal,
    ) -> None:
        self.load = load
        self.look = look
        self.writer = writer


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
            kind = type(effect)
            reply = None
            if kind is Start:
                siblings.start(effect.tasks)  # type: ignore[union-attr]
            elif kind is Settle:
                reply = siblings.settle()
            elif kind is Append:
                reply = desk.writer.append(effect)  # type: ignore[arg-type]
            elif kind is Load:
                reply = desk.load()
            elif kind is Look:
                reply = desk.look(effect.ids)  # type: ignore[union-attr]
            else:
                yield effect.mode, effect.data  # type: ignore[union-attr]
    finally:
        siblings.close()
        desk.writer.release()


class _Siblings:
    """The tasks of a superstep: one runs in place, several in a pool."""

    def __init__(self, max_concurrency: int) -> None:
        self._single: Task | None = None
        self._limit = max_concurrency
        self._pool: ThreadPoolExecutor | None = None
        self._settled: queue.SimpleQueue[Task | BaseException] = queue.SimpleQueue()

    def start(self, tasks: list[Task]) -> None:
        if len(tasks) == 1:
            self._single = tasks[0]
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._limit, thread_name_prefix="hitl-node")
        for task in tasks:
            self._pool.submit(contextvars.copy_context().run, self._run, task)

    def _run(self, task: Task) -> None:
        try:
            self._settled.put(run_task(task))
        except BaseException as error:  # it is raised again where the run is driven
            self._settled.put(error)

    def settle(self) -> list[Task]:
        single, self._single = self._single, None
        if single is not None:
            return [run_task(single)]
        found = [self._settled.get()]
        while not self._settled.empty():
            found.append(self._settled.get())
        tasks: list[Task] = []
        for one in found:
            if isinstance(one, BaseException):
                raise one
            tasks.append(one)
        return tasks

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
