"""How a piece of work is measured: CPU, wall time, calls, and what SQLite is asked to do.

Imports neither hitl nor a peer, so that both sides of a comparison are measured by the same
code. Times are microseconds a unit of work; the minimum is what to compare, since other
processes only ever add to it.
"""

from __future__ import annotations

import gc
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path

__all__ = ["Figure", "Scale", "Trace", "count_calls", "measure", "scaled", "timed"]

Run = Callable[[], object]

_BATCH = 0.003
"""Seconds of a batch: short enough that some batches meet no other process."""

_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE"})

_RAM = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Figure:
    """What one unit of a piece of work costs.

    Attributes:
        name: The work; the same name on each side of a comparison.
        cpu: Microseconds of CPU, the minimum of all batches.
        cpu_median: Their median.
        wall: Microseconds on the clock, the minimum.
        wall_median: Their median.
        counts: Things that are counted, not timed: ``calls``, ``commits``, ``rows``,
            ``bytes``, ``modules``.
    """

    name: str
    cpu: float
    cpu_median: float
    wall: float
    wall_median: float
    counts: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Return the figure as plain JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured, and where files go.

    Attributes:
        quick: A smoke run.
        seconds: How long each piece of work is repeated.
        turns: Length of the chat.
        ram: A folder on a RAM disk, or on the disk where there is none.
        disk: A folder on the disk.
    """

    quick: bool
    seconds: float
    turns: int
    ram: Path
    disk: Path
    numbers: Iterator[int] = field(default_factory=count)

    def file(self, *, disk: bool = False) -> Path:
        """Return the path of a new database file."""
        return (self.disk if disk else self.ram) / f"{next(self.numbers)}.db"


@contextmanager
def scaled(*, quick: bool) -> Iterator[Scale]:
    """Give a scale whose folders are removed at the end."""
    ram = _RAM if _RAM.is_dir() else None
    with (
        tempfile.TemporaryDirectory(dir=ram, prefix="bench-") as fast,
        tempfile.TemporaryDirectory(prefix="bench-") as slow,
    ):
        seconds, turns = (0.06, 100) if quick else (1.5, 1000)
        yield Scale(quick, seconds, turns, Path(fast), Path(slow))


class Trace:
    """A SQLite connection that can tell what it was asked to do.

    Args:
        path: The file; opened as the stores open theirs (WAL, synchronous=FULL).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(path, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")

    def count(self, run: Run, units: float) -> dict[str, float]:
        """Return commits, rows written and bytes of file growth of one run, a unit."""
        statements: list[str] = []
        before = self._size()
        changes = self.connection.total_changes
        self.connection.set_trace_callback(statements.append)
        try:
            run()
        finally:
            self.connection.set_trace_callback(None)
        commits = _write_commits(statements)
        rows = self.connection.total_changes - changes
        return {
            "commits": commits / units,
            "rows": rows / units,
            "bytes": (self._size() - before) / units,
        }

    def _size(self) -> int:
        """Return the bytes of all pages in use, the write-ahead log folded in."""
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        pages, free, size = (
            int(self.connection.execute(f"PRAGMA {what}").fetchone()[0])
            for what in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size


def _write_commits(statements: list[str]) -> int:
    """Count the commits that wrote something: those of a mere read cost no fsync."""
    commits, wrote = 0, False
    for text in statements:
        word = text.split(None, 1)[0].upper() if text.strip() else ""
        if word in _WRITES:
            wrote = True
        elif word in ("COMMIT", "END"):
            commits, wrote = commits + wrote, False
    return commits


def count_calls(run: Run) -> int:
    """Return how many Python and C functions one run calls, in threads that it starts too."""
    calls = 0

    def watch(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        if event in ("call", "c_call"):
            calls += 1

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls - 1  # the call that ends the watch


def measure(
    name: str, run: Run, scale: Scale, *, units: int = 1, trace: Trace | None = None
) -> Figure:
    """Return what one unit of a piece of work costs, warm.

    Args:
        name: The work.
        run: Does it once.
        scale: How long to repeat it.
        units: How many units (steps, tasks, turns) one run has.
        trace: The connection that it writes to, to be counted.
    """
    run()
    run()
    counts = {"calls": count_calls(run) / units}
    if trace is not None:
        # The file grows by whole pages: many runs together tell what one of them takes.
        times = 50
        counts |= trace.count(lambda: [run() for _ in range(times)], units * times)
    size = _runs_of_a_batch(run)
    cpu: list[float] = []
    wall: list[float] = []
    gc.collect()
    end = time.perf_counter() + scale.seconds
    while len(cpu) < 5 or time.perf_counter() < end:
        cpu_began, wall_began = time.process_time(), time.perf_counter()
        for _ in range(size):
            run()
        cpu.append(time.process_time() - cpu_began)
        wall.append(time.perf_counter() - wall_began)
    return _figure(name, cpu, wall, size * units, counts)


def _runs_of_a_batch(run: Run) -> int:
    began, runs = time.perf_counter(), 0
    while time.perf_counter() - began < _BATCH:
        run()
        runs += 1
    return runs


def timed(
    name: str, run: Run, *, units: int = 1, times: int = 1, counts: dict[str, float] | None = None
) -> Figure:
    """Return what one unit costs of work that is long, or that is not the same twice."""
    cpu: list[float] = []
    wall: list[float] = []
    for _ in range(times):
        cpu_began, wall_began = time.process_time(), time.perf_counter()
        run()
        cpu.append(time.process_time() - cpu_began)
        wall.append(time.perf_counter() - wall_began)
    return _figure(name, cpu, wall, units, counts or {})


def _figure(
    name: str, cpu: list[float], wall: list[float], units: int, counts: dict[str, float]
) -> Figure:
    each = 1e6 / units
    return Figure(
        name,
        min(cpu) * each,
        statistics.median(cpu) * each,
        min(wall) * each,
        statistics.median(wall) * each,
        counts,
    )
