"""What a glob says, row by row, and which patterns are refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.policy.glob import compile_glob, literal_prefix

MATCHES = """
    read_file      read_file
    fs.list_*      fs.list_dir
    fs.*           fs.read
    fs.**          fs.a.b
    *              read
    **             a/b.c
    *.py           a.py
    /src/**/*.py   /src/a.py
    /src/**/*.py   /src/x/y/a.py
    a/**/b         a/b
    a/**/b         a/x/y/b
    a/**/**/b      a/b
    **/x           x
    **/x           /x
    **/x           a/b/x
    a.**.b         a.b
    a**            a/b/c
    /secrets/**    /secrets/.env
    /secrets/**    /secrets/a/b
    /secrets/**    /secrets/
    .env*          .env
    ?.txt          a.txt
    [ab]c          bc
    [a-c]x         cx
    [!ab]c         xc
    [*]            *
    []]            ]
    [.]env         .env
    [a-]           -
    {a,b}c         bc
    {read,write}_* write_file
    {a,b{c,d*}}e   bdxe
    {,x}a          a
    a,b            a,b
    a***b          a/x/b
"""
MISSES = """
    read_file      Read_File
    read_file      read_file2
    fs.list_*      fs.list_a.b
    fs.*           fs.a.b
    *              a/b
    *              a.b
    *.py           a/b.py
    a/**/b         ab
    a/**/b         a/xb
    a/**/b         ax/b
    **/x           ax
    /secrets/**    /secrets
    /secrets/**    /secretsx
    /secrets/*     /secrets/a/b
    /secrets/*     /secrets/.env
    ?              /
    ?              .
    [!a]           /
    [--9]          .
    [ab]           c
    {a,b}c         cc
    a*b            ab/b
    a**b           a
"""
BAD = {
    "": "empty",
    "a[b": "position 1",
    "a{b,c": "position 1",
    "ab}": "position 2",
    "x{a}": "position 1",
    "x{a,b}[": "position 6",
    "a\\*b": "position 1",
    "[z-a]": "position 0",
    "[a-\uffff]": "position 0",
    "{a,b}" * 7: "alternatives",
    "a" * 1001: "longer",
}


def rows(table: str) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in map(str.split, table.strip().splitlines())]


@pytest.mark.parametrize(("pattern", "text"), rows(MATCHES))
def test_a_glob_matches(pattern, text):
    assert compile_glob(pattern)(text)


@pytest.mark.parametrize(("pattern", "text"), rows(MISSES))
def test_a_glob_does_not_match(pattern, text):
    assert not compile_glob(pattern)(text)


@pytest.mark.parametrize("pattern", BAD)
def test_a_bad_pattern_is_refused_with_the_place(pattern):
    with pytest.raises(ValueError, match=re.escape(BAD[pattern])):
        compile_glob(pattern)


def test_separators_can_be_chosen():
    assert compile_glob("*.py", "/")("a.b.py")
    assert compile_glob("a*", "")("a/b.c")


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [("read", "read"), ("fs.*", "fs."), ("{fs.a,fs.b}*", "fs."), ("a/**/b", "a/"), ("*", "")],
)
def test_the_literal_prefix_is_what_all_matches_begin_with(pattern, prefix):
    assert literal_prefix(pattern) == prefix


PIECES = ["a", "b", "/", ".", "*", "**", "?", "[ab]", "[!a]", "[./]", "{a,b/}", "{*,?b}", "/**/"]
patterns = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
texts = st.text("ab/.", max_size=9)


def naive(pattern: str) -> re.Pattern[str]:
    """Return a regular expression that says the same, put together token by token."""
    text, out, at = pattern, "", 0
    while at < len(text):
        whole = text.startswith("**", at) and (at == 0 or text[at - 1] in "/.")
        after = text[at + 2 : at + 3]
        if whole and after and after in "/." and (at == 0 or text[at - 1] == after):
            out += f"(?:.*{re.escape(after)})?"
            at += 3
        elif text.startswith("**", at):
            out, at = out + ".*", at + 2
        elif text[at] == "*":
            out, at = out + "[^/.]*", at + 1
        elif text[at] == "?":
            out, at = out + "[^/.]", at + 1
        elif text.startswith("[!a]", at):
            out, at = out + "[^a/.]", at + 4
        elif text[at] == "[":
            end = text.index("]", at)
            out, at = out + re.escape(text[at]).replace("\\", "") + text[at + 1 : end + 1], end + 1
        else:
            out, at = out + re.escape(text[at]), at + 1
    return re.compile(out, re.DOTALL)


def choices(pattern: str) -> list[str]:
    """Return the pattern's alternatives, its braces (never nested here) written out."""
    match = re.search(r"\{([^{}]*),([^{}]*)\}", pattern)
    if match is None:
        return [pattern]
    before, after = pattern[: match.start()], pattern[match.end() :]
    return [text for choice in match.groups() for text in choices(before + choice + after)]


@given(patterns, texts)
def test_a_glob_says_what_a_naive_reading_says(pattern, text):
    expected = any(naive(choice).fullmatch(text) for choice in choices(pattern))
    assert compile_glob(pattern)(text) == expected


@given(patterns, texts)
def test_everything_matched_begins_with_the_literal_prefix(pattern, text):
    if compile_glob(pattern)(text):
        assert text.startswith(literal_prefix(pattern))


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_a_pattern_or_a_value_error(pattern, text):
    try:
        matches = compile_glob(pattern)
    except ValueError:
        return
    assert matches(text) in (True, False)


def test_no_text_makes_a_match_slow():
    # With backtracking this pattern would need more steps than there are atoms.
    assert not compile_glob("**a*" * 30 + "b")("a" * 2000)
