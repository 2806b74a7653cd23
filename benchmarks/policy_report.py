"""The policy benchmark as a table and a plot: microseconds a call, over the number of rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Figure
from benchmarks.paired import Peer
from benchmarks.policy_rules import CASES, KINDS, sizes, title
from benchmarks.report import Result

__all__ = ["markdown", "plot", "show", "write"]

_RESULTS = Path(__file__).resolve().parent / "results"

_OURS, _BARE = "hitl", "bare"

_LOOKS = {
    _OURS: {"linewidth": 3, "color": "black"},
    _BARE: {"linewidth": 1.2, "linestyle": ":", "color": "gray"},
}

_READING = (
    "Microseconds of CPU a call, the minimum of many short batches. An empty cell: the peer has",
    "no such rules, or ten times fewer took it over 30 ms a call.",
)

Table = dict[str, dict[str, float]]
"""Work -> side -> microseconds."""


def _table(ours: Sequence[Figure], by_hand: Sequence[Figure], theirs: Peer) -> Table:
    table: Table = {figure.name: {_OURS: figure.cpu} for figure in ours}
    for figure in by_hand:
        table[figure.name][_BARE] = figure.cpu
    for figure in theirs.figures:
        work, bar, peer = figure.name.partition(" | ")
        if bar:
            table[work][peer] = figure.cpu
    return table


def _sides(table: Table) -> list[str]:
    return list(dict.fromkeys(side for row in table.values() for side in row))


def show(ours: Sequence[Figure], by_hand: Sequence[Figure], theirs: Peer, result: Result) -> None:
    """Print the table."""
    print(markdown(ours, by_hand, theirs, result))


def markdown(
    ours: Sequence[Figure], by_hand: Sequence[Figure], theirs: Peer, result: Result
) -> str:
    """Return the results as a page."""
    table = _table(ours, by_hand, theirs)
    sides = _sides(table)
    lines = ["# What one judgement costs", ""]
    lines += [f"- {name}: {value}" for name, value in result.facts().items() if value]
    lines += ["", *_READING, ""]
    lines += [_line(["work", *sides]), _line(["---", *("--:" for _ in sides)])]
    for work, row in table.items():
        cells = [_number(row[side]) if side in row else "" for side in sides]
        lines.append(_line([work.removeprefix("policy: "), *cells]))
    loaded = ours[-1]
    counts = ", ".join(f"{value / 1e6:.1f} MB {name}" for name, value in loaded.counts.items())
    lines += ["", f"{loaded.name.removeprefix('policy: ')}: {loaded.cpu / 1e6:.2f} s; {counts}."]
    lines += ["(`bytes held` is what the policy keeps; `peak` is what loading takes at most.)"]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(us: float) -> str:
    return f"{us:,.0f}" if us >= 100 else f"{us:.3g}"


def plot(table: Table, path: Path, *, quick: bool) -> None:
    """Draw a line for each side over the number of rules, a field for each kind of rules."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "hitl"
    import matplotlib.pyplot as plt

    figure, fields = plt.subplots(2, 2, figsize=(11, 8), sharex=True, sharey=True)
    for kind, field in zip(KINDS, fields.flat, strict=True):
        for side in _sides(table):
            points = _points(table, kind, side, quick=quick)
            if points:
                look = _LOOKS.get(side, {"linewidth": 1.2})
                x, y = zip(*points, strict=True)
                field.plot(x, y, marker="o", markersize=3, label=side, **look)
        field.set(xscale="log", yscale="log", title=kind)
        field.grid(visible=True, which="major", alpha=0.3)
    for field in fields[1]:
        field.set_xlabel("rules")
    for field in fields[:, 0]:
        field.set_ylabel("µs a call, slower of hit and miss")
    handles = {
        label: handle
        for field in fields.flat
        for handle, label in zip(*field.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=5)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _points(table: Table, kind: str, side: str, *, quick: bool) -> list[tuple[int, float]]:
    points = []
    for size in sizes(quick=quick):
        rows = [table[title(kind, size, case)] for case in CASES]
        times = [row[side] for row in rows if side in row]
        if times:
            points.append((size, max(times)))
    return points


def write(
    ours: Sequence[Figure], by_hand: Sequence[Figure], theirs: Peer, result: Result,
    folder: Path = _RESULTS,
) -> list[Path]:  # fmt: skip
    """Write the page, the figures and the plot; return their paths.

    The plot is left out, with a word, where matplotlib (extra ``bench``) is not installed.
    """
    folder.mkdir(exist_ok=True)
    stem = f"policy-{result.began:%Y-%m-%d}"
    page, tree = folder / f"{stem}.md", folder / f"{stem}.json"
    text = markdown(ours, by_hand, theirs, result)
    table = _table(ours, by_hand, theirs)
    written = [page, tree]
    try:
        plot(table, folder / f"{stem}.svg", quick=result.quick)
    except ImportError:
        text += "\nNo plot: matplotlib is not installed.\n"
    else:
        text += f"\n![Microseconds a call over the number of rules]({stem}.svg)\n"
        written.append(folder / f"{stem}.svg")
    page.write_text(text, encoding="utf-8")
    sides = {"hitl": ours, "bare": by_hand, "peers": theirs.figures}
    shown = {name: [figure.as_json() for figure in figures] for name, figures in sides.items()}
    tree.write_text(json.dumps({**result.facts(), **shown}, indent=1) + "\n", encoding="utf-8")
    return written
