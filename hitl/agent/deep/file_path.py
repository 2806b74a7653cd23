"""How the path of a file tool is read: as its components, or not at all.

Every face of a path goes through here: what a rule is compared with, what a human is asked
about, what a tool opens. Whatever could be read in two ways is not read.
"""

from __future__ import annotations

__all__ = ["Parts", "parts_of", "shown"]

Parts = tuple[str, ...]
"""A path below the root, by component; ``()`` is the root itself."""

_LONGEST = 4096


def parts_of(path: object, home: Parts = ()) -> Parts | None:
    """Return the components of a path, None where it is not one that a tool opens.

    Slashes that repeat or end it and ``.`` say nothing. Not read are: anything but a text,
    ``..``, backslashes, a leading ``~``, drive letters, and characters that do not print.

    Args:
        path: What the model gave.
        home: What a path without a leading slash stands under.
    """
    if not isinstance(path, str) or len(path) > _LONGEST:
        return None
    if not path.isprintable() or "\\" in path:
        return None
    parts = [part for part in path.split("/") if part and part != "."]
    if ".." in parts:
        return None
    if parts and (parts[0][0] == "~" or parts[0][1:2] == ":"):
        return None
    return tuple(parts) if path[:1] == "/" else (*home, *parts)


def shown(parts: Parts) -> str:
    """Return a path as people and models read it."""
    return "/" + "/".join(parts)
