"""``python -m benchmarks``: measure ours, hand-written code and a peer, in turn in one run."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

from benchmarks.measure import Figure, Scale, scaled
from benchmarks.paired import VARIABLE, Peer, find_peer, run_peer
from benchmarks.report import Result, Row, rich_table, save

__all__ = ["THEMES", "main", "run"]

THEMES = ("steps", "fanout", "pause", "chat", "agent", "store", "policy_matching", "imports")


class Theme(Protocol):
    """A module that measures one kind of work on our side and by hand."""

    AIMS: Mapping[str, str]
    hitl: Callable[[Scale], list[Figure]]
    bare: Callable[[Scale], list[Figure]]


def run(themes: Sequence[str], python: str | None, *, quick: bool) -> Result:
    """Measure themes, each on all sides before the next one.

    Args:
        themes: Names of modules.
        python: The interpreter of the peer, None to leave the peer out.
        quick: A smoke run.
    """
    result = Result(quick)
    if python is None:
        result.notes.append(
            f"No peer: langgraph is not installed here. Use --rival-python or {VARIABLE}."
        )
    for name in themes:
        theme = cast("Theme", importlib.import_module(f"benchmarks.{name}"))
        with scaled(quick=quick) as scale:
            ours, by_hand = theme.hitl(scale), _by_name(theme.bare(scale))
        peer = Peer() if python is None else run_peer(python, name, quick=quick)
        if peer.trouble:
            result.notes.append(peer.trouble)
        result.peers.update(peer.versions)
        theirs = _by_name(peer.figures)
        if not ours:
            result.notes.append(f"{name}: nothing of ours to measure.")
        for figure in ours:
            title = figure.name
            sides = by_hand.get(title), theirs.get(title)
            result.rows.append(Row(name, title, figure, *sides, theme.AIMS.get(title, "")))
    return result


def _by_name(figures: Sequence[Figure]) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures}


def main(words: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for, and show it; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of some seconds")
    one = f"one theme (may be repeated): {', '.join(THEMES)}"
    parser.add_argument("--only", metavar="NAME", action="append", choices=THEMES, help=one)
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/<date>")
    peer = f"an interpreter with langgraph and langchain; or the variable {VARIABLE}"
    parser.add_argument("--rival-python", metavar="PATH", help=peer)
    options = parser.parse_args(words)
    python = find_peer(options.rival_python)
    result = run(options.only or THEMES, python, quick=options.quick)
    _show(result)
    if options.save:
        print(f"written: {save(result)}")
    return 0


def _show(result: Result) -> None:
    from rich.console import Console

    console = Console()
    # A pipe has no width of its own, and a cut table says nothing.
    console = console if console.is_terminal else Console(width=200)
    console.print(rich_table(result))
    facts = result.facts()
    shown = ("python", "sqlite", "cores", "load_before", "load_after", "peers")
    console.print(", ".join(f"{name} {facts[name]}" for name in shown if facts[name]))
    for note in result.notes:
        console.print(note)


if __name__ == "__main__":
    raise SystemExit(main())
