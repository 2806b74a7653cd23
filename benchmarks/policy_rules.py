"""The rules and calls of the policy benchmark, for every side alike; imports none of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CASES", "KINDS", "Call", "Rule", "call_for", "rules_for", "sizes", "title"]

KINDS = ("names", "globs", "paths", "mixed")
CASES = ("hit", "miss")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule that makes calls wait.

    Attributes:
        tool: The tool's name; one that ends in ``*`` stands for all that begin so.
        under: What the argument ``path`` begins with, empty where it does not matter.
    """

    tool: str
    under: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One call to be judged."""

    tool: str
    path: str


def sizes(*, quick: bool) -> tuple[int, ...]:
    """Return how many rules are tried."""
    return (1, 10, 100) if quick else (1, 10, 100, 1_000, 10_000)


def title(kind: str, size: int, case: str) -> str:
    """Return what a piece of work is called on every side."""
    return f"policy: {kind}, {size:,} rules, {case}"


def rules_for(kind: str, size: int) -> list[Rule]:
    """Return so many rules of a kind; ``mixed`` is a third of each."""
    if kind == "names":
        return [Rule(f"tool_{i}") for i in range(size)]
    if kind == "globs":
        return [Rule(f"service_{i}_*") for i in range(size)]
    if kind == "paths":
        return [Rule("read_file", f"/data/{i}/") for i in range(size)]
    thirds = [rules_for(one, size) for one in ("paths", "names", "globs")]
    return [thirds[i % 3][i] for i in range(size)]


def call_for(kind: str, size: int, case: str) -> Call:
    """Return a call that the last rule speaks of (of ``mixed``, its last path), or none does."""
    if case == "miss":
        return Call(
            "read_file" if kind in ("paths", "mixed") else "other_tool", "/home/a/notes.txt"
        )
    last = size - 1
    if kind == "names":
        return Call(f"tool_{last}", "/home/a/notes.txt")
    if kind == "globs":
        return Call(f"service_{last}_read", "/home/a/notes.txt")
    return Call("read_file", f"/data/{last if kind == 'paths' else last - last % 3}/b/notes.txt")
