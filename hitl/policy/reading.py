"""The text of a policy file, YAML or JSON, as a marked document.

Owns the syntax only: what the words mean is the document's matter. Plain YAML words that two
YAML readers would take for different things (``yes``, ``017``, ``1e3``, a date) are refused, so
that what a reviewer reads is what the policy says. JSON needs no library.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from hitl.errors import Misuse
from hitl.policy.finding import refuse
from hitl.policy.marked import Builder, Marked, Unreadable
from hitl.values import Json

if TYPE_CHECKING:
    import yaml

__all__ = ["decode", "read_text"]

_BYTES = 16 * 2**20

_TOKEN = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*"|[-+.\w]+')
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_DIGITS = 300
_ODD = re.compile(
    r"(?i:yes|no|on|off)"
    r"|[-+]?[0-9][0-9_]*\.?[0-9_]*([eE][-+]?[0-9]+)?"
    r"|[-+]?\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|[-+]?\.(?i:inf|nan)"
    r"|[-+]?0[box][0-9a-fA-F_]+"
    r"|[-+]?[0-9][0-9_]*(:[0-9_]+)+(\.[0-9_]*)?"  # base 60
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?"  # a date
)
_ODD_LENGTH = 64
_WORDS: dict[str, None | bool] = {"true": True, "false": False, "null": None, "": None}
_SPELLINGS = {"True", "TRUE", "False", "FALSE", "Null", "NULL", "~"}


def decode(raw: bytes, name: str) -> str:
    """Return the text of a file.

    Raises:
        BadPolicy: It is too long or not UTF-8.
    """
    if len(raw) > _BYTES:
        _refuse(name, 0, f"The file is longer than {_BYTES // 2**20} MiB.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        _refuse(name, line, "The file is not UTF-8.", "Save it as UTF-8.")
        raise


def read_text(text: str, name: str) -> Marked:
    """Return a document with the lines of its parts.

    What begins with ``{`` is read as JSON, everything else as YAML.

    Args:
        text: The file's text.
        name: Its name, for findings.

    Raises:
        BadPolicy: It cannot be read.
        Misuse: It is YAML, and the library for that is not installed.
    """
    if not isinstance(text, str):
        raise Misuse(f"The text of {name} is of type {type(text).__name__}.", hint="Give a str.")
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        _refuse(name, 0, "The text holds half a character (a lone surrogate).")
    else:
        text = decode(raw, name)
    builder = Builder(name)
    try:
        (_read_json if text.lstrip().startswith("{") else _read_yaml)(text, builder)
    except Unreadable:
        refuse(name, builder.problems)
    return builder.marked()


def _refuse(name: str, line: int, message: str, hint: str = "") -> None:
    builder = Builder(name)
    builder.problem(line, message, hint)
    refuse(name, builder.problems)


def _read_json(text: str, builder: Builder) -> None:
    """Let Python's reader judge the grammar; a second walk over the tokens gives the lines."""
    try:
        json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        hint = "A file that begins with '{' is read as JSON."
        raise builder.stop(error.lineno, f"This is not JSON: {error.msg}.", hint) from error
    except (ValueError, RecursionError) as error:
        raise builder.stop(0, f"This is not JSON that can be read: {error}.") from error
    line, seen = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        lexeme = match[0]
        if lexeme in "{[":
            builder.begin(line, {} if lexeme == "{" else [])
        elif lexeme in "}]":
            builder.end()
        else:
            builder.scalar(line, _json_scalar(lexeme, line, builder))


def _json_scalar(lexeme: str, line: int, builder: Builder) -> Json:
    if lexeme[0] == '"' and lexeme.isascii() and "\\" not in lexeme:
        return lexeme[1:-1]  # what most of a file is, at a tenth of the time
    if len(lexeme) > _DIGITS and lexeme.lstrip("-").isdigit():  # more than Python reads, at worst
        builder.problem(line, f"The number has more than {_DIGITS} digits.")
        return 0
    value: Json = json.loads(lexeme)
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            builder.problem(line, f"The number {lexeme:.40} is too large.")
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            builder.problem(line, "The text holds half a character (a lone surrogate).")
            return ""
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _read_yaml(text: str, builder: Builder) -> None:
    try:
        import yaml
    except ImportError as error:
        raise Misuse(
            f"{builder.name} is YAML, and no library that reads it is installed.",
            hint="Install hitl[policy], or write the file as JSON.",
        ) from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            _take(event, builder)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        line = mark.line + 1 if mark else 0
        raise builder.stop(line, f"This is not YAML: {problem}.") from error


def _take(event: yaml.Event, builder: Builder) -> None:
    """Report one event of the YAML reader; nothing is ever expanded or constructed."""
    import yaml

    line = (event.start_mark.line if event.start_mark else 0) + 1
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        raise builder.stop(line, "Anchors and aliases are not read.", "Write the value out.")
    tag = getattr(event, "tag", None)
    if tag:
        raise builder.stop(line, f"The tag {tag!r:.40} is not read.", "Leave it out.")
    if isinstance(event, yaml.ScalarEvent):
        plain = event.implicit[0] and event.style in (None, "")
        builder.scalar(line, _yaml_scalar(event.value, line, builder) if plain else event.value)
    elif isinstance(event, yaml.MappingStartEvent):
        builder.begin(line, {})
    elif isinstance(event, yaml.SequenceStartEvent):
        builder.begin(line, [])
    elif isinstance(event, yaml.CollectionEndEvent):
        builder.end()
    elif isinstance(event, yaml.DocumentStartEvent) and builder.lines:
        raise builder.stop(line, "The file holds a second document.", "Keep one per file.")


def _yaml_scalar(word: str, line: int, builder: Builder) -> Json:
    """Return what a plain word means: what it means in JSON, or else a text."""
    if word in _WORDS:
        return _WORDS[word]
    if word == "<<" and builder.wants_key:
        builder.problem(line, "Merge keys (<<) are not read.", "Write the entries out.")
    if _NUMBER.fullmatch(word):
        return _json_scalar(word, line, builder)
    if word in _SPELLINGS or (len(word) <= _ODD_LENGTH and _ODD.fullmatch(word)):
        hint = "Put it in quotes if it is a text; write true, false, null and numbers as in JSON."
        builder.problem(line, f"The plain word {word!r:.40} means different things.", hint)
    return word
