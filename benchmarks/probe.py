"""What an import costs, in fresh interpreters, over one that imports nothing.

Imports neither hitl nor a peer, so that both sides use it.
"""

from __future__ import annotations

import json
import os
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
    words = [sys.executable, "-c", _PROBE.format(line=line)]
    # Compiled files are kept, as an installation keeps them; the first run makes them.
    kept = {"PYTHONPYCACHEPREFIX": str(scale.disk / "compiled")}
    passed = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    seen: list[list[float]] = []
    for _ in range(4 if scale.quick else 11):
        done = subprocess.run(
            words, cwd=_ROOT, env=passed | kept, stdout=subprocess.PIPE, text=True, check=True
        )
        seen.append(json.loads(done.stdout))
    del seen[0]
    cpu, wall, modules = zip(*seen, strict=True)
    return Figure(
        name,
        min(cpu) * 1e6,
        statistics.median(cpu) * 1e6,
        min(wall) * 1e6,
        statistics.median(wall) * 1e6,
        {"modules": modules[0]},
    )
