"""Finding an agent by ``module:name``, and giving it the store that the command works on."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from hitl.checkpoint import Checkpointer, InMemorySaver
from hitl.cli.session import check_there
from hitl.errors import HitlError, Misuse
from hitl.ledger import near

if TYPE_CHECKING:
    from hitl.engine import CompiledStateGraph

__all__ = ["AgentFailed", "load_agent", "with_store"]


class AgentFailed(Exception):
    """The agent's own module or factory raised."""


def load_agent(spec: str) -> CompiledStateGraph:
    """Return the graph that ``module:name`` names; a function without arguments is called.

    Modules of the working folder can be named.

    Raises:
        Misuse: The form is wrong, there is no such module or name, or it is no graph.
        AgentFailed: The module or the factory raised.
    """
    from hitl.engine import CompiledStateGraph

    name, colon, path = spec.partition(":")
    if not (name and colon and path):
        raise Misuse(
            f"{spec!r} does not name an agent.", hint="Write module:name, such as shop:agent."
        )
    found: object = _module(name)
    for part in path.split("."):
        if not hasattr(found, part):
            raise Misuse(
                f"Module {name!r} has no {path!r}.{near(part, dir(found))}",
                hint="Name the compiled graph, or a function that returns it.",
            )
        found = getattr(found, part)
    if not isinstance(found, CompiledStateGraph) and callable(found):
        found = _made(found, spec)
    if not isinstance(found, CompiledStateGraph):
        raise Misuse(
            f"{spec!r} is a {type(found).__name__}, not an agent.",
            hint="Name what create_agent(...) or StateGraph(...).compile() returned, or a "
            "function without arguments that returns it.",
        )
    return found


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


def _module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise _failed(f"Module {name!r}", error) from error
        hint = f"It is looked for in {here} and on Python's path."
        if name.endswith(".py") or "/" in name:
            hint = "Name the module as in an import: folder.file:agent, without .py."
        raise Misuse(f"There is no module {name!r}.", hint=hint) from error
    except (HitlError, KeyboardInterrupt):
        raise
    except (Exception, SystemExit) as error:
        raise _failed(f"Module {name!r}", error) from error


def _made(factory: object, spec: str) -> object:
    try:
        return factory()  # type: ignore[operator]
    except HitlError:
        raise
    except Exception as error:
        raise _failed(f"The factory {spec!r}", error) from error


def _failed(what: str, error: BaseException) -> AgentFailed:
    return AgentFailed(f"{what} raised {type(error).__name__}: {error}")
