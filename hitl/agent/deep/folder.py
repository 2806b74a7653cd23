"""``FilesystemBackend``: an agent's files in a real folder, which it cannot leave."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hitl.agent.deep.backend import Files, Guard, missing
from hitl.agent.deep.file_path import Parts, parts_of, shown
from hitl.agent.deep.jail import Jail, Place
from hitl.agent.tool import ToolException
from hitl.errors import Misuse

__all__ = ["FilesystemBackend"]

_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_FOLDER = _READ | getattr(os, "O_DIRECTORY", 0)


class FilesystemBackend:
    """Keeps an agent's files in a folder of this machine.

    Args:
        root_dir: The folder; the working folder where it is not given.
        virtual_mode: True: ``/`` is the folder for the agent. False: it gives this machine's own
            paths, of which only those in the folder are opened.
        max_file_size_mb: Larger files are not read.

    Raises:
        Misuse: There is no such folder.
        NotSupported: This system cannot open files below a folder safely.
    """

    outside = True
    state_schema: type | None = None

    def __init__(
        self,
        root_dir: str | Path | None = None,
        virtual_mode: bool = True,
        max_file_size_mb: int = 10,
    ) -> None:
        self._jail = Jail(os.fspath(root_dir or "."))
        if not Path(self._jail.real).is_dir():
            raise Misuse(f"There is no folder {self._jail.root!r}.", hint="Make it first.")
        self.virtual_mode = virtual_mode
        home = () if virtual_mode else parts_of(self._jail.root)
        if home is None:
            raise Misuse(
                f"The folder's own path {self._jail.root!r} is not one that file tools read.",
                hint="Use virtual_mode=True, or another folder.",
            )
        self.home: Parts = home
        self._most = max_file_size_mb * 1024 * 1024
        self._lock = threading.Lock()

    def files(self, state: Mapping[str, object]) -> Files:  # noqa: ARG002 - they are elsewhere
        """Return the files as they are now, whatever the state."""
        return _FolderFiles(self._jail, self.home, self._most, self._lock)

    def resolve(self, parts: Parts) -> Parts | None:
        """Return where a path leads after links were followed, None where nowhere inside."""
        found: list[Parts] = []
        try:
            with _walk(self._jail, self.home, parts, found.append):
                return found[-1]
        except ToolException:
            return None


@contextmanager
def _walk(
    jail: Jail, home: Parts, parts: Parts, guard: Guard, *, create: bool = False, link: bool = True
) -> Iterator[Place]:
    """Walk a path as the agent gives it; the guard reads paths as the agent gives them too."""
    if parts[: len(home)] != home:
        raise ToolException(f"Error: {shown(parts)!r} is outside the agent's files")
    try:
        with jail.walk(
            parts[len(home) :], lambda own: guard(home + own), create=create, last_link=link
        ) as place:
            yield place
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise missing(parts) from error
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        raise ToolException(f"Error: {shown(parts)!r}: {reason}") from error


class _FolderFiles:
    def __init__(self, jail: Jail, home: Parts, most: int, lock: threading.Lock) -> None:
        self._jail, self._home, self._most, self._lock = jail, home, most, lock

    @property
    def writes(self) -> Mapping[str, object]:
        """Nothing: what is written is in the folder."""
        return {}

    def read(self, parts: Parts, guard: Guard) -> str:
        """Return a file's text.

        Raises:
            ToolException: There is no such file, or it is none that can be read as text.
        """
        with _walk(self._jail, self._home, parts, guard) as place:
            return self._text(place.folder, place.name, parts)

    def _text(self, folder: int, name: str, parts: Parts) -> str:
        descriptor = os.open(name, _READ, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if stat.S_ISDIR(about.st_mode):
                raise ToolException(f"Error: {shown(parts)!r} is a folder")
            if not stat.S_ISREG(about.st_mode) or about.st_size > self._most:
                raise ToolException(f"Error: {shown(parts)!r} is too large, or no plain file")
            try:
                return file.read(self._most).decode()
            except UnicodeDecodeError:
                raise ToolException(f"Error: {shown(parts)!r} is not UTF-8 text") from None

    def write(self, parts: Parts, text: str, guard: Guard) -> None:
        """Make a file or replace its text, all of it or nothing.

        Raises:
            ToolException: It cannot be a file.
        """
        with (
            self._lock,
            _walk(self._jail, self._home, parts, guard, create=True) as place,
        ):
            mode = _mode_of(place, parts)
            new = f".hitl-{secrets.token_hex(8)}"
            descriptor = os.open(new, _NEW, 0o666, dir_fd=place.folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(text.encode())
                    if mode is not None:
                        os.fchmod(descriptor, mode)
                    file.flush()
                    os.fsync(descriptor)
                os.rename(new, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
            except BaseException:
                os.unlink(new, dir_fd=place.folder)
                raise

    def delete(self, parts: Parts, guard: Guard) -> None:
        """Remove a file, a link, or a folder with all that is in it if all of that may go.

        Raises:
            ToolException: There is no such thing, or it is the root.
        """
        with (
            self._lock,
            _walk(self._jail, self._home, parts, guard, link=False) as place,
        ):
            if place.name == ".":
                raise ToolException("Error: the root of the agent's files cannot be deleted")
            about = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
            if not stat.S_ISDIR(about.st_mode):
                os.unlink(place.name, dir_fd=place.folder)
                return
            for found in _below(place.folder, place.name, self._home + place.parts):
                guard(found.parts)
            import shutil

            shutil.rmtree(place.name, dir_fd=place.folder)

    def below(self, parts: Parts, guard: Guard, *, deep: bool) -> Iterator[tuple[Parts, bool]]:
        """Yield what is in a folder, in order, and whether each is a folder itself.

        Raises:
            ToolException: There is no such folder.
        """
        with _walk(self._jail, self._home, parts, guard) as place:
            for found in _below(place.folder, place.name, self._home + place.parts, deep=deep):
                yield found.parts, found.is_folder

    def texts(self, parts: Parts, guard: Guard) -> Iterator[tuple[Parts, str]]:
        """Yield the files at and below a path with their texts; what is no text is left out.

        Raises:
            ToolException: There is no such thing.
        """
        with _walk(self._jail, self._home, parts, guard) as place:
            own = self._home + place.parts
            about = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
            if not stat.S_ISDIR(about.st_mode):
                yield own, self._text(place.folder, place.name, own)
                return
            for found in _below(place.folder, place.name, own):
                if found.is_file:
                    try:
                        text = self._text(found.folder, found.parts[-1], found.parts)
                    except (ToolException, OSError):
                        continue
                    yield found.parts, text


def _mode_of(place: Place, parts: Parts) -> int | None:
    """Return the mode of the file that is written anew, None where it is new."""
    try:
        about = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(about.st_mode):
        raise ToolException(f"Error: {shown(parts)!r} is no plain file")
    return stat.S_IMODE(about.st_mode) & 0o777


class _Found:
    """Something in a folder; its descriptor is open until the next one is asked for."""

    __slots__ = ("folder", "is_file", "is_folder", "parts")

    def __init__(self, folder: int, parts: Parts, entry: os.DirEntry[str]) -> None:
        self.folder, self.parts = folder, parts
        self.is_folder = entry.is_dir(follow_symlinks=False)
        self.is_file = entry.is_file(follow_symlinks=False)


def _below(folder: int, name: str, parts: Parts, *, deep: bool = True) -> Iterator[_Found]:
    """Yield what is below a folder; links are told, and not followed."""
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        with os.scandir(descriptor) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
        for entry in ordered:
            found = _Found(descriptor, (*parts, entry.name), entry)
            yield found
            if deep and found.is_folder:
                try:
                    yield from _below(descriptor, entry.name, found.parts)
                except (PermissionError, FileNotFoundError, NotADirectoryError):
                    continue  # not ours, or gone meanwhile
    finally:
        os.close(descriptor)
