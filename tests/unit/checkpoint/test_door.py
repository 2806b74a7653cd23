import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.checkpoint import check_thread_id
from hitl.checkpoint.door import storable
from hitl.errors import Misuse


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "good", ["t", "../x", "%", "ünï 漢字 🎉", "x" * 512, "a\u00a0b", "a\u200db"]
)
def test_a_decent_string_is_a_thread_id(good):
    assert check_thread_id(good) == good


def test_a_uuid_is_a_thread_id():
    value = uuid.uuid4()
    assert check_thread_id(value) == str(value)


@pytest.mark.parametrize(
    "bad",
    [None, 1, True, 1.5, b"t", ["t"], {"$ne": None}, "", "x" * 513, "x" * 1_000_000, Text("t")],
    ids=lambda bad: repr(bad)[:20],
)
def test_anything_else_is_refused_with_a_hint(bad):
    with pytest.raises(Misuse) as caught:
        check_thread_id(bad)
    assert caught.value.hint


@pytest.mark.parametrize("char", ["\0", "\n", "\x1b", "\x7f", "\x9b", "\udfff"])
def test_control_characters_and_lone_surrogates_are_refused(char):
    with pytest.raises(Misuse, match=f"U\\+{ord(char):04X} at place 1"):
        check_thread_id(f"a{char}b")


@given(st.text(st.characters()))
def test_a_storable_text_is_utf8_and_valid_text_is_unchanged(text):
    stored = storable(text)
    stored.encode("utf-8")
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert stored == text
