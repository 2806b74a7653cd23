import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.checkpoint import InMemorySaver, verify
from hitl.values import Commit, Draft, ManualClock


@pytest.fixture
def entries():
    store = InMemorySaver(clock=ManualClock())
    store.append(Commit("t", tuple(Draft("step", str(n), n) for n in range(6))))
    return store.entries("t")


def test_a_whole_log_is_good(entries):
    assert verify(entries) is None
    assert verify([]) is None


@pytest.mark.parametrize(
    "edit",
    [{"body": "x"}, {"kind": "input"}, {"parent": 9}, {"at": 0.0}, {"hash": "0" * 32}, {"seq": 9}],
    ids=str,
)
def test_any_edit_is_found_where_it_is(entries, edit):
    entries[3] = entries[3]._replace(**edit)
    assert verify(entries) == 4


def test_a_missing_or_swapped_entry_is_found(entries):
    assert verify(entries[1:]) == 1
    assert verify(entries[:2] + entries[3:]) == 3
    assert verify([entries[1], entries[0], *entries[2:]]) == 1


@given(st.integers(1, 5))
def test_a_log_may_be_checked_by_pages(cut):
    store = InMemorySaver(clock=ManualClock())
    store.append(Commit("t", tuple(Draft("step", str(n), n) for n in range(6))))
    entries = store.entries("t")
    assert verify(entries[cut:], entries[cut - 1]) is None
    assert verify(entries[cut:], entries[cut - 1]._replace(hash="")) == cut + 1
