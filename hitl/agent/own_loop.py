"""Awaiting from sync code: an event loop that lives for one call."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import TypeVar

from hitl.errors import Misuse

__all__ = ["run_in_own_loop"]

T = TypeVar("T")


def run_in_own_loop(what: str, awaitable: Awaitable[T]) -> T:
    """Return what an awaitable comes to.

    Args:
        what: What is awaited, for the error.
        awaitable: It is closed where it cannot be run.

    Raises:
        Misuse: An event loop is running in this thread already.
    """
    import asyncio

    async def waited() -> T:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(waited())
    if inspect.iscoroutine(awaitable):
        awaitable.close()
    raise Misuse(
        f"The {what} is async, and an event loop is running here.",
        hint="Await ainvoke (of the tool, the graph or the agent) instead.",
    )
