"""Commands: the words of one simple command, and whether they begin as a rule says.

Owns the reading of a command line. Shell text is not parsed to allow it: a text is read only if
it is one simple command of plain words, which every shell splits alike. Operators, quotes
around anything but plain words, expansions, assignments and redirections make it unknown.
A list of words is taken as it is. A sandbox is the real wall; this is a gate before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

__all__ = ["argv_matches", "argv_of", "compile_argv"]

_LONGEST = 10_000
_WORDS = 1000
_PLAIN = r"[A-Za-z0-9_@+:,./-][A-Za-z0-9_@+=:,./-]*"
_QUOTED = r"'[A-Za-z0-9_@+=:,./ -]*'|\"[A-Za-z0-9_@+=:,./ -]*\""
_WORD = re.compile(rf"({_QUOTED}|{_PLAIN})(?: +|\Z)")
_PROGRAM = re.compile(r"[A-Za-z0-9_+./-][A-Za-z0-9_@+:./-]*")

_RUNNERS_TEXT = """
. ash awk bash builtin bun bunx busybox chroot cmd command cscript csh dash deno doas docker
entr env eval exec expect fish flock gawk ionice kubectl ksh lua make nice node nohup npx
nsenter osascript parallel perl php pipx pkexec podman powershell proxychains pwsh python rbash
rlwrap ruby run-parts runuser script setpriv setsid sh source ssh stdbuf strace su sudo
systemd-run tclsh tcsh time timeout tmux trap unbuffer unshare uv uvx watch wscript xargs
xvfb-run zsh
"""
_RUNNERS = frozenset(_RUNNERS_TEXT.split())
"""Programs that run what their arguments say: what they will do is not known from a prefix."""

_HANDS_ON_TEXT = """
-delete -exec -execdir -fprint -fprintf -fls -ok -okdir --checkpoint-action --compress-program
--config-env --exec --ext-diff --open-files-in-pager --output --pager --pre --receive-pack --rsh
--to-command --upload-pack --use-compress-program
"""
_HANDS_ON = frozenset(_HANDS_ON_TEXT.split())
"""Options by which reading programs (find, git, sort, tar, rg ...) run others, write or delete."""

Words = tuple[str, ...]


def argv_of(value: object) -> Words | None:
    """Return the words of a command, None where they depend on who reads it.

    Args:
        value: A list of texts, or a text; anything else is no command.
    """
    if isinstance(value, list | tuple):
        words = tuple(value)
        if 0 < len(words) <= _WORDS and all(map(_is_word, words)) and _PROGRAM.fullmatch(words[0]):
            return words
        return None
    if type(value) is not str or len(value) > _LONGEST:
        return None
    return _split(value.strip(" "))


def _is_word(value: object) -> bool:
    return type(value) is str and "\0" not in value


def _split(text: str) -> Words | None:
    words: list[str] = []
    at = 0
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            return None
        word = match[1]
        words.append(word[1:-1] if word[0] in "'\"" else word)
        at = match.end()
    if not words or not _PROGRAM.fullmatch(words[0]) or text[0] in "'\"":
        return None
    return tuple(words)


def compile_argv(spec: Sequence[Sequence[str]]) -> Callable[[object], bool | None]:
    """Return a function that says whether a command begins like one of some rows of words.

    It answers None where the command cannot be read, where it is run by another program
    (``sudo``, ``sh -c``, ``xargs``) that no row names, or where it differs from a row only by
    the order or spelling of options, the case or the folder of the program.

    Args:
        spec: Rows such as ``[["git", "status"], ["ls"]]``: a program and its first arguments.
            What comes behind them is free. A row for a program that runs others must also say
            what it runs.

    Raises:
        ValueError: A row cannot be read or would free anything; the message names it.
    """
    given: object = spec
    if not isinstance(given, list | tuple) or not given:
        raise ValueError("give a list of rows, each a program and its first arguments")
    rows = [_row(row) for row in spec]

    def matches(value: object) -> bool | None:
        argv = argv_of(value)
        if argv is None:
            return None
        answers = {_covers(row, argv) for row in rows}
        if True in answers:
            return True
        return None if None in answers or _kind(argv[0]) in _RUNNERS else False

    return matches


def argv_matches(value: object, spec: Sequence[Sequence[str]]) -> bool | None:
    """Return whether a command begins like one of some rows; see :func:`compile_argv`.

    Args:
        value: The argument as the model proposed it; anything.
        spec: The rows.

    Raises:
        ValueError: A row cannot be read or would free anything; the message names it.
    """
    return compile_argv(spec)(value)


def _row(row: object) -> Words:
    words = argv_of(row) if isinstance(row, list | tuple) else None
    if words is None:
        raise ValueError(f"{row!r} is no list of words that begins with a program's name")
    if _kind(words[0]) in _RUNNERS and all(word.startswith("-") for word in words[1:]):
        raise ValueError(f"{row!r} would match whatever {words[0]} runs; name that too")
    return words


def _covers(row: Words, argv: Words) -> bool | None:
    """Return whether words begin like a row, None where only spelling or order differs."""
    if argv[: len(row)] == row:
        return None if any(map(_hands_on, argv[len(row) :])) else True
    if _kind(argv[0]) != _kind(row[0]):
        return False
    if argv[0] != row[0]:
        return None  # ./git, /usr/bin/git, GIT or git.exe may be the same program or another
    for word, wanted in zip(argv[1:], row[1:], strict=False):
        if word != wanted:
            return None if word.startswith("-") or wanted.startswith("-") else False
    return False  # it ends before the row does


def _kind(program: str) -> str:
    """Return what a program is called, whatever its folder, case, version and ending."""
    name = program.rpartition("/")[2].lower()
    for ending in (".exe", ".cmd", ".bat", ".com"):
        name = name.removesuffix(ending)
    return name if name == "." else name.rstrip("0123456789.")


def _hands_on(word: str) -> bool:
    """Return whether an argument may be one of the options that run, write or delete."""
    name = word.partition("=")[0]
    if len(name) < 3 or not name.startswith("-"):
        return False
    return any(option.startswith(name) or name.startswith(option) for option in _HANDS_ON)
