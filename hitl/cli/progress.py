"""What a run says while it goes: messages and writes, told as lines. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from hitl.cli.facts import one_line
from hitl.codec import pack
from hitl.errors import HitlError
from hitl.values import INTERRUPT, Json

__all__ = ["Teller", "lines", "message_ids", "result"]

_SPEAKERS = {"ai": "agent", "assistant": "agent", "human": "you", "user": "you"}
_LONGEST = 2000


class Teller:
    """Tells the parts of a run's stream; a message that is written again is told once.

    Args:
        hidden: Names of channels that are not for callers.
        known: Ids of messages that were there before the run and are not told again, see
            ``message_ids``.
    """

    def __init__(self, hidden: Collection[str] = (), known: Collection[str] = ()) -> None:
        self._hidden = hidden
        self._known = known
        self._told: set[tuple[str, str]] = set()

    def lines(self, part: object) -> Iterator[tuple[str, str]]:
        """Yield (who, what) for each thing that one part of a stream of updates tells."""
        if not isinstance(part, Mapping):
            return
        for node, update in part.items():
            if node == INTERRUPT:
                continue
            for changes in update if isinstance(update, list) else [update]:
                if isinstance(changes, Mapping):
                    yield from self._changes(str(node), changes)

    def _changes(self, node: str, changes: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        for key, value in changes.items():
            if key == "messages":
                for message in value if isinstance(value, list | tuple) else [value]:
                    yield from self._once(message)
            elif key not in self._hidden:
                yield node, f"{key} = {_short(value)}"

    def _once(self, message: object) -> Iterator[tuple[str, str]]:
        id = str(_get(message, "id") or "")
        if id in self._known:
            return
        told = _told(message)
        key = (id, one_line(told))
        if not key[0] or key not in self._told:
            self._told.add(key)
            yield from _message(told)


def lines(part: object) -> Iterator[tuple[str, str]]:
    """Yield (who, what) for each thing that one part of a stream of updates tells."""
    return Teller().lines(part)


def message_ids(values: object) -> set[str]:
    """Return the ids of the messages in a state, as far as they have one."""
    messages = _get(values, "messages")
    found = messages if isinstance(messages, list | tuple) else []
    return {str(id) for message in found if (id := _get(message, "id"))}


def _message(told: dict[str, Json]) -> Iterator[tuple[str, str]]:
    kind = str(told["type"])
    who = _SPEAKERS.get(kind, kind)
    if kind == "tool" and told.get("name"):
        who = f"tool {told['name']}"
    content = told["content"]
    text = content if isinstance(content, str) else one_line(content)
    if text and text != "[]":
        yield who, text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    calls = told.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            args = call.get("args")
            named = args if isinstance(args, dict) else {}
            shown = ", ".join(f"{key}={one_line(value)}" for key, value in named.items())
            yield who, f"proposes {call.get('name')}({shown[:_LONGEST]})"


def result(values: object, hidden: Collection[str] = ()) -> Json:
    """Return a run's state as plain JSON, messages in the field's own form.

    Args:
        values: The state.
        hidden: Names of channels that are not for callers.
    """
    if not isinstance(values, Mapping):
        return _plain(values)
    shown: dict[str, Json] = {}
    for key, value in values.items():
        if key in hidden:
            continue
        if key == "messages" and isinstance(value, list):
            shown[str(key)] = [_told(message) for message in value]
        else:
            shown[str(key)] = _plain(value)
    return shown


def _told(message: object) -> dict[str, Json]:
    """Return what a message says, whether it is an object or a dict."""
    told: dict[str, Json] = {
        "type": str(_get(message, "type") or _get(message, "role") or "message"),
        "content": _plain(message if isinstance(message, str) else _get(message, "content")),
    }
    for name in ("name", "tool_calls", "tool_call_id", "status"):
        value = _get(message, name)
        if value is not None and value != []:
            told[name] = _plain(value)
    return told


def _get(message: object, name: str) -> object:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _plain(value: object) -> Json:
    try:
        return pack(value, "the result")
    except HitlError:
        return repr(value)


def _short(value: object) -> str:
    tree = _plain(value)
    text = tree if isinstance(tree, str) else one_line(tree)
    if isinstance(value, Sequence) and len(text) > _LONGEST:
        return f"{len(value)} elements"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
