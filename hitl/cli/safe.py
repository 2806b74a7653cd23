r"""Foreign text made harmless for a terminal, and honest for the person who reads it.

What a model, a tool or a file wrote may hold characters that move the cursor, change colours,
reorder or hide what stands there. Here each of them becomes an escape that can be seen, such
as ``\x1b`` or ``\u202e``. Knows nothing of styles or of where a text is shown.
"""

from __future__ import annotations

import re

__all__ = ["GUTTER", "fold", "safe"]

GUTTER = "│ "
"""Stands before every line of a text that has several, so that none can pass for ours."""

# Printable to Python, yet drawn as nothing: fillers, variation selectors, the empty braille.
_BLANK = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    r"\U000e0100-\U000e01ef]"
)
_SHORT = {"\n": "⏎", "\r": "\\r", "\t": "\\t"}


def safe(text: str, *, lines: bool = False) -> str:
    r"""Return a text in which every character shows and none acts.

    Controls, format and bidi characters, lone surrogates, separators, odd blanks and unassigned
    characters become escapes. Doing it twice changes nothing.

    Args:
        text: Anything.
        lines: Keep line breaks, and put ``GUTTER`` before each line; else a break is ``⏎``.
    """
    if lines:
        return "\n".join(GUTTER + safe(line) for line in text.split("\n"))
    if text.isprintable() and (text.isascii() or not _BLANK.search(text)):
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char.isprintable() and not _BLANK.match(char):
        return char
    if char in _SHORT:
        return _SHORT[char]
    number = ord(char)
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def fold(text: str, width: int) -> list[str]:
    """Return a safe text in pieces of at most so many terminal cells; at least one piece.

    Pieces end after a blank where there is one in their second half; joined they are the text.
    """
    sizes = [1] * len(text) if text.isascii() else _sizes(text)
    pieces, start, used = [], 0, 0
    for at, size in enumerate(sizes):
        if used + size > width:
            blank = text.rfind(" ", start + (at - start) // 2, at)
            end = at if blank < 0 else blank + 1
            pieces.append(text[start:end])
            start, used = end, sum(sizes[end:at])
        used += size
    return [*pieces, text[start:]]


def _sizes(text: str) -> list[int]:
    from rich.cells import get_character_cell_size

    return [get_character_cell_size(char) for char in text]
