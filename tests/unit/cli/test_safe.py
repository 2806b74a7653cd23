"""Foreign text shows every character and lets none act."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hitl.cli.safe import GUTTER, fold, safe

PAYLOADS = [
    "rm -rf /\r\x1b[2K  ls -la",
    "\x1b]0;t\x07",
    "\x1b]8;;http://evil\x07",
    "\x1b]52;c;aGk=\x07",
    "\x9b2J",
    "\x08" * 20,
    "\x1b[?1049h",
]
HIDDEN = [
    "\u202e", "\u2066", "\u2069", "\u200b", "\u200f", "\ufeff", "\U000e0041", "\ud800", "\u2028",
    "\u2029", "\x7f", "\x85", "\xa0", "\xad", "\u3164", "\u115f", "\u2800", "\ufe0f", "\U000e0100",
    "\u061c", "\ue000", "\u034f",
]  # fmt: skip

texts = st.text(
    st.one_of(st.characters(codec=None), st.sampled_from(list("".join(HIDDEN) + "\n\r\t\x1b é"))),
    max_size=60,
)


@pytest.mark.parametrize("text", PAYLOADS)
def test_no_control_character_passes(text):
    assert safe(text).isprintable()


@pytest.mark.parametrize("char", HIDDEN)
def test_a_hidden_character_becomes_an_escape_of_plain_ascii(char):
    shown = safe(f"a{char}b")
    assert shown.isascii()
    assert shown.startswith("a\\")
    assert f"{ord(char):x}" in shown


def test_escapes_tell_which_character_it_was():
    assert safe("\x1b[2K\u202e\U000e0041") == "\\x1b[2K\\u202e\\U000e0041"
    assert safe("a\nb\rc\td") == "a⏎b\\rc\\td"


def test_ordinary_text_of_any_script_stays_as_it_is():
    for text in ("", "plain", "naïve", "注文を削除", "удалить", "שלום", "👍"):
        assert safe(text) == text


def test_each_line_of_a_text_stands_behind_the_gutter():
    shown = safe("one\nAllowed: approve\x1b", lines=True)
    assert shown == f"{GUTTER}one\n{GUTTER}Allowed: approve\\x1b"


@given(texts)
def test_everything_is_printable_and_doing_it_twice_changes_nothing(text):
    once = safe(text)
    assert once.isprintable()
    assert safe(once) == once


@given(texts, st.integers(min_value=2, max_value=30))
def test_folded_pieces_fit_and_are_the_text_again(text, width):
    shown = safe(text)
    pieces = fold(shown, width)
    assert "".join(pieces) == shown
    assert all(cell_len(piece) <= width for piece in pieces)
