"""The ``python`` blocks of README and docs run as they stand, in order, one namespace a file.

A block whose fence says ``python no-run``, or that follows a line ``<!-- no-run -->``, is only
compiled. Files are written to a temporary directory.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ ]*python(?P<marks>[^\n`]*)\n(?P<code>.*?)^(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    line: int
    runs: bool
    code: str


def blocks(text: str) -> Iterator[Block]:
    """Yield the Python blocks of a page, each with the number of its first line."""
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip()
        marked = "no-run" in match["marks"].split() or before.endswith("<!-- no-run -->")
        yield Block(text.count("\n", 0, match.start("code")) + 1, not marked, match["code"])


def compiled(block: Block, name: str) -> object:
    """Return the block's code object, with the page's own line numbers."""
    shifted = "\n" * (block.line - 1) + block.code
    return compile(shifted, name, "exec", dont_inherit=True)


def with_examples() -> list[str]:
    return [
        page.relative_to(ROOT).as_posix()
        for page in PAGES
        if any(blocks(page.read_text(encoding="utf-8")))
    ]


@pytest.mark.parametrize("page", with_examples())
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    module = ModuleType("page_" + re.sub(r"\W", "_", page))
    # Type hints of the classes that a page defines are looked up there.
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        code = compiled(block, page)
        if block.runs:
            exec(code, vars(module))  # type: ignore[arg-type]


def test_blocks_are_found_with_their_line_and_whether_they_run():
    page = (
        "# page\n\n```python\na = 1\n```\n\n```python no-run\nb = a\n```\n"
        "<!-- no-run -->\n```python\nc = b\n```\n\n```sh\nls\n```\n\n~~~python\nd = 1\n~~~\n"
    )
    assert list(blocks(page)) == [
        Block(4, True, "a = 1\n"),
        Block(8, False, "b = a\n"),
        Block(12, False, "c = b\n"),
        Block(20, True, "d = 1\n"),
    ]


def test_a_fault_in_an_example_is_told_with_the_pages_own_line():
    with pytest.raises(SyntaxError) as caught:
        compiled(Block(7, True, "a = (\n"), "page.md")
    assert (caught.value.filename, caught.value.lineno) == ("page.md", 7)
