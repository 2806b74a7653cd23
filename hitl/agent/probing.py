"""Asking a tool what became of a call: a probe that fails does not know."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import cast

from hitl.agent.own_loop import run_in_own_loop

__all__ = ["Probe", "aprobed", "probed"]

Probe = Callable[[str], object]


def probed(name: str, probe: Probe, key: str) -> object:
    """Return what a probe says of a key, None where it fails."""
    try:
        said = probe(key)
        if inspect.isawaitable(said):
            return run_in_own_loop(f"probe of tool {name!r}", said)
        return said
    except Exception as error:  # noqa: BLE001 - then a human is asked
        _tell(name, error)
        return None


async def aprobed(name: str, probe: Probe, key: str) -> object:
    """Return what a probe says of a key, None where it fails. A sync one runs in a thread."""
    import asyncio

    try:
        if inspect.iscoroutinefunction(probe):
            return await cast(Awaitable[object], probe(key))
        said = await asyncio.to_thread(probe, key)
        return await said if inspect.isawaitable(said) else said
    except Exception as error:  # noqa: BLE001 - then a human is asked
        _tell(name, error)
        return None


def _tell(name: str, error: Exception) -> None:
    logging.getLogger("hitl").warning(
        "the probe of tool %r failed, so a human is asked: %r", name, error
    )
