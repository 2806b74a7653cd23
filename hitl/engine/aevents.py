"""A run to be read on an event loop: the async hand of ``hitl.engine.events``."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Mapping,
)
from types import MappingProxyType, TracebackType
from typing import Generic, Protocol, TypeVar

from hitl.engine.fold import VALUES, Fold, Letters, Message, node_and_task, tagging
from hitl.engine.streaming import Form
from hitl.values import Interrupt

__all__ = [
    "AsyncInnerRun",
    "AsyncMessageStream",
    "AsyncProjection",
    "AsyncRunStream",
    "AsyncText",
    "Later",
]

M = TypeVar("M")


class _Pull(Protocol):
    """Takes the next part of a run, unless by now nothing more is wanted."""

    def __call__(self, enough: Callable[[], bool] | None = None) -> Awaitable[None]: ...


class AsyncProjection(Generic[M]):
    """One kind of thing that a run holds, for one reader.

    Args:
        subscribe: Begins to read it.
    """

    def __init__(self, subscribe: Callable[[], AsyncIterator[M]]) -> None:
        self._subscribe = subscribe

    def __aiter__(self) -> AsyncIterator[M]:
        """Read it from now on.

        Raises:
            Subscribed: It has a reader already.
        """
        return self._subscribe()


class Later(Generic[M]):
    """A value that is awaited, and may be left alone.

    Args:
        get: What is awaited.
    """

    def __init__(self, get: Callable[[], Awaitable[M]]) -> None:
        self._get = get

    def __await__(self) -> Generator[object, None, M]:
        return self._get().__await__()


class AsyncText:
    """The text of a message: iterate over its tokens, or await all of it."""

    def __init__(self, letters: Letters, pull: Callable[[], Awaitable[None]]) -> None:
        self._letters = letters
        self._pull = pull

    def __aiter__(self) -> AsyncIterator[str]:
        """Read the tokens as they arrive.

        Raises:
            Subscribed: They have a reader already.
        """
        self._letters.subscribe()
        return self._tokens()

    async def _tokens(self) -> AsyncIterator[str]:
        read = 0
        while True:
            while read < len(self._letters.tokens):
                read += 1
                yield self._letters.tokens[read - 1]
            if self._letters.done:
                return
            await self._pull()

    def __await__(self) -> Generator[object, None, str]:
        return self._all().__await__()

    async def _all(self) -> str:
        while not self._letters.done:
            await self._pull()
        return "".join(self._letters.tokens)


class AsyncMessageStream:
    """A message of a model, while it arrives.

    Attributes:
        id: The message's id.
        node: The node that writes it.
        text: Its text, token by token.
        output: The whole message, to be awaited; None where its run ended before.
        tool_calls: The calls that it proposes, to be awaited.
    """

    def __init__(self, letters: Letters, pull: Callable[[], Awaitable[None]]) -> None:
        self.id = letters.id
        self.node = letters.node
        self.text = AsyncText(letters, pull)
        self.output: Later[Message | None] = Later(self._whole)
        self.tool_calls: Later[list[object]] = Later(self._calls)
        self._letters = letters
        self._pull = pull

    async def _whole(self) -> Message | None:
        while not self._letters.done:
            await self._pull()
        return self._letters.whole

    async def _calls(self) -> list[object]:
        return list(getattr(await self._whole(), "tool_calls", ()))


class AsyncLevel:
    """A run that is read by what it holds, on whatever level; see ``AsyncRunStream``."""

    def __init__(self, fold: Fold[AsyncMessageStream], pull: _Pull) -> None:
        self._fold = fold
        self._pull = pull
        self.messages: AsyncProjection[AsyncMessageStream] = AsyncProjection(
            lambda: self._read("messages")
        )
        self.values: AsyncProjection[object] = AsyncProjection(lambda: self._read("values"))
        self.lifecycle: AsyncProjection[dict[str, object]] = AsyncProjection(
            lambda: self._read("lifecycle")
        )
        self.subgraphs: AsyncProjection[AsyncInnerRun] = AsyncProjection(
            lambda: self._read("subgraphs")
        )

    @property
    def extensions(self) -> Mapping[str, object]:
        """All that it holds, by name."""
        return MappingProxyType({name: getattr(self, name) for name in Fold.names})

    def __aiter__(self) -> AsyncIterator[dict[str, object]]:
        """Read all events of the run; see ``RunStream``.

        Raises:
            Subscribed: They have a reader already.
        """
        return self._read("events")

    async def output(self) -> object:
        """Return the values at the end of the run, which is driven to it."""
        return (await self._finished()).values

    async def interrupted(self) -> bool:
        """Return whether the run has paused for a human; it is driven to its end."""
        return bool((await self._finished()).interrupts)

    async def interrupts(self) -> list[Interrupt]:
        """Return what waits for a human at the end of the run, which is driven to it."""
        return list((await self._finished()).interrupts)

    def interleave(self, *names: str) -> AsyncIterator[tuple[str, object]]:
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

    def _read(self, name: str) -> AsyncIterator[M]:
        items: deque[M] = deque()
        self._fold.subscribe(name, items.append)  # type: ignore[arg-type]
        return self._each(items)

    async def _each(self, items: deque[M]) -> AsyncIterator[M]:
        while True:
            while items:
                yield items.popleft()
            if self._fold.ended:
                self._fold.check()
                return
            await self._pull(lambda: bool(items) or self._fold.ended)

    async def _finished(self) -> Fold[AsyncMessageStream]:
        while not self._fold.ended:
            await self._pull(lambda: self._fold.ended)
        self._fold.check()
        return self._fold


class AsyncInnerRun(AsyncLevel):
    """A run inside a node of another one; see ``InnerRun``.

    Attributes:
        path: The tasks around it, outermost first: ``("node:task id", ...)``.
        graph_name: The node in which it runs.
        trigger_call_id: The task in which it runs.
        messages: The models' messages in it, each an ``AsyncMessageStream``.
        values: Its state after each step.
        lifecycle: When runs inside it begin and end.
        subgraphs: The runs inside it, each an ``AsyncInnerRun``.
    """

    def __init__(self, fold: Fold[AsyncMessageStream], pull: _Pull) -> None:
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


class AsyncRunStream(AsyncLevel):
    """A run that is read by what it holds; see ``RunStream``.

    Attributes:
        messages: The models' messages, each an ``AsyncMessageStream``.
        values: The state after each step.
        lifecycle: When runs inside its nodes begin and end.
        subgraphs: The runs inside its nodes, each an ``AsyncInnerRun``.
    """

    def __init__(self, start: Callable[[Form], AsyncGenerator[object, None]]) -> None:
        self._start = start
        self._parts: AsyncGenerator[object, None] | None = None
        self._lock = asyncio.Lock()
        self._pulling: asyncio.Future[object] | None = None
        self._aborted = False
        super().__init__(
            Fold(
                lambda letters: AsyncMessageStream(letters, self._take),
                lambda fold: AsyncInnerRun(fold, self._take),
            ),
            self._take,
        )

    async def abort(self) -> None:
        """Leave the run: what it does is cancelled, and its thread can be resumed."""
        self._aborted = True
        if self._pulling is not None:
            self._pulling.cancel()
        async with self._lock:
            await self._close()

    async def __aenter__(self) -> AsyncRunStream:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.abort()

    async def _finished(self) -> Fold[AsyncMessageStream]:
        async with self._lock:
            if self._parts is None and not self._fold.ended:
                self._parts = self._start(VALUES)
        return await super()._finished()

    async def _take(self, enough: Callable[[], bool] | None = None) -> None:
        """Take the next part of the run; whatever ends it is told to all who read.

        Args:
            enough: Nothing is taken if it says so by now: what is wanted came while another
                reader took a part.
        """
        async with self._lock:
            if self._fold.ended or (enough is not None and enough()):
                return
            if self._parts is None:
                self._parts = self._start(self._fold.form())
            # A task, so that abort() can cancel it and not the one who reads.
            self._pulling = asyncio.ensure_future(anext(self._parts))
            try:
                self._fold.take(await self._pulling)  # type: ignore[arg-type]
            except StopAsyncIteration:
                self._fold.end()
            except asyncio.CancelledError as error:
                if not self._aborted:
                    self._fold.end(error)
                    raise
            except BaseException as error:
                self._fold.end(error)
                raise
            finally:
                self._pulling = None
            if self._aborted:
                await self._close()

    async def _close(self) -> None:
        if self._parts is not None:
            await self._parts.aclose()
        if not self._fold.ended:
            self._fold.end()
