"""The page of crash points is made from the list that the tests run."""

from __future__ import annotations

from pathlib import Path

from tests.crash.points import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "crash-points.md"


def test_the_page_is_made_from_the_list_of_points() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
