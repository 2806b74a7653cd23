"""What a run's parts have told, sorted for those who read the run by what it holds. No I/O."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from hitl.engine.streaming import Form
from hitl.engine.watch import Namespace
from hitl.errors import Misuse
from hitl.values import Interrupt

__all__ = [
    "VALUES",
    "Fold",
    "Letters",
    "Message",
    "Subscribed",
    "WrongArgument",
    "check_events",
    "node_and_task",
    "tagging",
]

M = TypeVar("M")

VALUES = Form(("values",), version="v2")
"""What is asked of a run of which only the end is read: nothing that comes while nodes run."""

ALL = Form(("values", "updates", "messages", "custom", "message_ends"), version="v2")

DEEP = ALL._replace(modes=(*ALL.modes, "lifecycle"), subgraphs=True)
"""What is asked of a run of which the runs inside it are read as well."""

_DEEP = frozenset(("events", "lifecycle", "subgraphs"))


class WrongArgument(Misuse, TypeError):
    """An argument that this version of a method does not take."""

    code = "wrong_argument"


class Subscribed(Misuse, RuntimeError):
    """Something with one reader has one already."""

    code = "subscribed"


def check_events(version: str, more: Mapping[str, object]) -> None:
    """Refuse another version, and arguments that it does not take.

    Raises:
        Misuse: The version is not known.
        WrongArgument: ``stream_mode`` or ``subgraphs`` is given.
    """
    if version != "v3":
        raise Misuse(f"version is {version!r}.", hint='stream_events knows "v3".')
    for key in ("stream_mode", "subgraphs"):
        if key in more:
            raise WrongArgument(
                f"stream_events takes no {key}=.",
                hint="Read the run's own .messages and .values, or use stream().",
            )


class Message(Protocol):
    """A message as it is read here."""

    id: str | None
    content: object

    @property
    def text(self) -> str:
        """The text of its content."""
        ...


class Letters:
    """What has arrived of one message.

    Attributes:
        id: The message's id.
        node: The node that writes it.
        tokens: Its text, piece by piece.
        done: Whether all of it has arrived.
        whole: The message, once it is done.
    """

    __slots__ = ("done", "id", "node", "read", "tokens", "whole")

    def __init__(self, id: str | None, node: str) -> None:
        self.id = id
        self.node = node
        self.tokens: list[str] = []
        self.done = False
        self.read = False
        self.whole: Message | None = None

    def subscribe(self) -> None:
        """Take the message's tokens; they have one reader.

        Raises:
            Subscribed: They have one already.
        """
        if self.read:
            raise Subscribed("The text of this message already has a subscriber.")
        self.read = True


class Fold(Generic[M]):
    """What a run's parts have told so far.

    Args:
        opened: Makes of a message that begins what is given to the reader of ``messages``.
        entered: Makes of a run inside this one what is given to the reader of ``subgraphs``.
        ns: Where the run stands: the tasks around it.

    Attributes:
        ns: As given.
        values: The newest values of the run.
        interrupts: What waited for a human when they were told.
        ended: Whether nothing more comes.
        status: ``started``, or how it ended: ``completed``, ``interrupted``, ``failed``.
        failure: What it failed with, as text.
    """

    names = ("values", "messages", "lifecycle", "subgraphs")

    def __init__(
        self,
        opened: Callable[[Letters], M],
        entered: Callable[[Fold[M]], object],
        ns: Namespace = (),
    ) -> None:
        self.ns = ns
        self.values: object = None
        self.interrupts: tuple[Interrupt, ...] = ()
        self.ended = False
        self.status = "started"
        self.failure: str | None = None
        self._error: BaseException | None = None
        self._opened = opened
        self._entered = entered
        self._inside: dict[Namespace, Fold[M]] = {}
        self._open: dict[object, Letters] = {}
        self._readers: dict[str, Callable[[object], None]] = {}
        self._seq = 0

    def form(self) -> Form:
        """Return what to ask of the run when it starts; runs inside it only if they are read."""
        return ALL if _DEEP.isdisjoint(self._readers) else DEEP

    def subscribe(self, name: str, put: Callable[[object], None]) -> None:
        """Let somebody have everything of one kind from now on.

        Raises:
            Subscribed: Somebody has it already.
        """
        if name in self._readers:
            raise Subscribed(
                f"The run's {name} already has a subscriber.",
                hint="Read it once; interleave() reads several side by side.",
            )
        self._readers[name] = put

    def take(self, part: dict[str, object]) -> None:
        """Take the next part of the run's stream."""
        kind, ns, data = part["type"], part["ns"], part["data"]
        assert isinstance(ns, tuple)
        if kind != "message_ends" and "events" in self._readers:
            self._readers["events"](self._event(part))
        if ns != self.ns:
            self._deeper(part, ns)
        elif kind == "values":
            self.values = data
            waits = part["interrupts"]
            self.interrupts = waits if isinstance(waits, tuple) else ()
            if "values" in self._readers:
                self._readers["values"](data)
        elif kind == "messages" and isinstance(data, tuple):
            self._piece(*data)
        elif kind == "message_ends" and isinstance(data, tuple):
            self._close(*data)

    def _deeper(self, part: dict[str, object], ns: Namespace) -> None:
        """Take a part of a run inside this one."""
        data = part["data"]
        begins = isinstance(data, dict) and data.get("event") == "started"
        if part["type"] == "lifecycle" and "lifecycle" in self._readers:
            self._readers["lifecycle"](lifecycle(ns, data))
        place = ns[: _next_place(ns, len(self.ns))]
        inner = self._inside.get(place)
        if "subgraphs" in self._readers and ns == place and begins:
            inner = self._inside[place] = Fold(self._opened, self._entered, place)
            self._readers["subgraphs"](self._entered(inner))
        elif inner is None or inner.ended:
            return
        elif part["type"] == "lifecycle" and ns == place and isinstance(data, dict):
            inner.status, inner.failure = str(data["event"]), data.get("error")
            inner.end()
        else:
            inner.take(part)

    def _event(self, part: dict[str, object]) -> dict[str, object]:
        ns, data = part["ns"], part["data"]
        assert isinstance(ns, tuple)
        told = part["type"] == "lifecycle"  # of the run that it happens in
        params: dict[str, object] = {
            "namespace": list(self.ns if told else ns),
            "timestamp": int(time.time() * 1000),
            "data": lifecycle(ns, data) if told else data,
        }
        if "interrupts" in part:
            params["interrupts"] = part["interrupts"]
        self._seq += 1
        return {"type": "event", "method": part["type"], "params": params, "seq": self._seq}

    def _piece(self, piece: Message, about: Mapping[str, object]) -> None:
        if "messages" not in self._readers or getattr(piece, "type", "") != "ai":
            return
        letters = self._open.get(_key(piece))
        if letters is None:
            letters = Letters(piece.id, str(about.get("langgraph_node", "")))
            self._open[_key(piece)] = letters
            self._readers["messages"](self._opened(letters))
        if piece.text:
            letters.tokens.append(piece.text)

    def _close(self, id: str | None, whole: Message | None) -> None:
        letters = self._open.pop(_key(whole) if id is None else id, None)
        if letters is not None:
            letters.whole = whole
            letters.done = True

    def end(self, error: BaseException | None = None) -> None:
        """Take that nothing more comes."""
        self.ended = True
        self._error = error
        for inner in self._inside.values():
            if not inner.ended:
                inner.end(error)
        for letters in self._open.values():
            letters.done = True
        self._open.clear()

    def check(self) -> None:
        """Raise what has ended the run, if anything has."""
        if self._error is not None:
            raise self._error


def _next_place(ns: Namespace, start: int) -> int:
    """Return the end of the place of the run that lies one below, on the way to a deeper one."""
    numbered = len(ns) > start + 1 and ":" not in ns[start + 1]
    return start + 2 if numbered else start + 1


def node_and_task(ns: Namespace) -> tuple[str, str]:
    """Return the node and the task inside which a run stands."""
    last = next(part for part in reversed(ns) if ":" in part)
    node, _, task = last.rpartition(":")
    return node, task


def lifecycle(ns: Namespace, data: object) -> dict[str, object]:
    """Return what a run inside another one tells of its life, with its place."""
    assert isinstance(data, dict)
    told: dict[str, object] = {"event": data["event"], "namespace": list(ns)}
    if data["event"] == "started":
        told["graph_name"], told["trigger_call_id"] = node_and_task(ns)
    elif data.get("error") is not None:
        told["error"] = data["error"]
    return told


def _key(message: Message | None) -> object:
    """Return what tells a message from others: its id, or itself."""
    own = None if message is None else message.id
    return ("itself", id(message)) if own is None else own


def tagging(name: str, items: deque[tuple[str, object]]) -> Callable[[object], None]:
    """Return what puts things behind others, each with the name of its part."""
    return lambda item: items.append((name, item))
