"""What nobody decides in time, in a store."""

from __future__ import annotations

import pytest

from hitl.errors import Expired
from hitl.inbox import Inbox
from hitl.values import ItemChange

YES = {"type": "approve"}


def test_a_late_decision_is_refused_whether_or_not_somebody_swept(store, asked):
    desk, item = Inbox(store), asked(deadline={"after": 60})
    store.clock.advance(60)
    for _ in range(2):
        with pytest.raises(Expired, match="expired at"):
            desk.decide(item.id, YES, by="ann")
        desk.sweep()
    assert desk.get(item.id).state == "expired"


def test_a_sweep_expires_what_is_overdue_and_nothing_else(store, asked):
    desk = Inbox(store)
    late = [asked(f"t{n}", deadline={"after": 60}) for n in range(3)]
    kept = [asked("t0", deadline={"after": 90}), asked("t1")]
    decided = desk.decide(asked("t2", deadline={"after": 60}).id, YES, by="ann")
    assert desk.sweep() == []
    store.clock.advance(60)
    assert [item.id for item in desk.sweep()] == [item.id for item in late]
    assert desk.sweep() == []
    assert desk.pending() == kept
    assert desk.get(decided.id).state == "decided"
    assert [entry.kind for entry in store.entries("t0")][-1] == "expire"


def test_a_sweep_leaves_alone_what_is_decided_at_the_same_moment(store, asked, monkeypatch):
    desk, item = Inbox(store), asked(deadline={"after": 60})
    append = store.append

    def raced(commit):
        monkeypatch.setattr(store, "append", append)
        store.clock.advance(-1)  # another machine's clock is behind
        Inbox(store).decide(item.id, YES, by="ann")
        return append(commit)

    store.clock.advance(60)
    monkeypatch.setattr(store, "append", raced)
    assert desk.sweep() == []
    assert desk.get(item.id).state == "decided"


def test_a_sweep_leaves_alone_what_was_deleted(store, asked, monkeypatch):
    desk, item = Inbox(store), asked(deadline={"after": 60})
    store.clock.advance(60)
    pending = desk.pending

    def raced(**by):
        page = pending(**by)
        store.delete_thread(item.thread)
        return page

    monkeypatch.setattr(desk, "pending", raced)
    assert desk.sweep() == []


def test_what_has_a_deadline_can_be_asked_for(store, asked):
    soon, _, later = asked(deadline={"after": 60}), asked(), asked(deadline={"after": 90})
    desk = Inbox(store)
    assert desk.pending(due=float("inf")) == [soon, later]
    assert desk.pending(due=soon.deadline) == [soon]


def test_a_change_of_its_time_is_no_matter_of_an_item_without_deadline(store, asked):
    item = asked()
    store.clock.advance(1e9)
    assert Inbox(store).decide(item.id, YES, by="ann").state == "decided"
    assert ItemChange(item).within is None
