"""Every store of ours keeps the promises of the conformance kit, and behaves as the others do."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.checkpoint import Checkpointer, InMemorySaver, SqliteSaver
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
actions = st.lists(
    st.tuples(st.just("append"), commits)
    | st.tuples(st.just("delete"), names)
    | st.tuples(st.just("wait"), st.sampled_from([1.0, 70.0])),
    max_size=25,
)


@given(actions, st.integers(0, 6), st.booleans())
@settings(deadline=None, max_examples=150)
def test_sqlite_does_what_memory_does(history, after, whole):
    clocks = ManualClock(), ManualClock()
    stores: tuple[Checkpointer, Checkpointer] = (
        InMemorySaver(clock=clocks[0]),
        SqliteSaver(":memory:", clock=clocks[1]),
    )
    for action, argument in history:
        results: list[object] = []
        for store, clock in zip(stores, clocks, strict=True):
            try:
                if action == "append":
                    results.append(store.append(argument))
                elif action == "delete":
                    results.append(store.delete_thread(argument))
                else:
                    clock.advance(argument)
                    results.append(None)
            except HitlError as error:
                results.append((type(error), str(error), error.fields))
        assert results[0] == results[1]
    seen = [
        (
            [store.load(name, after, whole=whole) for name in "ab"],
            [store.entries(name, after=after) for name in "ab"],
            store.items(states=["pending"]),
            store.items(thread="a"),
            store.threads(),
        )
        for store in stores
    ]
    assert seen[0] == seen[1]
    stores[1].close()
