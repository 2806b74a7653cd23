"""What a checkpointer promises of its items."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from hitl.checkpoint import Checkpointer, verify
from hitl.errors import Conflict, Misuse
from hitl.testing.store_case import StoreCase, an_item, approve, step
from hitl.values import Commit, Decision, Item, ItemChange, ManualClock

__all__ = ["ItemPromises"]


class ItemPromises(StoreCase):
    """Items: compared and set, listed by pages, never those of another thread."""

    def test_an_item_comes_back_as_it_was(self, store: Checkpointer) -> None:
        """All fields of an item are kept, its decision too."""
        item = replace(an_item(1), index=3, version=2)
        store.append(Commit("t", (step(kind="pause"),), (ItemChange(item),)))
        assert store.items() == [item] == list(store.load("t").items.values())
        change = approve(item)
        store.append(Commit("t", (step(kind="decide"),), (change,)))
        assert store.items(ids=[item.id]) == [change.item]

    def test_votes_and_a_deadline_come_back_as_they_were(self, store: Checkpointer) -> None:
        """They are kept with the item, in the order of the votes."""
        votes = (Decision("approve", {}, "ann", 1.5), Decision("edit", {"x": [1]}, "bob", 2.5))
        item = replace(an_item(1), votes=votes, deadline=1_000_000_123.456)
        store.append(Commit("t", (), (ItemChange(item),)))
        assert store.items() == [item] == list(store.load("t").items.values())
        fewer = replace(item, votes=votes[:1], version=2, deadline=None)
        store.append(Commit("t", (), (ItemChange(fewer, (1, "pending")),)))
        assert store.items() == [fewer]

    def test_a_change_is_made_only_within_its_time(
        self, store: Checkpointer, clock: ManualClock
    ) -> None:
        """The store's clock says so inside the transaction: from a time on, before another."""
        item, start = an_item(1), clock.now()
        store.append(Commit("t", (step(kind="pause"),), (ItemChange(item),)))
        change = approve(item)._replace(within=(start + 10, start + 20))
        for wound, in_time in ((0, False), (9.5, False), (10.5, False), (-0.5, True)):
            clock.advance(wound)  # to 0, 9.5, 20 and 19.5 seconds
            if in_time:
                store.append(Commit("t", (step(kind="decide"),), (change,)))
                continue
            with pytest.raises(Conflict) as caught:
                store.append(Commit("t", (step(kind="decide"),), (change,)))
            assert caught.value.fields["item"] == item
        assert store.items() == [change.item]
        assert store.load("t").mark.seq == 2

    def test_items_are_listed_by_their_deadline(self, store: Checkpointer) -> None:
        """What is due by a time is found, and nothing without a deadline."""
        times = (None, 30.0, 10.0, 20.0)
        items = [replace(an_item(n), deadline=at) for n, at in enumerate(times, 1)]
        store.append(Commit("t", (), tuple(map(ItemChange, items))))

        def due(at: float, **by: object) -> list[Item]:
            return store.items(due=at, **by)  # type: ignore[arg-type]

        assert due(9.9) == []
        assert due(20.0) == [items[2], items[3]]
        assert due(float("inf"), states=["pending"]) == items[1:]
        assert due(float("inf"), states=["decided"]) == []
        assert due(float("inf"), states=["pending"], limit=1, after=(2.0, items[1].id)) == [
            items[2]
        ]

    def test_grants_are_listed_by_their_state(self, store: Checkpointer) -> None:
        """A remembered answer is an item that a run has nothing to do with."""
        kept = replace(an_item(1), kind="grant", state="granted", deadline=5.0)
        store.append(Commit("t", (), (ItemChange(kept), ItemChange(an_item(2)))))
        assert store.items(states=["granted"]) == [kept] == store.items(ids=[kept.interrupt])
        assert list(store.load("t").items) == [an_item(2).id]

    def test_a_stored_item_cannot_be_changed_from_outside(self, store: Checkpointer) -> None:
        """Neither what was given nor what was read is the stored item itself."""
        subject: dict[str, object] = {"args": {"to": "a"}}
        item = replace(an_item(1), subject=subject)  # type: ignore[arg-type]
        store.append(Commit("t", (), (ItemChange(item),)))
        subject["args"] = "changed"
        (first,) = store.items()
        first.rules["more"] = 1
        (second,) = store.items()
        assert second.subject == {"args": {"to": "a"}}
        assert "more" not in second.rules

    def test_a_providers_odd_call_id_is_no_obstacle(self, store: Checkpointer) -> None:
        """What is not valid UTF-8 in a label is shown as an escape."""
        item = replace(an_item(1), call_id="\ud800", path="\ud801")
        store.append(Commit("t", (), (ItemChange(item),)))
        (shown,) = store.items()
        assert (shown.call_id, shown.path) == ("\\ud800", "\\ud801")

    def test_one_decision_wins(self, store: Checkpointer) -> None:
        """The second decision is refused and told what was decided, and leaves nothing."""
        item = an_item(1)
        store.append(Commit("t", (step(kind="pause"),), (ItemChange(item),)))
        store.append(Commit("t", (step(kind="decide"),), (approve(item, "ann"),)))
        with pytest.raises(Conflict) as caught:
            store.append(Commit("t", (step(kind="decide"),), (approve(item, "bob"),)))
        stored = caught.value.fields["item"]
        assert isinstance(stored, Item)
        assert stored.decision is not None
        assert stored.decision.by == "ann"
        assert store.load("t").mark.seq == 2

    def test_threads_that_race_to_decide_have_one_winner_each(self, store: Checkpointer) -> None:
        """Of several threads that decide the same items, exactly one wins each."""
        items = [an_item(n) for n in range(1, 21)]
        store.append(Commit("t", (), tuple(map(ItemChange, items))))
        wins: list[str] = []

        def decide(name: str) -> None:
            for item in items:
                try:
                    store.append(Commit("t", (step(kind="decide"),), (approve(item, name),)))
                    wins.append(item.id)
                except Conflict:
                    pass

        threads = [threading.Thread(target=decide, args=(f"r{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(wins) == [item.id for item in items]
        assert store.load("t").mark.seq == len(items)
        assert verify(store.entries("t")) is None

    @pytest.mark.parametrize(
        ("now", "expect"),
        [
            (replace(an_item(1), version=2), (2, "pending")),
            (an_item(1), (1, "decided")),
            (replace(an_item(1), fingerprint="other"), (1, "pending")),
            (an_item(1), None),
            (an_item(2), (1, "pending")),
        ],
        ids=["other version", "other state", "other fingerprint", "id is taken", "no such item"],
    )
    def test_an_item_that_is_not_as_expected_is_a_conflict(
        self, store: Checkpointer, now: Item, expect: tuple[int, str] | None
    ) -> None:
        """Version, state and fingerprint are compared; a failed commit stores nothing."""
        store.append(Commit("t", (), (ItemChange(an_item(1)),)))
        before = store.items()
        with pytest.raises(Conflict):
            store.append(Commit("t", (step(),), (ItemChange(an_item(3)), ItemChange(now, expect))))
        assert store.items() == before
        assert store.load("t").mark.seq == 0

    def test_a_new_version_may_have_a_new_fingerprint(self, store: Checkpointer) -> None:
        """An edit that must be looked at again changes what the reviewer sees."""
        store.append(Commit("t", (), (ItemChange(an_item(1)),)))
        newer = replace(an_item(1), version=2, fingerprint="other")
        store.append(Commit("t", (), (ItemChange(newer, (1, "pending")),)))
        assert store.items()[0].fingerprint == "other"

    def test_items_of_other_threads_are_out_of_reach(self, store: Checkpointer) -> None:
        """An item of another thread is neither changed nor shown."""
        item = an_item(1, "a")
        store.append(Commit("a", (), (ItemChange(item),)))
        for change in (approve(item), approve(replace(item, thread="b"))):
            with pytest.raises(Conflict) as caught:
                store.append(Commit("b", (step(),), (change,)))
            assert caught.value.fields["item"] is None
        assert store.items() == [item]
        assert store.load("b").mark.seq == 0

    def test_items_are_listed_by_age_state_thread_and_id(self, store: Checkpointer) -> None:
        """A listing takes any mix of its filters, oldest question first."""
        mine = [an_item(n, "a", interrupt=9) for n in (3, 1, 2)]
        store.append(Commit("a", (), tuple(map(ItemChange, mine))))
        store.append(Commit("b", (), (ItemChange(an_item(4, "b")),)))
        store.append(Commit("a", (), (approve(an_item(2, "a", interrupt=9)),)))
        one, two, three, four = (f"{n:032x}" for n in (1, 2, 3, 4))

        def listed(**by: object) -> list[str]:
            return [item.id for item in store.items(**by)]  # type: ignore[arg-type]

        assert listed() == [one, two, three, four]
        assert listed(states={"pending"}) == [one, three, four]
        assert listed(states=["pending"], thread="a") == [one, three]
        assert listed(states=["decided", "pending"], thread="a") == [one, two, three]
        assert listed(states=[]) == []
        assert listed(ids=[f"{9:032x}"]) == [one, two, three]
        assert listed(ids=[two, four, "unknown"]) == [two, four]
        assert listed(ids=[]) == []
        assert listed(ids=[two, four], states=["pending"]) == [four]
        assert listed(after=(2.0, two)) == [three, four]
        assert listed(states=["pending"], after=(1.0, one), limit=1) == [three]
        assert listed(limit=0) == []

    @pytest.mark.parametrize(
        "wrong", [{"limit": "x"}, {"limit": 1.5}, {"states": "pending"}, {"after": "x"}]
    )
    def test_a_listing_that_is_asked_for_wrongly_is_misuse(
        self, store: Checkpointer, wrong: dict[str, Any]
    ) -> None:
        """No error of Python's own, and no empty page for want of brackets."""
        store.append(Commit("t", (step(),), (ItemChange(an_item(1)),)))
        with pytest.raises(Misuse):
            store.items(**wrong)
        no_number: Any = "x"
        with pytest.raises(Misuse):
            store.threads(limit=no_number)
        with pytest.raises(Misuse):
            store.entries("t", limit=no_number)

    def test_items_of_the_same_moment_are_paged_by_id(self, store: Checkpointer) -> None:
        """A page ends anywhere, and the next one goes on there."""
        items = [replace(an_item(n), asked_at=7.0) for n in range(1, 12)]
        store.append(Commit("t", (), tuple(map(ItemChange, items))))
        seen: list[Item] = []
        while page := store.items(
            states=["pending"], limit=4, after=(seen[-1].asked_at, seen[-1].id) if seen else None
        ):
            seen += page
        assert seen == items

    def test_a_load_has_the_live_items_only(self, store: Checkpointer) -> None:
        """What a run has done with stays out of the way, however much there is."""
        one, two = an_item(1), an_item(2)
        store.append(Commit("t", (), (ItemChange(one), ItemChange(two))))
        gone = replace(one, state="superseded")
        store.append(Commit("t", (), (ItemChange(gone, (1, "pending")),)))
        assert dict(store.load("t").items) == {two.id: two}
        assert len(store.items(thread="t")) == 2
