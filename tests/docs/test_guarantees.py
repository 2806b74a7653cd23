"""The page of guarantees names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
NAMED = re.findall(r"^- `(tests/[^`:]+)(?:::(\w+))?`$", PAGE, re.MULTILINE)


def test_every_guarantee_names_tests() -> None:
    sections = [part for part in PAGE.split("\n## ") if re.match(r"G\d+", part)]
    assert len(sections) == 11
    assert all("\n- `tests/" in part for part in sections)


def test_every_named_test_exists() -> None:
    assert len(NAMED) > 15
    for path, name in NAMED:
        place = ROOT / path
        assert place.exists(), path
        if name:
            assert re.search(rf"(def|class) {name}\b", place.read_text(encoding="utf-8")), name
