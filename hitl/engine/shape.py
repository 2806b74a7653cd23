"""A graph, frozen and checked: nodes, edges, branches, and the signature over them."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hitl.engine.merge import Channel
from hitl.engine.retry import RetryPolicy
from hitl.engine.runtime import is_runtime
from hitl.engine.schema import Schema
from hitl.engine.standing import NO_ARG, Due
from hitl.errors import Misuse
from hitl.ledger import near
from hitl.values import START

Injects = tuple[tuple[str, str], ...]
Prepare = Callable[[Mapping[str, object], dict[str, object], frozenset[str]], dict[str, object]]

__all__ = ["Branch", "Graph", "Injects", "Join", "Node", "Shape", "injected", "is_async", "stops"]


class Graph(Protocol):
    """A compiled graph, as one around it knows it."""

    shape: Shape
    name: str


@dataclass(frozen=True, slots=True)
class Node:
    """One node.

    Attributes:
        name: Its name.
        fn: What it runs: ``fn(state)``, with ``config`` or ``runtime`` where it asks for them.
        injects: The parameters it asks for beside the state, each with what it is given.
        is_async: Whether it must be awaited.
        schema: How its state is built, None for the graph's own schema.
        metadata: The user's.
        approves: Whether it may pause for an approval, so that a checkpointer must be there.
        afn: What async runs await in place of ``fn``, where there is a form of its own.
        retry: When it is tried again after an error; the first that takes the error counts.
        timeout: Seconds after which one attempt is cancelled, None for no limit.
        destinations: Where it says that it may go by itself, with the labels of a drawing;
            None where it does not say.
        onward: Where an update that is taken for it goes, if it chooses its way by commands.
        graph: The compiled graph that it is, if it is one.
    """

    name: str
    fn: Callable[..., object]
    injects: Injects = ()
    is_async: bool = False
    schema: Schema | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    approves: bool = False
    afn: Callable[..., object] | None = None
    retry: tuple[RetryPolicy, ...] = ()
    timeout: float | None = None
    destinations: Mapping[str, str] | None = None
    onward: Callable[..., object] | None = None
    graph: Graph | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A conditional edge: a function of the state that says where to go."""

    path: Callable[..., object]
    path_map: Mapping[object, str] | None
    injects: Injects = ()
    is_async: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """An edge that waits until all of its sources have been reached."""

    sources: frozenset[str]
    target: str

    @property
    def key(self) -> str:
        """Return the name under which arrivals are kept."""
        return "+".join(sorted(self.sources)) + ">" + self.target


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything that a run needs to know of a graph; immutable, shared by all runs.

    Attributes:
        name: The graph's name.
        schema: The state.
        input: What an input may hold.
        output: What a result holds.
        channels: All channels by name.
        nodes: All nodes by name.
        edges: Plain edges by source, ``START`` included.
        branches: Conditional edges by source.
        joins: The joins that each source is a part of.
        before: Nodes before which every run stops.
        after: Nodes after which every run stops.
        prepare: Looks at the state and at what an input writes, and returns what to write
            instead; used by agents to answer calls that were given up.
        context: The class of a run's context, None for any.
        folded: The channels that have a reducer.
        ways: What follows each node: the tasks of its plain edges, and its conditional ones.
    """

    name: str
    schema: Schema
    input: Schema
    output: Schema
    channels: Mapping[str, Channel]
    nodes: Mapping[str, Node]
    edges: Mapping[str, tuple[str, ...]]
    branches: Mapping[str, tuple[Branch, ...]]
    joins: Mapping[str, tuple[Join, ...]]
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    signature: str = ""
    prepare: Prepare | None = None
    context: object = None
    folded: frozenset[str] = frozenset()
    ways: Mapping[str, tuple[tuple[Due, ...], tuple[Branch, ...]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Look up once what follows each node, rather than at every step."""
        ways = {
            name: (
                tuple((target, NO_ARG) for target in self.edges.get(name, ())),
                self.branches.get(name, ()),
            )
            for name in self.nodes
        }
        object.__setattr__(self, "ways", ways)

    def sign(self) -> str:
        """Return a hash over the names of nodes, edges and channels."""
        facts = (
            sorted(self.nodes),
            sorted((source, targets) for source, targets in self.edges.items()),
            sorted((source, len(paths)) for source, paths in self.branches.items()),
            sorted(self.channels),
        )
        return hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()


def stops(
    nodes: Mapping[str, Node], names: Sequence[str] | str | None, what: str
) -> frozenset[str]:
    """Return the nodes at which a run stops; ``"*"`` stands for all.

    Raises:
        Misuse: A name is no node's.
    """
    if names is None:
        return frozenset()
    if names == "*":
        return frozenset(nodes)
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in nodes or name == START:
            raise Misuse(
                f"{what} names {name!r}, which is no node.{near(name, nodes)}",
                hint=f"Nodes: {', '.join(nodes)}.",
            )
    return frozenset(wanted)


_INJECTED = ("config", "runtime", "store", "writer")


def injected(fn: Callable[..., object], what: str) -> Injects:
    """Return which parameters beside the state a node or a path function asks for.

    Those are known by their name, and a ``Runtime`` by its annotation.

    Raises:
        Misuse: It takes no state, or needs a parameter that nobody gives.
    """
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (ValueError, TypeError):
        return ()
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not places and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise Misuse(f"{what} takes no argument.", hint="It gets the state: def node(state).")
    rest = [p for p in parameters if p not in places[:1]]
    wanted: list[tuple[str, str]] = []
    for parameter in rest:
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name in _INJECTED:
            wanted.append((name, name))
        elif is_runtime(parameter.annotation):
            wanted.append((name, "runtime"))
        elif parameter.default is parameter.empty:
            raise Misuse(
                f"{what} has the parameter {name!r}, which nobody gives.",
                hint=f"Beside the state a node can ask for: {', '.join(_INJECTED)}.",
            )
    return tuple(wanted)


def is_async(fn: Callable[..., object]) -> bool:
    """Return whether calling a function gives something to await."""
    call = getattr(fn, "__call__", fn)  # noqa: B004 - the method, to look at, not to test
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(call)
