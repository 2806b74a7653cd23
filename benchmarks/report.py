"""Results as a table for people, and as JSON with versions, cores and load for later."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks.measure import Figure

__all__ = ["COLUMNS", "Result", "Row", "cells", "markdown", "rich_table", "save"]

COLUMNS = ("work", "hitl", "median", "wall", "bare", "peer", "peer/hitl", "hitl counts",
           "peer counts", "aim")  # fmt: skip

_RESULTS = Path(__file__).resolve().parent / "results"


def load_now() -> list[float]:
    """Return the load of the last 1, 5 and 15 minutes, [] where the system does not tell it."""
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else []


@dataclass(frozen=True, slots=True)
class Row:
    """One piece of work on all sides."""

    theme: str
    name: str
    hitl: Figure
    bare: Figure | None = None
    peer: Figure | None = None
    aim: str = ""

    def as_json(self) -> dict[str, object]:
        """Return the row as plain JSON."""
        sides = {"hitl": self.hitl, "bare": self.bare, "peer": self.peer}
        shown = {name: figure.as_json() for name, figure in sides.items() if figure is not None}
        return {"theme": self.theme, "name": self.name, "aim": self.aim, **shown}


@dataclass(slots=True)
class Result:
    """A whole run.

    Attributes:
        quick: A smoke run, whose times say little.
        rows: What was measured.
        peers: Versions of the peers' packages.
        notes: What was left out, and why.
    """

    quick: bool
    rows: list[Row] = field(default_factory=list)
    peers: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    load: list[float] = field(default_factory=load_now)

    def facts(self) -> dict[str, object]:
        """Return on what machine and with what versions it ran."""
        return {
            "at": self.began.isoformat(timespec="seconds"),
            "quick": self.quick,
            "python": sys.version.split()[0],
            "sqlite": sqlite3.sqlite_version,
            "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
            "load_before": self.load,
            "load_after": load_now(),
            "versions": {name: _version(name) for name in ("hitl", "pydantic", "sqlite-utils")},
            "peers": self.peers,
            "notes": self.notes,
        }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def cells(row: Row) -> tuple[str, ...]:
    """Return a row's cells as text, in the order of ``COLUMNS``."""
    peer = row.peer
    times = peer.cpu / row.hitl.cpu if peer is not None and row.hitl.cpu else None
    ratio = "" if times is None else f"{times:.0f}x" if times >= 10 else f"{times:.2g}x"
    return (
        row.name,
        _time(row.hitl.cpu),
        _time(row.hitl.cpu_median),
        _time(row.hitl.wall),
        _time(row.bare.cpu) if row.bare is not None else "",
        _time(peer.cpu) if peer is not None else "",
        ratio,
        _counts(row.hitl),
        _counts(peer) if peer is not None else "",
        row.aim,
    )


def _time(us: float) -> str:
    for limit, divisor, unit in ((1e3, 1, "µs"), (1e6, 1e3, "ms")):
        if us < limit:
            return f"{us / divisor:.3g} {unit}"
    return f"{us / 1e6:.3g} s"


def _counts(figure: Figure) -> str:
    shown = []
    for name, value in figure.counts.items():
        number = f"{value:,.0f}" if value >= 20 or value == int(value) else f"{value:.1f}"
        shown.append(f"{number} {name}")
    return ", ".join(shown)


def markdown(result: Result) -> str:
    """Return the result as a page."""
    lines = ["# Benchmark", ""]
    lines += [f"- {name}: {value}" for name, value in result.facts().items() if value]
    lines += ["", "Times are CPU a unit of work: the minimum, then the median; wall is a minimum."]
    lines += ["", _line(COLUMNS), _line("---" for _ in COLUMNS)]
    lines += [_line(cells(row)) for row in result.rows]
    return "\n".join(lines) + "\n"


def _line(words: Iterable[str]) -> str:
    return f"| {' | '.join(words)} |"


def rich_table(result: Result) -> object:
    """Return a table for the terminal."""
    from rich.table import Table

    table = Table(title="CPU a unit of work, minimum and median", header_style="bold")
    for column in COLUMNS:
        table.add_column(column, justify="right" if column in COLUMNS[1:7] else "left")
    theme = result.rows[0].theme if result.rows else ""
    for row in result.rows:
        if row.theme != theme:
            table.add_section()
            theme = row.theme
        table.add_row(*cells(row))
    return table


def save(result: Result, folder: Path = _RESULTS) -> Path:
    """Write the result as JSON and as a page; return the path of the page."""
    folder.mkdir(exist_ok=True)
    stem = result.began.strftime("%Y-%m-%d")
    tree = {**result.facts(), "rows": [row.as_json() for row in result.rows]}
    text = json.dumps(tree, indent=1, ensure_ascii=False)
    (folder / f"{stem}.json").write_text(text + "\n", encoding="utf-8")
    page = folder / f"{stem}.md"
    page.write_text(markdown(result), encoding="utf-8")
    return page
