"""What importing ours costs, in fresh interpreters."""

from __future__ import annotations

from benchmarks.agent import missing
from benchmarks.measure import Figure, Scale
from benchmarks.probe import import_cost

__all__ = ["AIMS", "bare", "hitl"]

AIMS = {"import, bare": "30 ms", "import, what an agent needs": "150 ms"}

_NAMES = "StateGraph, interrupt, Command, SqliteSaver"


def hitl(scale: Scale) -> list[Figure]:
    """Measure ours."""
    found = [
        import_cost("import, bare", "import hitl", scale),
        import_cost("import, what a graph needs", f"from hitl import {_NAMES}", scale),
    ]
    if not missing():
        line = f"from hitl import {_NAMES}, create_agent"
        found.append(import_cost("import, what an agent needs", line, scale))
    return found


def bare(scale: Scale) -> list[Figure]:
    """Measure what a hand-written version needs."""
    return [import_cost("import, what a graph needs", "import json, sqlite3", scale)]
