"""The page on approval shows every text that a model reads, as it is."""

from __future__ import annotations

import re
from pathlib import Path

from hitl.agent import wording

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "approval.md").read_text(encoding="utf-8")


def test_the_page_shows_all_texts_and_no_others():
    shown = re.findall(r"^\| [^|]+ \| `(.+)` \|$", PAGE, re.MULTILINE)
    texts = [str(getattr(wording, name)).replace("\n", "\\n") for name in wording.__all__]
    assert sorted(shown) == sorted(texts)
