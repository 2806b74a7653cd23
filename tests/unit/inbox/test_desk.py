"""A reviewer's desk over all threads."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from hitl.checkpoint import InMemorySaver, SqliteSaver
from hitl.errors import (
    AlreadyDecided,
    Conflict,
    Misuse,
    NotAllowed,
    StoreFailed,
    UnknownId,
    WrongAnswer,
)
from hitl.inbox import Inbox
from hitl.ledger import Ask, items_of
from hitl.values import Commit, Draft, ItemChange, ManualClock, derive


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    clock = ManualClock()
    saver = (
        InMemorySaver(clock=clock)
        if request.param == "memory"
        else SqliteSaver(tmp_path / "runs.db", clock=clock)
    )
    yield saver
    saver.close()


def put(store, thread, size=1, number=0):
    """Put a batch of actions on a thread, as a run does."""
    asks = [
        Ask("action", "f" * 32, {"name": f"tool{n}", "args": {}}, ("approve", "reject"))
        for n in range(size)
    ]
    ids = [derive(thread.encode().hex(), number, n) for n in range(size)]
    interrupt = derive(thread.encode().hex(), number, "all")
    store.clock.advance(1)
    items = items_of(asks, ids, interrupt, thread=thread, path="n", at=store.clock.now())
    store.append(Commit(thread, (Draft("pause", "{}"),), tuple(ItemChange(item) for item in items)))
    return items


YES, NO = {"type": "approve"}, {"type": "reject"}


def test_what_waits_is_listed_oldest_first_in_pages(store):
    items = [put(store, f"t{n}")[0] for n in range(5)]
    desk = Inbox(store)
    first = desk.pending(limit=2)
    last = first[-1]
    rest = desk.pending(after=(last.asked_at, last.id))
    assert [one.id for one in first + rest] == [one.id for one in items]
    assert [one.thread for one in desk.pending(thread="t3")] == ["t3"]


def test_an_item_is_found_by_its_id_its_questions_id_or_how_its_id_begins(store):
    (item,) = put(store, "t")
    desk = Inbox(store)
    for id in (item.id, item.interrupt, item.id[:8]):
        assert desk.get(id).id == item.id
    for id in ("", item.id[:3], "no such", "0" * 32):
        with pytest.raises(UnknownId, match="no item"):
            desk.get(id)


def test_an_id_that_stands_for_several_items_names_them(store):
    items = put(store, "t", size=2)
    with pytest.raises(UnknownId, match="stands for 2") as caught:
        Inbox(store).get(items[0].interrupt)
    assert all(item.id in str(caught.value) for item in items)


def test_a_decision_is_kept_and_written_into_the_log(store):
    (item,) = put(store, "t")
    decided = Inbox(store).decide(item.id, {"type": "reject", "message": "no"}, by="ann")
    assert (decided.state, decided.decision and decided.decision.by) == ("decided", "ann")
    entry = store.entries("t")[-1]
    assert entry.kind == "decide"
    assert json.loads(entry.body)["items"][0]["by"] == "ann"
    assert Inbox(store).pending() == []
    assert Inbox(store).get(item.id) == decided


def test_the_same_decision_again_changes_nothing_and_another_is_told_who_was_first(store):
    (item,) = put(store, "t")
    desk = Inbox(store)
    first = desk.decide(item.id, YES, by="ann")
    assert desk.decide(item.id, YES, by="bob") == first
    with pytest.raises(AlreadyDecided, match="approve by ann"):
        desk.decide(item.id, NO, by="bob")
    assert len(store.entries("t")) == 2


def test_a_refused_decision_leaves_the_item_open_and_the_right_one_works(store):
    (item,) = put(store, "t")
    desk = Inbox(store)
    for raw, kind in (
        ({"type": "edit"}, NotAllowed), ({"typ": "approve"}, WrongAnswer), ("yes", WrongAnswer),
    ):  # fmt: skip
        with pytest.raises(kind):
            desk.decide(item.id, raw)
    assert len(store.entries("t")) == 1
    assert desk.decide(item.id, YES).state == "decided"


class Raced(InMemorySaver):
    """Someone else decides just before the first append of a decision."""

    rival: Callable[[], object] | None = None

    def append(self, commit):
        rival, self.rival = self.rival, None
        if rival is not None:
            rival()
        return super().append(commit)


def test_who_loses_a_race_is_told_and_who_says_the_same_is_not():
    for decision, loses in ((YES, False), (NO, True)):
        store = Raced(clock=ManualClock())
        (item,) = put(store, "t")
        store.rival = lambda store=store, id=item.id: Inbox(store).decide(id, YES, by="ann")
        if loses:
            with pytest.raises(AlreadyDecided, match="ann"):
                Inbox(store).decide(item.id, decision, by="bob")
        else:
            decided = Inbox(store).decide(item.id, decision, by="bob").decision
            assert decided is not None
            assert decided.by == "ann"


def test_an_item_that_never_comes_to_rest_ends_in_a_conflict():
    class Restless(InMemorySaver):
        def append(self, commit):
            if commit.entries[0].kind == "decide":
                raise Conflict("not as expected", item=commit.items[0].item)
            return super().append(commit)

    store = Restless(clock=ManualClock())
    (item,) = put(store, "t")
    with pytest.raises(Conflict, match="does not come to rest"):
        Inbox(store).decide(item.id, YES)


def test_a_failing_store_is_passed_on():
    class Full(InMemorySaver):
        def append(self, commit):
            if commit.entries[0].kind == "decide":
                raise StoreFailed("full")
            return super().append(commit)

    store = Full(clock=ManualClock())
    (item,) = put(store, "t")
    with pytest.raises(StoreFailed):
        Inbox(store).decide(item.id, YES)
    assert Inbox(store).get(item.id).state == "pending"


def test_the_log_still_verifies_after_decisions(store):
    from hitl.checkpoint import verify

    items = put(store, "t", size=2)
    for item in items:
        Inbox(store).decide(item.id, YES)
    assert verify(store.entries("t")) is None


@pytest.mark.parametrize("by", [5, True, [], {"$ne": 1}, "", "x" * 513, "\ud800", "a\x00"])
def test_a_reviewer_is_a_printable_text(by):
    with pytest.raises(Misuse, match="printable text"):
        Inbox(InMemorySaver()).decide("0" * 32, {"type": "approve"}, by=by)


@pytest.mark.parametrize("id", [None, 1, True, b"x"])
def test_an_items_id_is_a_text(id):
    with pytest.raises(Misuse, match="text"):
        Inbox(InMemorySaver()).get(id)


def test_a_desk_wants_a_store():
    with pytest.raises(Misuse, match="no checkpointer"):
        Inbox("runs.db")  # type: ignore[arg-type]
