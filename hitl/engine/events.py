"""A run to be read by what it holds: its messages, its values, its pauses, its events.

``Fold`` sorts the parts of a run's stream for those who read it, and does no I/O; ``RunStream``
is its sync hand, ``hitl.engine.aevents`` has the async one. The run goes on only as far as
something is read of it, and what nobody has subscribed to is dropped.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from hitl.engine.streaming import Form
from hitl.errors import Misuse
from hitl.values import Interrupt

__all__ = [
    "ALL",
    "VALUES",
    "Fold",
    "Letters",
    "Message",
    "MessageStream",
    "Projection",
    "RunStream",
    "Subscribed",
    "Text",
    "WrongArgument",
    "check_events",
    "tagging",
]

M = TypeVar("M")

VALUES = Form(("values",), version="v2")
"""What is asked of a run of which only the end is read: nothing that comes while nodes run."""

ALL = Form(("values", "updates", "messages", "custom", "message_ends"), version="v2")


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

    Attributes:
        values: The newest values of the run.
        interrupts: What waited for a human when they were told.
        ended: Whether nothing more comes.
    """

    names = ("values", "messages")

    def __init__(self, opened: Callable[[Letters], M]) -> None:
        self.values: object = None
        self.interrupts: tuple[Interrupt, ...] = ()
        self.ended = False
        self._error: BaseException | None = None
        self._opened = opened
        self._open: dict[object, Letters] = {}
        self._readers: dict[str, Callable[[object], None]] = {}
        self._seq = 0

    def form(self) -> Form:
        """Return what to ask of the run when it starts; nested runs only for the events."""
        return ALL._replace(subgraphs=True) if "events" in self._readers else ALL

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
        if kind != "message_ends" and "events" in self._readers:
            self._readers["events"](self._event(part))
        if ns != ():
            return
        if kind == "values":
            self.values = data
            waits = part["interrupts"]
            self.interrupts = waits if isinstance(waits, tuple) else ()
            if "values" in self._readers:
                self._readers["values"](data)
        elif kind == "messages" and isinstance(data, tuple):
            self._piece(*data)
        elif kind == "message_ends" and isinstance(data, tuple):
            self._close(*data)

    def _event(self, part: dict[str, object]) -> dict[str, object]:
        ns = part["ns"]
        params: dict[str, object] = {
            "namespace": list(ns) if isinstance(ns, tuple) else [],
            "timestamp": int(time.time() * 1000),
            "data": part["data"],
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
        for letters in self._open.values():
            letters.done = True
        self._open.clear()

    def check(self) -> None:
        """Raise what has ended the run, if anything has."""
        if self._error is not None:
            raise self._error


def _key(message: Message | None) -> object:
    """Return what tells a message from others: its id, or itself."""
    own = None if message is None else message.id
    return ("itself", id(message)) if own is None else own


def tagging(name: str, items: deque[tuple[str, object]]) -> Callable[[object], None]:
    """Return what puts things behind others, each with the name of its part."""
    return lambda item: items.append((name, item))


class Projection(Generic[M]):
    """One kind of thing that a run holds, for one reader.

    Args:
        subscribe: Begins to read it.
    """

    def __init__(self, subscribe: Callable[[], Iterator[M]]) -> None:
        self._subscribe = subscribe

    def __iter__(self) -> Iterator[M]:
        """Read it from now on.

        Raises:
            Subscribed: It has a reader already.
        """
        return self._subscribe()


class Text:
    """The text of a message: iterate over its tokens, or take all of it with ``str()``."""

    def __init__(self, letters: Letters, pull: Callable[[], None]) -> None:
        self._letters = letters
        self._pull = pull

    def __iter__(self) -> Iterator[str]:
        """Read the tokens as they arrive.

        Raises:
            Subscribed: They have a reader already.
        """
        self._letters.subscribe()
        return self._tokens()

    def _tokens(self) -> Iterator[str]:
        read = 0
        while True:
            while read < len(self._letters.tokens):
                read += 1
                yield self._letters.tokens[read - 1]
            if self._letters.done:
                return
            self._pull()

    def __str__(self) -> str:
        while not self._letters.done:
            self._pull()
        return "".join(self._letters.tokens)


class MessageStream:
    """A message of a model, while it arrives.

    Attributes:
        id: The message's id.
        node: The node that writes it.
        text: Its text, token by token.
    """

    def __init__(self, letters: Letters, pull: Callable[[], None]) -> None:
        self.id = letters.id
        self.node = letters.node
        self.text = Text(letters, pull)
        self._letters = letters
        self._pull = pull

    @property
    def output(self) -> Message | None:
        """The whole message, once it is there; None where its run ended before."""
        while not self._letters.done:
            self._pull()
        return self._letters.whole

    @property
    def tool_calls(self) -> list[object]:
        """The calls that it proposes, once it is there."""
        return list(getattr(self.output, "tool_calls", ()))


class RunStream:
    """A run that is read by what it holds; it goes on as far as it is read.

    Each of its parts has one reader. Use it as a context manager, or call ``abort``, where you
    may leave before the end: the work is cancelled, and the thread can be resumed.

    Attributes:
        messages: The models' messages, each a ``MessageStream``.
        values: The state after each step.
    """

    def __init__(self, start: Callable[[Form], Generator[object, None, None]]) -> None:
        self._start = start
        self._parts: Generator[object, None, None] | None = None
        self._fold = Fold(lambda letters: MessageStream(letters, self._pull))
        self._lock = threading.RLock()
        self._aborted = False
        self.messages: Projection[MessageStream] = Projection(lambda: self._read("messages"))
        self.values: Projection[object] = Projection(lambda: self._read("values"))

    def __iter__(self) -> Iterator[dict[str, object]]:
        """Read all events of the run, as ``{"type", "method", "params", "seq"}``.

        Where this is what is read first, runs inside nodes are told as well.

        Raises:
            Subscribed: They have a reader already.
        """
        return self._read("events")

    @property
    def output(self) -> object:
        """The values at the end of the run, which is driven to it."""
        return self._finished().values

    @property
    def interrupted(self) -> bool:
        """Whether the run has paused for a human; it is driven to its end."""
        return bool(self._finished().interrupts)

    @property
    def interrupts(self) -> list[Interrupt]:
        """What waits for a human at the end of the run, which is driven to it."""
        return list(self._finished().interrupts)

    def interleave(self, *names: str) -> Iterator[tuple[str, object]]:
        """Return ``(name, item)`` of several parts, in the order in which they arrive.

        Args:
            *names: ``"messages"``, ``"values"``.

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

    def abort(self) -> None:
        """Leave the run: what it does is cancelled, and its thread can be resumed.

        From another thread than the reader's it takes effect with the next part.
        """
        self._aborted = True
        if self._lock.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._lock.release()

    def __enter__(self) -> RunStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.abort()

    def _read(self, name: str) -> Iterator[M]:
        items: deque[M] = deque()
        self._fold.subscribe(name, items.append)  # type: ignore[arg-type]
        return self._each(items)

    def _each(self, items: deque[M]) -> Iterator[M]:
        while True:
            while items:
                yield items.popleft()
            if self._fold.ended:
                self._fold.check()
                return
            self._pull()

    def _finished(self) -> Fold[MessageStream]:
        with self._lock:
            if self._parts is None and not self._fold.ended:
                self._parts = self._start(VALUES)
        while not self._fold.ended:
            self._pull()
        self._fold.check()
        return self._fold

    def _pull(self) -> None:
        """Take the next part of the run; whatever ends it is told to all who read."""
        with self._lock:
            if self._fold.ended:
                return
            if self._parts is None:
                self._parts = self._start(self._fold.form())
            try:
                self._fold.take(next(self._parts))  # type: ignore[arg-type]
            except StopIteration:
                self._fold.end()
            except BaseException as error:
                self._fold.end(error)
                raise
            if self._aborted:
                self._close()

    def _close(self) -> None:
        if self._parts is not None:
            self._parts.close()
        if not self._fold.ended:
            self._fold.end()
