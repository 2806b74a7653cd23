"""Walking below a folder so that nothing outside it can be reached, whoever moves links about.

Every component is opened from the one before, never through a link. A link is read, and its
target walked the same way from where it stands: one that leads outside is refused, and one that
is put there after the look is not followed. What is judged is thereby what is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hitl.agent.deep.file_path import Parts, shown
from hitl.agent.tool import ToolException
from hitl.errors import NotSupported

__all__ = ["Jail", "Place"]

_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | os.O_RDONLY
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: a name in an open folder.

    Attributes:
        folder: Descriptor of the folder, open while the walk is.
        name: The name in it, which is no link; ``.`` for the root of the jail.
        parts: The path from the root of the jail, links followed.
    """

    folder: int
    name: str
    parts: Parts


class Jail:
    """A folder that is not left.

    Args:
        root: The folder.
    """

    def __init__(self, root: str) -> None:
        needed = {os.open, os.readlink, os.mkdir, os.stat, os.unlink, os.rename}
        if not needed <= os.supports_dir_fd or not getattr(os, "O_NOFOLLOW", 0):
            raise NotSupported(
                "This system cannot open files below a folder in a way that links cannot leave.",
                hint="Use StateBackend() here.",
            )
        self.root = str(Path(root).absolute())
        self.real = str(Path(root).resolve())

    @contextmanager
    def walk(
        self,
        parts: Parts,
        guard: Callable[[Parts], None],
        *,
        create: bool = False,
        last_link: bool = True,
    ) -> Iterator[Place]:
        """Walk a path; yield where it leads, after the guard let it.

        Args:
            parts: The path.
            guard: Is given the path, links followed, before anything is made or opened.
            create: Whether folders on the way are made.
            last_link: Whether a link at the path's end is followed.

        Raises:
            ToolException: It leads nowhere, or outside.
        """
        with ExitStack() as opened:
            walk = _Walk(self, parts, opened)
            while walk.todo:
                name = walk.todo.pop()
                if name == "..":
                    walk.up()
                elif (last_link or walk.todo) and walk.follow(name):
                    continue
                elif walk.todo:
                    walk.into(name, guard, create=create)
                else:
                    guard((*walk.names, name))
                    yield Place(walk.here, name, (*walk.names, name))
                    return
            guard(tuple(walk.names))
            yield Place(walk.here, ".", tuple(walk.names))

    def inside(self, target: str) -> list[str] | None:
        """Return an absolute target as components below the root, None where it is outside."""
        for root in (self.root, self.real):
            if target == root or target.startswith(root.rstrip("/") + "/"):
                return _split(target[len(root) :])
        return None


@dataclass(slots=True)
class _Walk:
    """How far a walk has come."""

    jail: Jail
    parts: Parts
    opened: ExitStack
    names: list[str] = field(default_factory=list)
    folders: list[int] = field(default_factory=list)
    todo: list[str] = field(default_factory=list)
    links: int = 0

    def __post_init__(self) -> None:
        self.todo = list(reversed(self.parts))
        self.folders = [self._open(self.jail.real, None)]

    @property
    def here(self) -> int:
        """The folder that it stands in."""
        return self.folders[-1]

    def _open(self, name: str, folder: int | None) -> int:
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
        self.opened.callback(os.close, descriptor)
        return descriptor

    def up(self) -> None:
        """Go back to the folder above, as a link's target asks."""
        if not self.names:
            raise self._outside()
        self.names.pop()
        self.folders.pop()

    def follow(self, name: str) -> bool:
        """Put a link's target in its place; return whether it is a link."""
        try:
            target = os.readlink(name, dir_fd=self.here)
        except OSError:
            return False
        self.links += 1
        if self.links > _MOST_LINKS:
            raise ToolException(f"Error: {shown(self.parts)!r} has too many links")
        ahead = _split(target)
        if target.startswith("/"):
            below = self.jail.inside(target)
            if below is None:
                raise self._outside()
            ahead, self.names, self.folders = below, [], self.folders[:1]
        self.todo += reversed(ahead)
        return True

    def into(self, name: str, guard: Callable[[Parts], None], *, create: bool) -> None:
        """Go into a folder, which is made if it has to be."""
        try:
            folder = self._open(name, self.here)
        except FileNotFoundError:
            if not create or ".." in self.todo:
                raise
            guard((*self.names, name, *reversed(self.todo)))
            os.mkdir(name, dir_fd=self.here)
            folder = self._open(name, self.here)
        except NotADirectoryError:
            raise ToolException(f"Error: {shown((*self.names, name))!r} is no folder") from None
        self.folders.append(folder)
        self.names.append(name)

    def _outside(self) -> ToolException:
        return ToolException(f"Error: {shown(self.parts)!r} leads outside the agent's files")


def _split(target: str) -> list[str]:
    return [part for part in target.split("/") if part and part != "."]
