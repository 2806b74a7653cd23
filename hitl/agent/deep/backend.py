"""Where an agent's files are: the form of a backend, and the one that keeps them in the state.

A backend reads and writes; what may be read and written is said by a ``Guard``, which it asks
about every path that it is about to open, as it stands after links were followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal, NotRequired, Protocol, TypedDict, cast

from hitl.agent.deep.file_path import Parts, parts_of, shown
from hitl.agent.tool import ToolException

__all__ = [
    "Backend",
    "FileData",
    "FileMissing",
    "Files",
    "FilesState",
    "Guard",
    "StateBackend",
    "merge_files",
    "missing",
]

Guard = Callable[[Parts], None]
"""Raises where a path may not be opened."""


class Files(Protocol):
    """The files as one call of a tool sees them. A missing file is a ``ToolException``."""

    def read(self, parts: Parts, guard: Guard) -> str:
        """Return a file's text."""
        ...

    def write(self, parts: Parts, text: str, guard: Guard) -> None:
        """Make a file or replace its text."""
        ...

    def delete(self, parts: Parts, guard: Guard) -> None:
        """Remove a file, or a folder with all that is in it if all of that may be removed."""
        ...

    def below(self, parts: Parts, guard: Guard, *, deep: bool) -> Iterator[tuple[Parts, bool]]:
        """Yield what is in a folder, in order, and whether each is a folder itself."""
        ...

    def texts(self, parts: Parts, guard: Guard) -> Iterator[tuple[Parts, str]]:
        """Yield the files at and below a path with their texts; no link is followed there."""
        ...

    @property
    def writes(self) -> Mapping[str, object]:
        """What the call writes to the agent's state."""
        ...


class Backend(Protocol):
    """Where an agent's files are.

    Attributes:
        home: What a path without a leading slash stands under.
        outside: Whether files are outside the agent's state, so that a call that is cut off may
            have had its effect.
        state_schema: Keys that it adds to the agent's state.
    """

    home: Parts
    outside: bool
    state_schema: type | None

    def files(self, state: Mapping[str, object]) -> Files:
        """Return the files as they are in a state."""
        ...

    def resolve(self, parts: Parts) -> Parts | None:
        """Return where a path leads after links were followed, None where nowhere inside."""
        ...


class FileData(TypedDict):
    """A file in the agent's state."""

    content: str
    encoding: NotRequired[Literal["utf-8"]]


def merge_files(
    old: Mapping[str, FileData] | None, new: Mapping[str, FileData | str | None]
) -> dict[str, FileData]:
    """Return files with some written anew, and those that are None removed.

    Args:
        old: The files by path.
        new: What to write; a plain text stands for a file with it.
    """
    merged = dict(old or {})
    for path, file in new.items():
        if file is None:
            merged.pop(path, None)
        else:
            merged[path] = {"content": file} if isinstance(file, str) else file
    return merged


class FilesState(TypedDict, total=False):
    """The key of the state in which ``StateBackend`` keeps files: path to file."""

    files: Annotated[dict[str, FileData], merge_files]


class StateBackend:
    """Keeps an agent's files in its state: saved, forked and rolled back with the thread."""

    home: Parts = ()
    outside = False
    state_schema: type | None = FilesState

    def files(self, state: Mapping[str, object]) -> Files:
        """Return the files as they are in a state."""
        return _StateFiles(state)

    def resolve(self, parts: Parts) -> Parts | None:
        """Return the path itself: there are no links."""
        return parts


class _StateFiles:
    def __init__(self, state: Mapping[str, object]) -> None:
        files = cast(Mapping[str, FileData], state.get("files") or {})
        # Under which key a path stands: whoever gave the state may have spelt it otherwise.
        self._keys = {parts: key for key in files if (parts := parts_of(key)) is not None}
        self._files = files
        self._writes: dict[str, FileData | None] = {}

    @property
    def writes(self) -> Mapping[str, object]:
        """What the call writes to the agent's state."""
        return {"files": self._writes} if self._writes else {}

    def read(self, parts: Parts, guard: Guard) -> str:
        """Return a file's text.

        Raises:
            ToolException: There is no such file.
        """
        guard(parts)
        if parts not in self._keys:
            raise missing(parts)
        return self._files[self._keys[parts]]["content"]

    def write(self, parts: Parts, text: str, guard: Guard) -> None:
        """Make a file or replace its text.

        Raises:
            ToolException: A folder has that name, or a file that of a folder.
        """
        guard(parts)
        above = any(parts[:size] in self._keys for size in range(1, len(parts)))
        if not parts or above or any(_inside(other, parts) for other in self._keys):
            raise ToolException(f"Error: {shown(parts)!r} cannot be a file: folders are in the way")
        self._writes[self._keys.get(parts, shown(parts))] = {"content": text}

    def delete(self, parts: Parts, guard: Guard) -> None:
        """Remove a file, or a folder with all that is in it if all of that may be removed.

        Raises:
            ToolException: There is no such thing.
        """
        gone = [key for other, key in self._keys.items() if other[: len(parts)] == parts]
        guard(parts)
        for other in self._keys:
            if _inside(other, parts):
                guard(other)
        if not gone:
            raise missing(parts)
        self._writes.update(dict.fromkeys(gone))

    def below(self, parts: Parts, guard: Guard, *, deep: bool) -> Iterator[tuple[Parts, bool]]:
        """Yield what is in a folder, in order, and whether each is a folder itself."""
        guard(parts)
        found: dict[Parts, bool] = {}
        for other in self._keys:
            if _inside(other, parts):
                for size in range(len(parts) + 1, len(other) + 1 if deep else len(parts) + 2):
                    found[other[:size]] = size < len(other)
        yield from sorted(found.items())

    def texts(self, parts: Parts, guard: Guard) -> Iterator[tuple[Parts, str]]:
        """Yield the files at and below a path with their texts."""
        guard(parts)
        for other in sorted(self._keys):
            if other[: len(parts)] == parts:
                yield other, self._files[self._keys[other]]["content"]


def _inside(parts: Parts, folder: Parts) -> bool:
    return len(parts) > len(folder) and parts[: len(folder)] == folder


class FileMissing(ToolException):
    """Nothing is at a path."""

    code = "file_missing"


def missing(parts: Parts) -> FileMissing:
    """Return the error for a path where nothing is."""
    return FileMissing(f"Error: {shown(parts)!r} was not found")
