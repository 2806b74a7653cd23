"""The file tools: ls, read_file, write_file, edit_file, delete, glob and grep, over a backend.

What the permissions deny is refused here, for the path as it was given and as it stands after
links were followed, whatever was asked or approved before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from hitl.agent.deep.backend import Backend, FileMissing, Files, Guard
from hitl.agent.deep.file_path import Parts, parts_of, shown
from hitl.agent.deep.path_rules import Operation, PathRules
from hitl.agent.deep.pattern import NONE, Patterns, components
from hitl.agent.messages import AIMessage, ToolMessage
from hitl.agent.tool import Tool, ToolException, ToolRuntime, tool
from hitl.agent.turns import last_turn, messages_of
from hitl.errors import Misuse
from hitl.values import Command, Effect

__all__ = ["EXACT", "SUBTREE", "FileTools"]

EXACT: dict[str, Operation] = {
    "read_file": "read",
    "write_file": "write",
    "edit_file": "write",
}
"""Tools that open the very path they are given, with what they do to it."""

SUBTREE: dict[str, tuple[Operation, str]] = {
    "ls": ("read", "path"),
    "glob": ("read", "path"),
    "grep": ("read", "path"),
    "delete": ("write", "file_path"),
}
"""Tools that reach what is below their path too, with the argument that holds it."""

_WRITING = ("write_file", "edit_file", "delete")
_MOST_FOUND = 1_000


class FileTools:
    """The file tools of one agent.

    Args:
        backend: Where its files are.
        rules: What it may read and write.
    """

    def __init__(self, backend: Backend, rules: PathRules) -> None:
        self._backend, self._rules = backend, rules

    def tools(self) -> list[Tool]:
        """Return the tools."""
        # A file written twice is the same file; an edit made twice is another one, but not in a
        # state, where nothing is changed before the result is kept.
        effects: dict[str, Effect] = {
            "write_file": "idempotent",
            "delete": "idempotent",
            "edit_file": "effect" if self._backend.outside else "idempotent",
        }
        all_of_them: Sequence[Callable[..., object]] = (
            self.ls,
            self.read_file,
            self.write_file,
            self.edit_file,
            self.delete,
            self.glob,
            self.grep,
        )
        return [
            tool(each.__name__, effect=effects.get(each.__name__, "pure"))(each)
            for each in all_of_them
        ]

    def ls(self, path: str, runtime: ToolRuntime[Any, Any]) -> object:
        """List what is in a folder; folders end with a slash.

        Args:
            path: The folder.
            runtime: What the run gives.
        """
        found = self._files(runtime).below(
            self._parts(path, "read"), self._guard("read"), deep=False
        )
        return self._listed(found, folders=True)

    def read_file(
        self, file_path: str, runtime: ToolRuntime[Any, Any], offset: int = 0, limit: int = 100
    ) -> str:
        """Read a text file, with the number of each line before it.

        Args:
            file_path: The file.
            offset: How many lines to skip.
            limit: How many lines to read.
            runtime: What the run gives.
        """
        text = self._files(runtime).read(self._parts(file_path, "read"), self._guard("read"))
        lines = text.splitlines()
        first, last = max(offset, 0), max(offset, 0) + max(limit, 1)
        if not lines:
            return "(The file is empty.)"
        if first >= len(lines):
            raise ToolException(f"Error: line {first} is behind the end ({len(lines)} lines)")
        told = "\n".join(
            f"{number:6}\t{line}" for number, line in enumerate(lines[first:last], first + 1)
        )
        if last < len(lines):
            told += f"\n(Lines {first + 1} to {last} of {len(lines)}. Go on with offset={last}.)"
        return told

    def write_file(self, file_path: str, content: str, runtime: ToolRuntime[Any, Any]) -> object:
        """Write a text file, new or over an old one; folders on its way are made.

        Args:
            file_path: The file.
            content: All of its text.
            runtime: What the run gives.
        """
        parts, files = self._alone(file_path, runtime), self._files(runtime)
        files.write(parts, content, self._guard("write"))
        return _written(files, f"Wrote {shown(parts)}")

    def edit_file(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        runtime: ToolRuntime[Any, Any],
        replace_all: bool = False,
    ) -> object:
        """Replace a text in a file.

        Args:
            file_path: The file.
            old_string: The text, exactly as it stands there; only once, unless replace_all.
            new_string: What to put in its place.
            replace_all: Whether to replace it wherever it stands.
            runtime: What the run gives.
        """
        parts, files = self._alone(file_path, runtime), self._files(runtime)
        text = files.read(parts, self._guard("write"))
        count = text.count(old_string) if old_string else 0
        if count == 0:
            raise ToolException(f"Error: {old_string!r} does not stand in {shown(parts)!r}")
        if count > 1 and not replace_all:
            raise ToolException(
                f"Error: {old_string!r} stands {count} times in {shown(parts)!r}. Give more of "
                "the text around it, or replace_all=true."
            )
        files.write(parts, text.replace(old_string, new_string), self._guard("write"))
        return _written(files, f"Replaced {count} in {shown(parts)}")

    def delete(self, file_path: str, runtime: ToolRuntime[Any, Any]) -> object:
        """Delete a file, or a folder with all that is in it.

        Args:
            file_path: What to delete.
            runtime: What the run gives.
        """
        parts, files = self._alone(file_path, runtime), self._files(runtime)
        if parts == self._backend.home:
            raise ToolException("Error: the root of the agent's files cannot be deleted")
        try:
            files.delete(parts, self._guard("write"))
        except FileMissing:
            # An earlier start of this very call may have deleted it.
            if runtime.attempt == 1:
                raise
        return _written(files, f"Deleted {shown(parts)}")

    def glob(self, pattern: str, runtime: ToolRuntime[Any, Any], path: str | None = None) -> object:
        """Find files by a pattern of their paths.

        Args:
            pattern: ``*`` within a name, ``**`` for any folders, ``{a,b}``. Without a slash it
                is looked for in all folders below ``path``; with a leading one, from the root.
            path: The folder to look in; the root where it is not given.
            runtime: What the run gives.
        """
        whole = pattern.startswith("/")
        parts = self._backend.home if whole else self._parts(path, "read")
        fits, base = _fitting(pattern), 0 if whole else self._depth(parts)
        found = self._files(runtime).below(parts, self._guard("read"), deep=True)
        return self._listed(((one, is_folder) for one, is_folder in found if fits(one[base:])))

    def grep(
        self,
        pattern: str,
        runtime: ToolRuntime[Any, Any],
        path: str | None = None,
        glob: str | None = None,
        output_mode: Literal["files_with_matches", "content", "count"] = "files_with_matches",
        max_count: int | None = None,
    ) -> str:
        """Find files that hold a text, character by character: not a regular expression.

        Args:
            pattern: The text.
            path: The file or folder to look in; the root where it is not given.
            glob: Only files whose path has this pattern.
            output_mode: The paths, the lines, or how many lines in each file.
            max_count: How many lines to tell at most.
            runtime: What the run gives.
        """
        parts, guard = self._parts(path, "read"), self._guard("read")
        fits = None if glob is None else _fitting(glob)
        base = self._depth(parts)
        told: list[str] = []
        left = _MOST_FOUND if max_count is None else max(max_count, 1)
        for one, text in self._files(runtime).texts(parts, guard):
            if self._denied("read", one) or (fits and not fits(one[base:] or one[-1:])):
                continue
            lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if pattern in line]
            lines = lines[:left]
            if lines:
                told.append(_told(shown(one), lines, output_mode))
                left -= len(lines)
            if left <= 0:
                told.append("(There may be more.)")
                break
        return "\n".join(told) or "No matches found"

    # What the tools share -----------------------------------------------------------------

    def _files(self, runtime: ToolRuntime[Any, Any]) -> Files:
        return self._backend.files(runtime.state or {})

    def _parts(self, path: str | None, operation: Operation) -> Parts:
        parts = self._backend.home if path is None else parts_of(path, self._backend.home)
        if parts is None:
            raise ToolException(
                f"Error: {path!r} is not a path here. Give one such as /folder/file.txt, "
                "without .., ~, backslashes and drive letters."
            )
        self._guard(operation)(parts)
        return parts

    def _depth(self, folder: Parts) -> int:
        """Return how many components stand before what is found in a folder."""
        return len(self._backend.resolve(folder) or folder)

    def _denied(self, operation: Operation, parts: Parts) -> bool:
        return self._rules.mode(operation, parts) == "deny"

    def _guard(self, operation: Operation) -> Guard:
        def guard(parts: Parts) -> None:
            if self._denied(operation, parts):
                raise ToolException(f"Error: permission denied for {operation} on {shown(parts)}")

        return guard

    def _alone(self, path: str, runtime: ToolRuntime[Any, Any]) -> Parts:
        """Return the path of a call that writes; refuse the second of a turn for one file.

        The calls of a turn run side by side, so that each would write over the other's work.
        """
        parts = self._parts(path, "write")
        for earlier in _before(runtime):
            other = parts_of(earlier, self._backend.home)
            if other is not None and (parts[: len(other)] == other or other[: len(parts)] == parts):
                raise ToolException(
                    f"Error: another call of the same turn writes {shown(other)}. This one did "
                    "nothing; make it again if it is still wanted."
                )
        return parts

    def _listed(self, found: Iterator[tuple[Parts, bool]], *, folders: bool = False) -> object:
        told: list[str] = []
        for parts, is_folder in found:
            if self._denied("read", parts) or (is_folder and not folders):
                continue
            if len(told) == _MOST_FOUND:
                told.append("(There are more.)")
                break
            told.append(shown(parts) + ("/" if is_folder else ""))
        return told or "No files found"


def _before(runtime: ToolRuntime[Any, Any]) -> Iterator[object]:
    """Yield the paths that earlier calls of the same turn write."""
    messages = messages_of(runtime.state)
    place = last_turn(messages)
    turn = None if place is None else messages[place]
    calls = turn.tool_calls if isinstance(turn, AIMessage) else []
    if runtime.tool_call_id not in [call.get("id") for call in calls]:
        return
    for call in calls:
        if call.get("id") == runtime.tool_call_id:
            return
        if call["name"] in _WRITING:
            yield call["args"].get("file_path")


def _written(files: Files, text: str) -> object:
    if not files.writes:
        return text
    message = ToolMessage(text, tool_call_id="")
    return Command(update={**files.writes, "messages": [message]})


def _fitting(pattern: str) -> Callable[[Parts], bool]:
    """Return what tells whether a path below a folder has a pattern."""
    patterns = Patterns()
    try:
        for parts in components(pattern):
            if ".." in parts:
                raise ToolException("Error: a pattern cannot hold '..'")
            patterns.add(parts if "/" in pattern else ("**", *parts), 0)
    except Misuse as error:
        raise ToolException(f"Error: {error}") from error
    return lambda parts: patterns.first(parts) != NONE


def _told(path: str, lines: Sequence[tuple[int, str]], mode: str) -> str:
    if mode == "content":
        return "\n".join([f"{path}:", *(f"  {number}: {line}" for number, line in lines)])
    return f"{path}: {len(lines)}" if mode == "count" else path
