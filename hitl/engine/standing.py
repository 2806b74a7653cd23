"""Where a thread stands: the fold of its entries, as the engine works with it.

A ``Standing`` is the state at the newest checkpoint of a branch, what is due next, and what
the tasks of that superstep have left so far. The engine changes it only together with a
commit; ``record`` writes the same changes as entries and reads them back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hitl.engine.merge import own
from hitl.values import Interrupt, Item, Json

__all__ = ["KEPT", "NO_ARG", "Asked", "Done", "Due", "Intent", "Kept", "Record", "Standing"]


class _NoArg:
    def __repr__(self) -> str:
        return "NO_ARG"


NO_ARG = _NoArg()
"""The mark of a task that gets the state, where a ``Send`` brings its own argument."""

KEPT = "+"
"""What the key of a run inside a task begins with, if its state outlives the task."""

Due = tuple[str, object]
"""One task that is due: the node's name, and its argument or ``NO_ARG``."""


@dataclass(slots=True)
class Asked:
    """One question of a task.

    Attributes:
        id: The interrupt's id.
        value: What was asked.
        items: The ids of its items, in order.
        lost: The key of the intent whose outcome is asked for; empty for the task's own
            questions, which alone are answered by position.
        schema: The JSON Schema that an answer must fit, if there is one.
    """

    id: str
    value: object
    items: tuple[str, ...]
    lost: str = ""
    schema: dict[str, Json] | None = None

    def shown(self) -> Interrupt:
        """Return the question as a human sees it."""
        return Interrupt(self.value, self.id, self.schema)


@dataclass(slots=True)
class Done:
    """What a finished task wrote and where it wants to go."""

    writes: list[tuple[str, object]]
    goto: list[Due]


@dataclass(slots=True)
class Intent:
    """A call that was about to start: how often, whether it may start again by itself.

    Attributes:
        attempt: Counts from 1.
        safe: Whether the call may run again under the same key (pure or idempotent).
        subject: ``{"name", "args"}`` of the call.
        item: Id of the item that allowed it, empty for a free call.
        paused: Whether the body paused, so that entering it again is right.
        outcome: Id of the item that asks whether it happened, once one is asked.
        probe: Whether its tool may know if it happened, and has not been asked yet.
    """

    attempt: int
    safe: bool
    subject: Json
    item: str = ""
    paused: bool = False
    outcome: str = ""
    probe: bool = False

    @property
    def open(self) -> bool:
        """Return whether, without a result, it is not known if it happened."""
        return not (self.safe or self.paused or self.outcome)


@dataclass(slots=True)
class Record:
    """What one task of the current superstep has left in the log so far.

    Attributes:
        asked: Its questions, in order.
        notes: Results of ``step`` and of calls, packed, by key.
        intents: Calls that were about to start, by key.
        subs: Where the runs inside it stand, by key.
        done: What it leaves, once it is finished.
        error: What it last failed with.
    """

    asked: list[Asked] = field(default_factory=list)
    notes: dict[str, Json] = field(default_factory=dict)
    intents: dict[str, Intent] = field(default_factory=dict)
    subs: dict[str, Standing] = field(default_factory=dict)
    done: Done | None = None
    error: str | None = None


@dataclass(slots=True)
class Kept:
    """What is committed of a list channel: its elements, and the text of the last one."""

    elements: list[object]
    last: str = ""


@dataclass(slots=True)
class Standing:
    """A thread at one checkpoint.

    Attributes:
        thread: The thread's id; empty for a run that is not saved.
        salt: The thread's secret, from which ids are derived.
        signature: Of the graph that wrote the newest checkpoint.
        checkpoint: Number of the newest checkpoint entry.
        before: Number of the checkpoint before that one, 0 for none.
        pause: Number of the newest entry of this superstep that told of a pause, 0 for none.
        step: Number of the superstep that the checkpoint ended; -1 for an input.
        source: ``input``, ``loop``, ``update`` or ``fork``.
        at: When the checkpoint was written.
        values: The channels' values.
        ran: The nodes whose writes made the checkpoint.
        due: The tasks that run next; a task's *place* is its index here.
        records: What those tasks have left, by place.
        arrived: For each join, the nodes that have reached it.
        kept: What is committed of each list channel.
        live: Size of each channel's content, in characters.
        spent: Characters written for channels since the newest base.
        metadata: The config's own metadata of the newest input.
        items: The thread's live items by id.
        past: Whether the thread has gone on since; then it is only looked at, or forked.
        spaces: Where the runs inside tasks stand whose state outlives the task, by key.
        begun: Of a run inside a task: whether it has committed anything in that task.
    """

    thread: str = ""
    salt: str = ""
    signature: str = ""
    checkpoint: int = 0
    before: int = 0
    pause: int = 0
    step: int = -2
    source: str = "input"
    at: float = 0.0
    values: dict[str, object] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    due: list[Due] = field(default_factory=list)
    records: dict[int, Record] = field(default_factory=dict)
    arrived: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[str, Kept] = field(default_factory=dict)
    live: dict[str, int] = field(default_factory=dict)
    spent: int = 0
    metadata: dict[str, Json] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    past: bool = False
    spaces: dict[str, Standing] = field(default_factory=dict)
    begun: bool = False

    def record(self, place: int) -> Record:
        """Return the record of a task, a new one where it has none yet."""
        found = self.records.get(place)
        if found is None:
            found = self.records[place] = Record()
        return found

    def drop_records(self, *, keep: bool = True) -> None:
        """Forget what the tasks of a superstep left, since another one begins.

        Args:
            keep: Whether the runs inside them that outlive their tasks have gone on; not so
                where a fork goes back behind them.
        """
        for record in self.records.values() if keep else ():
            if not record.subs:
                continue
            for key, inner in record.subs.items():
                if key.startswith(KEPT):
                    inner.drop_records()
                    inner.begun = False
                    self.spaces[key] = inner
        self.records = {}
        self.pause = 0

    def inside(self, record: Record, key: str) -> Standing:
        """Return where a run inside one of the tasks stands; one that was kept goes on.

        It is a copy: what was kept is what a fork of this checkpoint begins from.
        """
        found = record.subs.get(key)
        if found is None:
            kept = self.spaces.get(key)
            found = record.subs[key] = Standing() if kept is None else kept.twin()
        return found

    def twin(self) -> Standing:
        """Return a standing that can go on without this one."""
        return replace(
            self,
            values={name: own(value) for name, value in self.values.items()},
            kept={name: Kept(one.elements.copy(), one.last) for name, one in self.kept.items()},
            live=dict(self.live),
            arrived={name: nodes.copy() for name, nodes in self.arrived.items()},
            due=list(self.due),
            records={},
            spaces={key: inner.twin() for key, inner in self.spaces.items()},
        )
