"""What an import costs: heavy modules load on first use."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("pydantic", "sqlite3", "sqlite_utils", "asyncio", "click", "rich")


def loaded_by(statement: str) -> set[str]:
    """Return which heavy modules a new interpreter holds after a statement."""
    show = f"{statement}\nimport sys\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", show], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_a_bare_import_loads_nothing_heavy():
    assert loaded_by("import hitl") == set()


def test_the_probe_sees_what_is_loaded():
    assert loaded_by("import sqlite3, asyncio") == {"sqlite3", "asyncio"}
