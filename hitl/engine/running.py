"""Running a graph to its end or its next pause, sync and async side by side."""

from __future__ import annotations

import copy
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, Self

from hitl.checkpoint import Checkpointer
from hitl.engine.ask import current_task
from hitl.engine.drive import Desk
from hitl.engine.effects import Ending, Request
from hitl.engine.journal import TaskJournal
from hitl.engine.nested import NestedWriter, open_nested
from hitl.engine.runtime import Runtime, context_of
from hitl.engine.settings import (
    Keys,
    RunOptions,
    Settings,
    check_keys,
    joined,
    read_config,
    read_options,
)
from hitl.engine.shape import Node, Shape, stops
from hitl.engine.shelf import Shelf
from hitl.engine.standing import Standing
from hitl.engine.stepper import Steps, steps
from hitl.engine.streaming import Printer, checkpoint_part, telling_its_life
from hitl.engine.task import CURRENT, RunFacts, Task
from hitl.engine.trace import start_trace
from hitl.engine.travel import updating
from hitl.engine.view import chosen, output, result
from hitl.engine.waits import interrupts
from hitl.engine.watch import Reader, Told, Watch
from hitl.engine.writer import NoJournal, Writer
from hitl.errors import Misuse, NoCheckpointer
from hitl.values import INTERRUPT, Config, StateUpdate, SystemClock

__all__ = ["Run", "Runner", "Version"]

Version = Literal["v1", "v2"]


def _inherit(facts: RunFacts, outer: Task) -> None:
    """Let a run inside a task have the surroundings of the run around it."""
    around = outer.run
    own = facts.runtime
    facts.outer = outer
    facts.path = f"{around.path}{outer.node.name}/"
    if outer.node.graph is None:  # a function called it: only its own name tells which it is
        facts.path += f"{facts.shape.name}/"
    facts.config = {**around.config, **facts.config}
    facts.now, facts.sleep = around.now, around.sleep
    facts.runtime = Runtime(
        around.runtime.context if own.context is None else own.context,
        around.runtime.store if own.store is None else own.store,
        around.runtime.stream_writer,
    )


def _readers(reader: Reader | None, printed: tuple[str, ...]) -> tuple[Reader, ...]:
    """Return the readers of a run's own: the caller's, and one that prints."""
    own = () if reader is None else (reader,)
    if not printed:
        return own
    deep = reader is not None and reader.subgraphs
    return (*own, Reader((), frozenset(printed), deep, Printer()))


def _watch(readers: tuple[Reader, ...], around: Task | None) -> Watch | None:
    """Return who watches a run: its own readers, and those around it who want runs inside."""
    wider = None
    if around is not None and around.run.watch is not None:
        wider = around.run.watch.inside(around.node.name, around.id, around.subs)
    if wider is None or not readers:
        return Watch(readers, set()) if readers else wider
    return Watch((*readers, *wider.readers), wider.seen)


class Run(NamedTuple):
    """A run that is ready to be driven."""

    steps: Steps
    desk: Desk
    settings: Settings
    watch: Watch | None = None
    keys: Keys = None


class Runner:
    """The half of a compiled graph that runs it; see ``CompiledStateGraph``.

    Attributes:
        name: The graph's name.
        checkpointer: Where its threads are kept, if anywhere.
        nodes: Its nodes by name.
        joins: Whether a run inside a task of another run is saved with it.
        keeps: Whether its state there outlives the task.
        debug: Whether every run prints its updates and values.
    """

    def __init__(
        self,
        shape: Shape,
        checkpointer: Checkpointer | None,
        store: object,
        *,
        joins: bool = True,
        keeps: bool = False,
        debug: bool = False,
    ) -> None:
        self.debug = debug
        self.joins = joins
        self.keeps = keeps
        self.shape = shape
        self.name = shape.name
        self.checkpointer = checkpointer
        self.store = store
        self.bound: Config | None = None
        self._shelf = Shelf(shape, checkpointer) if checkpointer is not None else None
        self._clock = checkpointer.clock if checkpointer is not None else SystemClock()

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Return the graph's nodes by name."""
        return self.shape.nodes

    @property
    def stream_channels(self) -> list[str] | str:
        """Return the keys of the states that it gives out, the name of the one for a bare state."""
        schema = self.shape.output
        shown = [name for name in schema.channels if schema.gives(name)]
        return shown[0] if schema.form == "root" else shown

    def with_config(self, config: Config | None = None, **more: object) -> Self:
        """Return the same graph, whose runs have this config beneath what they are given.

        Args:
            config: As for ``invoke``; maps inside it are joined key by key.
            **more: Further keys of the config: ``with_config(recursion_limit=50)``.

        Raises:
            Misuse: A value is not of its type.
        """
        bound = joined(self.bound, {**(config or {}), **more})
        read_config(bound, saved=False)
        same = copy.copy(self)
        same.bound = bound
        return same

    def _given(self, config: Config | None) -> Config | None:
        return config if self.bound is None else joined(self.bound, config)

    def _telling(
        self, run: Run, watch: Watch, parts: Generator[tuple[str, object], None, Ending]
    ) -> Ending:
        """Drive a run to its end, and tell those who watch it from around."""
        try:
            while True:
                try:
                    part = next(parts)
                except StopIteration as stop:
                    ending: Ending = stop.value
                    return ending
                told = self._told(run, part)
                watch.tell(told)
        finally:
            parts.close()

    def _run(
        self,
        input: object,
        config: Config | None,
        modes: tuple[str, ...],
        more: RunOptions,
        updates: Sequence[Sequence[StateUpdate]] | None = None,
        *,
        reader: Reader | None = None,
    ) -> Run:
        config = self._given(config)
        around = CURRENT.get()
        # A graph without a saver that runs inside a task joins the run of that task.
        outer = around if self.checkpointer is None else None
        settings = self._settings(config)
        options = read_options({"debug": True, **more} if self.debug else more)
        before = self.shape.before | stops(self.shape.nodes, options.before, "interrupt_before")
        after = self.shape.after | stops(self.shape.nodes, options.after, "interrupt_after")
        if outer is None or not outer.run.journal.saved:
            self._check_saver(before or after)
        check_keys(options.keys, self.shape.channels)
        watch = _watch(_readers(reader, options.printed), around)
        wanted = frozenset(modes) if watch is None else watch.modes.union(modes)
        if "checkpoints" in wanted and outer is None:
            self._check_checkpoints()
        request = Request(
            input,
            wanted,
            settings.limit,
            settings.reviewer,
            # A run that is not saved has no past, though its config may be that of one around it.
            settings.checkpoint if self.checkpointer is not None else 0,
            settings.pause if self.checkpointer is not None else 0,
            options.unknown,
            before,
            after,
            settings.metadata,
            options.wait > 0,
        )
        desk, going_on = self._desk(outer, settings, options.wait)
        facts = RunFacts(
            self.shape,
            settings.thread,
            "",
            dict(config or {}),
            Runtime(context_of(self.shape.context, options.context), self.store),
            desk.writer,
            {},
            self._clock.now,
            sleep=getattr(self._clock, "sleep", None),
        )
        if outer is not None:
            _inherit(facts, outer)
        if watch is not None:
            facts.watch = watch
            if "custom" in watch.modes:
                facts.runtime = replace(facts.runtime, stream_writer=watch.write)
        if outer is not None and going_on:
            # It has begun before its outer task paused: its input is in the log already.
            request = replace(request, input=None)
        todo = (
            steps(self.shape, request, facts)
            if updates is None
            else updating(self.shape, request, facts, updates)
        )
        if watch is not None and "lifecycle" in watch.modes and around is not None:
            todo = telling_its_life(todo)
        return self._traced(Run(todo, desk, settings, watch, options.keys), facts)

    def _settings(self, config: Config | None) -> Settings:
        settings = read_config(config, saved=self.checkpointer is not None)
        if settings.space and self.checkpointer is not None:
            raise Misuse(
                f"The config names {settings.space!r}, a run inside another one.",
                hint="It can be looked at with get_state; it goes on with the outermost run.",
            )
        return settings

    def _traced(self, run: Run, facts: RunFacts) -> Run:
        """Return a run as it is, or one that tells a trace where somebody traces."""
        trace = start_trace(self.name, facts.thread, facts.path)
        if trace is None:
            return run
        from hitl.engine.tracing import traced

        facts.trace = trace
        if isinstance(run.desk.writer, Writer):
            run.desk.writer.trace = trace
        return run._replace(steps=traced(run.steps, trace))

    def _desk(self, outer: Task | None, settings: Settings, wait: float) -> tuple[Desk, bool]:
        """Return where a run reads and writes, and whether it goes on inside its outer task."""
        shelf = self._shelf
        if shelf is not None:
            writer = Writer(shelf.store, settings.thread)
            return Desk(lambda seq: shelf.take(writer, seq), shelf.look, writer, wait), False
        if outer is not None and self.joins and isinstance(outer.run.journal, TaskJournal):
            key, inner = open_nested(outer, self.shape, kept=self.keeps)
            nested = NestedWriter(outer.run.journal, outer.place, key, inner)
            return Desk(lambda _: inner, lambda _: [], nested), inner.begun
        if outer is None and self.keeps:
            raise NoCheckpointer(
                f"Graph {self.name!r} was compiled with checkpointer=True, which is for a graph "
                "inside another one.",
                hint="Give a saver: compile(checkpointer=SqliteSaver('runs.db')).",
            )
        return Desk(lambda _: Shelf.fresh(self.shape, ""), lambda _: [], NoJournal()), False

    def _check_saver(self, stops: frozenset[str]) -> None:
        if self.checkpointer is not None:
            return
        asking = [node.name for node in self.shape.nodes.values() if node.approves]
        if asking or stops:
            raise NoCheckpointer(
                f"Graph {self.name!r} pauses at {', '.join(asking or sorted(stops))}, but it "
                "was built without a checkpointer.",
                hint="Give one: checkpointer=SqliteSaver('runs.db'), or InMemorySaver() in tests.",
            )

    def _check_checkpoints(self) -> None:
        if self.checkpointer is None:
            raise NoCheckpointer(
                f"Graph {self.name!r} keeps no checkpoints that a stream could tell.",
                hint="compile(checkpointer=SqliteSaver('runs.db')).",
            )

    def _result(self, run: Run, ending: Ending, version: str) -> object:
        self._hold(run, ending)
        nested = isinstance(run.desk.writer, NestedWriter)
        shown = result(
            self.shape,
            ending.standing,
            ending.interrupts,
            version,
            nested=nested,
            keys=run.keys,
        )
        self._keep(run, ending)
        return shown

    @staticmethod
    def _hold(run: Run, ending: Ending) -> None:
        """Let the outer task pause with the run inside it."""
        if isinstance(run.desk.writer, NestedWriter) and ending.standing.due:
            current_task("A graph inside another one").hold()

    def _keep(self, run: Run, ending: Ending) -> None:
        if self._shelf is not None and isinstance(run.desk.writer, Writer):
            self._shelf.put(ending.standing, run.desk.writer)

    def _told(self, run: Run, part: tuple[str, object]) -> Told:
        """Return what readers get of a part: no standing, which goes on changing."""
        mode, data = part
        if not isinstance(data, Standing):
            if mode == "updates" and run.keys is not None and isinstance(data, dict):
                data = {name: _narrowed(run.keys, name, one) for name, one in data.items()}
            return Told((), mode, data)
        if mode == "checkpoints":
            shown = checkpoint_part(self.shape, data, run.watch)
            return Told((), mode, shown, schema=self.shape.schema)
        if run.keys is not None:
            return Told((), mode, chosen(run.keys, data.values), interrupts(data))
        return Told((), mode, output(self.shape, data), interrupts(data), self.shape.output)


def _narrowed(keys: str | tuple[str, ...], name: str, written: object) -> object:
    """Return what of an update has the keys that are wanted, None where nothing has."""
    if name == INTERRUPT or not isinstance(written, dict):
        return written
    if isinstance(keys, str):
        return written.get(keys)
    return {key: written[key] for key in keys if key in written} or None
