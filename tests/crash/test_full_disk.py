"""The disk is full at any moment of a run: what was committed stays, and the run can go on."""

from __future__ import annotations

import pytest

pytest.importorskip("resource", reason="the system sets no limits to files")

APPROVE = {"type": "approve"}


@pytest.mark.parametrize("pages", [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 30])
def test_a_disk_that_is_full_loses_nothing_and_repeats_nothing(place, waiting, pages):
    id = waiting({})
    beside = place.store.with_name("runs.db-wal")
    room = max(file.stat().st_size for file in (place.store, beside) if file.exists())
    order = {"input": {"resume": {id: APPROVE}}}
    said = place.run({**order, "room": room + pages * 4096})
    assert said.get("error") in (None, "StoreFailed")
    assert len(place.ran()) <= 1
    said = place.run(order if said.get("error") else {"input": None})
    if said["waits"]:
        lost = said["waits"][0]["outcome_unknown"]
        answer = {"type": "respond", "message": "paid 5"} if place.ran() else {"type": "retry"}
        said = place.run({"input": {"resume": {lost["id"]: answer}}})
    assert (said["waits"], said["results"], said["last"]) == ([], ["paid 5"], "done")
    assert len(place.ran()) == 1
