"""Reading what a caller gives with a run: the config's keys, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hitl.checkpoint import check_thread_id
from hitl.errors import Misuse, NoThreadId
from hitl.ledger import near
from hitl.values import parse_checkpoint_id

__all__ = ["Settings", "read_config"]

_KNOWN = ("thread_id", "checkpoint_id", "checkpoint_ns", "reviewer")
_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Settings:
    """What a config says.

    Attributes:
        thread: The thread's id; empty where the graph has no checkpointer.
        checkpoint: Number of the checkpoint that it names, 0 for the newest.
        reviewer: Who answers; None for an unnamed reviewer.
        limit: The most supersteps of a run.
        max_concurrency: The most tasks that run side by side.
        metadata: What is kept with the input.
    """

    thread: str
    checkpoint: int
    reviewer: str | None
    limit: int
    max_concurrency: int
    metadata: dict[str, str | int | float | bool]


def read_config(config: Mapping[str, object] | None, *, saved: bool) -> Settings:
    """Return what a config says.

    Args:
        config: ``{"configurable": {"thread_id": ..., ...}, "recursion_limit": ..., ...}``.
        saved: Whether there is a checkpointer, so that a thread must be named.

    Raises:
        NoThreadId: There is a checkpointer and no thread is named.
        Misuse: A value is not of its type.
    """
    config = {} if config is None else config
    if not isinstance(config, Mapping):
        raise Misuse(
            f"config is {type(config).__name__}, not a dict.",
            hint='Example: {"configurable": {"thread_id": "1"}}.',
        )
    place = config.get("configurable")
    if place is None:
        place = {}
    if not isinstance(place, Mapping):
        raise Misuse('config["configurable"] must be a dict.')
    return Settings(
        _thread(config, place) if saved else "",
        _checkpoint(place),
        _reviewer(place),
        _number(config, "recursion_limit", _LIMIT),
        _number(config, "max_concurrency", 32),
        _metadata(config, place),
    )


def _thread(config: Mapping[str, object], place: Mapping[str, object]) -> str:
    if "thread_id" in place:
        return check_thread_id(place["thread_id"])
    hint = near("thread_id", [str(key) for key in place if key not in _KNOWN])
    if "thread_id" in config:
        hint = " 'thread_id' belongs inside 'configurable'."
    elif hint:
        hint = f" Was {hint.split(chr(39))[1]!r} meant to be 'thread_id'?"
    raise NoThreadId(
        "The graph has a checkpointer, but the config names no thread: "
        f"config['configurable']['thread_id'] is missing.{hint}",
        hint='Example: invoke(input, {"configurable": {"thread_id": "order-17"}}).',
    )


def _checkpoint(place: Mapping[str, object]) -> int:
    given = place.get("checkpoint_id")
    if given is None:
        return 0
    number = parse_checkpoint_id(given) if isinstance(given, str) else 0
    if not number:
        raise Misuse(
            f"config['configurable']['checkpoint_id'] is {given!r}, which is no checkpoint id.",
            hint="Use the config of a result or of a snapshot.",
        )
    return number


def _reviewer(place: Mapping[str, object]) -> str | None:
    given = place.get("reviewer")
    if given is None or (isinstance(given, str) and 0 < len(given) <= 512):
        return given
    raise Misuse(
        "config['configurable']['reviewer'] must be a text of 1 to 512 characters.",
        hint="It is an opaque id that your host vouches for.",
    )


def _number(config: Mapping[str, object], key: str, default: int) -> int:
    given = config.get(key)
    if given is None:
        return default
    if type(given) is not int or given < 1:
        raise Misuse(f"config[{key!r}] must be a whole number above 0, not {given!r}.")
    return given


def _metadata(
    config: Mapping[str, object], place: Mapping[str, object]
) -> dict[str, str | int | float | bool]:
    """Return the plain values that are kept with an input, the way the field keeps them."""
    found: dict[str, str | int | float | bool] = {}
    given = config.get("metadata") or {}
    if not isinstance(given, Mapping):
        raise Misuse('config["metadata"] must be a dict.')
    for source in (given, place):
        for key, value in source.items():
            reserved = key in _KNOWN or str(key).startswith("__")
            if isinstance(value, str | int | float | bool) and not reserved:
                found.setdefault(str(key), value)
    return found
