"""The first policy of an agent, as a text to go on from."""

from __future__ import annotations

import json
import re

from hitl.policy.facts import ToolFacts, Tools, facts_of

__all__ = ["starter"]

_HEAD = """\
# Which calls of this agent's tools run, wait for a human, or are refused.
# Every rule that matches votes: deny beats ask beats allow. Their order does not count.
hitl_policy: 1
default: ask # for tools of the agent that no rule speaks of
unknown_tool: deny # for tools that the agent does not have
"""

_READS = """
  # These say of themselves that they only read. Do they? What they read may be secret.
  - id: reads
    tools: [{names}]
    effect: allow
"""

_ASKS = """
  - id: {id}
    tools: [{name}]
    effect: ask
    decisions: [approve, edit, reject]
    why: {why}
"""


def starter(tools: Tools) -> str:
    """Return the text of a policy file for an agent: tools that only read run, others ask.

    Args:
        tools: The agent's tools; those whose effect is ``pure`` only read.

    Raises:
        Misuse: Something among them is no tool.
    """
    facts = list(facts_of(tools).values())
    reads = [_name(tool.name) for tool in facts if tool.effect == "pure"]
    text = _READS.format(names=", ".join(reads)) if reads else ""
    for tool in facts:
        if tool.effect != "pure":
            text += _ASKS.format(id=json.dumps(tool.name), name=_name(tool.name), why=_why(tool))
    return f"{_HEAD}rules:{text}" if text else f"{_HEAD}rules: []\n"


def _name(name: str) -> str:
    """Return a tool's name as a pattern that only it fits."""
    return json.dumps(re.sub(r"[*?\[{]", r"[\g<0>]", name))


def _why(tool: ToolFacts) -> str:
    said = " ".join(tool.description.split())[:120]
    return json.dumps(said or f"Nobody has said yet which calls of {tool.name} are harmless.")
