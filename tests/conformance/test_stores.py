"""Every store of ours keeps the promises of the conformance kit, and behaves as the others do."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.checkpoint import InMemorySaver, SqliteSaver
from hitl.errors import HitlError
from hitl.testing.conformance import CheckpointerConformance
from hitl.testing.store_case import an_item, approve, step
from hitl.values import Commit, ItemChange, ManualClock


class TestInMemorySaver(CheckpointerConformance):
    def make(self, clock, folder):
        return InMemorySaver(clock=clock)


class TestSqliteSaverOnAFile(CheckpointerConformance):
    def make(self, clock, folder):
        return SqliteSaver(folder / "threads.db", clock=clock)


class TestSqliteSaverInMemory(CheckpointerConformance):
    def make(self, clock, folder):
        return SqliteSaver(":memory:", clock=clock)


class TestSqliteSaverOnAGivenConnection(CheckpointerConformance):
    @pytest.fixture(autouse=True)
    def connection(self, tmp_path):
        self.given = sqlite3.connect(tmp_path / "given.db", check_same_thread=False)
        self.given.row_factory = sqlite3.Row
        yield
        self.given.close()

    def make(self, clock, folder):
        return SqliteSaver(self.given, clock=clock)


names = st.sampled_from(["a", "b"])
drafts = st.lists(
    st.builds(
        step,
        st.sampled_from(["{}", '"\ud800"', '"é"', "1"]),
        st.sampled_from(["input", "step", "pause", "decide"]),
        parent=st.integers(0, 5),
        base=st.booleans(),
    ),
    max_size=3,
).map(tuple)
new_items = st.builds(lambda n, thread: ItemChange(an_item(n, thread)), st.integers(1, 6), names)
decisions = st.builds(lambda n, thread: approve(an_item(n, thread)), st.integers(1, 6), names)
commits = st.builds(
    Commit,
    names,
    drafts,
    st.lists(new_items | decisions, max_size=2).map(tuple),
    expect=st.none() | st.integers(0, 4),
    fence=st.none() | st.integers(1, 3),
    lease=st.sampled_from([None, None, "acquire", "acquire", "release", "renew"]),
    owner=st.sampled_from(["one", "two"]),
    lenient=st.booleans(),
)
action = (
    st.tuples(st.just("append"), commits)
    | st.tuples(st.just("delete"), names)
    | st.tuples(st.just("wait"), st.sampled_from([1.0, 70.0]))
)
actions = st.lists(action, max_size=25)


@given(actions, st.integers(0, 6), st.booleans())
@settings(deadline=None, max_examples=150)
def test_sqlite_does_what_memory_does(history, after, whole):
    clock = ManualClock()
    with SqliteSaver(":memory:", clock=clock) as store:
        _compare([store], clock, [(action, 0) for action in history], after, whole)


@given(st.lists(st.tuples(action, st.integers(0, 1)), max_size=25), st.integers(0, 6))
@settings(deadline=None, max_examples=100)
def test_two_sqlite_stores_on_one_file_do_what_one_memory_does(history, after):
    clock = ManualClock()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "threads.db"
        with (
            SqliteSaver(path, clock=clock, synchronous="NORMAL") as one,
            SqliteSaver(path, clock=clock, synchronous="NORMAL") as two,
        ):
            _compare([one, two], clock, history, after, False)


def _compare(stores, clock, history, after, whole):
    """Let some stores, each in its turn, do what one in memory does, and compare all they say."""
    own_clock = ManualClock()
    memory = InMemorySaver(clock=own_clock)
    for (action, argument), place in history:
        if action == "wait":
            clock.advance(argument)
            own_clock.advance(argument)
        else:
            assert _do(stores[place], action, argument) == _do(memory, action, argument)
    for store in stores:
        assert _seen(store, after, whole) == _seen(memory, after, whole)


def _do(store, action, argument):
    try:
        return store.append(argument) if action == "append" else store.delete_thread(argument)
    except HitlError as error:
        return type(error), str(error), error.fields


def _seen(store, after, whole):
    return (
        [store.load(name, after, whole=whole) for name in "ab"],
        [store.entries(name, after=after) for name in "ab"],
        store.items(states=["pending"]),
        store.items(thread="a"),
        store.threads(),
    )
