"""Reading what a caller gives with a run: the config's keys, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple, TypedDict

from hitl.checkpoint import check_thread_id
from hitl.errors import Misuse, NoThreadId
from hitl.ledger import check_reviewer, closest, near
from hitl.values import parse_checkpoint_id

__all__ = [
    "Durability",
    "Keys",
    "Modes",
    "Options",
    "RunOptions",
    "Settings",
    "check_keys",
    "check_version",
    "joined",
    "read_config",
    "read_modes",
    "read_options",
]

Modes = str | Sequence[str]
Names = Sequence[str] | str | None
Keys = str | tuple[str, ...] | None
"""Which keys of the state a caller wants: one by itself, some, or None for the output's."""

Config = Mapping[str, object] | None

_MODES = ("values", "updates", "messages", "custom", "checkpoints")

_KNOWN = (
    "thread_id",
    "checkpoint_id",
    "checkpoint_ns",
    "checkpoint_map",
    "pause_id",
    "reviewer",
)
_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Settings:
    """What a config says.

    Attributes:
        thread: The thread's id; empty where the graph has no checkpointer.
        checkpoint: Number of the checkpoint that it names, 0 for the newest.
        pause: Number of the pause that it names, 0 for none.
        reviewer: Who answers; None for an unnamed reviewer.
        limit: The most supersteps of a run.
        max_concurrency: The most tasks that run side by side.
        metadata: What is kept with the checkpoints that are written.
        space: The run inside a task that it names (``checkpoint_ns``), empty for the outermost.
    """

    thread: str
    checkpoint: int
    pause: int
    reviewer: str | None
    limit: int
    max_concurrency: int
    metadata: dict[str, str | int | float | bool]
    space: str = ""


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
    if type(config) is not dict and not isinstance(config, Mapping):
        raise Misuse(
            f"config is {type(config).__name__}, not a dict.",
            hint='Example: {"configurable": {"thread_id": "1"}}.',
        )
    place = config.get("configurable")
    if place is None:
        place = {}
    if type(place) is not dict and not isinstance(place, Mapping):
        raise Misuse('config["configurable"] must be a dict.')
    return Settings(
        _thread(config, place) if saved else "",
        _entry(place, "checkpoint_id"),
        _entry(place, "pause_id"),
        check_reviewer(place.get("reviewer"), "config['configurable']['reviewer']"),
        _number(config, "recursion_limit", _LIMIT),
        _number(config, "max_concurrency", 32),
        _metadata(config, place),
        str(place.get("checkpoint_ns") or ""),
    )


def _thread(config: Mapping[str, object], place: Mapping[str, object]) -> str:
    if "thread_id" in place:
        return check_thread_id(place["thread_id"])
    like = closest("thread_id", [str(key) for key in place if key not in _KNOWN])
    hint = f" Was {like!r} meant to be 'thread_id'?" if like else ""
    if "thread_id" in config:
        hint = " 'thread_id' belongs inside 'configurable'."
    raise NoThreadId(
        "The graph has a checkpointer, but the config names no thread: "
        f"config['configurable']['thread_id'] is missing.{hint}",
        hint='Example: invoke(input, {"configurable": {"thread_id": "order-17"}}).',
    )


def _entry(place: Mapping[str, object], key: str) -> int:
    """Return the number of the entry that a key of the config names, 0 for none."""
    given = place.get(key)
    if given is None:
        return 0
    number = parse_checkpoint_id(given) if isinstance(given, str) else 0
    if not number:
        raise Misuse(
            f"config['configurable'][{key!r}] is {given!r}, which is the id of no entry.",
            hint="Use the config of a result or of a snapshot.",
        )
    return number


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
    if type(given) is not dict and not isinstance(given, Mapping):
        raise Misuse('config["metadata"] must be a dict.')
    for source in (given, place):
        for key, value in source.items():
            reserved = key in _KNOWN or str(key).startswith(("__", "langgraph_"))
            if isinstance(value, str | int | float | bool) and not reserved:
                found.setdefault(str(key), value)
    return found


Durability = Literal["sync", "async", "exit"]
"""When checkpoints are written. Always at once: each of these means ``"sync"``."""


class RunOptions(TypedDict, total=False):
    """The further keywords of a run; see ``CompiledStateGraph.invoke``."""

    context: object
    print_mode: str | Sequence[str]
    output_keys: str | Sequence[str] | None
    interrupt_before: Sequence[str] | str | None
    interrupt_after: Sequence[str] | str | None
    durability: Durability | None
    debug: bool | None
    on_unknown: Literal["refuse", "tell_model"]
    wait: float


class Options(NamedTuple):
    """What a call says beside its config, read; see ``CompiledStateGraph.invoke``."""

    context: object = None
    before: Names = None
    after: Names = None
    unknown: Literal["refuse", "tell_model"] = "refuse"
    wait: float = 0.0
    printed: tuple[str, ...] = ()
    keys: Keys = None


_NO_OPTIONS = Options()
_OPTIONS = tuple(RunOptions.__annotations__)


def read_options(more: Mapping[str, object]) -> Options:
    """Return a call's further options.

    Raises:
        Misuse: One is unknown, or has a value that it cannot have.
    """
    if not more:
        return _NO_OPTIONS
    for key in more:
        if key not in _OPTIONS:
            raise Misuse(
                f"There is no option {key!r}.{near(key, _OPTIONS)}",
                hint=f"Known: version, stream_mode, {', '.join(_OPTIONS)}.",
            )
    unknown = more.get("on_unknown", "refuse")
    if unknown not in ("refuse", "tell_model"):
        raise Misuse(f"on_unknown is {unknown!r}.", hint='Known: "refuse", "tell_model".')
    if more.get("durability") not in (None, "sync", "async", "exit"):
        raise Misuse(f"durability is {more['durability']!r}.", hint='Known: "sync".')
    wait = more.get("wait", 0.0)
    if not isinstance(wait, int | float) or isinstance(wait, bool) or not 0 <= wait < inf:
        raise Misuse(f"wait is {wait!r}.", hint="Give seconds, 0 or more: wait=10.")
    return Options(
        more.get("context"),
        _names(more, "interrupt_before"),
        _names(more, "interrupt_after"),
        "tell_model" if unknown == "tell_model" else "refuse",
        float(wait),
        _printed(more),
        _keys(more),
    )


def _printed(more: Mapping[str, object]) -> tuple[str, ...]:
    given = more.get("print_mode", ())
    if not isinstance(given, str | Sequence):
        raise Misuse(f"print_mode is {given!r}.", hint='Give a stream mode: print_mode="updates".')
    return read_modes(given) or (("updates", "values") if more.get("debug") else ())


def _keys(more: Mapping[str, object]) -> Keys:
    given = more.get("output_keys")
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, Sequence):
        raise Misuse(f"output_keys is {given!r}.", hint="Give a key of the state, or a list.")
    return tuple(map(str, given))


def check_keys(keys: Keys, known: Mapping[str, object]) -> None:
    """Refuse to give out keys that the state does not have.

    Raises:
        Misuse: It does not have one.
    """
    for key in (keys,) if isinstance(keys, str) else keys or ():
        if key not in known:
            raise Misuse(
                f"output_keys names {key!r}, which is no key of the state.{near(key, known)}",
                hint=f"Known keys: {', '.join(known)}.",
            )


def joined(bound: Config, given: Config) -> dict[str, object]:
    """Return a config on top of another one: what it says itself counts more."""
    whole: dict[str, object] = {**(bound or {}), **(given or {})}
    for key in ("configurable", "metadata"):
        parts = [one.get(key) for one in (bound or {}, given or {})]
        maps = [dict(part) for part in parts if isinstance(part, Mapping)]
        if len(maps) == 2:
            whole[key] = maps[0] | maps[1]
    return whole


def _names(more: Mapping[str, object], key: str) -> Names:
    given = more.get(key)
    if given is None or isinstance(given, str):
        return given
    names = [name for name in given if isinstance(name, str)] if isinstance(given, Sequence) else []
    if not isinstance(given, Sequence) or len(names) < len(given):
        raise Misuse(f"{key} is {given!r}.", hint='Give a list of node names, or "*".')
    return names


def read_modes(stream_mode: Modes) -> tuple[str, ...]:
    """Return the stream modes that are wanted.

    Raises:
        Misuse: There is no such mode.
    """
    modes = (stream_mode,) if isinstance(stream_mode, str) else tuple(stream_mode)
    for mode in modes:
        if mode not in _MODES:
            raise Misuse(
                f"There is no stream mode {mode!r}.{near(mode, _MODES)}",
                hint=f"Known: {', '.join(_MODES)}.",
            )
    return modes


def check_version(version: str) -> None:
    """Refuse an unknown form of results.

    Raises:
        Misuse: It is neither ``"v1"`` nor ``"v2"``.
    """
    if version not in ("v1", "v2"):
        raise Misuse(f"version is {version!r}.", hint='Known: "v1", "v2".')
