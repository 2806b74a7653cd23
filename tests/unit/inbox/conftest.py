"""Both stores, by a hand-wound clock, and questions put as a run does."""

from __future__ import annotations

import pytest

from hitl.checkpoint import InMemorySaver, SqliteSaver
from hitl.ledger import Ask, items_of
from hitl.values import Commit, Draft, ItemChange, ManualClock, derive, fingerprint


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


@pytest.fixture
def asked(store):
    """Puts a call with some rules on a thread, and returns its item."""
    count = iter(range(1000))

    def put(thread="t", args=None, **rules):
        args = {"to": "x"} if args is None else args
        ask = Ask(
            "action", fingerprint("pay", args), {"name": "pay", "args": args},
            ("approve", "edit", "reject"), {"args_schema": {"type": "object"}, **rules},
        )  # fmt: skip
        id = derive("salt", next(count))
        store.clock.advance(1)
        at = store.clock.now()
        (item,) = items_of([ask], [id], derive(id), thread=thread, path="n", at=at)
        store.append(Commit(thread, (Draft("pause", "{}"),), (ItemChange(item),)))
        return item

    return put
