"""One execution of a node: what it is given, what it asks, what it leaves.

A task knows its run's journal, but not how anything is stored or scheduled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Protocol

from hitl.checkpoint import Checkpointer
from hitl.engine.merge import merge, own
from hitl.engine.plan import ParentCommand, read_return, read_route
from hitl.engine.runtime import ExecutionInfo, Runtime
from hitl.engine.shape import Branch, Injects, Node, Shape
from hitl.engine.standing import NO_ARG, Asked, Done, Due, Intent, Record, Standing
from hitl.engine.trace import RunTrace
from hitl.engine.watch import Watch
from hitl.errors import Misuse, NoCheckpointer, Stale
from hitl.ledger import Ask, answer, answered, items_of
from hitl.values import Config, Item, ItemChange, Json, checkpoint_id, derive

__all__ = ["CURRENT", "Journal", "ParentCommand", "Pause", "RunFacts", "Task"]


class Pause(BaseException):
    """Unwinds a task that has asked; the record made before it is raised decides."""


class Journal(Protocol):
    """How a running task commits: the run's one writer, seen from inside a task."""

    saved: bool

    @property
    def kept_in(self) -> Checkpointer | None:
        """Return the store that it writes to, None where nothing is kept."""
        ...

    def intent(self, place: int, key: str, intent: Intent, moves: Sequence[ItemChange]) -> None:
        """Commit that a call is about to start."""
        ...

    def note(self, place: int, key: str, value: Json) -> None:
        """Commit the result of something that must not run twice."""
        ...

    async def aintent(
        self, place: int, key: str, intent: Intent, moves: Sequence[ItemChange]
    ) -> None:
        """Commit that a call is about to start, without blocking the event loop."""
        ...

    async def anote(self, place: int, key: str, value: Json) -> None:
        """Commit a result, without blocking the event loop."""
        ...


@dataclass(slots=True)
class RunFacts:
    """What all tasks of a run share.

    Attributes:
        outer: The task of another run that it runs inside, if any.
        path: Names of the nodes around it, each with a slash behind.
        standing: Where the run stands; tasks look only for the runs inside them.
        sleep: Waits before a node is tried again; None for this machine's own time.
        watch: Who reads what happens in it, None where nobody does.
        trace: Its trace, None where nobody traces.
    """

    shape: Shape
    thread: str
    salt: str
    config: Config
    runtime: Runtime
    journal: Journal
    items: dict[str, Item]
    now: Callable[[], float]
    lost_calls: frozenset[str] = frozenset()
    outer: Task | None = None
    path: str = ""
    standing: Standing | None = None
    sleep: Callable[[float], None] | None = None
    watch: Watch | None = None
    trace: RunTrace | None = None

    @property
    def nested(self) -> bool:
        """Return whether it runs inside a task of another run."""
        return self.outer is not None


@dataclass(slots=True, eq=False)
class Task:
    """One execution of a node.

    Attributes:
        place: Its index among the tasks of the superstep.
        node: The node.
        arg: Its own argument, or ``NO_ARG`` for the state.
        values: The state before the superstep; never changed by the task.
        checkpoint: Number of the checkpoint it runs from.
        record: What it has left in the log so far.
        run: What it shares with the other tasks of the run.
        due: All tasks of its superstep, itself included, by place.
        asks: How often it has asked in this execution.
        asked: A new question without an answer, if it paused.
        new_items: The items of that question.
        moves: Changes of items to commit when it is done.
        pushed: What it has written beside what it returns.
        writes: What it wrote, once it is done.
        goto: Where it wants to go.
        error: What it raised.
        raw: What the node returned, for those who watch.
        swallowed: Whether it went on after its pause, or ended with another error.
        subs: How many runs it has begun inside it in this execution.
        held: Whether a run inside it paused, or a call of it was lost.
        ended: Whether its node has returned; what still runs in its context is outside.
        attempt: Counts how often the node has been begun in this execution, from 1.
        awaited: Whether it runs for an event loop.
    """

    place: int
    node: Node
    arg: object
    values: dict[str, object]
    checkpoint: int
    record: Record
    run: RunFacts
    due: Sequence[Due] = ()
    asks: int = 0
    steps: int = 0
    asked: Asked | None = None
    new_items: list[Item] = field(default_factory=list)
    moves: dict[str, ItemChange] = field(default_factory=dict)
    pushed: list[tuple[str, object]] = field(default_factory=list)
    writes: list[tuple[str, object]] = field(default_factory=list)
    goto: list[Due] = field(default_factory=list)
    error: Exception | None = None
    raw: object = None
    swallowed: bool = False
    subs: int = 0
    held: bool = False
    ended: bool = False
    attempt: int = 1
    awaited: bool = False

    @property
    def paused(self) -> bool:
        """Return whether it waits: for an answer of its own, or with a run inside it."""
        return self.asked is not None or self.held

    @property
    def good(self) -> bool:
        """Return whether it has neither failed nor paused."""
        return self.error is None and self.asked is None and not self.held

    @property
    def id(self) -> str:
        """Return the task's id, which follows from its position."""
        return derive(self.run.salt, "task", self.checkpoint, self.node.name, self.place)

    @property
    def space(self) -> str:
        """Return the tasks around it and itself, outermost first."""
        outer, own = self.run.outer, f"{self.node.name}:{self.id}"
        return own if outer is None else f"{outer.space}|{own}"

    @property
    def runtime(self) -> Runtime:
        """Return its surroundings, which know of the task."""
        run = self.run
        given = run.config.get("run_id")
        info = ExecutionInfo(
            checkpoint_id(self.checkpoint),
            self.space,
            self.id,
            run.thread or None,
            None if given is None else str(given),
            self.attempt,
        )
        return replace(run.runtime, execution_info=info)

    def push(self, name: str, value: object) -> None:
        """Write to a channel beside what the node will return, before it.

        Raises:
            InvalidUpdateError: The state has no such key.
        """
        shape = self.run.shape
        self.pushed += read_return(shape, self.node, {name: value}, nested=self.run.nested)[0]

    def start(self, *, awaited: bool = False) -> object:
        """Call the node; for an async one the result is to be awaited."""
        node, shape, self.awaited = self.node, self.run.shape, awaited
        fn = node.afn if awaited and node.afn is not None else node.fn
        if self.arg is NO_ARG:
            state = (node.schema or shape.schema).build(self.values)
        else:
            state = own(self.arg)
        if not node.injects:
            return fn(state)
        return fn(state, **self.given(node.injects))

    def given(self, injects: Injects) -> dict[str, object]:
        """Return what a function asks for beside the state, by parameter name."""
        runtime = self.run.runtime
        if any(what == "runtime" for _, what in injects):
            runtime = self.runtime
        have: Mapping[str, object] = {
            "config": self.run.config,
            "runtime": runtime,
            "store": runtime.store,
            "writer": runtime.stream_writer,
        }
        return {name: have[what] for name, what in injects}

    def finish(self, value: object) -> tuple[Branch, ...]:
        """Take what the node returned; return the branches that are still to be asked."""
        if self.asked is not None or self.held:
            self.swallowed = True
            return ()
        if self.error is not None:
            raise self.error  # it was swallowed; the record decides
        self.raw = value
        shape = self.run.shape
        self.writes, self.goto = read_return(shape, self.node, value, nested=self.run.nested)
        if self.pushed:
            self.writes = [*self.pushed, *self.writes]
        goto, branches = shape.ways[self.node.name]
        self.goto += goto
        return branches

    def ask_branch(self, branch: Branch) -> object:
        """Call a branch's path function on the state as the task leaves it."""
        shape = self.run.shape
        after = {**self.values, **merge(shape.channels, self.values, self.writes)}
        return branch.path(shape.schema.build(after), **self.given(branch.injects))

    def asking(self, branch: Branch) -> Callable[[], object]:
        """Return the call of a branch's path function, to be made elsewhere."""
        return lambda: self.ask_branch(branch)

    def route(self, branch: Branch, chosen: object) -> None:
        """Take what a path function chose."""
        self.goto.extend(read_route(self.run.shape, branch, chosen, self.node.name))

    def done(self) -> Done:
        """Return what the finished task leaves."""
        return Done(self.writes, self.goto)

    def again(self) -> None:
        """Begin anew after an error; what the log has of the task stays."""
        self.attempt += 1
        self.asks = self.steps = self.subs = 0
        self.error, self.raw = None, None
        self.moves, self.pushed, self.writes, self.goto = {}, [], [], []

    @property
    def store(self) -> Checkpointer | None:
        """Return where its run is kept, None where it is not."""
        return self.run.journal.kept_in

    # What runs inside the node -----------------------------------------------------------

    def ask(self, asks: Sequence[Ask], value: Callable[[Sequence[str]], object]) -> object:
        """Return the answer to the task's next question, or pause the task with it.

        Args:
            asks: What there is to decide.
            value: Makes the interrupt's value, given the ids of the items.

        Raises:
            Pause: There is no answer yet; the question has been recorded.
            Stale: Another question stood here when the answer was given.
        """
        if not self.run.journal.saved:
            raise NoCheckpointer(
                f"Node {self.node.name!r} asks a human, but the graph was compiled without a "
                "checkpointer, so that the run could never be resumed.",
                hint="compile(checkpointer=SqliteSaver('runs.db')), or InMemorySaver() in tests.",
                node=self.node.name,
            )
        if self.paused:
            raise Pause
        number, self.asks = self.asks, self.asks + 1
        own = [asked for asked in self.record.asked if not asked.lost]
        if number < len(own):
            items = [self.run.items[id] for id in own[number].items]
            if [item.fingerprint for item in items] != [ask.fingerprint for ask in asks]:
                self.error = _changed(self.node.name, items[0])
                raise self.error
            if answered(items):
                return answer(items)
            raise Pause  # it waits already
        self._put(number, asks, value)
        raise Pause

    def _put(
        self, number: int, asks: Sequence[Ask], value: Callable[[Sequence[str]], object]
    ) -> None:
        run = self.run
        position = (self.checkpoint, self.node.name, self.place, number)
        interrupt = derive(run.salt, "ask", *position)
        single = asks[0].kind == "question"
        ids = tuple(
            interrupt if single else derive(run.salt, "item", *position, index)
            for index in range(len(asks))
        )
        self.new_items = items_of(
            asks, ids, interrupt, thread=run.thread, path=run.path + self.node.name, at=run.now()
        )
        schema = asks[0].rules.get("response_schema") if len(asks) == 1 else None
        self.asked = Asked(
            interrupt, value(ids), ids, schema=schema if isinstance(schema, dict) else None
        )
        self._mark_bodies()

    def hold(self) -> None:
        """Pause, because a run inside this task has paused.

        Raises:
            Pause: Always.
        """
        self.held = True
        self._mark_bodies()
        raise Pause

    def lose(self) -> None:
        """Pause, because a call was lost: whether it took effect is for a human to say.

        Raises:
            Pause: Always.
        """
        self.held = True
        raise Pause

    def _mark_bodies(self) -> None:
        """Note that the bodies of calls paused, so that entering them again is right."""
        for key, intent in self.record.intents.items():
            if key not in self.record.notes:
                intent.paused = True

    def next_note(self, name: str) -> tuple[str, bool]:
        """Return the key of the next ``step`` of this execution, and whether it is known.

        Raises:
            Misuse: The code has changed the order of its steps since the note was taken.
            Pause: The task has paused already, and something swallowed that.
        """
        if self.paused:
            raise Pause
        number, self.steps = self.steps, self.steps + 1
        key = f"step:{number}:{name}"
        if key in self.record.notes:
            return key, True
        for known in self.record.notes:
            if known.startswith(f"step:{number}:"):
                raise Misuse(
                    f"step() number {number} of node {self.node.name!r} is {name!r} now; it was "
                    f"{known.split(':', 2)[2]!r} when its result was kept.",
                    hint="Keep the order of steps while a thread is paused in this node.",
                )
        return key, False


def _changed(node: str, item: Item) -> Stale:
    """Return the error for an answer that would reach a question nobody has seen."""
    return Stale(
        f"Node {node!r} asks something else now than when item {item.id} was answered; the "
        "answer was not given to it.",
        hint="Keep what a question is made of in step(), so that it is the same when the node "
        "runs again. update_state(config, None) drops the answer, and the node asks anew.",
        node=node,
        item=item.id,
    )


CURRENT: ContextVar[Task | None] = ContextVar("hitl_task", default=None)
"""The task whose node is running here."""
