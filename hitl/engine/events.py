"""A run to be read by what it holds: its messages, its values, its pauses, its events.

This is the sync hand over ``hitl.engine.fold``; ``hitl.engine.aevents`` has the async one. The
run goes on only as far as something is read of it, and what nobody has subscribed to is dropped.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from types import MappingProxyType, TracebackType
from typing import Generic, TypeVar

from hitl.engine.fold import VALUES, Fold, Letters, Message, node_and_task, tagging
from hitl.engine.streaming import Form
from hitl.values import Interrupt

__all__ = ["InnerRun", "MessageStream", "Projection", "RunStream", "Text"]

M = TypeVar("M")


class Projection(Generic[M]):
    """One kind of thing that a run holds, for one reader.

    Args:
        subscribe: Begins to read it.
    """

    def __init__(self, subscribe: Callable[[], Iterator[M]]) -> None:
        self._subscribe = subscribe

    def __iter__(self) -> Iterator[M]:
        """Read it from now on.

        Raises:
            Subscribed: It has a reader already.
        """
        return self._subscribe()


class Text:
    """The text of a message: iterate over its tokens, or take all of it with ``str()``."""

    def __init__(self, letters: Letters, pull: Callable[[], None]) -> None:
        self._letters = letters
        self._pull = pull

    def __iter__(self) -> Iterator[str]:
        """Read the tokens as they arrive.

        Raises:
            Subscribed: They have a reader already.
        """
        self._letters.subscribe()
        return self._tokens()

    def _tokens(self) -> Iterator[str]:
        read = 0
        while True:
            while read < len(self._letters.tokens):
                read += 1
                yield self._letters.tokens[read - 1]
            if self._letters.done:
                return
            self._pull()

    def __str__(self) -> str:
        while not self._letters.done:
            self._pull()
        return "".join(self._letters.tokens)


class MessageStream:
    """A message of a model, while it arrives.

    Attributes:
        id: The message's id.
        node: The node that writes it.
        text: Its text, token by token.
    """

    def __init__(self, letters: Letters, pull: Callable[[], None]) -> None:
        self.id = letters.id
        self.node = letters.node
        self.text = Text(letters, pull)
        self._letters = letters
        self._pull = pull

    @property
    def output(self) -> Message | None:
        """The whole message, once it is there; None where its run ended before."""
        while not self._letters.done:
            self._pull()
        return self._letters.whole

    @property
    def tool_calls(self) -> list[object]:
        """The calls that it proposes, once it is there."""
        return list(getattr(self.output, "tool_calls", ()))


class Level:
    """A run that is read by what it holds, on whatever level; see ``RunStream``."""

    def __init__(self, fold: Fold[MessageStream], pull: Callable[[], None]) -> None:
        self._fold = fold
        self._pull = pull
        self.messages: Projection[MessageStream] = Projection(lambda: self._read("messages"))
        self.values: Projection[object] = Projection(lambda: self._read("values"))
        self.lifecycle: Projection[dict[str, object]] = Projection(lambda: self._read("lifecycle"))
        self.subgraphs: Projection[InnerRun] = Projection(lambda: self._read("subgraphs"))

    @property
    def extensions(self) -> Mapping[str, object]:
        """All that it holds, by name."""
        return MappingProxyType({name: getattr(self, name) for name in Fold.names})

    def __iter__(self) -> Iterator[dict[str, object]]:
        """Read all events of the run, as ``{"type", "method", "params", "seq"}``.

        Where this is what is read first, runs inside nodes are told as well.

        Raises:
            Subscribed: They have a reader already.
        """
        return self._read("events")

    @property
    def output(self) -> object:
        """The values at the end of the run, which is driven to it."""
        return self._finished().values

    @property
    def interrupted(self) -> bool:
        """Whether the run has paused for a human; it is driven to its end."""
        return bool(self._finished().interrupts)

    @property
    def interrupts(self) -> list[Interrupt]:
        """What waits for a human at the end of the run, which is driven to it."""
        return list(self._finished().interrupts)

    def interleave(self, *names: str) -> Iterator[tuple[str, object]]:
        """Return ``(name, item)`` of several parts, in the order in which they arrive.

        Args:
            *names: ``"messages"``, ``"values"``, ``"lifecycle"``, ``"subgraphs"``.

        Raises:
            KeyError: There is no such part.
            Subscribed: One has a reader already.
        """
        items: deque[tuple[str, object]] = deque()
        for name in names:
            if name not in Fold.names:
                raise KeyError(name)
        for name in names:
            self._fold.subscribe(name, tagging(name, items))
        return self._each(items)

    def _read(self, name: str) -> Iterator[M]:
        items: deque[M] = deque()
        self._fold.subscribe(name, items.append)  # type: ignore[arg-type]
        return self._each(items)

    def _each(self, items: deque[M]) -> Iterator[M]:
        while True:
            while items:
                yield items.popleft()
            if self._fold.ended:
                self._fold.check()
                return
            self._pull()

    def _finished(self) -> Fold[MessageStream]:
        while not self._fold.ended:
            self._pull()
        self._fold.check()
        return self._fold


class InnerRun(Level):
    """A run inside a node of another one; it goes on with that one.

    Attributes:
        path: The tasks around it, outermost first: ``("node:task id", ...)``.
        graph_name: The node in which it runs.
        trigger_call_id: The task in which it runs.
        messages: The models' messages in it, each a ``MessageStream``.
        values: Its state after each step.
        lifecycle: When runs inside it begin and end.
        subgraphs: The runs inside it, each an ``InnerRun``.
    """

    def __init__(self, fold: Fold[MessageStream], pull: Callable[[], None]) -> None:
        super().__init__(fold, pull)
        self.path = fold.ns
        self.graph_name, self.trigger_call_id = node_and_task(fold.ns)

    @property
    def status(self) -> str:
        """``started``, or how it ended: ``completed``, ``interrupted``, ``failed``."""
        return self._fold.status

    @property
    def error(self) -> str | None:
        """What it failed with, as text."""
        return self._fold.failure


class RunStream(Level):
    """A run that is read by what it holds; it goes on as far as it is read.

    Each of its parts has one reader. Use it as a context manager, or call ``abort``, where you
    may leave before the end: the work is cancelled, and the thread can be resumed.

    Attributes:
        messages: The models' messages, each a ``MessageStream``.
        values: The state after each step.
        lifecycle: When runs inside its nodes begin and end.
        subgraphs: The runs inside its nodes, each an ``InnerRun``.
    """

    def __init__(self, start: Callable[[Form], Generator[object, None, None]]) -> None:
        self._start = start
        self._parts: Generator[object, None, None] | None = None
        self._lock = threading.RLock()
        self._aborted = False
        super().__init__(
            Fold(
                lambda letters: MessageStream(letters, self._take),
                lambda fold: InnerRun(fold, self._take),
            ),
            self._take,
        )

    def abort(self) -> None:
        """Leave the run: what it does is cancelled, and its thread can be resumed.

        From another thread than the reader's it takes effect with the next part.
        """
        self._aborted = True
        if self._lock.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._lock.release()

    def __enter__(self) -> RunStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.abort()

    def _finished(self) -> Fold[MessageStream]:
        with self._lock:
            if self._parts is None and not self._fold.ended:
                self._parts = self._start(VALUES)
        return super()._finished()

    def _take(self) -> None:
        """Take the next part of the run; whatever ends it is told to all who read."""
        with self._lock:
            if self._fold.ended:
                return
            if self._parts is None:
                self._parts = self._start(self._fold.form())
            try:
                self._fold.take(next(self._parts))  # type: ignore[arg-type]
            except StopIteration:
                self._fold.end()
            except BaseException as error:
                self._fold.end(error)
                raise
            if self._aborted:
                self._close()

    def _close(self) -> None:
        if self._parts is not None:
            self._parts.close()
        if not self._fold.ended:
            self._fold.end()
