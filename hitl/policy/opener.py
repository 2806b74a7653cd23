"""Opening a file below a folder, component by component, so that no swap leads outside.

The check of a path and its use are two moments; between them somebody can put a link where a
folder was. Here each component is opened inside the folder that is already held open, and a
link is never followed, so that there is only one moment. Needs ``openat`` (Linux, macOS).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from hitl.errors import Misuse, OutsideRoot

__all__ = ["held_folder", "open_below"]


def open_below(folder: str, parts: tuple[str, ...], flags: int, permissions: int = 0o666) -> int:
    """Return the descriptor of an ordinary file below a folder.

    Args:
        folder: An absolute path that holds no link.
        parts: The components below it, at least one; none is ``..``.
        flags: As of ``os.open``.
        permissions: Those of a file that is made by it.

    Raises:
        OutsideRoot: A component is a link, or what is there is no ordinary file.
        Misuse: This system cannot open a file relative to a folder.
        OSError: The file cannot be opened, for the usual reasons.
    """
    with held_folder(folder, parts) as held:
        # A pipe would block: O_NONBLOCK until it is known to be an ordinary file.
        opened = _step(parts[-1], flags | os.O_NONBLOCK, held, parts, permissions)
    return _ordinary(opened, parts)


@contextmanager
def held_folder(folder: str, parts: tuple[str, ...]) -> Iterator[int]:
    """Hold the folder in which the last of some components lies.

    Args:
        folder: An absolute path that holds no link.
        parts: The components below it, at least one; none is ``..``.

    Yields:
        The folder's descriptor, open while the block runs.

    Raises:
        OutsideRoot: A component is a link.
        Misuse: This system cannot open a folder relative to another one.
        OSError: A folder cannot be opened, for the usual reasons.
    """
    if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
        raise Misuse(
            "This system cannot open a file relative to an open folder.",
            hint="Open files below a root on Linux or macOS.",
        )
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = _step(part, os.O_RDONLY | os.O_DIRECTORY, held, parts)
            os.close(held)
            held = inner
        yield held
    finally:
        os.close(held)


def _step(part: str, flags: int, held: int, parts: tuple[str, ...], permissions: int = 0) -> int:
    """Return the descriptor of one component, opened in the folder that is held."""
    try:
        return os.open(part, flags | os.O_NOFOLLOW | os.O_CLOEXEC, permissions, dir_fd=held)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK) and _is_link(part, held):
            raise _refused(f"{part!r} in {'/'.join(parts)!r} is a link", parts) from error
        raise


def _is_link(part: str, held: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(part, dir_fd=held, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _ordinary(opened: int, parts: tuple[str, ...]) -> int:
    """Return a descriptor made blocking again, if an ordinary file is behind it."""
    if stat.S_ISREG(os.fstat(opened).st_mode):
        os.set_blocking(opened, True)
        return opened
    os.close(opened)
    raise _refused(f"{'/'.join(parts)!r} is no ordinary file", parts)


def _refused(what: str, parts: tuple[str, ...]) -> OutsideRoot:
    return OutsideRoot(
        f"Below the root, {what}.",
        hint="Name the file itself: links are not followed and only ordinary files opened.",
        path="/".join(parts),
    )
