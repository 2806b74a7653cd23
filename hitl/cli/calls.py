"""Past calls, to judge again: from a file of JSON lines, or from a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from hitl.checkpoint import Checkpointer
from hitl.codec import loads, unpack
from hitl.errors import HitlError, Misuse
from hitl.values import Json, ToolCall, fingerprint

__all__ = ["past_calls"]

_SQLITE = b"SQLite format 3\0"

_PAGE = 500


def past_calls(path: str) -> list[ToolCall]:
    """Return the different calls of a log, each once, in their order.

    Args:
        path: A store, or a file with a call a line: ``{"name" (or "tool"), "args"}``.

    Raises:
        Misuse: There is no such file, or a line is no call.
        StoreFailed: The store cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            is_store = file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise Misuse(f"The calls in {path} cannot be read: {error.strerror}.") from error
    if not is_store:
        return _distinct(_of_lines(path))
    from hitl.checkpoint import SqliteSaver

    with SqliteSaver(path) as store:
        return _distinct(_of_store(store))


def _distinct(calls: Iterable[ToolCall]) -> list[ToolCall]:
    found: dict[str, ToolCall] = {}
    for call in calls:
        found.setdefault(fingerprint(call["name"], call["args"]), call)
    return list(found.values())


def _of_lines(path: str) -> Iterator[ToolCall]:
    text = Path(path).read_bytes().decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            given: object = json.loads(line, parse_constant=_no_number)
        except ValueError:
            given = None
        call = _call(given)
        if call is None:
            raise Misuse(
                f"{path}:{number} is no call.",
                hint='Write one a line: {"name": "pay", "args": {"amount": 101}}.',
            )
        yield call


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _of_store(store: Checkpointer) -> Iterator[ToolCall]:
    """Yield the calls that models proposed and that were started, of every thread."""
    for thread in _threads(store):
        try:
            entries = store.load(thread).entries
            bodies = [loads(entry.body) for entry in entries]
        except HitlError:
            continue  # a damaged thread must not hide the others
        for body in bodies:
            yield from _inside(body)


def _threads(store: Checkpointer) -> Iterator[str]:
    page = store.threads(limit=_PAGE)
    while page:
        yield from (mark.thread for mark in page)
        page = store.threads(after=page[-1].thread, limit=_PAGE)


def _inside(body: Json) -> Iterator[ToolCall]:
    """Yield what has the form of a call wherever it stands: in messages and in intents."""
    todo = [body]
    while todo:
        part = todo.pop()
        if isinstance(part, list):
            todo += reversed(part)
        elif isinstance(part, dict):
            calls = part.get("tool_calls")
            proposed = calls if isinstance(calls, list) else []
            for one in (*proposed, part.get("subject")):
                call = _call(one, packed=True)
                if call is not None:
                    yield call
            todo += reversed(part.values())


def _call(given: object, *, packed: bool = False) -> ToolCall | None:
    if not isinstance(given, dict):
        return None
    name, args = given.get("name", given.get("tool")), given.get("args")
    if not isinstance(name, str) or not isinstance(args, dict):
        return None
    if packed:
        try:
            args = unpack(args)
        except HitlError:
            return None
    if not isinstance(args, dict):
        return None
    return {"name": name, "args": args, "id": None, "type": "tool_call"}
