"""Who watches a run, and how what happens in it reaches them. Knows no stepper and no graph.

A run that nobody watches has no watch, and nothing here is called for it.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from hitl.engine.schema import Schema
from hitl.values import Interrupt

__all__ = ["EARLY", "Left", "Namespace", "Reader", "Sink", "Told", "Watch"]

EARLY = frozenset(("custom", "messages"))
"""Modes whose parts are told while a node still runs."""

Namespace = tuple[str, ...]
"""The tasks around a run, outermost first: ``("node:task id", ...)``."""


class Left(BaseException):
    """Unwinds a run whose reader has left; what it has committed stays, and can be resumed."""


class Told(NamedTuple):
    """One thing that happened in a run.

    Attributes:
        ns: Where, seen from the reader's own run.
        mode: What kind of thing.
        data: It.
        waits: What waits for a human, where the state is told.
        schema: The class of the state that is told, if it is told whole.
    """

    ns: Namespace
    mode: str
    data: object
    waits: tuple[Interrupt, ...] = ()
    schema: Schema | None = None


class Sink(Protocol):
    """Where parts go on their way to a reader: bounded, so that a slow reader slows the run."""

    @property
    def full(self) -> bool:
        """Return whether whoever can wait should wait before the next part."""
        ...

    def put(self, told: Told) -> None:
        """Hand over a part; waits for room, except on the reader's own event loop.

        Raises:
            Left: The reader has left.
        """
        ...

    async def room(self) -> None:
        """Wait until there is room.

        Raises:
            Left: The reader has left.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reader:
    """One who reads a run's stream.

    Attributes:
        ns: Where the run stands, seen from the run that the reader has started.
        modes: What is wanted.
        subgraphs: Whether runs inside this one are wanted as well.
        sink: Where it goes.
    """

    ns: Namespace
    modes: frozenset[str]
    subgraphs: bool
    sink: Sink


class Watch:
    """All who read what happens in one run: its own reader, and those of the runs around it.

    Args:
        readers: They.
        seen: Ids of the messages that have been told, shared with the runs inside.
    """

    __slots__ = ("modes", "ns", "readers", "seen")

    def __init__(self, readers: tuple[Reader, ...], seen: set[str]) -> None:
        self.readers = readers
        self.seen = seen
        self.modes = frozenset[str]().union(*(reader.modes for reader in readers))
        self.ns = max((reader.ns for reader in readers), key=len)

    def inside(self, node: str, task: str, number: int) -> Watch | None:
        """Return the watch over a run inside a task of this one, None if nobody wants it.

        Args:
            node: The task's node.
            task: The task's id.
            number: Which of the runs inside the task it is.
        """
        place = (f"{node}:{task}", *((str(number),) if number else ()))
        readers = tuple(
            Reader(reader.ns + place, reader.modes, True, reader.sink)
            for reader in self.readers
            if reader.subgraphs
        )
        return Watch(readers, self.seen) if readers else None

    def tell(self, told: Told) -> None:
        """Tell everybody who wants to know; each reader sees it from where it stands.

        Raises:
            Left: A reader has left.
        """
        for reader in self.readers:
            if told.mode in reader.modes:
                reader.sink.put(told._replace(ns=reader.ns))

    async def atell(self, told: Told) -> None:
        """Tell everybody who wants to know, without blocking the event loop.

        Raises:
            Left: A reader has left.
        """
        for reader in self.readers:
            if told.mode in reader.modes:
                if reader.sink.full:
                    await reader.sink.room()
                reader.sink.put(told._replace(ns=reader.ns))

    def write(self, data: object) -> None:
        """Write to the ``custom`` stream.

        Raises:
            Left: A reader has left.
        """
        self.tell(Told((), "custom", data))

    def paced(self, fn: Callable[[], object]) -> Callable[[], object]:
        """Return a node's call whose coroutine goes on only when its readers have caught up.

        Writing to a stream is no ``await``, so that an async node cannot wait where it writes;
        it waits where it awaits anything at all.
        """

        def call() -> object:
            value = fn()
            return self._pace(value) if inspect.iscoroutine(value) else value

        return call

    @types.coroutine
    def _pace(self, inner: Coroutine[object, None, object]) -> Generator[object, None, object]:
        error: BaseException | None = None
        while True:
            try:
                waited = inner.send(None) if error is None else inner.throw(error)
            except StopIteration as stop:
                value: object = stop.value
                return value
            error = None
            try:
                yield waited
                for reader in self.readers:
                    if reader.sink.full:
                        yield from reader.sink.room().__await__()
            except BaseException as caught:  # noqa: BLE001 - the node's to see, a cancellation too
                error = caught
