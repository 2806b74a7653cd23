"""What an import costs, in fresh interpreters, over one that imports nothing.

Imports neither hitl nor a peer, so that both sides use it.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Figure, Scale

__all__ = ["import_cost"]

_ROOT = Path(__file__).resolve().parent.parent

_PROBE = """
import json, sys, time
had, cpu, wall = len(sys.modules), time.process_time(), time.perf_counter()
{line}
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
print(json.dumps([cpu, wall, len(sys.modules) - had]))
"""


def import_cost(name: str, line: str, scale: Scale) -> Figure:
    """Return what one line of imports costs."""
    seen: list[list[float]] = []
    for _ in range(3 if scale.quick else 10):
        done = subprocess.run(
            [sys.executable, "-c", _PROBE.format(line=line)],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seen.append(json.loads(done.stdout))
    cpu, wall, modules = zip(*seen, strict=True)
    return Figure(
        name,
        min(cpu) * 1e6,
        statistics.median(cpu) * 1e6,
        min(wall) * 1e6,
        statistics.median(wall) * 1e6,
        {"modules": modules[0]},
    )
