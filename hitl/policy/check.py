"""What is odd about a policy that can be used: against an agent's tools, and by itself.

Owns the findings beyond those that stop a file from loading. An error here means that a rule
cannot say what its author meant about these tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from hitl.policy.condition import Condition, parse_pointer
from hitl.policy.config import unlike
from hitl.policy.facts import ToolFacts
from hitl.policy.finding import Finding, Level
from hitl.policy.layer import FileLayer, Layer
from hitl.policy.rule import EVERY_TOOL, Rule
from hitl.policy.schema_types import types_at
from hitl.values import Json

__all__ = ["check"]

_TEXT = frozenset({"eq", "in", "prefix", "suffix", "contains", "glob"})
_COMMANDS = frozenset({"command", "commands", "cmd", "script", "shell", "bash", "command_line"})
_NUMBER = frozenset({"number", "integer"})
_TYPES = {
    "prefix": frozenset({"string"}),
    "suffix": frozenset({"string"}),
    "glob": frozenset({"string"}),
    "within": frozenset({"string"}),
    "host_in": frozenset({"string"}),
    "sql": frozenset({"string"}),
    "argv": frozenset({"string", "array"}),
    "contains": frozenset({"string", "array"}),
    "size": frozenset({"string", "array", "object"}),
    "size_le": frozenset({"string", "array", "object"}),
    "gt": _NUMBER,
    "ge": _NUMBER,
    "lt": _NUMBER,
    "le": _NUMBER,
    "between": _NUMBER,
}
"""The types that an operator can tell anything about; ``eq`` and ``in`` have those they want."""

Facts = Mapping[str, ToolFacts]


def check(layers: tuple[Layer, ...], tools: Facts | None) -> list[Finding]:
    """Return what is odd about some layers, in the files' order.

    Args:
        layers: The layers of a policy.
        tools: The agent's tools, None to leave them out of it.
    """
    findings: list[Finding] = []
    for layer in layers:
        if isinstance(layer, FileLayer):
            found = [*_roots(layer), *_shadowed(layer), *_walls(layer)]
            if tools is not None:
                found += [*_names(layer, tools), *_arguments(layer, tools)]
                found += _uncovered(layer, tools)
            findings += sorted(found, key=lambda finding: (finding.line, finding.message))
    return findings


def _finding(layer: FileLayer, level: Level, rule: Rule, message: str, hint: str = "") -> Finding:
    return Finding(level, message, layer.name, rule.line, f"rule {rule.id!r}", hint)


def _roots(layer: FileLayer) -> Iterator[Finding]:
    for root in layer.roots:
        if root.real and not Path(root.folder).is_dir():
            message = f"The root {root.name!r} is no folder: {root.folder}."
            yield Finding("warning", message, layer.name, 0, f"roots.{root.name}")


def _shadowed(layer: FileLayer) -> Iterator[Finding]:
    """Yield rules that allow where another rule always says more."""
    always: dict[str, Rule] = {}
    for rule in layer.rules:
        if rule.effect != "allow" and not rule.where and not rule.unless:
            for pattern in rule.tools:
                always.setdefault(pattern.text, rule)
    globs = [
        (pattern, rule)
        for rule in always.values()
        for pattern in rule.tools
        if pattern.fits is not None
    ]
    for rule in layer.rules:
        if rule.effect != "allow" or not always:
            continue
        stronger: list[Rule | None] = []
        for pattern in rule.tools:
            other = always.get(pattern.text) or always.get(EVERY_TOOL)
            if other is None and pattern.fits is None:
                other = next((one for glob, one in globs if glob(pattern.text)), None)
            stronger.append(other)
        if all(stronger) and stronger[0] is not None:
            other = stronger[0]
            yield _finding(
                layer,
                "warning",
                rule,
                f"It can never win: the rule {other.id!r} (line {other.line}) always says "
                f"{other.effect}.",
                "Give that rule a condition, or an 'unless'.",
            )


def _walls(layer: FileLayer) -> Iterator[Finding]:
    """Yield rules that refuse by the text of a command."""
    for rule in layer.rules:
        if rule.effect != "deny":
            continue
        for condition in _conditions(rule):
            last = parse_pointer(condition.pointer)[-1].lower()
            if condition.operator == "argv" or (condition.operator in _TEXT and last in _COMMANDS):
                yield _finding(
                    layer,
                    "warning",
                    rule,
                    "A command can be written in many ways; this is advice, not a wall.",
                    "Allow the commands that you know by 'argv', and let all others ask.",
                )
                break


def _names(layer: FileLayer, tools: Facts) -> Iterator[Finding]:
    for rule in layer.rules:
        for pattern in rule.tools:
            if not any(map(pattern, tools)):
                message = f"No tool is called {pattern.text!r:.80}."
                yield _finding(layer, "warning", rule, message, unlike(pattern.text, tools))


def _arguments(layer: FileLayer, tools: Facts) -> Iterator[Finding]:
    for rule in layer.rules:
        schemas = {
            name: facts.args_schema
            for name, facts in tools.items()
            if facts.args_schema is not None and rule.speaks_of(name)
        }
        for condition in _conditions(rule):
            wrong = {
                name: said
                for name, schema in schemas.items()
                if (said := _misfit(condition, schema or {}))
            }
            if wrong:
                level: Level = "error" if len(wrong) == len(schemas) else "warning"
                name, said = next(iter(wrong.items()))
                hint = unlike(condition.pointer, _properties(schemas[name] or {}))
                yield Finding(
                    level,
                    f"Of the tool {name!r}: {said}",
                    layer.name,
                    condition.line,
                    f"rule {rule.id!r}",
                    hint if said.startswith("there is no") else "",
                )


def _misfit(condition: Condition, schema: Mapping[str, Json]) -> str:
    """Return what is wrong with a condition on a tool's arguments, "" if nothing is."""
    types = types_at(schema, parse_pointer(condition.pointer))
    if types is None:
        return ""
    if not types:
        return f"there is no argument {condition.pointer!r:.80}."
    wanted = _TYPES.get(condition.operator)
    if condition.operator in ("eq", "in"):
        wanted = _wanted(condition.wanted)
    if wanted is None or wanted & types:
        return ""
    given = " or ".join(sorted(types))
    return (
        f"{condition.operator!r} can tell nothing about the argument {condition.pointer!r:.80}, "
        f"which is {given}."
    )


def _wanted(wanted: Json) -> frozenset[str] | None:
    kinds: set[str] = set()
    for value in wanted if isinstance(wanted, list) else [wanted]:
        if value is None:
            return None
        if isinstance(value, str):
            kinds.add("string")
        else:
            kinds |= {"boolean"} if isinstance(value, bool) else _NUMBER
    return frozenset(kinds)


def _uncovered(layer: FileLayer, tools: Facts) -> list[Finding]:
    bare = [name for name in tools if not layer.rules_for(name)]
    if not bare:
        return []
    names = ", ".join(bare)
    message = f"No rule speaks of {names}; the default holds: {layer.default}."
    return [Finding("warning", message, layer.name)]


def _conditions(rule: Rule) -> list[Condition]:
    return [one for part in (*rule.where, *rule.unless) for one in part.conditions]


def _properties(schema: Mapping[str, Json]) -> list[str]:
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []
