"""Whether a tool is still the one that a human agreed to.

A question about a call keeps a hash of its tool's schema. A yes that finds another schema is
not used: the question is asked once more, and says why. A yes that finds no tool at all is left
for a program that has it.
"""

from __future__ import annotations

from collections.abc import Mapping

from hitl.agent.deciding import edited
from hitl.agent.tool import Tool
from hitl.errors import Damaged, Stale
from hitl.values import Item, fingerprint

__all__ = ["schema_hash", "tool_change"]

_CHANGED = (
    "The tool {name!r} has changed since this call was decided ({said} by {who}), and takes "
    "other arguments now, so it was not run. Decide it again."
)


def schema_hash(tool: Tool) -> str:
    """Return what stands for a tool's name and the schema of its arguments, texts included."""
    return fingerprint(tool.name, tool.args_schema)


def tool_change(item: Item, tools: Mapping[str, Tool]) -> str:
    """Return why a yes to a call is not used as its tool is now; empty where it may be.

    A call that has started is past this: what becomes of it is the executor's matter.

    Args:
        item: The decided item.
        tools: The tools of now, by name.

    Raises:
        Stale: The tool is gone; the decision is kept.
        Damaged: The human was shown another call than the one that is asked about.
    """
    decision = item.decision
    if decision is None or item.state not in ("decided", "cleared"):
        return ""
    if decision.type not in ("approve", "edit") or not isinstance(item.subject, dict):
        return ""
    asked = str(item.subject.get("name"))
    if fingerprint(asked, item.subject.get("args")) != item.fingerprint:
        raise Damaged(
            f"Item {item.id} of thread {item.thread!r} does not show the call that it asks about.",
            hint="Its row was changed outside of this library. Its decision is not used; a new "
            "message to the thread closes it.",
            thread=item.thread,
            item=item.id,
        )
    known = item.rules.get("schema")
    if known is None:
        return ""
    change = edited(item)
    wanted = asked if change is None else change["name"]
    tool = tools.get(wanted)
    if tool is None:
        raise Stale(
            f"A call of {wanted!r} on thread {item.thread!r} was allowed ({decision.type}), and "
            "this program has no such tool.",
            hint="Resume with code that has the tool; the decision is kept. Or withdraw the call: "
            "new input to the thread closes it.",
            thread=item.thread,
            item=item.id,
            tool=wanted,
        )
    same = (schema_hash(tool), tool.version) == (known, item.rules.get("tool_version", ""))
    if wanted != asked or same:
        return ""
    return _CHANGED.format(name=asked, said=decision.type, who=decision.by or "an unnamed reviewer")
