"""What is due: from what tasks wrote to the next state and the next tasks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hitl.engine.merge import Write, merge
from hitl.engine.shape import Branch, Node, Shape
from hitl.engine.standing import NO_ARG, Done, Due, Standing
from hitl.errors import InvalidUpdateError, Misuse
from hitl.ledger import near
from hitl.values import END, Command, Send

__all__ = [
    "ParentCommand",
    "advance",
    "check_input",
    "next_due",
    "read_goto",
    "read_return",
    "read_route",
]


class ParentCommand(BaseException):
    """Ends a run inside a task with a command for the graph around it."""

    def __init__(self, command: Command) -> None:
        super().__init__(command)
        self.command = command


def read_return(
    shape: Shape, node: Node, value: object, *, nested: bool = False
) -> tuple[list[Write], list[Due]]:
    """Return what a node's return value writes and where it sends the run.

    Args:
        shape: The graph.
        node: The node.
        value: What it returned.
        nested: Whether there is a graph around this one.

    Raises:
        InvalidUpdateError: It is neither an update nor a ``Command``.
        ParentCommand: It is a command for the graph around this one.
    """
    if value is None:
        return [], []
    where = f"Node {node.name!r}"
    if type(value) is dict and shape.schema.form != "root":
        return _plain_update(shape, value, where), []  # nearly every node, nearly always
    writes: list[Write] = []
    goto: list[Due] = []
    parts = value if isinstance(value, list) and _has_command(value) else [value]
    for part in parts:
        if isinstance(part, Command):
            if part.graph == Command.PARENT and nested:
                raise ParentCommand(replace(part, graph=None))
            if part.graph is not None:
                raise InvalidUpdateError(
                    f"{where} returned Command(graph={part.graph!r}), but there is no graph "
                    "around this one.",
                )
            goto.extend(read_goto(shape, part.targets(), where))
            part = part.update  # noqa: PLW2901 - the update stands in for its command
        if part is not None:
            schema = shape.schema if node.schema is None else node.schema
            is_map = type(part) is dict or isinstance(part, Mapping)
            known = shape.schema if is_map else schema
            for key, written in known.writes(part, where).items():
                if key not in shape.channels:
                    raise _no_key(shape, where, key)
                writes.append((key, written))
    return writes, goto


def _plain_update(shape: Shape, update: dict[str, object], where: str) -> list[Write]:
    for key in update:
        if key not in shape.channels:
            raise _no_key(shape, where, key)
    return list(update.items())


def _no_key(shape: Shape, where: str, key: object) -> InvalidUpdateError:
    return InvalidUpdateError(
        f"{where} writes {key!r}, which is no key of the state." + near(key, shape.channels),
        hint=f"Known keys: {', '.join(shape.channels)}.",
        key=key,
    )


def _has_command(parts: Iterable[object]) -> bool:
    return any(isinstance(part, Command) for part in parts)


def read_goto(shape: Shape, targets: Iterable[str | Send], where: str) -> list[Due]:
    """Return tasks for the targets of a ``Command`` or of a branch.

    Raises:
        InvalidUpdateError: A target is no node of the graph.
    """
    due: list[Due] = []
    for target in targets:
        name, arg = (target.node, target.arg) if isinstance(target, Send) else (target, NO_ARG)
        if name not in shape.nodes and (name != END or arg is not NO_ARG):
            raise InvalidUpdateError(
                f"{where} goes to {name!r}, which is no node of this graph."
                + near(name, shape.nodes),
                hint=f"Nodes: {', '.join(shape.nodes)}.",
                node=name,
            )
        due.append((name, arg))
    return due


def read_route(shape: Shape, branch: Branch, chosen: object, node: str) -> list[Due]:
    """Return tasks for what a path function chose.

    Raises:
        InvalidUpdateError: It chose something that its map or the graph does not have.
    """
    where = f"The conditional edge after {node!r}"
    choices: Sequence[object] = chosen if isinstance(chosen, list | tuple) else [chosen]
    targets: list[str | Send] = []
    for choice in choices:
        if isinstance(choice, Send):
            targets.append(choice)
            continue
        target = choice
        if branch.path_map is not None:
            if not _is_key(choice, branch.path_map):
                raise InvalidUpdateError(
                    f"{where} chose {choice!r}, which is not in its path_map.",
                    hint=f"Known: {', '.join(map(repr, branch.path_map))}.",
                )
            target = branch.path_map[choice]
        if not isinstance(target, str):
            raise InvalidUpdateError(f"{where} chose {target!r}, which is no node's name.")
        targets.append(target)
    return read_goto(shape, targets, where)


def _is_key(choice: object, path_map: Mapping[object, str]) -> bool:
    try:
        return choice in path_map
    except TypeError:  # a list or a dict is no key
        return False


def next_due(
    shape: Shape, finished: Iterable[tuple[str, Done]], arrived: dict[str, list[str]]
) -> list[Due]:
    """Return the tasks of the next superstep: nodes by name, then each ``Send`` in order.

    Args:
        shape: The graph.
        finished: The tasks of this superstep in order: node, and where it wants to go.
        arrived: Which sources of each join were reached; changed here.
    """
    names: set[str] = set()
    sends: list[Due] = []
    for node, left in finished:
        for target, arg in left.goto:
            if arg is not NO_ARG:
                sends.append((target, arg))
            elif target != END:
                names.add(target)
        for join in shape.joins.get(node, ()) if shape.joins else ():
            reached = arrived.setdefault(join.key, [])
            if node not in reached:
                reached.append(node)
            if len(reached) == len(join.sources):
                del arrived[join.key]
                if join.target != END:
                    names.add(join.target)
    return [(name, NO_ARG) for name in sorted(names)] + sends if names else sends


def advance(shape: Shape, standing: Standing, done: Sequence[tuple[str, Done]]) -> list[str]:
    """End a superstep: merge its writes, find what is due; return the changed channels.

    Args:
        shape: The graph.
        standing: Where the thread stands; changed here.
        done: Every task of the superstep in order: node, and what it leaves.

    Raises:
        InvalidUpdateError: The writes do not fit the channels.
    """
    writes = [write for _, left in done for write in left.writes]
    changed = merge(shape.channels, standing.values, writes)
    standing.values.update(changed)
    standing.due = next_due(shape, done, standing.arrived)
    standing.ran = [node for node, _ in done]
    standing.drop_records()
    standing.step += 1
    standing.source = "loop"
    return list(changed)


def check_input(value: object) -> None:
    """Refuse an input that says nothing.

    Raises:
        Misuse: It is a text where a state is wanted.
    """
    if isinstance(value, str | bytes):
        raise Misuse(
            f"The input is {type(value).__name__}, not a state.",
            hint='Example: invoke({"messages": [...]}, config).',
        )
