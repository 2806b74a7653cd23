"""langgraph and langchain: what their imports cost."""

from __future__ import annotations

from benchmarks.measure import Figure, Scale
from benchmarks.probe import import_cost
from benchmarks.rivals.tell import tell

GRAPH = """
from langgraph.graph import StateGraph
from langgraph.types import Command, interrupt
from langgraph.checkpoint.sqlite import SqliteSaver
"""


def figures(scale: Scale) -> list[Figure]:
    """Measure the peers."""
    agent = GRAPH + "from langchain.agents import create_agent"
    return [
        import_cost("import, what a graph needs", GRAPH, scale),
        import_cost("import, what an agent needs", agent, scale),
    ]


if __name__ == "__main__":
    tell(figures, "langgraph", "langchain")
