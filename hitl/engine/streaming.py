"""What runs inside nodes tells to streams, and the forms in which a caller is shown it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import NamedTuple, NotRequired, TypedDict

from hitl.engine.ask import current_task
from hitl.engine.effects import Effect, Emit, Ending
from hitl.engine.settings import Modes, check_version, read_modes
from hitl.engine.shape import Shape
from hitl.engine.standing import Standing
from hitl.engine.task import CURRENT, RunFacts, Task
from hitl.engine.view import snapshot
from hitl.engine.watch import EARLY, Told, Watch
from hitl.values import INTERRUPT, Interrupt

__all__ = [
    "Form",
    "MessageWriter",
    "Printer",
    "StreamPart",
    "checkpoint_part",
    "get_stream_writer",
    "know_messages",
    "message_writer",
    "read_form",
    "telling_its_life",
    "whole_messages",
]


# Inside a node --------------------------------------------------------------------------------


def get_stream_writer() -> Callable[[object], None]:
    """Return what writes to the ``custom`` stream of the run; nothing happens if nobody reads it.

    Raises:
        OutsideRun: No node is running here.
    """
    return current_task("get_stream_writer()").run.runtime.stream_writer


class MessageWriter:
    """Tells the pieces of a message while they arrive.

    Args:
        task: The task whose node writes it.
        watch: Who reads it.
    """

    __slots__ = ("_about", "_watch")

    def __init__(self, task: Task, watch: Watch) -> None:
        self._watch = watch
        self._about = _about(task, watch)

    def put(self, piece: object, id: str) -> None:
        """Tell a piece of the message with this id.

        Raises:
            Left: A reader has left.
        """
        self._watch.seen.add(id)
        self._watch.tell(Told((), "messages", (piece, self._about)))

    async def aput(self, piece: object, id: str) -> None:
        """Tell a piece of the message with this id, without blocking the event loop.

        Raises:
            Left: A reader has left.
        """
        self._watch.seen.add(id)
        await self._watch.atell(Told((), "messages", (piece, self._about)))

    def end(self, id: str, whole: object) -> None:
        """Tell that no more pieces come of the message with this id: it is whole, or None.

        Raises:
            Left: A reader has left.
        """
        self._watch.tell(Told((), "message_ends", (id, whole)))


def message_writer() -> MessageWriter | None:
    """Return what tells the pieces of a message, None where nobody wants to read them."""
    task = CURRENT.get()
    if task is None or task.run.watch is None or "messages" not in task.run.watch.modes:
        return None
    return MessageWriter(task, task.run.watch)


def _about(task: Task, watch: Watch) -> dict[str, object]:
    """Return what goes with a message: whose it is, by the field's names."""
    given = task.run.config.get("metadata")
    return {
        **(given if isinstance(given, Mapping) else {}),
        "thread_id": task.run.thread,
        "langgraph_node": task.node.name,
        "langgraph_checkpoint_ns": "|".join((*watch.ns, f"{task.node.name}:{task.id}")),
    }


# What is shown --------------------------------------------------------------------------------


class StreamPart(TypedDict):
    """A part of a stream of version two.

    Attributes:
        type: Its mode.
        ns: The tasks around the run that it is of: ``("node:task id", ...)``.
        data: What that mode tells.
        interrupts: With ``values``: what waits for a human.
    """

    type: str
    ns: tuple[str, ...]
    data: object
    interrupts: NotRequired[tuple[Interrupt, ...]]


class Form(NamedTuple):
    """How a caller wants to be shown what happens.

    Attributes:
        modes: What is wanted.
        single: Whether one mode was given, not a list.
        subgraphs: Whether runs inside nodes are wanted as well.
        version: ``"v1"`` or ``"v2"``.
    """

    modes: tuple[str, ...]
    single: bool = True
    subgraphs: bool = False
    version: str = "v1"

    @property
    def early(self) -> bool:
        """Return whether parts must reach the reader while a node still runs."""
        return self.subgraphs or not EARLY.isdisjoint(self.modes)

    def shown(self, told: Told) -> object:
        """Return a part in this form."""
        ns, mode, data, waits, _ = told
        if self.version == "v2":
            part: dict[str, object] = {"type": mode, "ns": ns, "data": _typed(told)}
            if mode == "values":
                part["interrupts"] = waits
            return part
        if waits:
            data = {**(data if isinstance(data, dict) else {}), INTERRUPT: waits}
        if self.single:
            return (ns, data) if self.subgraphs else data
        return (ns, mode, data) if self.subgraphs else (mode, data)


def _typed(told: Told) -> object:
    """Return what is told, with a state that has a class of its own as an instance of it."""
    schema, data = told.schema, told.data
    if schema is None or not schema.typed or not isinstance(data, dict):
        return data
    if told.mode == "values":
        return schema.build(data)
    if data["metadata"]["source"] == "input":
        return data  # nothing has run that could have made it whole
    return {**data, "values": schema.build(data["values"])}


class Printer:
    """Prints what happens in a run, for whoever looks for a fault."""

    full = False

    def put(self, told: Told) -> None:
        """Print a part: the tasks around it, its mode, what it says."""
        place = [f"[{'|'.join(told.ns)}]"] if told.ns else []
        data = told.data
        if told.waits:
            data = {**(data if isinstance(data, dict) else {}), INTERRUPT: told.waits}
        sys.stdout.write(" ".join([*place, f"[{told.mode}]", f"{data}\n"]))

    async def room(self) -> None:
        """Do nothing: there is always room."""


def read_form(stream_mode: Modes, version: str, *, subgraphs: bool = False) -> Form:
    """Return the form that a caller asks for.

    Raises:
        Misuse: There is no such mode or version.
    """
    check_version(version)
    return Form(read_modes(stream_mode), isinstance(stream_mode, str), bool(subgraphs), version)


def checkpoint_part(shape: Shape, standing: Standing, watch: Watch | None) -> dict[str, object]:
    """Return a checkpoint as a stream shows it; a pause shows with the tasks that wait."""
    seen = snapshot(shape, standing)
    place = seen.config["configurable"]
    if watch is not None and isinstance(place, dict):
        place["checkpoint_ns"] = "|".join(watch.ns)
    return {
        "config": seen.config,
        "metadata": seen.metadata,
        "values": seen.values,
        "next": list(seen.next),
        "parent_config": seen.parent_config,
        "tasks": [
            {"id": one.id, "name": one.name, "interrupts": one.interrupts, "state": one.state}
            for one in seen.tasks
        ],
    }


def telling_its_life(steps: Generator[Effect, object, Ending]) -> Generator[Effect, object, Ending]:
    """Return the steps of a run that also tells when it begins and how it ends."""
    yield Emit("lifecycle", {"event": "started"})
    try:
        ending = yield from steps
    except Exception as error:
        yield Emit("lifecycle", {"event": "failed", "error": repr(error)})
        raise
    yield Emit("lifecycle", {"event": "interrupted" if ending.standing.due else "completed"})
    return ending


def whole_messages(task: Task) -> Iterator[tuple[object, dict[str, object]]]:
    """Yield the messages that a finished task wrote and that have not been told, with whose.

    A message is what has a type, a content and an id, as those of the agent's floor have.
    """
    watch = task.run.watch
    if watch is None:
        return
    about = _about(task, watch)
    for message in _messages(written for _, written in task.writes):
        id = getattr(message, "id", None)
        if id not in watch.seen:
            if id is not None:
                watch.seen.add(id)
            yield message, about


def know_messages(facts: RunFacts, standing: Standing) -> None:
    """Take the messages that a run begins with as told."""
    if facts.watch is not None:
        ids = (getattr(one, "id", None) for one in _messages(standing.values.values()))
        facts.watch.seen.update(id for id in ids if id is not None)


def _messages(values: Iterable[object]) -> Iterator[object]:
    for value in values:
        for one in value if isinstance(value, list) else (value,):
            if hasattr(one, "content") and getattr(one, "type", "remove") != "remove":
                yield one
