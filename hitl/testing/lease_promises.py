"""What a checkpointer promises of leases, and of deleted threads."""

from __future__ import annotations

import pytest

from hitl.checkpoint import Checkpointer, activate, new_owner, retire, verify
from hitl.errors import Busy, Misuse, Stale
from hitl.testing.store_case import HOUR, StoreCase, an_item, approve, step
from hitl.values import Commit, ItemChange, ManualClock, Mark

__all__ = ["LeasePromises"]


class LeasePromises(StoreCase):
    """One writer at a time, and none that comes late."""

    def test_taking_the_lease_gives_a_new_fence(self, store: Checkpointer) -> None:
        """Each lease has a higher fence; giving it back frees the thread for the next one."""
        first = self.acquire(store, "one")
        assert first.fence == 1
        assert store.load("t").mark.owner == "one"
        last = store.append(Commit("t", (step(),), fence=1, lease="release", owner="one"))
        assert last.fence is None
        assert store.load("t").mark.owner == ""
        assert self.acquire(store, "two").fence == 2

    def test_a_held_thread_is_busy(self, store: Checkpointer) -> None:
        """A second run is refused and stores nothing."""
        self.acquire(store, "one")
        with pytest.raises(Busy) as caught:
            self.acquire(store, "two")
        assert caught.value.fields["thread"] == "t"
        assert store.load("t").mark.seq == 1

    def test_a_decision_for_a_busy_thread_is_kept(self, store: Checkpointer) -> None:
        """A lenient commit that cannot have the lease stores the rest and has no fence."""
        item = an_item(1)
        self.acquire(store, "one")
        store.append(Commit("t", (step(kind="pause"),), (ItemChange(item),), fence=1))
        decide = Commit(
            "t", (step(kind="decide"),), (approve(item),), 1, None, "acquire", "two", lenient=True
        )
        assert store.append(decide).fence is None
        mark = store.load("t").mark
        assert (mark.seq, mark.head, mark.owner, mark.fence) == (3, 2, "one", 1)
        assert store.items()[0].state == "decided"

    def test_no_entry_of_a_run_gets_in_beside_the_lease(self, store: Checkpointer) -> None:
        """Being lenient keeps decisions, it does not make a second writer."""
        self.acquire(store, "one")
        with pytest.raises(Busy):
            store.append(Commit("t", (step(),), lease="acquire", owner="two", lenient=True))

    def test_a_lenient_commit_takes_a_free_lease(self, store: Checkpointer) -> None:
        """Deciding and going on are one commit where nobody else runs."""
        commit = Commit("t", (step(kind="decide"),), lease="acquire", owner="o", lenient=True)
        assert store.append(commit).fence == 1

    def test_a_lease_ends_by_the_stores_clock(
        self, store: Checkpointer, clock: ManualClock
    ) -> None:
        """After its end another run takes over, and the old one is refused from then on."""
        self.acquire(store, "one")
        clock.advance(HOUR)
        store.append(Commit("t", (step(),), fence=1))
        assert self.acquire(store, "two").fence == 2
        old = Commit("t", (step(),), fence=1, owner="one")
        for late in (old, old._replace(lease="renew"), old._replace(lease="release")):
            with pytest.raises(Stale):
                store.append(late)
        assert store.load("t").mark.owner == "two"

    def test_a_renewed_lease_lasts(self, store: Checkpointer, clock: ManualClock) -> None:
        """Renewing moves the end and keeps the fence."""
        self.acquire(store, "one")
        clock.advance(HOUR)
        assert store.append(Commit("t", fence=1, lease="renew", owner="one")).fence == 1
        assert store.load("t").mark.until > clock.now()
        with pytest.raises(Busy):
            self.acquire(store, "two")

    def test_a_run_that_is_gone_is_taken_over_at_once(self, store: Checkpointer) -> None:
        """No waiting for the end of the lease where it is known that nobody holds it."""
        owner = new_owner()
        activate(owner)
        self.acquire(store, owner)
        with pytest.raises(Busy) as caught:
            self.acquire(store, "two")
        assert owner not in str(caught.value.fields)
        retire(owner)
        assert self.acquire(store, "two").fence == 2

    def test_the_same_owner_may_take_its_lease_again(self, store: Checkpointer) -> None:
        """A repeated start of one run moves the fence, so that only the last one writes."""
        self.acquire(store, "one")
        assert self.acquire(store, "one").fence == 2
        with pytest.raises(Stale):
            store.append(Commit("t", (step(),), fence=1))

    def test_giving_back_needs_the_fence(self, store: Checkpointer) -> None:
        """A lease is not released or renewed by somebody who does not hold it."""
        self.acquire(store, "one")
        with pytest.raises(Misuse):
            store.append(Commit("t", lease="release", owner="one"))

    def test_a_deleted_thread_is_gone(self, store: Checkpointer) -> None:
        """Log and items go; other threads stay."""
        for name, number in (("t", 1), ("u", 2)):
            store.append(Commit(name, (step(),), (ItemChange(an_item(number, name)),)))
        assert store.delete_thread("t") is True
        assert store.delete_thread("t") is False
        assert store.delete_thread("nobody") is False
        assert store.load("t").mark == Mark("t")
        assert store.entries("t") == []
        assert [item.thread for item in store.items()] == ["u"]
        assert [mark.thread for mark in store.threads()] == ["u"]

    def test_a_late_run_cannot_bring_a_deleted_thread_back(self, store: Checkpointer) -> None:
        """What was in progress when the thread was deleted is refused."""
        self.acquire(store, "one")
        store.delete_thread("t")
        for fence in (1, 2, None):
            with pytest.raises(Stale):
                store.append(Commit("t", (step(),), fence=fence))
        with pytest.raises(Stale):
            store.append(Commit("t", (step(),), expect=1, lease="acquire", owner="one"))
        assert store.threads() == []

    def test_a_deleted_threads_id_may_be_used_again(
        self, store: Checkpointer, clock: ManualClock
    ) -> None:
        """A new run starts at 1, and the old one stays out."""
        self.acquire(store, "one")
        store.delete_thread("t")
        clock.advance(9)
        receipt = store.append(Commit("t", (step(),), expect=0, lease="acquire", owner="two"))
        assert receipt.seqs == (1,)
        assert receipt.fence == 3
        assert store.load("t").mark.created_at == clock.now()
        assert verify(store.entries("t")) is None
        with pytest.raises(Stale):
            store.append(Commit("t", (step(),), fence=1))
