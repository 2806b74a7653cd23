"""Running a graph: invoke and stream, sync and async side by side."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, overload

from hitl.checkpoint import Checkpointer
from hitl.engine.ask import current_task
from hitl.engine.drive import Desk, drive, exhaust
from hitl.engine.effects import Ending, Request
from hitl.engine.journal import TaskJournal
from hitl.engine.nested import NestedWriter, open_nested
from hitl.engine.runtime import Runtime
from hitl.engine.settings import (
    Modes,
    Settings,
    check_version,
    read_config,
    read_modes,
    read_options,
)
from hitl.engine.shape import Node, Shape, stops
from hitl.engine.shelf import Shelf
from hitl.engine.standing import Standing
from hitl.engine.stepper import Steps, steps
from hitl.engine.task import CURRENT, RunFacts, Task
from hitl.engine.travel import updating
from hitl.engine.view import output, result
from hitl.engine.waits import interrupts
from hitl.engine.writer import NoJournal, Writer
from hitl.errors import NoCheckpointer
from hitl.values import (
    INTERRUPT,
    Config,
    GraphOutput,
    StateUpdate,
    SystemClock,
)

__all__ = ["Run", "Runner"]

Version = Literal["v1", "v2"]


def _inherit(facts: RunFacts, outer: Task) -> None:
    """Let a run inside a task have the surroundings of the run around it."""
    around = outer.run
    own = facts.runtime
    facts.nested = True
    facts.path = f"{around.path}{outer.node.name}/"
    facts.config = {**around.config, **facts.config}
    facts.now = around.now
    facts.runtime = Runtime(
        around.runtime.context if own.context is None else own.context,
        around.runtime.store if own.store is None else own.store,
        around.runtime.stream_writer,
    )


class Run(NamedTuple):
    """A run that is ready to be driven."""

    steps: Steps
    desk: Desk
    settings: Settings
    modes: tuple[str, ...]


class Runner:
    """The half of a compiled graph that runs it; see ``CompiledStateGraph``.

    Attributes:
        name: The graph's name.
        checkpointer: Where its threads are kept, if anywhere.
        nodes: Its nodes by name.
        joins: Whether a run inside a task of another run is saved with it.
    """

    def __init__(
        self,
        shape: Shape,
        checkpointer: Checkpointer | None,
        store: object,
        *,
        joins: bool = True,
    ) -> None:
        self.joins = joins
        self.shape = shape
        self.name = shape.name
        self.checkpointer = checkpointer
        self.store = store
        self._shelf = Shelf(shape, checkpointer) if checkpointer is not None else None
        self._clock = checkpointer.clock if checkpointer is not None else SystemClock()

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Return the graph's nodes by name."""
        return self.shape.nodes

    @overload
    def invoke(
        self, input: object, config: Config | None = None, *, version: Literal["v2"], **more: Any
    ) -> GraphOutput: ...
    @overload
    def invoke(
        self,
        input: object,
        config: Config | None = None,
        *,
        version: Literal["v1"] = "v1",
        **more: Any,
    ) -> Any: ...
    def invoke(
        self,
        input: object,
        config: Config | None = None,
        *,
        version: Version = "v1",
        **more: Any,
    ) -> Any:
        """Run until the graph ends or waits for a human.

        Args:
            input: A state to begin with, a ``Command``, or None to go on where it stands.
            config: ``{"configurable": {"thread_id": ..., "reviewer"?: ...}}``.
            version: ``"v2"`` for a ``GraphOutput``, ``"v1"`` for a dict that also has
                ``.value`` and ``.interrupts``.
            **more: ``context`` (given to nodes as ``runtime.context``), ``interrupt_before``,
                ``interrupt_after``, ``durability`` (every run is ``"sync"``), ``on_unknown``
                (``"tell_model"`` lets new input close calls whose outcome is not known),
                ``wait`` (seconds to wait where another run holds the thread, before ``Busy``).

        Returns:
            The output and what waits, see ``version``.

        Raises:
            HitlError: Wrong use; nothing has run then. Or what a node raised.
        """
        check_version(version)
        run = self._run(input, config, (), more)
        ending = exhaust(drive(run.steps, run.desk, run.settings.max_concurrency))
        return self._result(run, ending, version)

    async def ainvoke(
        self,
        input: object,
        config: Config | None = None,
        *,
        version: Version = "v1",
        **more: Any,
    ) -> Any:
        """Run on an event loop; see ``invoke``.

        Raises:
            HitlError: Wrong use; nothing has run then. Or what a node raised.
        """
        from hitl.engine.adrive import adrive

        check_version(version)
        run = self._run(input, config, (), more)
        parts = adrive(run.steps, run.desk, run.settings.max_concurrency)
        ending: object = None
        try:
            async for part in parts:
                ending = part
        finally:
            await parts.aclose()
        assert isinstance(ending, Ending)
        return self._result(run, ending, version)

    def stream(
        self,
        input: object,
        config: Config | None = None,
        *,
        stream_mode: Modes = "updates",
        version: Version = "v1",
        **more: Any,
    ) -> Generator[Any, None, None]:
        """Run, and yield what happens as it happens.

        Args:
            input: See ``invoke``.
            config: See ``invoke``.
            stream_mode: ``"values"`` (the state after each step), ``"updates"`` (what each
                node wrote), or a list of both, which yields ``(mode, data)``.
            version: ``"v2"`` yields ``{"type", "ns", "data"}`` instead.
            **more: See ``invoke``.

        Yields:
            Parts as said; a pause shows as ``{"__interrupt__": (Interrupt, ...)}``.

        Raises:
            HitlError: Wrong use; nothing has run then. Or what a node raised.
        """
        modes = read_modes(stream_mode)
        check_version(version)
        run = self._run(input, config, modes, more)
        return self._parts(run, stream_mode, version)

    def _parts(self, run: Run, stream_mode: Modes, version: Version) -> Generator[Any, None, None]:
        parts = drive(run.steps, run.desk, run.settings.max_concurrency)
        try:
            while True:
                try:
                    part = next(parts)
                except StopIteration as stop:
                    self._hold(run, stop.value)
                    self._keep(run, stop.value)
                    return
                yield self._part(part, stream_mode, version)
        finally:
            parts.close()  # a stream that is left early gives the lease back

    async def astream(
        self,
        input: object,
        config: Config | None = None,
        *,
        stream_mode: Modes = "updates",
        version: Version = "v1",
        **more: Any,
    ) -> AsyncGenerator[Any, None]:
        """Run on an event loop, and yield what happens as it happens; see ``stream``.

        Raises:
            HitlError: Wrong use; nothing has run then. Or what a node raised.
        """
        from hitl.engine.adrive import adrive

        check_version(version)
        run = self._run(input, config, read_modes(stream_mode), more)
        parts: AsyncGenerator[tuple[str, object] | Ending, None] = adrive(
            run.steps, run.desk, run.settings.max_concurrency
        )
        try:
            async for part in parts:
                if isinstance(part, Ending):
                    self._hold(run, part)
                    self._keep(run, part)
                else:
                    yield self._part(part, stream_mode, version)
        finally:
            await parts.aclose()

    def _run(
        self,
        input: object,
        config: Config | None,
        modes: tuple[str, ...],
        more: dict[str, Any],
        updates: Sequence[Sequence[StateUpdate]] | None = None,
    ) -> Run:
        outer = self._outer()
        settings = read_config(config, saved=self.checkpointer is not None)
        options = read_options(more)
        before = self.shape.before | stops(self.shape.nodes, options.before, "interrupt_before")
        after = self.shape.after | stops(self.shape.nodes, options.after, "interrupt_after")
        if outer is None or not outer.run.journal.saved:
            self._check_saver(before or after)
        request = Request(
            input,
            frozenset(modes),
            settings.limit,
            settings.reviewer,
            settings.checkpoint,
            settings.pause,
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
            Runtime(options.context, self.store),
            desk.writer,
            {},
            self._clock.now,
        )
        if outer is not None:
            _inherit(facts, outer)
            if going_on:
                # It has begun before its outer task paused: its input is in the log already.
                request = replace(request, input=None)
        todo = (
            steps(self.shape, request, facts)
            if updates is None
            else updating(self.shape, request, facts, updates)
        )
        return Run(todo, desk, settings, modes)

    def _outer(self) -> Task | None:
        """Return the task that this run is inside of: one without a saver joins its run."""
        return CURRENT.get() if self.checkpointer is None else None

    def _desk(self, outer: Task | None, settings: Settings, wait: float) -> tuple[Desk, bool]:
        """Return where a run reads and writes, and whether it goes on inside its outer task."""
        shelf = self._shelf
        if shelf is not None:
            writer = Writer(shelf.store, settings.thread)
            return Desk(lambda seq: shelf.take(writer, seq), shelf.look, writer, wait), False
        if outer is not None and self.joins and isinstance(outer.run.journal, TaskJournal):
            key, inner = open_nested(outer, self.shape)
            nested = NestedWriter(outer.run.journal, outer.place, key)
            return Desk(lambda _: inner, lambda _: [], nested), inner.checkpoint > 0
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

    def _result(self, run: Run, ending: Ending, version: str) -> object:
        self._hold(run, ending)
        nested = isinstance(run.desk.writer, NestedWriter)
        shown = result(self.shape, ending.standing, ending.interrupts, version, nested=nested)
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

    def _part(self, part: tuple[str, object], stream_mode: Modes, version: str) -> object:
        mode, data = part
        waits: tuple[object, ...] = ()
        if isinstance(data, Standing):
            waits = interrupts(data)
            data = output(self.shape, data)
            if waits and version == "v1":
                data = {**(data if isinstance(data, dict) else {}), INTERRUPT: waits}
        if version == "v2":
            shown: dict[str, object] = {"type": mode, "ns": (), "data": data}
            if mode == "values":
                shown["interrupts"] = waits
            return shown
        return data if isinstance(stream_mode, str) else (mode, data)
