"""The screen is the one way out, and nothing passes it raw."""

from __future__ import annotations

import io
import json

import pytest

from hitl.cli.safe import GUTTER
from hitl.cli.screen import Screen, json_text

EVIL = "a\x1b[2J\r\u202eb\nallowed: approve"


def shown(use) -> str:
    out = io.StringIO()
    use(Screen(out=out, err=out))
    return out.getvalue()


def test_every_way_to_print_makes_text_safe():
    for use in (
        lambda s: s.say(EVIL),
        lambda s: s.block(EVIL),
        lambda s: s.facts([(EVIL, EVIL)]),
        lambda s: s.command(EVIL),
        lambda s: s.table({EVIL.replace("\n", ""): "cut", "x": "fold"}, [(EVIL, EVIL)]),
        lambda s: s.prompt(EVIL),
        lambda s: s.error(EVIL, EVIL),
        lambda s: s.note(EVIL),
    ):
        text = shown(use)
        assert text
        assert all(char.isprintable() or char == "\n" for char in text), text


def test_a_foreign_line_never_stands_where_ours_do():
    text = shown(lambda s: s.facts([("path", "x"), ("text", "one\nfingerprint  0000")]))
    assert "    │ fingerprint  0000\n" in text
    long = shown(lambda s: s.say("agent: " + "x " * 60 + "allowed: approve"))
    assert all(line.startswith(GUTTER) for line in long.splitlines()[1:])


def table(width: int, thread: str) -> list[str]:
    headers = {"id": "whole", "what": "fold", "effect": "cut", "age": "whole", "words": "fold",
               "thread": "whole"}  # fmt: skip
    row = ("deadbeef", "a_long_tool_name_that_goes_on", "effect " * 50, "3 d", "a b", thread)

    def use(screen: Screen) -> None:
        screen.out.width = width
        screen.table(headers, [row, row])

    return shown(use).splitlines()


@pytest.mark.parametrize("width", [80, 100])
def test_a_table_fits_and_keeps_its_last_column_whole(width):
    for thread in ("t1", "run-41595764a644", "thread-" * 9):
        lines = table(width, thread)
        assert max(map(len, lines)) <= width
        assert sum(thread in line for line in lines) == 2
        assert sum("…" in line for line in lines) == 2
        assert all(line == line.rstrip() for line in lines)


def test_a_cell_that_is_wider_than_the_screen_goes_on_behind_the_gutter():
    lines = table(80, "x" * 70 + "  deadbeef  delete " * 9)
    own = [line for line in lines if line.startswith(("deadbeef", GUTTER))]
    assert sum(line.startswith("deadbeef") for line in own) == 2


def test_a_command_is_never_broken():
    line = "hitl approve " + "a" * 300
    assert f"  {line}\n" == shown(lambda s: s.command(line))


def test_markup_and_emoji_codes_of_foreign_text_are_just_text():
    assert "[bold red]x[/] :smile:" in shown(lambda s: s.say("[bold red]x[/] :smile:"))


def test_json_is_plain_ascii_even_where_the_standard_escapes_stop():
    text = json_text({"a": "\x7f\x1b\u202e\ud800é"})
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == {"a": "\x7f\x1b\u202e\ud800é"}


def test_documents_leave_out_what_is_for_people():
    out, err = io.StringIO(), io.StringIO()
    screen = Screen(as_json=True, out=out, err=err)
    screen.say("words")
    screen.facts([("a", "b")])
    screen.command("hitl")
    screen.document({"a": 1})
    screen.error("what")
    assert json.loads(out.getvalue()) == {"a": 1}
    assert "what" in err.getvalue()
