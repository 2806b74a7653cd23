"""Looking at what waits: the table, one item, the log."""

from __future__ import annotations

import json
import sqlite3

from hitl.checkpoint import SqliteSaver, new_owner
from hitl.values import Commit


def test_the_inbox_lists_what_waits_oldest_first(hitl):
    first, second = hitl.start()
    shown = hitl("inbox")
    assert shown.code == 0
    assert shown.out.index(first[:8]) < shown.out.index(second[:8])
    for part in ("delete_rows", 'table="orders"', "t1", "approve"):
        assert part in shown.out
    assert max(map(len, shown.out.splitlines())) <= 100


def test_the_inbox_pages_and_says_that_there_is_more(hitl):
    hitl.start()
    one = hitl("inbox", "--limit", "1")
    assert "1 shown" in one.out
    assert "--all" in one.out
    assert hitl("inbox", "--limit", "1", "--json").doc["more"] is True
    assert len(hitl("inbox", "--all", "--json").doc["items"]) == 2
    assert hitl("inbox", "--limit", "0").code == 2


def test_the_inbox_of_one_thread_holds_only_its_items(hitl):
    hitl.start()
    hitl("run", "shop:agent", "more", "--thread", "t2")
    for thread in ("t1", "t2"):
        items = hitl("inbox", "--thread", thread, "--json").doc["items"]
        assert [item["thread"] for item in items] == [thread, thread]
    assert "Nothing of thread t3 waits" in hitl("inbox", "--thread", "t3").out


def test_the_inbox_keeps_thread_ids_whole_and_its_lines_clean(hitl):
    long = "customer-4711-" + "order-" * 10
    for thread in ("t1", long):
        hitl("run", "shop:agent", "x", "--thread", thread)
    shown = hitl("inbox").out
    lines = shown.splitlines()
    assert "what it would do" in lines[0]
    assert "path" not in lines[0]
    assert "after_model" not in shown
    assert f"│ {long}" in lines
    assert all(line == line.rstrip() for line in lines)


def test_a_thread_whose_process_is_gone_is_told_below_what_waits(hitl):
    hitl.start()
    assert hitl("inbox", "--json").doc["stopped"] == []
    with SqliteSaver("hitl.db") as store:
        store.append(Commit("t1", lease="acquire", owner=new_owner()))
    told = hitl("inbox")
    assert "thread t1: its process is gone in the middle of a run" in told.out
    assert told.out.endswith("\n  hitl resume shop:agent t1\n")
    stopped = [{"thread": "t1", "resume": "hitl resume shop:agent t1"}]
    assert hitl("inbox", "--json").doc["stopped"] == stopped
    assert hitl("inbox", "--thread", "t1", "--json").doc["stopped"] == stopped
    assert hitl("inbox", "--thread", "t2", "--json").doc["stopped"] == []
    for id in hitl.ids():
        hitl("approve", id)
    assert hitl("resume", "shop:agent", "t1").code == 3
    assert hitl("inbox", "--json").doc["stopped"] == []


def test_a_call_that_was_rejected_never_ran(hitl):
    for id in hitl.start():
        hitl("reject", id)
    hitl("resume", "shop:agent", "t1")
    assert hitl("log", "t1").out.count("reject for delete_rows") == 2
    assert hitl("log", "t1").out.count("; never ran") == 2
    with SqliteSaver("hitl.db") as store:
        first = store.items(thread="t1")[0].id
    shown = hitl("show", first).out
    assert "delete_rows (action, never ran)" in shown
    assert "It never ran" in shown
    assert hitl("show", first, "--json").doc["item"]["state"] == "done"


def test_an_item_is_shown_whole_with_the_exact_commands(hitl):
    first, second = hitl.start()
    hitl("reject", second, "-m", "no", "--by", "ann")
    shown = hitl("show", first)
    assert shown.code == 0
    for part in (
        "delete_rows (action, pending)",
        'table  "orders"',
        "why it asks",
        "written by the agent's setup, not verified",
        "It waits for a decision.",
        f"  hitl approve {first[:8]}\n",
        "  hitl resume shop:agent t1\n",
        'reject "no" by ann',
    ):
        assert part in shown.out
    facts, words = shown.out.split("written by the agent's setup")
    assert "arguments:" in facts
    assert "arguments:" not in words


def test_a_decided_item_says_how_it_stands_and_what_comes_next(hitl):
    first, second = hitl.start()
    hitl("approve", first)
    shown = hitl("show", first[:8]).out
    assert "the run has not taken the decision yet" in shown
    assert "hitl approve" not in shown
    hitl("approve", second)
    hitl("resume", "shop:agent", "t1")
    assert "The call ran and its result is recorded." in hitl("show", first).out


def test_the_commands_name_another_store_exactly(hitl, monkeypatch):
    hitl("run", "shop:agent", "x", "--store", "my runs.db", "--thread", "t 1")
    doc = hitl("inbox", "--store", "my runs.db", "--json").doc
    shown = hitl("show", doc["items"][0]["id"], "--store", "my runs.db").out
    assert "--store 'my runs.db'" in shown
    assert "hitl resume shop:agent 't 1' --store 'my runs.db'" in shown
    monkeypatch.setenv("HITL_STORE", "my runs.db")
    assert len(hitl.ids()) == 2


def test_the_log_tells_who_decided_what(hitl):
    first, _ = hitl.start()
    hitl("approve", first, "--by", "ann")
    shown = hitl("log", "t1")
    assert shown.code == 0
    for part in ("input", 'asked    delete_rows(table="orders"', "ann: approve", "log is whole"):
        assert part in shown.out
    lines = [json.loads(line) for line in hitl("log", "t1", "--json").out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert all(line["whole"] for line in lines)
    assert "next: after_model" in shown.out
    assert "HumanInTheLoopMiddleware.after_model" in str(lines[1]["body"])


def test_the_log_shows_an_entry_that_was_changed_and_goes_on(hitl, tmp_path):
    hitl.start()
    with sqlite3.connect(tmp_path / "hitl.db") as file:
        file.execute("UPDATE entries SET body = 'not json' WHERE seq = 2")
    file.close()
    shown = hitl("log", "t1")
    assert "its body cannot be read" in shown.out
    assert "entry 2 is not what was written" in shown.out
    assert "asked" in shown.out


def test_a_thread_that_is_not_there_is_wrong_use(hitl):
    hitl.start()
    missing = hitl("log", "order-1")
    assert missing.code == 2
    assert "There is no thread 'order-1' in 'hitl.db'" in missing.err
    assert "It holds 't1'" in missing.err
    assert "Did you mean 't1'?" in hitl("log", "t12").err
    assert "Did you mean 't1'?" in hitl("log", "t").err
    assert hitl("resume", "shop:agent", "t9").code == 2


def test_looking_never_makes_a_store(hitl, tmp_path):
    for words in (("inbox",), ("show", "abcd"), ("approve", "abcd"), ("log", "t1")):
        missing = hitl(*words)
        assert missing.code == 6
        assert "--store" in missing.err
    assert hitl("resume", "shop:agent", "t1").code == 6
    assert not list(tmp_path.glob("*.db"))


def test_a_file_that_is_no_store_is_told(hitl, tmp_path):
    (tmp_path / "notes.txt").write_text("hello" * 500)
    assert hitl("inbox", "--store", "notes.txt").code == 6
    assert hitl("inbox", "--store", ".").code == 6
    with sqlite3.connect(tmp_path / "hitl.db") as file:
        file.execute("CREATE TABLE mine (a)")
    file.close()
    other = hitl("inbox")
    assert other.code == 6
    assert "another application" in other.err
