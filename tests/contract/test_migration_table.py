"""The import table of ``docs/migration.md`` holds."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import hitl

DOCS = Path(__file__).parents[2] / "docs"
LINES = (DOCS / "migration.md").read_text(encoding="utf-8").splitlines()
ROWS = [
    tuple(cell.strip().strip("`") for cell in line.strip("|").split("|"))
    for line in LINES
    if line.startswith("| `from ")
]


def imported(line: str) -> tuple[str, list[str]]:
    """Return the module and the names of an import line."""
    (statement,) = ast.parse(line).body
    assert isinstance(statement, ast.ImportFrom)
    assert statement.module is not None
    assert not any(name.asname for name in statement.names)
    return statement.module, [name.name for name in statement.names]


def test_the_table_has_rows():
    assert len(ROWS) >= 20
    assert all(len(row) == 2 for row in ROWS)


@pytest.mark.parametrize(("theirs", "ours"), ROWS, ids=[imported(row[0])[0] for row in ROWS])
def test_each_line_has_the_same_names_on_both_sides_and_ours_can_be_imported(theirs, ours):
    module, names = imported(ours)
    assert module == "hitl"
    assert names == imported(theirs)[1]
    for name in names:
        assert name in hitl.__all__
        assert getattr(importlib.import_module(module), name) is not None


def test_no_module_of_theirs_stands_twice():
    modules = [imported(theirs)[0] for theirs, _ in ROWS]
    assert len(set(modules)) == len(modules)


@pytest.mark.parametrize("page", ["migration.md", "differences.md"])
def test_the_pages_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", (DOCS / page).read_text(encoding="utf-8")):
        assert (DOCS / target).exists()
