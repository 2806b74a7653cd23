"""Votes, deadlines and grants on the command line."""

from __future__ import annotations

import time

import pytest

from hitl.checkpoint import SqliteSaver
from hitl.cli.history import told
from hitl.ledger import Ask, items_of
from hitl.values import Commit, Draft, Entry, ItemChange, fingerprint


@pytest.fixture
def put(hitl):
    """Puts a call with some rules into the store of the working folder."""

    def put(number=1, *, ago=0.0, **rules):
        args = {"n": number}
        ask = Ask("action", fingerprint("pay", args), {"name": "pay", "args": args},
                  ("approve", "reject"), rules)  # fmt: skip
        ids = [f"{number:x}" * 32]
        at = time.time() - ago
        (item,) = items_of([ask], ids, f"{number + 8:x}" * 32, thread="t1", path="n", at=at)
        with SqliteSaver("hitl.db") as store:
            store.append(Commit("t1", (Draft("pause", "{}"),), (ItemChange(item),)))
        return item.id

    return put


def test_a_vote_is_told_as_one_and_who_voted_is_shown(hitl, put):
    id = put(reviewers=[{"need": 2}])
    shown = hitl("approve", id, "--by", "ann")
    assert shown.code == 0
    assert "voted: approve by ann" in shown.out
    assert "It has the votes of 1 of 2." in shown.out
    listed = hitl("inbox")
    assert "votes" in listed.out
    assert "1 of 2" in listed.out
    whole = hitl("show", id)
    assert "1 of 2; approve by ann" in whole.out
    item = hitl("show", id, "--json").doc["item"]
    assert (item["progress"], item["votes"][0]["by"]) == ("1 of 2", "ann")
    assert hitl("approve", id, "--by", "bob").out.startswith("approve by bob")
    assert [entry for entry in hitl("log", "t1").out.split("\n") if "voted" in entry]


def test_who_may_not_decide_is_refused_with_what_it_takes(hitl, put):
    id = put(reviewers=[{"any_of": ["finance"], "people": ["ann"]}])
    shown = hitl("approve", id, "--by", "eve")
    assert shown.code == 5
    assert "It takes 1 of finance" in shown.err


def test_what_ends_first_is_listed_first(hitl, put):
    put(1, ago=50)
    late, soon = put(2, ago=40, deadline={"after": 7200}), put(3, deadline={"after": 600})
    assert hitl.ids() == [soon, late, "1" * 32]
    listed = hitl("inbox").out
    assert "ends in" in listed
    assert "9 min" in listed
    document = hitl("show", soon, "--json").doc["item"]
    assert document["deadline"].endswith("+00:00")
    assert "deadline" in hitl("show", soon).out
    assert hitl("inbox", "--limit", "1", "--json").doc["more"]


def test_columns_that_would_be_empty_are_left_out(hitl, put):
    put()
    listed = hitl("inbox").out
    assert "ends in" not in listed
    assert "votes" not in listed


def test_a_late_decision_is_refused_and_a_sweep_expires_it(hitl, put):
    id = put(ago=100, deadline={"after": 60})
    shown = hitl("approve", id)
    assert shown.code == 5
    assert "expired at" in shown.err
    swept = hitl("sweep")
    assert "pay(n=1) of thread t1" in swept.out
    assert "1 expired." in swept.out
    assert hitl("sweep", "--json").doc == {"expired": []}
    whole = hitl("show", id)
    assert "Nobody decided in time" in whole.out
    assert "nobody in time" in whole.out
    assert "expired  nobody" in hitl("log", "t1").out


def test_a_grant_is_given_listed_and_taken_back(hitl, put):
    limit = {"scope": "same_args", "ttl": 7200, "uses": 5}
    id = put(grants=limit, policy={"id": "p", "rules": ["pays"]})
    words = ("--grant", "same_args", "--for", "1h", "--uses", "2", "--by", "ann")
    assert hitl("approve", id, *words).code == 0
    listed = hitl("grants", "list").out
    assert "pay" in listed
    assert "2 of 2" in listed
    (grant,) = hitl("grants", "list", "--json").doc["grants"]
    assert (grant["by"], grant["left"], grant["rules"]) == ("ann", 2, ["pays"])
    assert hitl("show", grant["id"]).code == 2, "it is no item"
    gone = hitl("grants", "revoke", grant["id"][:8], "--by", "bob")
    assert "is revoked" in gone.out
    assert "No grant counts" in hitl("grants", "list").out
    assert "revoked" in hitl("grants", "list", "--all").out
    assert "revoked by bob" in hitl("log", "t1").out
    assert hitl("grants", "revoke", "0000").code == 2


def test_a_grant_is_not_given_where_nothing_permits_it(hitl, put):
    id = put()
    shown = hitl("approve", id, "--grant", "same_args", "--by", "ann")
    assert shown.code == 5
    assert "cannot be remembered" in shown.err
    assert hitl("approve", id, "--uses", "2").code == 2
    assert hitl("approve", id, "--grant", "same_args", "--for", "soon").code == 2
    assert hitl.ids() == [id]


def test_a_use_of_a_grant_is_told_in_the_log():
    body = '{"grant":"abcdefghij","name":"pay","left":1,"for":"t2"}'
    entry = Entry(1, "use", 0, 0.0, body, "h")
    assert told(entry, {}, {}).text == ["grant    pay [abcdefgh]: 1 left, for thread t2"]
