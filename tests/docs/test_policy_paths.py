"""The tables of the page on paths, run on a real folder with real links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hitl.policy.glob import compile_glob
from hitl.policy.paths import Root, search_within, within

PAGE = Path(__file__).resolve().parents[2] / "docs/guide/policy-paths.md"
ANSWERS = {"yes": True, "no": False, "not known": None}


def table(head: str) -> list[list[str]]:
    """Return the rows of the table with a head, cells without their marks."""
    text = PAGE.read_text(encoding="utf-8")
    rows = text[text.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split(" |")] for row in rows]


def unescaped(path: str) -> str:
    return re.sub(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4})", lambda match: chr(int(match[1][1:], 16)), path)


@pytest.fixture
def root(tmp_path) -> Root:
    w = tmp_path / "w"
    (w / "src").mkdir(parents=True)
    (tmp_path / "w-secret").mkdir()
    (w / "up").symlink_to(tmp_path)
    (w / "in").symlink_to(w / "src")
    (w / "ring").symlink_to(w / "ring")
    (w / "gone").symlink_to(tmp_path / "not-there")
    return Root("work", str(w))


def placed(path: str, root: Root) -> str:
    """Return a path of the page as one of the test's own folder."""
    here = str(Path(root.folder).parent)
    return re.sub(r"(?<![\w.])/(?=[wW])", lambda _: f"{here}/", unescaped(path), count=1)


@pytest.mark.parametrize("row", table("| path | inside"), ids=lambda row: row[0])
def test_the_page_says_what_is_inside(row, root):
    path = row[0] if row[0].startswith(("/..", "//", "file:", "C:")) else placed(row[0], root)
    assert within(path, root) is ANSWERS[row[1]]


@pytest.mark.parametrize("row", table("| path | pattern"), ids=lambda row: " ".join(row[:2]))
def test_the_page_says_which_searches_are_inside(row, root):
    path, pattern = placed(row[0], root), row[1]
    pattern = placed(pattern, root) if pattern.startswith("/w") else pattern
    assert search_within(path, pattern, root) is ANSWERS[row[2]]


@pytest.mark.parametrize("row", table("| pattern | text"), ids=lambda row: " ".join(row[:2]))
def test_the_page_says_what_a_glob_matches(row):
    assert compile_glob(row[0])(row[1]) is ANSWERS[row[2]]


def test_the_tables_are_read():
    assert len(table("| path | inside")) > 25
    assert len(table("| path | pattern")) == 10
    assert len(table("| pattern | text")) == 14
