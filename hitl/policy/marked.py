"""A document as plain JSON values, with the line of every part and the limits of what is read.

Both readers (YAML, JSON) report what they meet to one :class:`Builder`; it owns everything
that must hold for either: bounded size and depth, keys that are texts and stand once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hitl.policy.finding import Finding
from hitl.values import Json

__all__ = ["Builder", "Lines", "Marked", "Path", "Unreadable", "spell"]

Path = tuple[str | int, ...]
Lines = dict[Path, int]

_DEPTH = 50
_PARTS = 2_000_000


class Unreadable(Exception):
    """Reading stops here; the builder's problems say why."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A document that was read.

    Attributes:
        name: The file's name, for findings.
        data: The document.
        lines: The line of each part; of an entry of a map, that of its key.
        problems: What was wrong but did not stop the reader.
    """

    name: str
    data: Json
    lines: Lines
    problems: tuple[Finding, ...] = ()

    def line(self, path: Path) -> int:
        """Return the line of a part, or of the nearest part around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)

    def error(self, path: Path, message: str, hint: str = "") -> Finding:
        """Return a finding about a part."""
        return Finding("error", message, self.name, self.line(path), spell(path), hint)


def spell(path: Path) -> str:
    """Return a path as people write it: ``rules[3].where``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


@dataclass(slots=True)
class _Open:
    """A container that is still being filled; ``key`` is that of the next entry of a map."""

    box: list[Json] | dict[str, Json]
    path: Path
    key: str | None = None


@dataclass(slots=True)
class Builder:
    """Puts a document together from what a reader meets, in order."""

    name: str
    lines: Lines = field(default_factory=dict)
    problems: list[Finding] = field(default_factory=list)
    _root: list[Json] = field(default_factory=list)
    _open: list[_Open] = field(default_factory=list)

    def marked(self) -> Marked:
        """Return what was read."""
        data = self._root[0] if self._root else None
        return Marked(self.name, data, self.lines, tuple(self.problems))

    def problem(self, line: int, message: str, hint: str = "") -> None:
        """Note what is wrong and go on."""
        place = spell(self._open[-1].path) if self._open else ""
        self.problems.append(Finding("error", message, self.name, line, place, hint))

    def stop(self, line: int, message: str, hint: str = "") -> Unreadable:
        """Note what is wrong and return the exception that ends reading."""
        self.problem(line, message, hint)
        return Unreadable()

    def begin(self, line: int, box: list[Json] | dict[str, Json]) -> None:
        """Open a map or a list."""
        if len(self._open) >= _DEPTH:
            raise self.stop(line, f"The document is nested more than {_DEPTH} deep.")
        if self.wants_key:
            raise self.stop(line, "A key is a map or a list.", "Keys are texts.")
        path = self._put(line, box)
        self._open.append(_Open(box, path))

    def end(self) -> None:
        """Close the innermost map or list."""
        self._open.pop()

    @property
    def wants_key(self) -> bool:
        """Whether what comes next is the key of a map's entry."""
        return bool(self._open) and self._open[-1].key is None and isinstance(self._top, dict)

    def scalar(self, line: int, value: Json) -> None:
        """Take a key or a value."""
        if not self.wants_key:
            self._put(line, value)
            return
        inside = self._open[-1]
        if not isinstance(value, str):
            self.problem(line, f"The key {value!r:.40} is not a text.", "Put it in quotes.")
            value = str(value)
        if isinstance(inside.box, dict) and value in inside.box:
            first = self.lines.get((*inside.path, value), 0)
            self.problem(line, f"The key {value!r:.80} stands twice, first in line {first}.")
        inside.key = value
        self.lines[(*inside.path, value)] = line

    @property
    def _top(self) -> list[Json] | dict[str, Json]:
        return self._open[-1].box if self._open else self._root

    def _put(self, line: int, value: Json) -> Path:
        if len(self.lines) >= _PARTS:
            raise self.stop(line, f"The document has more than {_PARTS:,} parts.")
        if not self._open:
            self._root.append(value)
            self.lines[()] = line
            return ()
        inside = self._open[-1]
        if isinstance(inside.box, dict):
            key = inside.key or ""
            inside.box[key], inside.key = value, None
            return (*inside.path, key)
        path: Path = (*inside.path, len(inside.box))
        inside.box.append(value)
        self.lines[path] = line
        return path
