"""All that the command line prints goes through here, and all of it is made safe here.

Owns layout: text is folded by us, and what does not fit on its line goes on behind a gutter,
so that foreign text can neither act on the terminal nor imitate a line of ours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from hitl.cli.safe import GUTTER, fold, safe
from hitl.values import Json

__all__ = ["Screen", "json_text"]

_PLAIN_WIDTH = 100
_LABEL = 22
_FOLDED = 14


def json_text(document: Json, *, indent: int | None = 2) -> str:
    r"""Return a document as JSON in which all but plain ASCII is written as ``\u`` escapes."""
    return json.dumps(document, indent=indent, ensure_ascii=True).replace("\x7f", "\\u007f")


class Screen:
    """Where a command prints: people's text, or one JSON document.

    Args:
        as_json: Print documents only; what is meant for people is left out.
        out: Where results go; standard output where None.
        err: Where errors go; standard error where None.
    """

    def __init__(
        self, *, as_json: bool = False, out: TextIO | None = None, err: TextIO | None = None
    ) -> None:
        self.as_json = as_json
        self.out = _console(out or sys.stdout)
        self.err = _console(err or sys.stderr)

    def say(self, text: str = "", style: str = "", *, indent: int = 0) -> None:
        """Print a line; what does not fit goes on in further lines behind a gutter."""
        self._print(self.out, text, style, indent)

    def block(self, text: str, *, indent: int = 2) -> None:
        """Print a text with its own line breaks, each line behind a gutter."""
        if self.as_json:
            return
        room = max(self.out.width - indent - len(GUTTER), 10)
        for line in text.split("\n"):
            for piece in fold(safe(line), room):
                self._line(self.out, " " * indent + GUTTER + piece, "")

    def facts(self, rows: Iterable[tuple[str, str]], *, indent: int = 2) -> None:
        """Print names and values in two columns; a value of several lines as a block."""
        pairs = [(safe(name), value) for name, value in rows]
        wide = max((len(name) for name, _ in pairs if len(name) <= _LABEL), default=0)
        for name, value in pairs:
            room = max(self.out.width - indent - wide - 2, 10)
            shown = safe(value)
            if "\n" in value or len(name) > wide or len(fold(shown, room)) > 1:
                self.say(name, "bold", indent=indent)
                self.block(value, indent=indent + 2)
            elif not self.as_json:
                line = Text(" " * indent)
                line.append(name.ljust(wide + 2), "bold").append(shown)
                self.out.print(line, soft_wrap=True)

    def command(self, line: str) -> None:
        """Print a command on one line, however long, so that it can be copied."""
        if not self.as_json:
            self._line(self.out, f"  {safe(line)}", "cyan")

    def table(self, headers: Mapping[str, str], rows: Iterable[Sequence[str]]) -> None:
        """Print a table.

        Args:
            headers: Title of each column, and how it takes little room: ``whole`` (never
                broken), ``fold`` (over several lines) or ``cut`` (two lines, then an
                ellipsis). A last column that is whole goes below where it is too wide.
            rows: The cells, as many as there are headers.
        """
        if self.as_json:
            return
        titles, ways = [safe(title) for title in headers], list(headers.values())
        cells = [[safe(cell) for cell in row] for row in rows]
        widths = _widths(ways, [titles, *cells], self.out.width)
        for line in _row(titles, ways, widths, self.out.width):
            self._line(self.out, line, "bold")
        self._line(self.out, "─" * min(sum(widths) + 2 * len(widths) - 2, self.out.width), "")
        for row in cells:
            for line in _row(row, ways, widths, self.out.width):
                self._line(self.out, line, "")

    def prompt(self, text: str) -> None:
        """Print what is asked, and stay on that line."""
        self.out.print(Text(safe(text), "bold"), end=" ", soft_wrap=True)
        self.out.file.flush()

    def error(self, message: str, hint: str = "") -> None:
        """Print what went wrong and what to do, on standard error."""
        self._print(self.err, f"error: {message}", "bold red", 0)
        if hint:
            self._print(self.err, f"hint: {hint}", "", 0)

    def note(self, text: str) -> None:
        """Print a line beside the result, on standard error."""
        self._print(self.err, text, "", 0)

    def document(self, document: Json, *, indent: int | None = 2) -> None:
        """Print a document, if documents are wanted."""
        if self.as_json:
            self.out.file.write(json_text(document, indent=indent) + "\n")

    def _print(self, console: Console, text: str, style: str, indent: int) -> None:
        if self.as_json and console is self.out:
            return
        first, *rest = fold(safe(text), max(console.width - indent - len(GUTTER), 10))
        self._line(console, " " * indent + first, style)
        for piece in rest:
            self._line(console, " " * indent + GUTTER + piece, style)

    @staticmethod
    def _line(console: Console, text: str, style: str) -> None:
        console.print(Text(text, style), soft_wrap=True)


def _console(file: TextIO) -> Console:
    width = None if file.isatty() else _PLAIN_WIDTH
    return Console(file=file, width=width, markup=False, highlight=False, emoji=False)


def _widths(ways: Sequence[str], rows: list[list[str]], total: int) -> list[int]:
    """Return each column's width; a last whole one takes what fits, the one that is cut the rest.

    Args:
        ways: How each column takes little room.
        rows: The titles and the cells.
        total: The screen's width.
    """
    columns = list(zip(*rows, strict=True))
    widest = [max(map(cell_len, column)) for column in columns]
    widths = [
        wide if way == "whole" else min(wide, max(_FOLDED, cell_len(column[0])))
        for way, wide, column in zip(ways, widest, columns, strict=True)
    ]
    gaps = 2 * (len(ways) - 1)
    if ways[-1] == "whole":
        room = total - gaps - sum(widths[:-1])
        widths[-1] = max(
            (cell_len(cell) for cell in columns[-1] if cell_len(cell) <= room), default=0
        )
    for place, way in enumerate(ways):
        if way == "cut":
            rest = total - gaps - sum(widths) + widths[place]
            widths[place] = min(widest[place], max(rest, widths[place]))
    return widths


def _row(
    cells: Sequence[str], ways: Sequence[str], widths: Sequence[int], total: int
) -> Iterator[str]:
    """Yield the lines of one row, without blanks at their ends."""
    *_, last = cells
    below = ways[-1] == "whole" and cell_len(last) > widths[-1]
    pieces = [
        _pieces(cell, way, width)
        for cell, way, width in zip([*cells[:-1], "" if below else last], ways, widths, strict=True)
    ]
    for parts in zip_longest(*pieces, fillvalue=""):
        padded = (
            part + " " * (width - cell_len(part)) for part, width in zip(parts, widths, strict=True)
        )
        yield "  ".join(padded).rstrip()
    if below:
        yield from (GUTTER + piece for piece in fold(last, max(total - len(GUTTER), 10)))


def _pieces(cell: str, way: str, width: int) -> list[str]:
    if way == "whole":
        return [cell]
    found = fold(cell, width)
    if way == "cut" and len(found) > 2:
        return [found[0], fold(found[1], width - 1)[0].rstrip() + "…"]
    return [piece.rstrip() for piece in found]
