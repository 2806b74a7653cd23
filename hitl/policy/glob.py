"""Globs over names and paths, matched in time linear in the text.

Owns what a pattern means:

    *        any characters of one component; never a separator
    **       any characters, separators too; between two separators also nothing (a/**/b is a/b)
    ?        one character that is no separator
    [ab] [a-f] [!ab]   one character of a set; a negated set never holds a separator
    {a,b}    either text; may hold wildcards and stand inside one another

Everything else stands for itself, case and leading dots included. ``[*]`` is a star.
Patterns come from files that people write, texts from models: no text can make a match slow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

__all__ = ["compile_glob", "literal_prefix"]

_ALTERNATIVES = 64
_LENGTH = 1000
_SPAN = 256

Matcher = Callable[[str], bool]


class _Step(NamedTuple):
    """One part of a pattern.

    ``kind``: ``one`` takes a character of ``chars``, ``not`` one that is neither among them nor
    a separator, ``star`` any number of those, ``deep`` any number of all. ``skip`` takes nothing
    and may jump over the ``deep`` and the separator behind it.
    """

    kind: str
    chars: str = ""


def compile_glob(pattern: str, separators: str = "/.") -> Matcher:
    """Return a function that says whether a text as a whole matches a pattern.

    Args:
        pattern: The glob; see the module's text for what it can say.
        separators: The characters that ``*``, ``?`` and negated sets do not cross.

    Raises:
        ValueError: The pattern cannot be read; the message gives the position.
    """
    matchers = [_matcher(steps, separators) for steps in _read(pattern, separators)]
    if len(matchers) == 1:
        return matchers[0]
    return lambda text: any(matches(text) for matches in matchers)


def literal_prefix(pattern: str) -> str:
    """Return the text that everything matched by a pattern begins with, "" if there is none.

    Args:
        pattern: The glob.

    Raises:
        ValueError: The pattern cannot be read; the message gives the position.
    """
    texts = [_fixed(steps) for steps in _read(pattern, "/.")]
    first, last = min(texts), max(texts)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(char for char, _ in same)


def _read(pattern: str, separators: str) -> list[list[_Step]]:
    """Return the steps of every alternative of a pattern."""
    if not pattern:
        raise ValueError("the pattern is empty")
    if len(pattern) > _LENGTH:
        raise ValueError(f"the pattern is longer than {_LENGTH} characters")
    marked = list(enumerate(pattern))
    return [_skipping(list(_steps(text, separators)), separators) for text in _expand(marked)]


Marked = list[tuple[int, str]]
"""A pattern's characters with their positions, which braces would shift."""


def _expand(marked: Marked) -> list[Marked]:
    """Return the pattern's alternatives: one for each choice in its braces."""
    done: list[Marked] = [[]]
    at = 0
    while at < len(marked):
        if marked[at][1] == "[":
            end = _set_end(marked, at)
            choices = [marked[at : end + 1]]
        elif marked[at][1] == "{":
            end, inner = _braces(marked, at)
            choices = [text for choice in inner for text in _expand(choice)]
        elif marked[at][1] == "}":
            raise ValueError(f"a '}}' without its '{{' at position {marked[at][0]}")
        else:
            end, choices = at, [marked[at : at + 1]]
        if len(done) * len(choices) > _ALTERNATIVES:
            raise ValueError(f"more than {_ALTERNATIVES} alternatives at position {marked[at][0]}")
        done = [before + choice for before in done for choice in choices]
        at = end + 1
    return done


def _braces(marked: Marked, start: int) -> tuple[int, list[Marked]]:
    """Return where a brace group ends, and its choices."""
    depth, begin, choices, at = 0, start + 1, [], start
    while at < len(marked):
        char = marked[at][1]
        if char == "[":
            at = _set_end(marked, at)
        elif char == "{":
            depth += 1
        elif char == "," and depth == 1:
            choices.append(marked[begin:at])
            begin = at + 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                if not choices:
                    raise ValueError(f"a '{{' without a ',' at position {marked[start][0]}")
                return at, [*choices, marked[begin:at]]
        at += 1
    raise ValueError(f"a '{{' without its '}}' at position {marked[start][0]}")


def _set_end(marked: Marked, start: int) -> int:
    """Return the index of the bracket that closes a set; a first ``]`` belongs to the set."""
    at = start + 1
    if at < len(marked) and marked[at][1] == "!":
        at += 1
    at += 1
    while at < len(marked):
        if marked[at][1] == "]":
            return at
        at += 1
    raise ValueError(f"a '[' without its ']' at position {marked[start][0]}")


def _steps(marked: Marked, separators: str) -> Iterator[_Step]:
    """Yield the steps of one alternative, as they are written."""
    at = 0
    while at < len(marked):
        position, char = marked[at]
        if char == "\\":
            raise ValueError(f"a backslash at position {position}; write [*] for a star")
        if char == "*":
            deep = at + 1 < len(marked) and marked[at + 1][1] == "*"
            at += deep
            yield _Step("deep" if deep else "star")
        elif char == "?":
            yield _Step("not")
        elif char == "[":
            end = _set_end(marked, at)
            yield _set(position, "".join(char for _, char in marked[at + 1 : end]), separators)
            at = end
        else:
            yield _Step("one", char)
        at += 1


def _set(position: int, text: str, separators: str) -> _Step:
    """Return the step of a bracket: its characters one by one, ranges without separators."""
    negated = text.startswith("!")
    rest, chars = text[negated:], ""
    while rest:
        if len(rest) > 2 and rest[1] == "-":
            first, last = ord(rest[0]), ord(rest[2])
            if not first <= last < first + _SPAN:
                raise ValueError(f"the range {rest[:3]} at position {position} cannot be read")
            chars += "".join(c for c in map(chr, range(first, last + 1)) if c not in separators)
            rest = rest[3:]
        else:
            chars, rest = chars + rest[0], rest[1:]
    return _Step("not" if negated else "one", chars)


def _skipping(steps: list[_Step], separators: str) -> list[_Step]:
    """Return the steps with a ``skip`` before each ``**`` that is a whole component."""
    done: list[_Step] = []
    for at, step in enumerate(steps):
        if step.kind == "deep" and _whole(steps[:at], steps[at + 1 :], separators):
            done.append(_Step("skip"))
        done.append(step)
    return done


def _whole(before: list[_Step], after: list[_Step], separators: str) -> bool:
    """Return whether a ``**`` is a whole component with another one behind it."""
    if not after or after[0].kind != "one" or after[0].chars not in tuple(separators):
        return False
    return not before or before[-1] == after[0]


def _fixed(steps: list[_Step]) -> str:
    """Return the literal text at the beginning of an alternative."""
    chars = takewhile(lambda step: step.kind == "one" and len(step.chars) == 1, steps)
    return "".join(step.chars for step in chars)


def _matcher(steps: list[_Step], separators: str) -> Matcher:
    """Return what matches one alternative: text comparisons where they are enough."""
    prefix = _fixed(steps)
    if len(prefix) == len(steps):
        return prefix.__eq__
    suffix = _fixed(steps[: len(prefix) - 1 : -1])[::-1]
    middle = steps[len(prefix) : len(steps) - len(suffix)]
    if middle == [_Step("deep")] and not suffix:
        return lambda text: text.startswith(prefix)
    if middle == [_Step("deep")]:
        return _between(prefix, suffix, "")
    if middle == [_Step("star")]:
        return _between(prefix, suffix, separators)
    if _Step("skip") in middle:  # what it jumps over must not be taken for the suffix
        suffix, middle = "", steps[len(prefix) :]
    return _around(prefix, suffix, _machine(middle, separators))


def _between(prefix: str, suffix: str, banned: str) -> Matcher:
    least = len(prefix) + len(suffix)

    def matches(text: str) -> bool:
        if len(text) < least or not (text.startswith(prefix) and text.endswith(suffix)):
            return False
        inner = text[len(prefix) : len(text) - len(suffix)]
        for char in banned:  # noqa: SIM110 - a generator costs three times as much
            if char in inner:
                return False
        return True

    return matches


def _around(prefix: str, suffix: str, inner: Matcher) -> Matcher:
    least = len(prefix) + len(suffix)

    def matches(text: str) -> bool:
        if len(text) < least or not (text.startswith(prefix) and text.endswith(suffix)):
            return False
        return inner(text[len(prefix) : len(text) - len(suffix)])

    return matches


def _machine(steps: list[_Step], separators: str) -> Matcher:
    """Return a matcher that is in all places of the pattern at once: bit n, n steps are done.

    One pass over the text, a few operations on one number a character: nothing is tried twice.
    """
    stars = _bits(step.kind in ("star", "deep") for step in steps)
    skips = _bits(step.kind == "skip" for step in steps)
    passes = stars | skips
    taken = _takers(steps, separators)
    other = taken.pop("")
    last = 1 << len(steps)

    def matches(text: str) -> bool:
        places = closed(1)
        for char in text:
            places &= taken.get(char, other)
            places = closed(places & stars | (places & ~stars) << 1)
            if not places:
                return False
        return bool(places & last)

    def closed(places: int) -> int:
        """Return the places with those that are reached without a character."""
        more = places | (places & passes) << 1 | (places & skips) << 3
        while more != places:
            places, more = more, more | (more & passes) << 1 | (more & skips) << 3
        return places

    return matches


def _bits(flags: Iterable[bool]) -> int:
    return sum(1 << at for at, flag in enumerate(flags) if flag)


def _takers(steps: list[_Step], separators: str) -> dict[str, int]:
    """Return for each character that the pattern knows which steps take it; "" for all others."""
    known = {*separators, *(char for step in steps for char in step.chars)}
    return {char: _bits(_takes(step, char, separators) for step in steps) for char in ("", *known)}


def _takes(step: _Step, char: str, separators: str) -> bool:
    """Return whether a step takes a character; "" stands for one that no pattern names."""
    if step.kind in ("deep", "skip"):
        return step.kind == "deep"
    if step.kind == "one":
        return char != "" and char in step.chars
    return char == "" or char not in separators + step.chars
