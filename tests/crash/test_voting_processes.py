"""Real processes vote on the same items, and meet at their deadline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hitl.checkpoint import SqliteSaver, verify
from hitl.inbox import Inbox
from hitl.ledger import Ask, items_of
from hitl.values import Commit, Draft, ItemChange, ManualClock

PROGRAM = Path(__file__).with_name("voter.py")
ITEMS = 12


@pytest.fixture
def voters(tmp_path):
    """Starts processes with a name and a clock each; all of them speak at once."""
    children: list[subprocess.Popen[str]] = []

    def start(*people):
        for name, now, *when in people:
            command = [sys.executable, str(PROGRAM), str(tmp_path / "t.db"), name, str(now), *when]
            child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            children.append(child)
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"

        def all_say(id):
            for child in children:
                assert child.stdin is not None
                child.stdin.write(f"{id}\n")
                child.stdin.flush()
            return [child.stdout.readline().strip() for child in children if child.stdout]

        return all_say

    yield start
    for child in children:
        child.communicate()


def put(path, **rules):
    with SqliteSaver(path) as store:
        ask = Ask("action", "f" * 32, {"name": "pay", "args": {}}, ("approve", "reject"), rules)
        items = [
            items_of([ask], [f"{n:032x}"], f"{n + 99:032x}", thread="t", path="n", at=0.0)[0]
            for n in range(ITEMS)
        ]
        store.append(Commit("t", (Draft("pause", "{}"),), tuple(map(ItemChange, items))))
    return [item.id for item in items]


def test_no_vote_is_lost_between_processes_and_the_last_one_decides(voters, tmp_path):
    ids = put(tmp_path / "t.db", reviewers=[{"need": 3}])
    all_say = voters(("ann", 1), ("bob", 1), ("cy", 1))
    for id in ids:
        assert sorted(all_say(id)) == ["decided", "pending", "pending"]
    with SqliteSaver(tmp_path / "t.db") as store:
        for item in store.items(ids=ids):
            assert {vote.by for vote in item.votes} == {"ann", "bob", "cy"}
            assert item.decision == item.votes[-1]
        assert verify(store.entries("t")) is None


def test_at_the_deadline_a_call_is_decided_or_expired_and_never_both(voters, tmp_path):
    ids = put(tmp_path / "t.db", deadline={"after": 10}, reviewers=[{}])
    # The clocks of two machines differ: the one has a moment left, the other has none.
    all_say = voters(("ann", 9.999), ("sweep", 10), ("bob", 10))
    for id in ids:
        ann, _, bob = all_say(id)
        assert ann in ("decided", "Expired")
        assert bob in ("decided", "Expired"), "the same yes again is told that it is decided"
    with SqliteSaver(tmp_path / "t.db") as store:
        items = store.items(ids=ids, limit=ITEMS)
        kinds = [entry.kind for entry in store.entries("t")]
        decided = [item for item in items if item.state == "decided"]
        assert all(item.decision and item.decision.by == "ann" for item in decided)
        assert {item.state for item in items} <= {"decided", "expired"}
        assert kinds.count("decide") == len(decided)
        assert kinds.count("expire") == ITEMS - len(decided)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_vote_of_a_process_that_dies_is_there_whole_or_not_at_all(voters, tmp_path, when):
    id = put(tmp_path / "t.db", reviewers=[{"need": 2}])[0]
    assert voters(("ann", 1, when))(id) == [""], "it was killed before it could say anything"
    with SqliteSaver(tmp_path / "t.db") as store:
        desk = Inbox(store)
        item = desk.get(id)
        assert [vote.by for vote in item.votes] == (["ann"] if when == "after" else [])
        assert len(store.entries("t")) == 1 + len(item.votes)
        assert desk.decide(id, {"type": "approve"}, by="ann").state == "pending"
        assert desk.decide(id, {"type": "approve"}, by="bob").state == "decided"


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_expires_while_a_process_dies_is_expired_or_waits_for_the_next(voters, tmp_path, when):
    id = put(tmp_path / "t.db", deadline={"after": 10})[0]
    assert voters(("sweep", 10, when))(id) == [""]
    with SqliteSaver(tmp_path / "t.db", clock=ManualClock(10)) as store:
        done = ITEMS - len(Inbox(store).pending())
        assert done == (1 if when == "after" else 0)
        assert len(Inbox(store).sweep()) == ITEMS - done
        assert all(item.state == "expired" for item in store.items(thread="t"))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_dies_beside_a_use_loses_it_at_the_most(voters, tmp_path, when):
    limit = {"scope": "same_args", "ttl": 3600, "uses": 3}
    id = put(tmp_path / "t.db", grants=limit)[0]
    with SqliteSaver(tmp_path / "t.db", clock=ManualClock(1)) as store:
        Inbox(store).decide(id, {"type": "approve", "grant": {}}, by="ann")
    assert voters(("use", 2, when))(id) == [""]
    with SqliteSaver(tmp_path / "t.db", clock=ManualClock(3)) as store:
        (grant,) = Inbox(store).grants.list()
        assert grant.left == (2 if when == "after" else 3)
