"""The builder: nodes and edges are added, checked and frozen into a graph that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Self

from hitl.checkpoint import Checkpointer, check_store
from hitl.engine.ask import current_task
from hitl.engine.compiled import CompiledStateGraph
from hitl.engine.merge import Channel
from hitl.engine.reach import unreachable
from hitl.engine.retry import RetryPolicy, read_policies
from hitl.engine.schema import Schema, read_schema
from hitl.engine.shape import Branch, Join, Node, Prepare, Shape, injected, is_async, stops
from hitl.errors import Misuse
from hitl.ledger import near
from hitl.values import END, START

__all__ = ["StateGraph"]

Fn = Callable[..., object]


class StateGraph:
    """A graph whose nodes read a shared state and write parts of it.

    Args:
        state_schema: A TypedDict, dataclass or pydantic model; a key that several nodes write
            in one step is annotated with a reducer: ``Annotated[list, operator.add]``.
            Or a bare ``Annotated[type, reducer]`` for a state that is one value.
        context_schema: The class of what runs are given as ``context=``; of a dataclass or a
            pydantic model a dict becomes an instance.
        input_schema: What an input may hold, the state by default.
        output_schema: What a result holds, the state by default.

    Raises:
        Misuse: A schema is no class of these kinds.
    """

    def __init__(
        self,
        state_schema: object,
        context_schema: object = None,
        *,
        input_schema: object = None,
        output_schema: object = None,
    ) -> None:
        self.schema = read_schema(state_schema)
        self.context_schema = context_schema
        self.input = self._schema(input_schema, "input_schema") or self.schema
        self.output = self._schema(output_schema, "output_schema") or self.schema
        self.nodes: dict[str, Node] = {}
        self._channels: dict[str, Channel] = {}
        self._edges: dict[str, list[str]] = {}
        self._branches: dict[str, list[Branch]] = {}
        self._joins: list[Join] = []

    @staticmethod
    def _schema(given: object, what: str) -> Schema | None:
        return None if given is None else read_schema(given, what)

    def add_node(
        self,
        node: str | Fn | CompiledStateGraph,
        action: Fn | CompiledStateGraph | None = None,
        *,
        metadata: Mapping[str, object] | None = None,
        input_schema: object = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        timeout: float | timedelta | None = None,
        destinations: Mapping[str, str] | Sequence[str] | None = None,
        approves: bool = False,
        async_action: Fn | None = None,
        onward: Fn | None = None,
    ) -> Self:
        """Add a node.

        Args:
            node: Its name, or the function, which then gives its name to it.
            action: The function: ``fn(state)``, sync or async; it may also ask for
                ``config``, ``runtime``, ``store`` or ``writer`` by parameter name. Or a
                compiled graph, which shares the keys that both states have.
            metadata: Yours, kept with the node.
            input_schema: A class that says which channels the node gets, and how.
            retry_policy: When it is tried again after an error; of several the first that takes
                the error counts. A pause is no error.
            timeout: Seconds (or a ``timedelta``) after which an attempt is cancelled; for async
                functions only, since nothing can stop a thread.
            destinations: The nodes to which it goes by ``Command(goto=...)``, with labels if
                it is a dict; shown in a drawing.
            approves: Whether it pauses for approvals, so that compiling without a
                checkpointer is refused when the graph is run.
            async_action: What async runs await in its place.
            onward: For a node that chooses its way with commands: a path function that says
                where ``update_state(as_node=...)`` goes in its place.

        Returns:
            This builder.

        Raises:
            Misuse: The name is taken or reserved, the function cannot be called so, or a timeout
                is given for a sync one.
        """
        name, fn = (node, action) if isinstance(node, str) else (_name(node), node)
        inner = fn if isinstance(fn, CompiledStateGraph) else None
        if isinstance(fn, CompiledStateGraph):
            approves = approves or any(inner.approves for inner in fn.nodes.values())
            fn, async_action = _as_node(fn)
        if fn is None or not callable(fn):
            raise Misuse(f"Node {name!r} has no function.", hint="add_node('name', function).")
        if name in (START, END) or not name:
            raise Misuse(f"{name!r} is no name for a node.")
        if name in self.nodes:
            raise Misuse(f"There is a node {name!r} already.")
        self.nodes[name] = Node(
            name,
            fn,
            injected(fn, f"Node {name!r}"),
            is_async(fn),
            self._schema(input_schema, f"input_schema of node {name!r}"),
            dict(metadata or {}),
            approves,
            async_action,
            read_policies(retry_policy, f"Node {name!r}"),
            _seconds(timeout, name, fn),
            None if destinations is None else _labels(destinations),
            onward,
            inner,
        )
        return self

    def add_edge(self, start: str | Sequence[str], end: str) -> Self:
        """Go from one node to another; from a list of nodes once all of them have run.

        Raises:
            Misuse: It starts at ``END`` or ends at ``START``.
        """
        if end == START or start == END:
            raise Misuse(f"An edge from {start!r} to {end!r} is none.")
        if isinstance(start, str):
            targets = self._edges.setdefault(start, [])
            if end not in targets:
                targets.append(end)
        else:
            self._joins.append(Join(frozenset(start), end))
        return self

    def add_conditional_edges(
        self,
        source: str,
        path: Fn,
        path_map: Mapping[object, str] | Sequence[str] | None = None,
    ) -> Self:
        """Ask a function of the state where to go after a node.

        Args:
            source: The node, or ``START``.
            path: Returns a node's name, a ``Send``, a key of ``path_map``, or a list of them.
            path_map: What the function's answers stand for; a list maps names to themselves.

        Returns:
            This builder.

        Raises:
            Misuse: The function cannot be called so.
        """
        if path_map is not None and not isinstance(path_map, Mapping):
            path_map = {name: name for name in path_map}
        what = f"The path function after {source!r}"
        branch = Branch(path, path_map, injected(path, what), is_async(path))
        self._branches.setdefault(source, []).append(branch)
        return self

    def add_sequence(self, nodes: Iterable[Fn | tuple[str, Fn]]) -> Self:
        """Add nodes that follow one another.

        Raises:
            Misuse: There are none, or a name is taken.
        """
        previous: str | None = None
        for node in nodes:
            name, fn = node if isinstance(node, tuple) else (_name(node), node)
            self.add_node(name, fn)
            if previous is not None:
                self.add_edge(previous, name)
            previous = name
        if previous is None:
            raise Misuse("add_sequence() was given no nodes.")
        return self

    def set_entry_point(self, node: str) -> Self:
        """Begin with a node."""
        return self.add_edge(START, node)

    def set_finish_point(self, node: str) -> Self:
        """End after a node."""
        return self.add_edge(node, END)

    def set_conditional_entry_point(
        self, path: Fn, path_map: Mapping[object, str] | Sequence[str] | None = None
    ) -> Self:
        """Ask a function of the input where to begin."""
        return self.add_conditional_edges(START, path, path_map)

    def compile(
        self,
        checkpointer: Checkpointer | bool | None = None,
        *,
        store: object = None,
        interrupt_before: Sequence[str] | str | None = None,
        interrupt_after: Sequence[str] | str | None = None,
        debug: bool = False,
        name: str | None = None,
        prepare: Prepare | None = None,
    ) -> CompiledStateGraph:
        """Check the graph and freeze it.

        Args:
            checkpointer: Where threads are kept; None for runs that are not saved, or are saved
                with the run around them. For a graph inside another one: True keeps its state
                from one run of the outer thread to the next, False saves nothing of it.
            store: Anything; passed through to nodes that ask for it.
            interrupt_before: Nodes before which every run stops, ``"*"`` for all.
            interrupt_after: Nodes after which every run stops, ``"*"`` for all.
            debug: Whether every run prints its updates and values.
            name: The graph's name.
            prepare: See ``Shape.prepare``.

        Returns:
            The graph, ready to run; the builder can be used on.

        Raises:
            Misuse: An edge leads nowhere, nothing begins, a node can never run, or a name to
                stop at is no node.
        """
        if checkpointer is not None and not isinstance(checkpointer, bool):
            check_store(checkpointer, "checkpointer")
        shape = self._freeze(name or "graph", interrupt_before, interrupt_after)
        shape = replace(shape, prepare=prepare, context=self.context_schema)
        saver = None if isinstance(checkpointer, bool) else checkpointer
        return CompiledStateGraph(
            shape,
            saver,
            store,
            joins=checkpointer is not False,
            keeps=checkpointer is True,
            debug=debug,
        )

    def _freeze(
        self, name: str, before: Sequence[str] | str | None, after: Sequence[str] | str | None
    ) -> Shape:
        self._check()
        nodes = dict(self.nodes)
        if START in self._branches:
            nodes[START] = Node(START, lambda _: None)
        channels: dict[str, Channel] = {}
        for schema in (self.schema, self.input, self.output, *self._node_schemas()):
            for key, channel in schema.channels.items():
                if key not in channels or channels[key].reducer is None:
                    channels[key] = channel
        joins = {
            source: tuple(join for join in self._joins if source in join.sources)
            for join in self._joins
            for source in join.sources
        }
        shape = Shape(
            name,
            self.schema,
            self.input,
            self.output,
            channels,
            nodes,
            {START: (), **{source: tuple(ends) for source, ends in self._edges.items()}},
            {source: tuple(branches) for source, branches in self._branches.items()},
            joins,
            stops(nodes, before, "interrupt_before"),
            stops(nodes, after, "interrupt_after"),
        )
        for node in unreachable(shape):
            raise Misuse(
                f"Node {node!r} can never run: nothing leads to it.",
                hint=f"add_edge(..., {node!r}), or destinations=[{node!r}] of the node that goes "
                "there by a Command.",
                node=node,
            )
        folded = frozenset(key for key, channel in channels.items() if channel.reducer)
        return replace(shape, signature=shape.sign(), folded=folded)

    def _node_schemas(self) -> list[Schema]:
        return [node.schema for node in self.nodes.values() if node.schema is not None]

    def _known(self, name: str, where: str) -> None:
        if name not in self.nodes:
            raise Misuse(
                f"{where} names {name!r}, which is no node.{near(name, self.nodes)}",
                hint=f"Nodes: {', '.join(self.nodes) or 'none yet'}.",
            )

    def _check(self) -> None:
        if (
            START not in self._edges
            and START not in self._branches
            and not any(START in join.sources for join in self._joins)
        ):
            raise Misuse("Nothing begins: no edge leaves START.", hint="add_edge(START, 'first').")
        pairs = [(source, end) for source, ends in self._edges.items() for end in ends]
        pairs += [(source, join.target) for join in self._joins for source in join.sources]
        for source, end in pairs:
            where = f"The edge {source!r} -> {end!r}"
            if source != START:
                self._known(source, where)
            if end != END:
                self._known(end, where)
        self._check_choices()

    def _check_choices(self) -> None:
        for node in self.nodes.values():
            for end in node.destinations or ():
                if end != END:
                    self._known(end, f"destinations of node {node.name!r}")
        for source, branches in self._branches.items():
            if source != START:
                self._known(source, "A conditional edge")
            for branch in branches:
                for end in (branch.path_map or {}).values():
                    if end != END:
                        self._known(end, f"The path_map after {source!r}")


def _labels(destinations: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    if isinstance(destinations, str):
        return {destinations: ""}
    if isinstance(destinations, Mapping):
        return dict(destinations)
    return dict.fromkeys(destinations, "")


def _seconds(timeout: float | timedelta | None, name: str, fn: Fn) -> float | None:
    if timeout is None:
        return None
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if not seconds > 0:
        raise Misuse(f"The timeout of node {name!r} is {timeout!r}; it must be seconds above 0.")
    if not is_async(fn):
        raise Misuse(
            f"Node {name!r} has a timeout, but its function is sync: nothing can stop a thread.",
            hint="Make it an async function, or give the client that it calls a timeout.",
        )
    return float(seconds)


def _as_node(graph: CompiledStateGraph) -> tuple[Fn, Fn]:
    """Return the functions, sync and async, of a node that runs a graph.

    It gets the keys of the outer state that it takes as input, and writes those of its output
    that the outer state has.
    """

    def given(state: object) -> object:
        wanted = graph.shape.input.channels
        if not isinstance(state, Mapping):
            return {key: getattr(state, key) for key in wanted if hasattr(state, key)}
        return {key: state[key] for key in wanted if key in state}

    def left(output: object) -> dict[str, object]:
        outer = current_task("A graph as a node").run.shape.channels
        known = output if isinstance(output, Mapping) else {}
        return {key: value for key, value in known.items() if key in outer}

    def node(state: object) -> dict[str, object]:
        return left(graph.invoke(given(state)))

    async def anode(state: object) -> dict[str, object]:
        return left(await graph.ainvoke(given(state)))

    return node, anode


def _name(fn: Fn | CompiledStateGraph) -> str:
    if isinstance(fn, CompiledStateGraph):
        return fn.name
    name = getattr(fn, "__name__", None) or type(fn).__name__
    if name == "<lambda>":
        raise Misuse("A lambda has no name.", hint="add_node('name', lambda state: ...).")
    return str(name)
