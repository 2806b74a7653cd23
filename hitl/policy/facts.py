"""What a policy needs to know of an agent's tools: names, schemas, how safe each is to repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hitl.errors import Misuse
from hitl.values import Effect, Json

__all__ = ["ToolFacts", "Tools", "facts_of"]


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool as a policy sees it.

    Attributes:
        name: Its name.
        args_schema: The JSON Schema of its arguments, None where it is not known.
        effect: How safe it is to repeat; ``pure`` tools only read.
        description: What it does, for people.
    """

    name: str
    args_schema: Mapping[str, Json] | None = None
    effect: Effect = "effect"
    description: str = ""


Tools = Iterable[ToolFacts | str] | Mapping[str, Mapping[str, Json] | None]
"""The tools of an agent: their facts, their names, or a map from names to argument schemas."""


def facts_of(tools: Tools) -> dict[str, ToolFacts]:
    """Return what is known of each tool, by name.

    Raises:
        Misuse: Something among them is neither facts nor a name, or a name stands twice.
    """
    given: list[object] = (
        [ToolFacts(name, schema) for name, schema in tools.items()]
        if isinstance(tools, Mapping)
        else [ToolFacts(tool) if isinstance(tool, str) else tool for tool in tools]
    )
    facts: dict[str, ToolFacts] = {}
    for tool in given:
        if not isinstance(tool, ToolFacts):
            kind = type(tool).__name__
            raise Misuse(f"A tool is of type {kind}.", hint="Give names, or ToolFacts.")
        if tool.name in facts:
            raise Misuse(f"The tool {tool.name!r} stands twice.", hint="Name each once.")
        facts[tool.name] = tool
    return facts
