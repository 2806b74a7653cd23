"""What ``mode="interrupt"`` of a permission makes of the map ``interrupt_on``.

A rule on an operation gives every tool of that operation an entry, whose ``when`` looks at the
call's path, as it is given and as it stands after links were followed. Whatever cannot be read
as a path asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from hitl.agent.deep.backend import Backend
from hitl.agent.deep.file_path import Parts, parts_of
from hitl.agent.deep.file_tools import EXACT, SUBTREE
from hitl.agent.deep.path_rules import Operation, PathRules
from hitl.agent.deep.pattern import anchor_of, components
from hitl.errors import Misuse
from hitl.policy import DECISIONS, InterruptOnConfig, ToolCallRequest

__all__ = ["interrupts_of", "merged"]

Asks = Callable[[Mapping[str, object]], bool]
"""Says of a call's arguments whether a rule asks about them."""

InterruptMap = dict[str, bool | InterruptOnConfig]


def merged(
    rules: PathRules, backend: Backend, interrupt_on: Mapping[str, bool | InterruptOnConfig] | None
) -> InterruptMap:
    """Return the entries that rules give, and over them those that were written by hand."""
    return {**interrupts_of(rules, backend), **(interrupt_on or {})}


def interrupts_of(rules: PathRules, backend: Backend) -> InterruptMap:
    """Return an entry for each tool about whose calls a rule may ask."""
    entries: InterruptMap = {}
    for name, operation in EXACT.items():
        if rules.asks(operation):
            entries[name] = _entry(_exact(rules, backend, operation))
    for name, (operation, argument) in SUBTREE.items():
        if rules.asks(operation):
            asks = _subtree(rules, backend, operation, argument)
            entries[name] = _entry(_pattern(rules, asks) if name == "glob" else asks)
    return entries


def _entry(asks: Asks) -> InterruptOnConfig:
    def when(request: ToolCallRequest) -> bool:
        return asks(request.tool_call["args"])

    return cast(InterruptOnConfig, {"allowed_decisions": list(DECISIONS), "when": when})


def _readings(backend: Backend, path: object) -> list[Parts] | None:
    """Return a path as it is given and, where that is another one, as links lead it."""
    parts = parts_of(path, backend.home)
    if parts is None:
        return None
    resolved = backend.resolve(parts)
    return [parts] if resolved is None or resolved == parts else [parts, resolved]


def _exact(rules: PathRules, backend: Backend, operation: Operation) -> Asks:
    def asks(args: Mapping[str, object]) -> bool:
        readings = _readings(backend, args.get("file_path"))
        if readings is None:
            return True
        modes = {rules.mode(operation, parts) for parts in readings}
        # What is denied is refused by the tool: no answer could let it run.
        return "interrupt" in modes and "deny" not in modes

    return asks


def _subtree(rules: PathRules, backend: Backend, operation: Operation, argument: str) -> Asks:
    def asks(args: Mapping[str, object]) -> bool:
        path = args.get(argument)
        readings = [backend.home] if path is None else _readings(backend, path)
        return readings is None or any(rules.overlaps(operation, parts) for parts in readings)

    return asks


def _pattern(rules: PathRules, path_asks: Asks) -> Asks:
    """Add what glob's own pattern reaches: an absolute one does not care for ``path``."""

    def asks(args: Mapping[str, object]) -> bool:
        pattern = args.get("pattern")
        if path_asks(args) or not isinstance(pattern, str) or ".." in pattern.split("/"):
            return True
        if not pattern.startswith("/"):
            return False
        try:
            flat = components(pattern)
        except Misuse:
            return True
        return any(rules.overlaps("read", anchor_of(parts)) for parts in flat)

    return asks
