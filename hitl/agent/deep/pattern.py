"""Path patterns, many at once: a trie over their components, which finds the first that matches.

``*`` and ``?`` stand for what is within one component, ``[ab]`` and ``[!ab]`` for one
character, ``**`` as a whole component for any number of them, ``{a,b}`` and ``{1..3}`` for
alternatives. Wildcards match a leading dot too: ``/secrets/**`` holds for ``/secrets/.env``.
``/d/**`` holds for everything below ``/d``, and not for ``/d``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import translate

from hitl.agent.deep.file_path import Parts
from hitl.errors import Misuse

__all__ = ["Patterns", "anchor_of", "components"]

NONE = 1 << 60
"""The number of no pattern; greater than every other."""

_MOST = 1_000
_WILD = re.compile(r"[*?\[]")
_BRACES = re.compile(r"(?<!\[)\{([^{}]*)\}(?!\])")
_NUMBER = r"(0|-?[1-9]\d{0,8})"
_RANGE = re.compile(rf"{_NUMBER}\.\.{_NUMBER}")


def components(pattern: str) -> list[Parts]:
    """Return the components of each alternative that a pattern's braces give.

    Raises:
        Misuse: There are too many, or braces in it give none.
    """
    flat = list(_spread(pattern))
    return [tuple(part for part in one.split("/") if part and part != ".") for one in flat]


def _spread(pattern: str) -> Iterator[str]:
    todo, given = [pattern], 0
    while todo:
        one = todo.pop()
        found = next(filter(None, map(_alternatives, _BRACES.finditer(one))), None)
        if found is None and ("{" in one or "}" in one):
            raise Misuse(
                f"The path pattern {pattern!r} has braces that give no alternatives.",
                hint="Write {a,b} or {1..3}; a brace that is meant itself is [{] or [}].",
            )
        if found is None:
            yield one
            given += 1
        else:
            start, end, texts = found
            todo += [one[:start] + text + one[end:] for text in reversed(texts)]
        if given + len(todo) > _MOST:
            raise Misuse(
                f"The path pattern {pattern!r} stands for more than {_MOST} patterns.",
                hint="Use * in place of long lists and ranges.",
            )


def _alternatives(braces: re.Match[str]) -> tuple[int, int, list[str]] | None:
    """Return where braces stand and what they give; None where they are plain text."""
    inside = braces[1]
    numbers = _RANGE.fullmatch(inside)
    if numbers is not None:
        first, last = int(numbers[1]), int(numbers[2])
        step = 1 if last >= first else -1
        some = range(first, last + step, step)[: _MOST + 1]
        return braces.start(), braces.end(), list(map(str, some))
    if "," not in inside:
        return None
    return braces.start(), braces.end(), inside.split(",")


def anchor_of(parts: Parts) -> Parts:
    """Return the leading components of a pattern that hold no wildcard."""
    for place, part in enumerate(parts):
        if _WILD.search(part):
            return parts[:place]
    return parts


class _Node:
    """What is left of the patterns after some components."""

    __slots__ = ("any", "deep", "end", "ends", "plain", "starts", "straight", "tail", "wild")

    def __init__(self) -> None:
        self.plain: dict[str, _Node] = {}
        self.any: _Node | None = None  # behind `*`
        self.ends: dict[int, dict[str, _Node]] = {}  # behind `*.py`, by length and text
        self.starts: dict[int, dict[str, _Node]] = {}  # behind `test_*`
        self.wild: dict[str, tuple[Callable[[str], object], _Node]] = {}
        self.deep: _Node | None = None  # behind `**`; its own `deep` is itself
        self.end = NONE  # lowest number of a pattern that ends here
        self.tail = NONE  # ... that goes on with `**` and nothing more
        self.straight = True  # whether a path can go on in one way at most

    def child(self, part: str) -> _Node:
        """Return the node behind a component of a pattern, a new one at first."""
        if not _WILD.search(part):
            return self.plain.setdefault(part, _Node())
        self.straight = False
        if part == "**":
            if self.deep is None:
                self.deep = _Node()
                self.deep.deep, self.deep.straight = self.deep, False
            return self.deep
        if part == "*":
            self.any = self.any or _Node()
            return self.any
        if part[0] == "*" and not _WILD.search(part[1:]):
            return _behind(self.ends, part[1:])
        if part[-1] == "*" and not _WILD.search(part[:-1]):
            return _behind(self.starts, part[:-1])
        if part not in self.wild:
            self.wild[part] = re.compile(translate(part)).match, _Node()
        return self.wild[part][1]

    def after(self, part: str) -> Iterator[_Node]:
        """Yield the nodes behind a component of a path."""
        node = self.plain.get(part)
        if node is not None:
            yield node
        if self.any is not None:
            yield self.any
        for size, by_text in self.ends.items():
            node = by_text.get(part[-size:])
            if node is not None:
                yield node
        for size, by_text in self.starts.items():
            node = by_text.get(part[:size])
            if node is not None:
                yield node
        for match, node in self.wild.values():
            if match(part):
                yield node


def _behind(table: dict[int, dict[str, _Node]], text: str) -> _Node:
    return table.setdefault(len(text), {}).setdefault(text, _Node())


class Patterns:
    """Numbered patterns; which number is the lowest that matches is found at once."""

    def __init__(self) -> None:
        self._root = _Node()

    def add(self, parts: Parts, number: int) -> None:
        """Add a pattern by its components."""
        node = self._root
        tail = bool(parts) and parts[-1] == "**"
        for part in parts[:-1] if tail else parts:
            node = node.child(part)
        if tail:
            node.tail = min(node.tail, number)
        else:
            node.end = min(node.end, number)

    def first(self, parts: Parts) -> int:
        """Return the lowest number of a pattern that matches, ``NONE`` where none does."""
        node, best = self._root, NONE
        for place, part in enumerate(parts):
            if not node.straight:
                return min(best, _first(node, parts[place:]))
            best = min(best, node.tail)
            found = node.plain.get(part)
            if found is None:
                return best
            node = found
        return min(best, node.end)


def _first(start: _Node, parts: Parts) -> int:
    """Return the lowest number behind a node, following every way at once."""
    best = NONE
    active = {start, start.deep or start}
    for part in parts:
        found: set[_Node] = set()
        for node in active:
            best = min(best, node.tail)
            found.update(node.after(part))
        found |= {node.deep for node in found if node.deep is not None}
        # `**` also stands for this component.
        active = found | {node for node in active if node.deep is node}
        if not active:
            return best
    return min(best, *(node.end for node in active))
