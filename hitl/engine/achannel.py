"""A run driven in an asyncio task of its own, with a bounded channel to the one who reads it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator

from hitl.engine.channel import SIZE
from hitl.engine.watch import Left, Told

__all__ = ["AsyncChannel", "aearly"]

BLOCKED = 0.5
"""Seconds after which a loop that serves nothing counts as blocked, perhaps by the very run that
waits for room (a sync ``invoke`` inside an async node): then a part is handed over at once."""


class AsyncChannel:
    """Parts on their way to a coroutine that reads; made on the reader's event loop."""

    def __init__(self) -> None:
        self.left = False
        self._parts: deque[Told] = deque()
        self._ended = False
        self._loop = asyncio.get_running_loop()
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()

    @property
    def full(self) -> bool:
        """Return whether whoever can wait should wait before the next part."""
        return len(self._parts) >= SIZE and not self.left

    def put(self, told: Told) -> None:
        """Hand over a part. In another thread it waits for room; on the loop nothing may block.

        Raises:
            Left: The reader has left.
        """
        if self.left or self._loop.is_closed():
            raise Left
        if self._is_here():
            self._parts.append(told)
            self._filled.set()
        else:
            if self.full:
                self._wait_elsewhere()
            self._parts.append(told)
            self._loop.call_soon_threadsafe(self._filled.set)

    async def room(self) -> None:
        """Wait until there is room.

        Raises:
            Left: The reader has left.
        """
        if self._is_here():
            await self._room()
        else:
            there = asyncio.run_coroutine_threadsafe(self._room(), self._loop)
            await asyncio.wrap_future(there)

    def _wait_elsewhere(self) -> None:
        """Wait for room in another thread than the loop's."""
        served = threading.Event()

        async def room() -> None:
            served.set()
            await self._room()

        future = asyncio.run_coroutine_threadsafe(room(), self._loop)
        if served.wait(BLOCKED):
            future.result()
        else:
            future.cancel()

    def _is_here(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    async def _room(self) -> None:
        while self.full:
            self._emptied.clear()
            await self._emptied.wait()
        if self.left:
            raise Left

    async def get(self) -> Told | None:
        """Return the next part, once there is one; None at the end."""
        while not self._parts:
            if self._ended:
                return None
            self._filled.clear()
            await self._filled.wait()
        told = self._parts.popleft()
        self._emptied.set()
        return told

    def end(self) -> None:
        """Say that no more parts come."""
        self._ended = True
        self._filled.set()

    def leave(self) -> None:
        """Say that nobody reads any more: whoever writes is unwound."""
        self.left = True
        self._emptied.set()


async def aearly(
    channel: AsyncChannel, parts: AsyncGenerator[Told, None]
) -> AsyncGenerator[Told, None]:
    """Drive a run in a task of its own, and yield what it tells while it runs.

    Leaving early cancels the run, and waits until it has given back what it holds.

    Args:
        channel: What the run tells its parts to.
        parts: Drives the run.

    Raises:
        BaseException: What the run raises.
    """
    errors: list[BaseException] = []

    async def run() -> None:
        try:
            async for _ in parts:
                pass
        except BaseException as error:  # noqa: BLE001 - raised again where it is read
            errors.append(error)
        finally:
            await parts.aclose()
            channel.end()

    worker = asyncio.create_task(run())
    try:
        while (told := await channel.get()) is not None:
            yield told
    finally:
        channel.leave()
        worker.cancel()
        await asyncio.wait({worker})
    if errors:
        raise errors[0]
