"""Where nodes and path functions may go: what they say, what their code shows, who is left out.

For drawings and for the check at compile time. A run asks none of this.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Literal, get_args, get_origin, get_type_hints

from hitl.engine.shape import Branch, Node, Shape
from hitl.values import END, START, Command, Send

__all__ = ["branch_ends", "node_ends", "unreachable"]

Fn = Callable[..., object]


def branch_ends(branch: Branch) -> list[tuple[str, str]] | None:
    """Return where a conditional edge may lead, as labels and nodes; None where it is not said."""
    if branch.path_map is not None:
        pairs = [(str(key), end) for key, end in branch.path_map.items()]
        return [("" if label == end else label, end) for label, end in pairs]
    hint = _returns(branch.path)
    names = _literals(hint)
    return None if not names or _mentions(hint, Send) else [("", name) for name in names]


def node_ends(node: Node) -> list[tuple[str, str]] | None:
    """Return where a node says that it goes by ``Command``; None where it does not say."""
    if node.destinations is not None:
        return [(label, end) for end, label in node.destinations.items()]
    names = list(_command_names(_returns(node.fn)))
    return [("", name) for name in names] if names else None


def unreachable(shape: Shape) -> list[str]:
    """Return the nodes to which nothing can lead; none where that cannot be told.

    A function may send a run anywhere. So nodes are only called unreachable where every path
    function says its ends, and every node says its own or its code cannot make a ``Command``.
    """
    reached = {START}
    while more := _next_to(shape, reached) - reached:
        reached |= more
    missing = [name for name in shape.nodes if name not in reached]
    if not missing or any(_goes_anywhere(shape, name) for name in reached - {END}):
        return []
    return missing


def _next_to(shape: Shape, reached: set[str]) -> set[str]:
    found: set[str] = set()
    for name in reached:
        found.update(shape.edges.get(name, ()))
        found.update(j.target for j in shape.joins.get(name, ()) if j.sources <= reached)
        for branch in shape.branches.get(name, ()):
            found.update(end for _, end in branch_ends(branch) or ())
        if name in shape.nodes and name != START:
            ends = node_ends(shape.nodes[name]) or ()
            found.update(end for _, end in ends if end in shape.nodes)
    return found


def _goes_anywhere(shape: Shape, name: str) -> bool:
    for branch in shape.branches.get(name, ()):
        if branch_ends(branch) is None or not _cannot_make(branch.path, Send):
            return True
    node = shape.nodes.get(name)
    if node is None or name == START or node_ends(node) is not None:
        return False
    return not _cannot_make(node.fn, Command)


# Hints ---------------------------------------------------------------------------------------


def _returns(fn: Fn) -> object:
    call = fn if inspect.isroutine(fn) else getattr(fn, "__call__", fn)  # noqa: B004 - to look at
    try:
        return get_type_hints(call).get("return")
    except Exception:  # noqa: BLE001 - a hint that cannot be resolved says nothing
        return None


def _literals(hint: object) -> list[str]:
    if get_origin(hint) is Literal:
        return [name for name in get_args(hint) if isinstance(name, str)]
    return [name for part in get_args(hint) for name in _literals(part)]


def _command_names(hint: object) -> Iterator[str]:
    if get_origin(hint) is Command:
        yield from _literals(hint)
    else:
        for part in get_args(hint):
            yield from _command_names(part)


def _mentions(hint: object, kind: type) -> bool:
    return hint is kind or any(_mentions(part, kind) for part in get_args(hint))


# Code ----------------------------------------------------------------------------------------


def _cannot_make(fn: object, kind: type, seen: tuple[object, ...] = ()) -> bool:
    """Return whether a function's code, and what it calls, names nothing that makes a ``kind``.

    It leans to "it could": where a name is not known for harmless, nothing is said.
    """
    if not isinstance(fn, FunctionType):
        return False
    if fn in seen or fn.__module__ == "hitl.engine.ask":
        return True
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    scope = {**vars(builtins), **fn.__globals__}
    for name, cell in cells:
        try:
            scope[name] = cell.cell_contents
        except ValueError:  # it is filled later
            return False
    names = {*_names(fn.__code__), *fn.__code__.co_freevars}
    if not names <= scope.keys():
        return False
    used = [scope[name] for name in names]
    used += [*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()]
    return all(_harmless(value, kind, (*seen, fn)) for value in used)


def _names(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
        elif instruction.opname == "IMPORT_NAME":
            yield ""  # no scope has it
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _harmless(value: object, kind: type, seen: tuple[object, ...]) -> bool:
    if value is None or isinstance(value, str | bytes | int | float):
        return True
    if isinstance(value, list | tuple | set):
        return all(_harmless(part, kind, seen) for part in value)
    if isinstance(value, dict):
        return all(_harmless(part, kind, seen) for part in value.values())
    if not isinstance(value, type | FunctionType | BuiltinFunctionType | ModuleType):
        return False
    home = value.__name__ if isinstance(value, ModuleType) else str(value.__module__)
    root = home.partition(".")[0]
    if root in sys.stdlib_module_names or (root == "hitl" and isinstance(value, type)):
        return value is not kind
    return _cannot_make(value, kind, seen)
