"""Two real processes want the same pause at once: one wins, the other is told."""

from __future__ import annotations

import fcntl
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import pytest

from hitl import SqliteSaver
from hitl.inbox import Inbox

ROUNDS = range(4)


def item_of(place):
    with SqliteSaver(place.store) as saver:
        return saver.items(thread="t", limit=10)[0]


def both(place, orders):
    children = [place.child(order) for order in orders]
    with ThreadPoolExecutor() as pool:  # both are heard at once: neither waits for the other
        return list(pool.map(lambda child: child.heard(), children))


def answers(id, *decisions):
    return [{"input": {"resume": {id: {"type": one}}}} for one in decisions]


@pytest.mark.parametrize("_attempt", ROUNDS)
def test_of_an_approval_and_a_rejection_one_wins(place, waiting, _attempt):
    id = waiting({})
    said = both(place, answers(id, "approve", "reject"))
    end = place.run({"input": None})
    won = item_of(place).decision.type
    loser = said[1] if won == "approve" else said[0]
    assert loser["error"] == "AlreadyDecided"
    assert len(place.ran()) == (won == "approve")
    assert (end["waits"], end["last"]) == ([], "done")


@pytest.mark.parametrize("_attempt", ROUNDS)
def test_two_approvals_run_it_once(place, waiting, _attempt):
    id = waiting({})
    said = both(place, answers(id, "approve", "approve"))
    end = place.run({"input": None})
    assert len(place.ran()) == 1
    assert {one.get("error") for one in said} <= {None, "Busy"}
    assert (end["waits"], end["results"]) == ([], ["paid 5"])


@pytest.mark.parametrize("_attempt", ROUNDS)
def test_two_answers_by_position_run_it_once(place, waiting, _attempt):
    waiting({})
    order = {"input": {"resume": {"decisions": [{"type": "approve"}]}}}
    said = both(place, [order, order])
    end = place.run({"input": None})
    assert len(place.ran()) == 1
    assert None in {one.get("error") for one in said}
    assert (end["waits"], end["results"]) == ([], ["paid 5"])


def test_while_one_worker_runs_the_call_the_other_is_told_that_it_is_busy(place, waiting, tmp_path):
    id = waiting({})
    with SqliteSaver(place.store) as saver:
        Inbox(saver).decide(id, {"type": "approve"}, by="ann")
    lock = tmp_path / "lock"
    lock.touch()
    order = {"input": None, "lock": str(lock)}
    with lock.open() as held, ThreadPoolExecutor() as pool:
        fcntl.flock(held, fcntl.LOCK_EX)
        children = [place.child(order), place.child(order)]
        heard = [pool.submit(child.heard) for child in children]
        first = wait(heard, return_when=FIRST_COMPLETED).done
        assert [one.result()["error"] for one in first] == ["Busy"]
        fcntl.flock(held, fcntl.LOCK_UN)
        (last,) = [one.result() for one in heard if one not in first]
    assert last["results"] == ["paid 5"]
    assert len(place.ran()) == 1


def test_a_decision_that_finds_the_thread_busy_is_kept(place, waiting, tmp_path):
    id = waiting({})
    lock = tmp_path / "lock"
    lock.touch()
    (order, again) = answers(id, "approve", "approve")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with ThreadPoolExecutor() as pool:
            running = pool.submit(place.child({**order, "lock": str(lock)}).heard)
            while not place.ran():  # until its body has begun
                pass
            assert place.run(again).get("error") in (None, "Busy")
            fcntl.flock(held, fcntl.LOCK_UN)
            assert running.result()["results"] == ["paid 5"]
    assert len(place.ran()) == 1
