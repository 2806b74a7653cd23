"""Reading the text of a path: which texts mean one place, whoever reads them.

Owns the lexical half of the path rules. A text that different programs would take for
different places (``~``, ``$HOME``, ``%2e``, backslashes, drive letters, ``//host``, control
characters, look-alikes of ``/`` and ``.``) is not read at all: whether it lies inside a root
is then unknown, and unknown never allows. Touches no file system.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["PathText", "read_path"]

_LONGEST = 4096
_ODD = re.compile(r"[\x00-\x1f\x7f~$%\\]")
_ASCII = re.compile(r"[ -~]*")
_SCHEME = re.compile(r"[^/]*:")
_LOOKALIKES = frozenset(
    "\u0337\u0338\u2044\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9"
    "\u2f03\u3033\u3035\u06d4\u0701\u0702\u2027\u3002\ua4f8\ua60e"
)
"""Characters that are drawn like a slash, a backslash or a dot."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"})
"""Categories of characters that show nothing, reorder text or cannot be written to disk."""


@dataclass(frozen=True, slots=True)
class PathText:
    """A path that was read: its components without ``.``, ``..`` and empty ones.

    Attributes:
        text: What was given.
        parts: The components.
        absolute: Whether it starts at the root of the file system.
        dotted: Whether it held a ``..``, so that links can make it mean another place.
    """

    text: str
    parts: tuple[str, ...]
    absolute: bool
    dotted: bool = False


def read_path(value: object) -> PathText | None:
    """Return the path that a value means, None if that depends on who reads it.

    Args:
        value: The argument as the model proposed it; anything.
    """
    if type(value) is not str or not 0 < len(value) <= _LONGEST or not _plain(value):
        return None
    absolute = value.startswith("/")
    if value.startswith("//") or (not absolute and _SCHEME.match(value)):
        return None
    parts: list[str] = []
    dotted = False
    for part in value.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if not parts:
                return None  # it climbs over where it starts
            parts.pop()
            dotted = True
        elif part[-1] in ". " or part[0] == " ":
            return None  # some systems drop these
        else:
            parts.append(part)
    return PathText(value, tuple(parts), absolute, dotted)


def _plain(text: str) -> bool:
    """Return whether every character of a text means itself to every reader."""
    if _ODD.search(text):
        return False
    return _ASCII.fullmatch(text) is not None or all(map(_honest, text))


def _honest(char: str) -> bool:
    if char < "\x7f":
        return True
    if char in _LOOKALIKES or unicodedata.category(char) in _HIDDEN:
        return False
    return not any(odd in "/\\.~$%:" for odd in unicodedata.normalize("NFKC", char))
