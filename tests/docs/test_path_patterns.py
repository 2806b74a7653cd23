"""The table of path patterns in the guide on deep agents says what the rules do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hitl import FilesystemPermission
from hitl.agent.deep.file_path import parts_of
from hitl.agent.deep.path_rules import PathRules

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "deep-agents.md"
ROW = re.compile(r"^\| `(/[^`]+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)
ROWS = [
    (pattern, path, cell == 0)
    for pattern, *cells in ROW.findall(PAGE.read_text(encoding="utf-8"))
    for cell, text in enumerate(cells)
    for path in re.findall(r"`(.+?)`", text)
]


def test_the_table_is_found():
    assert len(ROWS) >= 15


@pytest.mark.parametrize(("pattern", "path", "matches"), ROWS)
def test_a_row_of_the_table_holds(pattern, path, matches):
    parts = parts_of(path)
    assert parts is not None
    rules = PathRules([FilesystemPermission(["read"], [pattern], "deny")])
    assert (rules.mode("read", parts) == "deny") == matches
