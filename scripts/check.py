"""Every check of the project, in one command: ``python3 run.py check``.

Runs all stages even when one fails, prints a line with result and time for each, and exits
with 1 if any failed. Tools write to the terminal themselves only where their words are wanted:
the tests' always, the others' when they fail.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Stage:
    """One tool, called once.

    Attributes:
        name: What the result's line calls it.
        words: Arguments after ``python -m``.
        shown: Whether its output is shown even when it succeeds.
    """

    name: str
    words: list[str]
    shown: bool = False


def stages(options: argparse.Namespace) -> Iterator[Stage]:
    """Yield the stages in order: quick ones first, the tests last."""
    yield Stage("format", ["ruff", "format", "--check", "."])
    yield Stage("lint", ["ruff", "check", "."])
    yield Stage("types", ["mypy"])
    if (ROOT / "benchmarks" / "__main__.py").exists() and not options.fast:
        yield Stage("benchmark", ["benchmarks", "--quick"], shown=True)
    yield Stage("tests", ["pytest", *pytest_words(options)], shown=True)


def pytest_words(options: argparse.Namespace) -> list[str]:
    """Return pytest's arguments; a part of the tests says nothing about coverage."""
    words = ["-q", "-n", "2", "--dist", "worksteal"]
    if options.k:
        words += ["-k", options.k]
    if options.fast:
        words += ["-m", "not slow"]
    if not (options.k or options.fast):
        words += ["--cov", "--cov-report=term"]
    return words


def passes(stage: Stage) -> bool:
    """Run a stage, print its line, and return whether it passed."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", *stage.words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=None if stage.shown else subprocess.PIPE,
        stderr=None if stage.shown else subprocess.STDOUT,
        text=True,
        check=False,
    )
    passed = done.returncode == 0
    if not passed and done.stdout:
        print(done.stdout, end="")
    result = "ok" if passed else f"FAILED (exit {done.returncode})"
    print(f"check: {stage.name:<10} {time.perf_counter() - started:6.1f} s  {result}", flush=True)
    return passed


def main() -> int:
    """Return 0 if every stage passed, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="run.py check", description="Run every check.")
    parser.add_argument(
        "--fast", action="store_true", help="without slow tests, coverage and benchmark"
    )
    parser.add_argument("-k", metavar="EXPR", help="only tests that match, as pytest's -k")
    options = parser.parse_args()
    if os.environ.get("CI"):
        os.environ.setdefault("HYPOTHESIS_PROFILE", "ci")
    failed = [stage.name for stage in stages(options) if not passes(stage)]
    print(f"check: {'failed: ' + ', '.join(failed) if failed else 'everything passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
