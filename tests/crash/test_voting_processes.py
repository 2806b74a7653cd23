"""Real processes vote on the same items, and meet at their deadline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hitl.checkpoint import SqliteSaver, verify
from hitl.ledger import Ask, items_of
from hitl.values import Commit, Draft, ItemChange

PROGRAM = Path(__file__).with_name("voter.py")
ITEMS = 12


@pytest.fixture
def voters(tmp_path):
    """Starts processes with a name and a clock each; all of them speak at once."""
    children: list[subprocess.Popen[str]] = []

    def start(*people):
        for name, now in people:
            command = [sys.executable, str(PROGRAM), str(tmp_path / "t.db"), name, str(now)]
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
