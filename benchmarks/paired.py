"""Runs a peer's version of a theme in an interpreter that has the peer installed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import Figure

__all__ = ["Peer", "find_peer", "run_peer"]

ROOT = Path(__file__).resolve().parent.parent

VARIABLE = "HITL_BENCH_RIVAL"


@dataclass(frozen=True, slots=True)
class Peer:
    """What a peer's process told.

    Attributes:
        figures: Its figures.
        versions: The versions of its packages.
        trouble: Why there are none, empty where there are.
    """

    figures: list[Figure] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    trouble: str = ""


def find_peer(given: str | None) -> str | None:
    """Return the interpreter that has langgraph, or None where none is known."""
    python = given or os.environ.get(VARIABLE)
    if python is None and importlib.util.find_spec("langgraph") is not None:
        python = sys.executable
    return python


def run_peer(python: str, theme: str, *, quick: bool) -> Peer:
    """Run a peer's version of a theme."""
    words = [python, "-m", f"benchmarks.rivals.{theme}", *(["--quick"] if quick else [])]
    # The working folder is the first place that `-m` looks in, so nothing of ours is installed.
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError as error:
        return Peer(trouble=f"{theme}: {error}")
    if done.returncode:
        last = (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1]
        return Peer(trouble=f"{theme}: the peer failed: {last}")
    told = json.loads(done.stdout.splitlines()[-1])
    return Peer([Figure(**figure) for figure in told["figures"]], told["versions"])
