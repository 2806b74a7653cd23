"""What the promises of a checkpointer are tested with: a store, a clock, small values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hitl.checkpoint import Checkpointer
from hitl.values import Clock, Commit, Decision, Draft, Item, ItemChange, ManualClock, Receipt

__all__ = ["HOUR", "StoreCase", "an_item", "approve", "step"]

HOUR = 3600.0
"""Longer than any lease may last that nobody renews."""


def step(body: str = "{}", kind: str = "step", *, parent: int = 0, base: bool = False) -> Draft:
    """Return an entry to append, one of a run unless told otherwise."""
    return Draft(kind, body, parent, base)


def an_item(number: int, thread: str = "t", *, interrupt: int | None = None) -> Item:
    """Return a pending item whose id follows from a number."""
    return Item(
        id=f"{number:032x}",
        thread=thread,
        interrupt=f"{number if interrupt is None else interrupt:032x}",
        kind="action",
        fingerprint=f"print {number}",
        subject={"name": "send", "args": {"to": ["a", "é\ud800"], "n": 1.5, "no": None}},
        allowed=("approve", "reject"),
        rules={"tools": ["send"]},
        path="agent/tools",
        call_id=f"call {number}",
        asked_at=float(number),
    )


def approve(item: Item, by: str = "ann") -> ItemChange:
    """Return the change that decides a pending item."""
    decision = Decision("approve", {"message": "go"}, by, 12.5)
    return ItemChange(replace(item, state="decided", decision=decision), (item.version, item.state))


class StoreCase:
    """A store under test, its clock, and how a test takes a lease."""

    def make(self, clock: Clock, folder: Path) -> Checkpointer:
        """Return a new, empty store that tells the time by ``clock``; ``folder`` is its own."""
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The clock of the store under test."""
        return ManualClock()

    @pytest.fixture
    def store(self, clock: ManualClock, tmp_path: Path) -> Iterator[Checkpointer]:
        """The store under test, closed afterwards."""
        store = self.make(clock, tmp_path)
        yield store
        store.close()

    @staticmethod
    def acquire(store: Checkpointer, owner: str) -> Receipt:
        """Start a run of thread ``t``, holding its lease as ``owner``."""
        return store.append(Commit("t", (step(kind="input"),), lease="acquire", owner=owner))
