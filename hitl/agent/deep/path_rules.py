"""``FilesystemPermission``: which paths may be read and written, and the judge over many of them.

Of the rules in the order they are declared, the first that names the operation and whose
pattern matches the path decides; where none does, the path is allowed. Pure: knows no files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from hitl.agent.deep.file_path import Parts
from hitl.agent.deep.pattern import Patterns, anchor_of, components
from hitl.errors import Misuse, NotSupported
from hitl.ledger import near

__all__ = ["FilesystemPermission", "Mode", "Operation", "PathRules"]

Operation = Literal["read", "write"]
Mode = Literal["allow", "deny", "interrupt"]

_OPERATIONS: tuple[Operation, ...] = get_args(Operation)
_MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class FilesystemPermission:
    """One rule over paths for the built-in file tools.

    Attributes:
        operations: ``"read"`` (ls, read_file, glob, grep), ``"write"`` (write_file, edit_file,
            delete), or both.
        paths: Patterns that begin with ``/``; see the guide on deep agents.
        mode: ``"allow"``, ``"deny"``, or ``"interrupt"``: a human decides.

    Raises:
        Misuse: Something in it could never have the effect it seems to have.
    """

    operations: Sequence[Operation]
    paths: Sequence[str]
    mode: Mode = "allow"

    def __post_init__(self) -> None:
        _check_list("operations", self.operations)
        for operation in self.operations:
            if operation not in _OPERATIONS:
                raise Misuse(
                    f"FilesystemPermission has the operation {operation!r}."
                    + near(operation, _OPERATIONS),
                    hint='Known: "read", "write".',
                )
        if self.mode not in _MODES:
            raise Misuse(
                f"FilesystemPermission has the mode {self.mode!r}." + near(self.mode, _MODES),
                hint='Known: "allow", "deny", "interrupt".',
            )
        _check_list("paths", self.paths)
        for path in self.paths:
            _check_path(path)


def _check_list(field: str, given: object) -> None:
    if isinstance(given, list | tuple) and given and all(isinstance(one, str) for one in given):
        return
    raise Misuse(
        f"FilesystemPermission has {field}={given!r}.", hint="Give a list of texts, not empty."
    )


def _check_path(path: str) -> None:
    if not path.startswith("/"):
        raise Misuse(
            f"The path {path!r} of a FilesystemPermission does not begin with a slash.",
            hint=f"Write {'/' + path!r}; / is the root of the agent's files.",
        )
    parts = path.replace("\\", "/").split("/")
    if ".." in parts:
        raise Misuse(
            f"The path {path!r} of a FilesystemPermission has a '..'.",
            hint="Write where it leads.",
        )
    if "~" in parts:
        raise NotSupported(
            f"The path {path!r} of a FilesystemPermission has a '~', which is not expanded.",
            hint="Write the folder's own path.",
        )
    components(path)  # too many alternatives are told here


class PathRules:
    """Permissions, compiled once; a judgement looks at the path's components only.

    Args:
        permissions: In the order in which they are asked.
    """

    def __init__(self, permissions: Sequence[FilesystemPermission] = ()) -> None:
        self.permissions = tuple(permissions)
        self._modes: list[Mode] = []
        self._patterns: dict[Operation, Patterns | None] = dict.fromkeys(_OPERATIONS)
        self._anchors: dict[Operation, _Anchors | None] = dict.fromkeys(_OPERATIONS)
        for number, rule in enumerate(self.permissions):
            if not isinstance(rule, FilesystemPermission):
                raise Misuse(
                    f"permissions holds a {type(rule).__name__}.",
                    hint="Give FilesystemPermission objects.",
                )
            self._modes.append(rule.mode)
            flat = [parts for path in rule.paths for parts in components(path)]
            for operation in rule.operations:
                self._add(operation, number, flat)

    def _add(self, operation: Operation, number: int, flat: Sequence[Parts]) -> None:
        patterns = self._patterns[operation] = self._patterns[operation] or Patterns()
        for parts in flat:
            patterns.add(parts, number)
        if self._modes[number] == "interrupt":
            anchors = self._anchors[operation] = self._anchors[operation] or _Anchors()
            for parts in flat:
                anchors.add(anchor_of(parts))

    def mode(self, operation: Operation, parts: Parts) -> Mode:
        """Return what the rules say about a path."""
        patterns = self._patterns[operation]
        number = -1 if patterns is None else patterns.first(parts)
        return self._modes[number] if 0 <= number < len(self._modes) else "allow"

    def asks(self, operation: Operation) -> bool:
        """Return whether any rule on an operation interrupts."""
        return self._anchors[operation] is not None

    def overlaps(self, operation: Operation, parts: Parts) -> bool:
        """Return whether a path and what is below it may hold a path that a rule asks about."""
        anchors = self._anchors[operation]
        return anchors is not None and anchors.overlap(parts)


class _Anchors:
    """The folders under which rules ask."""

    def __init__(self) -> None:
        self._below: dict[str, _Anchors] = {}
        self._here = False

    def add(self, parts: Parts) -> None:
        """Add a folder."""
        at = self
        for part in parts:
            at = at._below.setdefault(part, _Anchors())
        at._here = True

    def overlap(self, parts: Parts) -> bool:
        """Return whether a path is inside one of the folders, or one of them inside it."""
        at: _Anchors | None = self
        for part in parts:
            assert at is not None
            if at._here:
                return True
            at = at._below.get(part)
            if at is None:
                return False
        return True
