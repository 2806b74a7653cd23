"""A run driven in a thread of its own, with a bounded channel to the one who reads it."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Generator

from hitl.engine.effects import Effect, Ending, Start
from hitl.engine.stepper import Steps
from hitl.engine.watch import Left, Told

__all__ = ["SIZE", "Channel", "early", "until_left"]

SIZE = 16
"""How many parts may wait for the reader: enough to keep a reader busy, and nothing to hold."""


class Channel:
    """Parts on their way from a thread that runs to a thread that reads."""

    def __init__(self) -> None:
        self.left = False
        self._parts: deque[Told] = deque()
        self._ended = False
        self._turn = threading.Condition()

    @property
    def full(self) -> bool:
        """Return whether the next part would have to wait."""
        return len(self._parts) >= SIZE and not self.left

    def put(self, told: Told) -> None:
        """Hand over a part, once there is room.

        Raises:
            Left: The reader has left.
        """
        with self._turn:
            self._wait()
            self._parts.append(told)
            self._turn.notify_all()

    async def room(self) -> None:
        """Wait until there is room, from an event loop that a node runs by itself.

        Raises:
            Left: The reader has left.
        """
        import asyncio

        await asyncio.to_thread(self._room)

    def _room(self) -> None:
        with self._turn:
            self._wait()

    def _wait(self) -> None:
        while self.full:
            self._turn.wait()
        if self.left:
            raise Left

    def get(self) -> Told | None:
        """Return the next part, once there is one; None at the end."""
        with self._turn:
            while not self._parts and not self._ended:
                self._turn.wait()
            if not self._parts:
                return None
            told = self._parts.popleft()
            self._turn.notify_all()
            return told

    def end(self) -> None:
        """Say that no more parts come."""
        with self._turn:
            self._ended = True
            self._turn.notify_all()

    def leave(self) -> None:
        """Say that nobody reads any more: whoever writes is unwound."""
        with self._turn:
            self.left = True
            self._turn.notify_all()


def until_left(steps: Steps, channel: Channel) -> Steps:
    """Return a run that starts no more tasks once its reader has left.

    What a task has finished by then is still committed.
    """
    reply: object = None
    while True:
        try:
            effect: Effect = steps.send(reply)
        except StopIteration as stop:
            ending: Ending = stop.value
            return ending
        if channel.left and type(effect) is Start:
            raise Left
        reply = yield effect


def early(
    channel: Channel, work: Callable[[], object], shown: Callable[[Told], object]
) -> Generator[object, None, None]:
    """Do work in a thread of its own, and yield what it tells while it is done.

    Leaving early unwinds the work, and waits until it has given back what it holds.

    Args:
        channel: What the work tells its parts to.
        work: Called with the reader's context variables.
        shown: Makes of a part what is yielded.

    Raises:
        BaseException: What the work raises.
    """
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again where it is read
            errors.append(error)
        finally:
            channel.end()

    context = contextvars.copy_context()
    # A daemon: a program that ends does not wait for a node whose reader is gone.
    thread = threading.Thread(target=context.run, args=(run,), name="hitl-stream", daemon=True)
    thread.start()
    try:
        while (told := channel.get()) is not None:
            yield shown(told)
    finally:
        channel.leave()
        thread.join()
    if errors:
        raise errors[0]
