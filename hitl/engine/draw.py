"""A graph as a picture: its nodes and edges as data, and as Mermaid text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hitl.engine.reach import branch_ends, node_ends
from hitl.engine.shape import Shape
from hitl.values import END, START, StateSnapshot

__all__ = ["DrawnGraph", "Edge", "drawn", "where_it_stands"]

_PLAIN_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ ]*")
_WORDS = frozenset(
    {"call", "class", "classdef", "click", "default", "direction", "end", "flowchart", "graph"}
    | {"href", "linkstyle", "style", "subgraph"}
)
_STYLES = {
    "next": "fill:#dbeafe,stroke:#2563eb",
    "paused": "fill:#fef3c7,stroke:#d97706,stroke-width:3px",
    "failed": "fill:#fee2e2,stroke:#dc2626",
}
"""How a node looks at which a thread stands; the later of two that hold for one node wins."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One arrow.

    Attributes:
        source: Where it starts.
        target: Where it ends.
        data: What is written on it: the answer of a path function, ``"all"`` for an edge from a
            list of nodes, which waits for all of them; None for nothing.
        conditional: Whether it is taken only where a function says so.
    """

    source: str
    target: str
    data: str | None = None
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """A graph to look at.

    Attributes:
        nodes: The metadata of each node by name, ``START`` first and ``END`` last.
        edges: The arrows between them.
    """

    nodes: Mapping[str, Mapping[str, object]]
    edges: tuple[Edge, ...]
    marks: Mapping[str, str] = field(default_factory=dict)

    def draw_mermaid(self) -> str:
        """Return the graph as Mermaid text; edges that a function decides on are dashed."""
        ids = _ids(self.nodes)
        lines = ["graph TD"]
        lines += [f"    {_box(ids[name], name)}{self._mark(name)}" for name in self.nodes]
        lines += [f"    {ids[e.source]} {_arrow(e)} {ids[e.target]}" for e in self.edges]
        used = set(self.marks.values())
        lines += [f"    classDef {mark} {look}" for mark, look in _STYLES.items() if mark in used]
        return "\n".join(lines) + "\n"

    def _mark(self, name: str) -> str:
        return f":::{self.marks[name]}" if name in self.marks else ""


def drawn(shape: Shape, marks: Mapping[str, str] | None = None) -> DrawnGraph:
    """Return a graph to look at.

    Args:
        shape: The graph.
        marks: How a thread stands at some nodes; see ``where_it_stands``.
    """
    names = [name for name in shape.nodes if name != START]
    edges = list(dict.fromkeys(edge for name in (START, *names) for edge in _edges(shape, name)))
    nodes = {name: shape.nodes[name].metadata for name in names}
    if any(edge.target == END for edge in edges):
        nodes[END] = {}
    return DrawnGraph({START: {}, **nodes}, tuple(edges), dict(marks or {}))


def where_it_stands(state: StateSnapshot) -> dict[str, str]:
    """Return the nodes at which a thread stands: ``next``, ``paused`` or ``failed``."""
    found: dict[str, str] = {}
    order = list(_STYLES)
    for task in state.tasks:
        mark = "failed" if task.error else "paused" if task.interrupts else "next"
        if task.result is None and order.index(mark) >= order.index(found.get(task.name, "next")):
            found[task.name] = mark
    return found


def _edges(shape: Shape, name: str) -> list[Edge]:
    found = [Edge(name, target) for target in shape.edges.get(name, ())]
    found += [Edge(name, join.target, "all") for join in shape.joins.get(name, ())]
    # What is no node here is one of a graph around this one.
    known = [*(node for node in shape.nodes if node != START), END]
    for ends in _chosen(shape, name):
        anywhere = [("", node) for node in known]
        found += [
            Edge(name, target, label or None, conditional=True)
            for label, target in (anywhere if ends is None else ends)
            if target in known
        ]
    return found if found or name == START else [Edge(name, END)]


def _chosen(shape: Shape, name: str) -> Iterator[list[tuple[str, str]] | None]:
    """Yield where each function that decides for a node may lead, None for anywhere."""
    for branch in shape.branches.get(name, ()):
        yield branch_ends(branch)
    if name != START:
        yield node_ends(shape.nodes[name]) or []


def _ids(names: Mapping[str, object]) -> dict[str, str]:
    """Return a name for each node that Mermaid takes; its own where it can be."""
    plain = {n for n in names if _PLAIN_ID.fullmatch(n) and n.lower() not in _WORDS}
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        id = name if name in plain else f"node{place}"
        while name not in plain and id in plain:
            id += "_"
        found[name] = id
    return found


def _box(id: str, name: str) -> str:
    if name in (START, END):
        return f"{id}([{name.strip('_')}])"
    return f"{id}({_text(name)})"


def _arrow(edge: Edge) -> str:
    if edge.data is None:
        return "-.->" if edge.conditional else "-->"
    label = _text(edge.data)
    return f"-. {label} .->" if edge.conditional else f"-- {label} -->"


def _text(text: str) -> str:
    """Return text as Mermaid shows it, whatever stands in it."""
    if _PLAIN_TEXT.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(c if c.isalnum() or c in " _-.,:" else f"#{ord(c)};" for c in text) + '"'
