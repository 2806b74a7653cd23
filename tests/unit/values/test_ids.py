import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.values import checkpoint_id, derive, is_id, new_salt, parse_checkpoint_id

positions = st.lists(st.text() | st.integers(), max_size=4).map(tuple)


def test_a_salt_is_32_hex_digits_and_another_one_each_time():
    salts = {new_salt() for _ in range(100)}
    assert len(salts) == 100
    assert all(map(is_id, salts))


@given(positions, positions)
def test_an_id_follows_from_its_position_and_from_nothing_else(one, two):
    salt = "5" * 32
    assert (derive(salt, *one) == derive(salt, *two)) is (one == two)


@given(positions)
def test_the_same_position_has_another_id_in_another_thread(position):
    assert derive("5" * 32, *position) != derive("6" * 32, *position)


def test_text_and_number_are_different_positions():
    assert derive("5" * 32, "7") != derive("5" * 32, 7)


def test_ids_never_change_since_files_hold_them():
    assert derive("5" * 32, "ask", 7, "é\ud800", 0) == "970d66063b750374a4831cd834fcbfc4"


@given(positions)
def test_every_id_has_the_form_of_an_id(position):
    assert is_id(derive(new_salt(), *position))


@pytest.mark.parametrize("other", ["", "a" * 31, "a" * 33, "A" * 32, "g" * 32, None, 7, b"a" * 32])
def test_other_values_do_not_have_the_form_of_an_id(other):
    assert not is_id(other)


@given(st.integers(1, 10**12 - 1), st.integers(1, 10**12 - 1))
def test_checkpoint_ids_sort_as_their_numbers_do(one, two):
    assert (checkpoint_id(one) < checkpoint_id(two)) is (one < two)


@given(st.integers(1, 10**12 - 1))
def test_a_checkpoint_id_is_read_back_as_its_number(seq):
    assert parse_checkpoint_id(checkpoint_id(seq)) == seq


@pytest.mark.parametrize(
    "text", ["", "1", "00000000001x", "-00000000001", " 00000000001", "\u0661" * 12]
)
def test_a_text_that_is_no_checkpoint_id_stands_for_0(text):
    assert parse_checkpoint_id(text) == 0
