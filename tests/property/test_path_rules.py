"""The compiled path rules say what a naive reader of the rules says, path by path."""

from __future__ import annotations

import re
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from hitl.agent.deep.file_path import parts_of, shown
from hitl.agent.deep.path_rules import FilesystemPermission, PathRules

NAMES = ["a", "b", "ab", ".a", "a.py", "s"]
names = st.sampled_from(NAMES)
paths = st.lists(names, max_size=5).map(lambda parts: "/" + "/".join(parts))
pieces = st.sampled_from(
    [*NAMES, "*", "**", "a*", "*.py", "?", "[ab]", "[!a]", "*b*", "{a,b}", "a**"]
)
patterns = st.lists(pieces, max_size=5).map(lambda parts: "/" + "/".join(parts))
rules = st.lists(
    st.builds(
        FilesystemPermission,
        st.sampled_from([["read"], ["write"], ["read", "write"]]),
        st.lists(patterns, min_size=1, max_size=2),
        st.sampled_from(["allow", "deny", "interrupt"]),
    ),
    max_size=4,
)


def naive_component(piece: str, name: str) -> bool:
    """Read one component of a pattern, character by character."""
    if not piece:
        return not name
    if piece[0] == "*":
        rest = piece.lstrip("*")
        return any(naive_component(rest, name[n:]) for n in range(len(name) + 1))
    if not name:
        return False
    if piece[0] == "[":
        inside, _, rest = piece[1:].partition("]")
        hit = name[0] not in inside[1:] if inside[0] == "!" else name[0] in inside
        return hit and naive_component(rest, name[1:])
    return piece[0] in ("?", name[0]) and naive_component(piece[1:], name[1:])


def naive(pattern: list[str], path: list[str]) -> bool:
    """Match components one by one; ``**`` stands for any number, at the end for one or more."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        if set(pattern) == {"**"}:
            return bool(path)
        return naive(pattern[1:], path) or (bool(path) and naive(pattern, path[1:]))
    return bool(path) and naive_component(pattern[0], path[0]) and naive(pattern[1:], path[1:])


def flat(pattern: str) -> list[list[str]]:
    choices = [
        part[1:-1].split(",") if part.startswith("{") else [part]
        for part in pattern.split("/")
        if part
    ]
    return [list(one) for one in product(*choices)]


def said(permissions, operation, path):
    parts = [part for part in path.split("/") if part]
    for rule in permissions:
        if operation in rule.operations and any(
            naive(one, parts) for pattern in rule.paths for one in flat(pattern)
        ):
            return rule.mode
    return "allow"


@given(rules, st.sampled_from(["read", "write"]), paths)
def test_the_trie_says_what_reading_the_rules_from_top_to_bottom_says(permissions, operation, path):
    parts = parts_of(path)
    assert parts is not None
    assert PathRules(permissions).mode(operation, parts) == said(permissions, operation, path)


@given(rules, st.sampled_from(["read", "write"]), paths, st.lists(names, max_size=3))
def test_a_folder_that_holds_a_path_that_interrupts_overlaps(permissions, operation, path, below):
    folder = parts_of(path)
    assert folder is not None
    compiled = PathRules(permissions)
    if compiled.mode(operation, (*folder, *below)) == "interrupt":
        assert compiled.overlaps(operation, folder)
        assert compiled.asks(operation)


@given(st.text(max_size=12), st.lists(st.sampled_from(["", ".", "/"]), max_size=3))
def test_a_path_has_one_reading_however_it_is_spelt(text, noise):
    parts = parts_of(text)
    if parts is None:
        return
    assert not {"", ".", ".."} & set(parts)
    assert parts_of(shown(parts)) == parts
    spelt = re.sub("/", "/" + "/".join(noise) + "/", shown(parts))
    assert parts_of(spelt) == parts
