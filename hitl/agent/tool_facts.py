"""What a policy needs to know of an agent's tools, whatever form the agent has."""

from __future__ import annotations

from collections.abc import Iterable

from hitl.agent.gate import Gate
from hitl.agent.policing import facts
from hitl.agent.tool import as_tool, check_names
from hitl.agent.tools_node import TOOLS, ToolsNode
from hitl.engine import CompiledStateGraph
from hitl.errors import Misuse
from hitl.policy import ToolFacts

__all__ = ["tool_facts"]


def tool_facts(agent: object) -> list[ToolFacts]:
    """Return the names, schemas and effects of an agent's tools.

    Args:
        agent: What ``create_agent`` or ``Gate`` returned, or the tools themselves.

    Raises:
        Misuse: It has no tools, or something among them is none.
    """
    if isinstance(agent, Gate):
        agent = agent.graph
    if isinstance(agent, CompiledStateGraph):
        node = agent.shape.nodes.get(TOOLS)
        if node is None or not isinstance(node.fn, ToolsNode):
            raise Misuse("The graph has no tools of an agent.", hint="Give the list of its tools.")
        return facts(node.fn.executor.tools)
    if isinstance(agent, Iterable) and not isinstance(agent, str | bytes):
        return facts(check_names([as_tool(tool) for tool in agent]))
    raise Misuse(
        f"A {type(agent).__name__} has no tools.",
        hint="Give an agent, a gate, or a list of tools.",
    )
