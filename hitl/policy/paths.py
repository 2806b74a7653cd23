"""Roots: named folders, and whether a path that a model proposed lies inside one.

Owns the answer to "inside?": yes, no, or not known (None). What was asked and what it resolves
to on disk now must both be inside, compared component by component; where they differ, where
the text can mean several places or where only folded case agrees, the answer is not known.
A gate cannot stop what changes after it looked: tools open through :meth:`Root.open`, which
resolves under the root at the moment of use.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import IO

from hitl.errors import Misuse, OutsideRoot
from hitl.policy.opener import held_folder, open_below
from hitl.policy.path_text import PathText, read_path

__all__ = ["Root", "pattern_anchor", "search_within", "within"]

_WILD = frozenset("*?[{")

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that rules speak of by name.

    Attributes:
        name: What rules call it.
        folder: The folder; a relative one starts at the current folder of the process.
        case_fold: Whether its file system takes names that differ only by case (or by the way
            accents are written) for one. None says that it is not known: a path that is inside
            only so is then neither inside nor outside.
        base: The folder in which tools start a relative path; without it, whether a relative
            path is inside is not known.
        real: Whether the folder is on disk. For a file system that exists only in an agent's
            state, False leaves the disk alone and judges the text.
    """

    name: str
    folder: str
    case_fold: bool | None = None
    base: str | None = None
    real: bool = True
    _asked: Parts = field(init=False, repr=False, compare=False)
    _resolved: Parts = field(init=False, repr=False, compare=False)
    _base: str | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        asked = _folder(self.name, self.folder)
        base = None if self.base is None else _folder(self.name, self.base)
        resolved = _parts(os.path.realpath(asked)) if self.real else _parts(asked)
        object.__setattr__(self, "_asked", _parts(asked))
        object.__setattr__(self, "_resolved", resolved)
        object.__setattr__(self, "_base", base)

    def open(
        self,
        path: str,
        mode: str = "r",
        *,
        encoding: str | None = None,
        newline: str | None = None,
    ) -> IO[str] | IO[bytes]:
        """Return an open file below the root, like the builtin ``open``.

        Every component is opened in the one before, and none may be a symbolic link, so that
        nothing that is swapped meanwhile leads outside. Only ordinary files are opened.

        Args:
            path: A path relative to the root, or an absolute one inside it.
            mode: As of the builtin ``open``.
            encoding: As of the builtin ``open``; UTF-8 where it is not given.
            newline: As of the builtin ``open``.

        Raises:
            OutsideRoot: The path is not inside, or a component of it is a link.
            Misuse: This system cannot open a file relative to a folder.
            OSError: The file cannot be opened, for the usual reasons.
        """
        parts = self._below(path)
        text = None if "b" in mode else encoding or "utf-8"
        return open(
            path,
            mode,
            encoding=text,
            newline=newline,
            opener=lambda _, flags: open_below(self._disk, parts, flags),
        )

    @contextmanager
    def holding(self, path: str) -> Iterator[tuple[int, str]]:
        """Hold the folder that a path lies in, for what is not opening: remove, rename, make.

        ``with root.holding("a/b.txt") as (folder, name): os.unlink(name, dir_fd=folder)``

        Args:
            path: A path relative to the root, or an absolute one inside it.

        Yields:
            The descriptor of the folder, open while the block runs, and the name in it.

        Raises:
            OutsideRoot: The path is not inside, or a component of its folder is a link.
            Misuse: This system cannot open a folder relative to another one.
            OSError: The folder cannot be opened, for the usual reasons.
        """
        parts = self._below(path)
        with held_folder(self._disk, parts) as folder:
            yield folder, parts[-1]

    @property
    def _disk(self) -> str:
        return "/" + "/".join(self._resolved)

    def _below(self, path: object) -> Parts:
        """Return the components of a path below the root."""
        asked = read_path(path)
        if asked is not None and not asked.absolute and asked.parts and not asked.dotted:
            return asked.parts
        if asked is not None and asked.absolute and not asked.dotted:
            for folder in (self._asked, self._resolved):
                if asked.parts[: len(folder)] == folder and len(asked.parts) > len(folder):
                    return asked.parts[len(folder) :]
        raise OutsideRoot(
            f"The path {path!r} does not name a file inside the root {self.name!r}.",
            hint="Give a path relative to the root, without '..' or anything that expands.",
            root=self.name,
        )


def within(path: object, root: Root, *, subtree: bool = False) -> bool | None:
    """Return whether a path is inside a root, None where that is not known.

    The root itself is inside. Links below the path are not looked for.

    Args:
        path: The argument as the model proposed it; anything.
        root: The root.
        subtree: The tool takes the path and everything below it (a search, a removal): a path
            above the root is then partly inside, which is not known either.
    """
    asked = read_path(path)
    if asked is None:
        return None
    text = asked.text
    if not asked.absolute:
        if root._base is None:
            return None
        text = f"{root._base.rstrip('/')}/{text}"
        based = read_path(text)
        if based is None:
            return None
        asked = based
    return _judged(asked, root, subtree)


def search_within(path: object, pattern: object, root: Root) -> bool | None:
    """Return whether a search is inside a root: where it starts, and where its pattern leads.

    Args:
        path: The folder that is searched, as the model proposed it.
        pattern: The glob that is looked for; an absolute one has a start of its own.
        root: The root.
    """
    anchor = pattern_anchor(pattern)
    if anchor is None:
        return None
    if not anchor.startswith("/"):
        return within(path, root, subtree=True)
    starts = {within(path, root, subtree=True), within(anchor, root, subtree=True)}
    return starts.pop() if len(starts) == 1 else None


def pattern_anchor(pattern: object) -> str | None:
    """Return the folder in which everything that a glob finds lies, "" for where it starts.

    Args:
        pattern: The glob as the model proposed it; None is returned where it holds ``..`` or
            anything else that makes its text mean several places.
    """
    if type(pattern) is not str or any(odd in pattern for odd in ("..", "{/", ",/")):
        return None
    read = read_path(pattern)
    if read is None:
        return None
    anchor = "/".join(takewhile(lambda part: not _WILD & set(part), read.parts))
    return f"/{anchor}" if read.absolute else anchor


def _judged(asked: PathText, root: Root, subtree: bool) -> bool | None:
    """Return what text and disk say together: one answer if both say the same."""
    text = _inside(asked.parts, root._asked, root.case_fold, subtree)
    if not root.real:
        return text
    if text is not True and root._asked != root._resolved:
        other = _inside(asked.parts, root._resolved, root.case_fold, subtree)
        text = text if other is False else other
    if text and not asked.dotted and _no_links(asked.parts, root):
        return True
    target = _resolve(asked)
    if target is None:
        return None
    disk = _inside(target, root._resolved, root.case_fold, subtree)
    return text if text == disk else None


def _no_links(path: Parts, root: Root) -> bool:
    """Return whether a path holds no link from the root's folder on: mostly so, and soon told."""
    start = len(root._resolved)
    if path[:start] != root._resolved:
        return False
    place = root._disk
    try:
        for part in ("", *path[start:]):
            place = f"{place}/{part}" if part else place
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return False
    except FileNotFoundError:
        return True  # and so are all below
    except (OSError, ValueError):
        return False
    return True


def _inside(path: Parts, root: Parts, fold: bool | None, subtree: bool) -> bool | None:
    """Return whether components lie at or below others."""
    if path[: len(root)] == root:
        return True
    if len(path) >= len(root):
        return _same(path[: len(root)], root, fold)
    if subtree and _same(path, root[: len(path)], fold) is not False:
        return None
    return False


def _same(some: Parts, others: Parts, fold: bool | None) -> bool | None:
    """Return whether two rows of components name one place, None where it depends."""
    result: bool | None = True
    for one, other in zip(some, others, strict=True):
        if one != other:
            alike = _alike(one, other, fold)
            if alike is False:
                return False
            result = result and alike
    return result


def _alike(one: str, other: str, fold: bool | None) -> bool | None:
    """Return whether two different names are one to the file system, None where it depends."""
    if one.isascii() and other.isascii():
        return fold if one.lower() == other.lower() else False
    one, other = unicodedata.normalize("NFC", one), unicodedata.normalize("NFC", other)
    if one == other:
        return True if fold else None
    if [*map(_lower, one)] == [*map(_lower, other)]:
        return fold
    return None if fold is not False and one.casefold() == other.casefold() else False


def _lower(char: str) -> str:
    """Return the small letter, where it is one letter: file systems do not change lengths."""
    small = char.lower()
    return small if len(small) == 1 else char


def _resolve(asked: PathText) -> Parts | None:
    """Return where a path leads on disk now, None where that cannot be told.

    What is missing is placed in its nearest parent that exists. With ``..`` the way by the
    text and the way by the links must end at one place.
    """
    ends = {_real(asked.text)}
    if asked.dotted:
        ends.add(_real("/" + "/".join(asked.parts)))
    return ends.pop() if len(ends) == 1 else None


def _real(path: str) -> Parts | None:
    try:
        try:
            return _parts(os.path.realpath(path, strict=True))
        except FileNotFoundError:
            return _parts(os.path.realpath(path))
    except (OSError, ValueError):  # a ring of links, no permission, a name that disk cannot hold
        return None


def _parts(path: str) -> Parts:
    return tuple(part for part in path.split("/") if part)


def _folder(name: str, folder: object) -> str:
    """Return a root's folder as an absolute text."""
    absolute = os.path.abspath(folder) if isinstance(folder, str) and folder else ""  # noqa: PTH100
    if read_path(absolute) is None:
        raise Misuse(
            f"The root {name!r} has the folder {folder!r}, which can mean several places.",
            hint="Give a plain path, without '~', '$', '%', backslashes and the like.",
            root=name,
        )
    return absolute
