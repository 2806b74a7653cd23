"""A compiled graph: what runs it, and what looks at its threads and changes their state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from hitl.engine.draw import DrawnGraph, drawn, where_it_stands
from hitl.engine.drive import drive, exhaust
from hitl.engine.effects import Ending
from hitl.engine.history import history, stood_at
from hitl.engine.invoking import Invoking
from hitl.engine.running import Run
from hitl.engine.settings import Settings, read_config
from hitl.engine.shelf import Shelf
from hitl.engine.standing import Standing
from hitl.engine.view import config_of, fits, snapshot
from hitl.errors import Misuse, NoCheckpointer
from hitl.values import Config, StateSnapshot, StateUpdate

__all__ = ["CompiledStateGraph"]


class CompiledStateGraph(Invoking):
    """What ``StateGraph.compile`` returns. Safe to share between threads and event loops.

    Attributes:
        name: The graph's name.
        checkpointer: Where its threads are kept, if anywhere.
        nodes: Its nodes by name.
        joins: Whether a run inside a task of another run is saved with it.
        keeps: Whether its state there outlives the task.
    """

    def get_state(self, config: Config, *, subgraphs: bool = False) -> StateSnapshot:
        """Return where a thread stands, or stood at the checkpoint that the config names.

        Where it stands now is told with what finished tasks have written, and with the questions
        that are open; a checkpoint that is named is told in full: its own values, everything
        that was due there and everything that was asked.

        Args:
            config: Names the thread. The config of a task's ``state`` names the run inside it.
            subgraphs: Whether ``state`` of a task that waits with a run inside it is where that
                run stands, in place of its config.

        Raises:
            NoCheckpointer: The graph has none.
            NoThreadId: The config names no thread.
            Misuse: The checkpoint is not one of this thread, or nothing waits in that task.
        """
        shelf, settings = self._looking(config)
        inside = subgraphs or bool(settings.space)
        if settings.checkpoint and not settings.space:
            seen, _ = stood_at(self.shape, shelf.store, settings.thread, settings.checkpoint)
            return snapshot(self.shape, seen, past=True, inside=inside)
        shown = shelf.peek(settings.thread, lambda one: self._shown(one, config, inside=inside))
        return _within(shown, settings.space) if settings.space else shown

    def _shown(self, standing: Standing, config: Config, *, inside: bool) -> StateSnapshot:
        if not standing.checkpoint:
            return StateSnapshot({}, (), dict(config), None, None, None, (), ())
        return snapshot(self.shape, standing, inside=inside)

    async def aget_state(self, config: Config, *, subgraphs: bool = False) -> StateSnapshot:
        """Return where a thread stands; see ``get_state``.

        Raises:
            NoCheckpointer: The graph has none.
            NoThreadId: The config names no thread.
            Misuse: The checkpoint is not one of this thread, or nothing waits in that task.
        """
        import asyncio

        return await asyncio.to_thread(lambda: self.get_state(config, subgraphs=subgraphs))

    def get_subgraphs(
        self, namespace: str | None = None, recurse: bool = False
    ) -> Iterator[tuple[str, CompiledStateGraph]]:
        """Yield the graphs that are nodes of this one, each with the node's name.

        Args:
            namespace: Only the one of this name; ``a|b`` is node ``b`` of the graph ``a``.
            recurse: Those inside them too, as ``a|b``.
        """
        wanted = namespace is None
        for name, node in self.nodes.items():
            graph = node.graph
            if not isinstance(graph, CompiledStateGraph):
                continue
            if wanted or namespace == name:
                yield name, graph
            rest = None if namespace is None else namespace.removeprefix(f"{name}|")
            if (wanted and recurse) or (rest is not None and rest != namespace):
                for deeper, inner in graph.get_subgraphs(rest, recurse):
                    yield f"{name}|{deeper}", inner

    def get_state_history(
        self,
        config: Config,
        *,
        filter: Mapping[str, object] | None = None,  # noqa: A002 - the field's name
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """Yield the states of a thread's checkpoints, newest first.

        Args:
            config: Names the thread, and (with a checkpoint) where to begin.
            filter: Only those whose metadata has these values, as ``{"source": "input"}``.
            before: Only those older than the checkpoint that this config names.
            limit: How many at the most.

        Raises:
            NoCheckpointer: The graph has none.
            NoThreadId: The config names no thread.
            Misuse: ``before`` names no checkpoint.
        """
        shelf, settings = self._looking(config)
        last = settings.checkpoint or None
        if before is not None:
            end = read_config(before, saved=True).checkpoint
            if not end:
                raise Misuse("before= names no checkpoint_id.", hint="Give a snapshot's config.")
            last = min(last or end - 1, end - 1)
        page = limit if limit is not None and not filter else None
        seen = [
            snapshot(self.shape, standing, past=True)
            for standing, _ in history(self.shape, shelf.store, settings.thread, last, page)
        ]
        wanted = [shown for shown in reversed(seen) if fits(shown, filter or {})]
        return iter(wanted if limit is None else wanted[: max(limit, 0)])

    async def aget_state_history(
        self,
        config: Config,
        *,
        filter: Mapping[str, object] | None = None,  # noqa: A002 - the field's name
        before: Config | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """Yield the states of a thread's checkpoints, newest first; see ``get_state_history``.

        Raises:
            NoCheckpointer: The graph has none.
            NoThreadId: The config names no thread.
            Misuse: ``before`` names no checkpoint.
        """
        import asyncio

        for one in await asyncio.to_thread(
            lambda: list(self.get_state_history(config, filter=filter, before=before, limit=limit))
        ):
            yield one

    def get_graph(self) -> DrawnGraph:
        """Return the graph to look at: its nodes, its edges, and ``draw_mermaid()``."""
        return drawn(self.shape)

    def draw_mermaid(self, config: Config | None = None) -> str:
        """Return the graph as Mermaid text.

        Args:
            config: Names a thread; the nodes at which it stands are marked as ``next``,
                ``paused`` or ``failed``.

        Raises:
            NoCheckpointer: A config is given, and the graph has no checkpointer.
            NoThreadId: The config names no thread.
            Misuse: The checkpoint is not one of this thread.
        """
        marks = None if config is None else where_it_stands(self.get_state(config))
        return drawn(self.shape, marks).draw_mermaid()

    # Changing ------------------------------------------------------------------------------

    def update_state(
        self,
        config: Config,
        values: object,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> Config:
        """Write a checkpoint as if a node had returned these values; return its config.

        Args:
            config: Names the thread, and (with a checkpoint) an earlier point to fork from.
            values: What is written; None to change nothing but drop what waits.
            as_node: The node whose write it is: its edges say what is due next. By default
                the only node, or the one that wrote last. ``END`` drops what is due,
                ``"__copy__"`` makes a sibling of the checkpoint, ``"__input__"`` an input.
            task_id: Not looked at; kept for code that moves over.

        Raises:
            InvalidUpdateError: It does not fit, or it is not clear whose it is.
            NoCheckpointer: The graph has none.
            HitlError: See ``invoke``.
        """
        return self.bulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    async def aupdate_state(
        self,
        config: Config,
        values: object,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> Config:
        """Write a checkpoint as if a node had returned these values; see ``update_state``.

        Raises:
            InvalidUpdateError: It does not fit, or it is not clear whose it is.
            NoCheckpointer: The graph has none.
            HitlError: See ``invoke``.
        """
        return await self.abulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    def bulk_update_state(
        self, config: Config, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> Config:
        """Write several checkpoints, each as if some nodes had run; return the last one's config.

        Each superstep is committed by itself, in order: one that does not fit is refused, and
        those before it stay.

        Args:
            config: See ``update_state``.
            supersteps: For each checkpoint the updates that make it.

        Raises:
            InvalidUpdateError: An update does not fit, or it is not clear whose it is.
            Misuse: There are no updates.
            NoCheckpointer: The graph has none.
            HitlError: See ``invoke``.
        """
        self._looking(config)
        run = self._run(None, config, (), {}, supersteps)
        ending = exhaust(drive(run.steps, run.desk, run.settings.max_concurrency))
        return self._updated(run, ending)

    async def abulk_update_state(
        self, config: Config, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> Config:
        """Write several checkpoints on an event loop; see ``bulk_update_state``.

        Raises:
            InvalidUpdateError: An update does not fit, or it is not clear whose it is.
            Misuse: There are no updates.
            NoCheckpointer: The graph has none.
            HitlError: See ``invoke``.
        """
        from hitl.engine.adrive import adrive

        self._looking(config)
        run = self._run(None, config, (), {}, supersteps)
        ending: object = None
        async for part in adrive(run.steps, run.desk, run.settings.max_concurrency):
            ending = part
        assert isinstance(ending, Ending)
        return self._updated(run, ending)

    def _updated(self, run: Run, ending: Ending) -> Config:
        self._keep(run, ending)
        return config_of(run.settings.thread, ending.standing.checkpoint)

    def _looking(self, config: Config) -> tuple[Shelf, Settings]:
        if self._shelf is None:
            raise NoCheckpointer(
                f"Graph {self.name!r} keeps no state: it was built without a checkpointer.",
                hint="compile(checkpointer=SqliteSaver('runs.db')).",
            )
        return self._shelf, read_config(self._given(config), saved=True)


def _within(shown: StateSnapshot, space: str) -> StateSnapshot:
    """Return the run inside a task that its config names.

    Raises:
        Misuse: There is none.
    """
    for task in shown.tasks:
        state = task.state
        if isinstance(state, StateSnapshot):
            here = str(state.config["configurable"]["checkpoint_ns"])  # type: ignore[index]
            if here == space:
                return state
            if space.startswith(f"{here}|"):
                return _within(state, space)
    raise Misuse(
        f"Nothing waits in {space!r} now.",
        hint="get_state(config, subgraphs=True) shows the runs inside tasks.",
    )
