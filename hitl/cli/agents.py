"""Finding an agent by ``module:name``, and giving it the store that the command works on."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from hitl.checkpoint import Checkpointer, InMemorySaver
from hitl.cli.session import check_there
from hitl.errors import HitlError, Misuse
from hitl.ledger import near

if TYPE_CHECKING:
    from hitl.agent import Gate
    from hitl.engine import CompiledStateGraph
    from hitl.policy import ToolFacts

__all__ = ["AgentFailed", "load_agent", "load_tools", "needs_loop", "on_graph", "with_store"]


class AgentFailed(Exception):
    """The agent's own module or factory raised."""


def load_agent(spec: str) -> CompiledStateGraph | Gate:
    """Return the graph or gate that ``module:name`` names; a function is called without arguments.

    Modules of the working folder can be named.

    Raises:
        Misuse: The form is wrong, there is no such module or name, or it is no graph.
        AgentFailed: The module or the factory raised.
        HitlError: The same, by an error of ours, which says where.
    """
    from hitl.agent import Gate
    from hitl.engine import CompiledStateGraph

    found = _named(spec, "an agent", "shop:agent")
    if not isinstance(found, CompiledStateGraph | Gate) and callable(found):
        with _told(f"Calling {spec!r}"):
            found = found()
    if not isinstance(found, CompiledStateGraph | Gate):
        raise Misuse(
            f"{spec!r} is a {type(found).__name__}, not an agent.",
            hint="Name what create_agent(...), StateGraph(...).compile() or Gate(...) returned, "
            "or a function without arguments that returns it.",
        )
    return found


def load_tools(spec: str) -> list[ToolFacts]:
    """Return what is known of the tools that a word names.

    Args:
        spec: ``module:name`` of an agent, a gate, a list of tools, or of a function without
            arguments that returns one; or a JSON file, a map from names to argument schemas.

    Raises:
        Misuse: There is no such module, name or file, or it holds no tools.
        AgentFailed: The module or the factory raised.
        HitlError: The same, by an error of ours, which says where.
    """
    from hitl.agent import Tool, tool_facts

    if spec.endswith(".json"):
        return _tools_of_file(spec)
    found = _named(spec, "tools", "shop:tools")
    if callable(found) and not isinstance(found, Tool):
        with _told(f"Calling {spec!r}"):
            found = found()
    return tool_facts([found] if isinstance(found, Tool) else found)


def _tools_of_file(path: str) -> list[ToolFacts]:
    from hitl.policy import ToolFacts

    try:
        tools: object = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Misuse(f"The tools in {path} cannot be read: {error}.") from error
    if not isinstance(tools, dict) or not all(isinstance(one, dict) for one in tools.values()):
        raise Misuse(
            f"{path} holds no tools.", hint="Write a map from each tool's name to its JSON Schema."
        )
    return [ToolFacts(name, schema) for name, schema in tools.items()]


def with_store(
    graph: CompiledStateGraph, path: str, *, chosen: bool, make: bool
) -> tuple[CompiledStateGraph, Checkpointer, str]:
    """Return a graph with a store that outlives the command, the store, and its file.

    A store that the agent brings is kept, unless it is in memory or ``--store`` was given.

    Args:
        graph: The agent.
        path: The store's file.
        chosen: Whether the path was given, by option or environment.
        make: Whether a missing file is made.

    Raises:
        StoreFailed: There is no such file and none is made, or it cannot be opened.
    """
    own = graph.checkpointer
    if own is not None and not chosen and not isinstance(own, InMemorySaver):
        return graph, own, str(getattr(own, "path", "") or getattr(own, "_path", ""))
    from hitl.checkpoint import SqliteSaver
    from hitl.engine import CompiledStateGraph

    if not make:
        check_there(path)
    saver = SqliteSaver(path)
    return CompiledStateGraph(graph.shape, saver, graph.store), saver, path


def on_graph(gate: Gate, graph: CompiledStateGraph, store: Checkpointer) -> Gate:
    """Return a gate with its threads in another store: that of a graph of the same shape."""
    from hitl.inbox import Inbox

    moved = copy(gate)
    moved.graph, moved.store, moved.inbox = graph, store, Inbox(store)
    return moved


def needs_loop(graph: CompiledStateGraph) -> bool:
    """Return whether a part of a graph can only be awaited."""
    paths = (branch for branches in graph.shape.branches.values() for branch in branches)
    nodes = graph.nodes.values()
    return any(node.is_async for node in nodes) or any(path.is_async for path in paths)


def _named(spec: str, what: str, example: str) -> object:
    """Return what ``module:name`` names."""
    name, colon, path = spec.partition(":")
    if not (name and colon and path):
        raise Misuse(
            f"{spec!r} does not name {what}.", hint=f"Write module:name, such as {example}."
        )
    found: object = _module(name)
    for part in path.split("."):
        if not hasattr(found, part):
            raise Misuse(
                f"Module {name!r} has no {path!r}.{near(part, dir(found))}",
                hint=f"Name {what}, or a function that returns it.",
            )
        found = getattr(found, part)
    return found


def _module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with _told(f"Importing {name!r}", missing=name):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        hint = f"It is looked for in {here} and on Python's path."
        if name.endswith(".py") or "/" in name:
            hint = "Name the module as in an import: folder.file:agent, without .py."
        raise Misuse(f"There is no module {name!r}.", hint=hint) from error


@contextmanager
def _told(doing: str, missing: str = "") -> Iterator[None]:
    """Say of every error what it happened in; only the module ``missing`` may not be there."""
    try:
        yield
    except HitlError as error:
        error.message = f"{doing}: {error.message}"
        raise
    except (Exception, SystemExit) as error:
        lacking = error.name if isinstance(error, ModuleNotFoundError) else None
        if lacking and f"{missing}.".startswith(f"{lacking}."):
            raise
        raise AgentFailed(f"{doing} raised {type(error).__name__}: {error}") from error
