"""Looking after a store: what it holds, whether it is whole, pruning, copies."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest


def damage(thread: str = "t1", path: str = "hitl.db") -> None:
    """Change an entry outside of the library."""
    with sqlite3.connect(path) as file:
        file.execute(
            "UPDATE entries SET body = '{}' WHERE seq = 1 AND thread ="
            " (SELECT num FROM threads WHERE id = ?)",
            (thread,),
        )
    file.close()


@pytest.fixture
def two(hitl):
    """Two threads that wait, t1 and t2."""
    hitl.start()
    hitl("run", "shop:agent", "more", "--thread", "t2")
    return hitl


def test_info_tells_what_the_store_holds(two):
    shown = two("store", "info", "--json").doc
    assert (shown["threads"], shown["leased"], shown["deleted"], shown["pruned"]) == (2, 0, 0, 0)
    assert shown["items"] == {"pending": 4}
    assert shown["size"] > 4096
    assert "items pending" in two("store", "info").out


def test_a_whole_store_is_verified(two):
    shown = two("store", "verify")
    assert (shown.code, "2 threads checked, 0 damaged" in shown.out) == (0, True)
    assert two("store", "verify", "t1", "--json").doc == {"threads": 1, "damaged": []}
    assert two("store", "verify", "t9").code == 2


def test_a_damaged_thread_is_named_and_the_others_work(two):
    damage()
    shown = two("store", "verify", "--json")
    assert shown.code == 6
    assert shown.doc["damaged"] == [{"thread": "t1", "problem": "entry 1 is not what was written"}]
    assert two("store", "prune", "--keep-last", "1").code == 6
    exported = two("store", "export")
    assert exported.code == 6
    assert "t1" in exported.err
    assert '"thread":"t2"' in exported.out
    assert '"thread":"t1"' not in exported.out
    assert two("resume", "shop:agent", "t2", "--no-input").code == 3


def test_a_head_that_was_kept_shows_a_log_that_was_written_anew(two):
    heads = Path("heads.jsonl")
    heads.write_text("".join(two("log", t, "--head", "--json").out for t in ("t1", "t2")))
    assert two("store", "verify", "--heads", "heads.jsonl").code == 0
    two("store", "delete", "t1", "--yes")
    assert "t1" in two("store", "verify", "--heads", "heads.jsonl").out
    two("run", "shop:agent", "clean up", "--thread", "t1")
    assert two("store", "verify").code == 0
    shown = two("store", "verify", "--heads", "heads.jsonl", "--json")
    assert shown.code == 6
    assert [one["thread"] for one in shown.doc["damaged"]] == ["t1"]
    heads.write_text("no heads")
    assert two("store", "verify", "--heads", "heads.jsonl").code == 2


def test_a_head_is_one_line_to_keep_and_none_of_a_damaged_thread(two):
    seq, digits = two("log", "t1", "--head").out.split()
    assert int(seq) > 1
    assert len(digits) == 32
    damage()
    assert "damaged" in two("log", "t1", "--head").out


def test_a_pruned_thread_still_waits_and_goes_on(two):
    for id in two.ids()[:2]:
        two("approve", id)
    assert two("resume", "shop:agent", "t1", "--no-input").code == 3
    waiting = two.ids()
    assert two("store", "prune", "t1").code == 2
    assert two("store", "prune", "--older-than", "30d", "--json").doc["removed"] == 0
    assert two("store", "prune", "t1", "--keep-last", "1", "--json").doc["removed"] > 1
    assert two("store", "prune", "--older-than", "0s", "--json").doc["removed"] == 0
    assert two("store", "info", "--json").doc["pruned"] == 1
    assert two("store", "verify").code == 0
    assert two.ids() == waiting
    told = two("log", "t1")
    assert "decisions kept" in told.out
    assert "the log is whole" in told.out
    (question,) = two("inbox", "--thread", "t1", "--json").doc["items"]
    assert "hitl resume shop:agent t1" in two("show", question["id"]).out
    assert two("answer", question["id"], "blue").code == 0
    assert two("resume", "shop:agent", "t1", "--no-input").code == 0
    assert Path("ran.txt").read_text().splitlines() == ["orders old", "users all"]


@pytest.mark.parametrize("age", ["30", "d", "-1d", "30 years", "1e3d", ""])
def test_an_age_is_a_number_and_a_unit(two, age):
    assert two("store", "prune", "--older-than", age).code == 2


def test_deleting_needs_a_yes_and_tells_what_was_not_there(two):
    assert two("store", "delete", "t1").code == 2
    assert two("store", "info", "--json").doc["threads"] == 2
    shown = two("store", "delete", "t1", "t9", "--yes", "--json")
    assert (shown.code, shown.doc) == (2, {"deleted": ["t1"], "missing": ["t9"]})
    assert two("store", "info", "--json").doc["deleted"] == 1


def test_what_is_exported_is_imported_equal_and_goes_on(two):
    waiting = two.ids()
    two("approve", waiting[0])
    two("store", "prune", "t2", "--keep-last", "1")
    assert two("store", "export", "-o", "all.jsonl").code == 0
    assert Path("all.jsonl").stat().st_mode & 0o777 == 0o600
    shown = two("store", "import", "all.jsonl", "--store", "copy.db", "--json")
    assert shown.doc == {"imported": ["t1", "t2"]}
    assert two("store", "export", "--store", "copy.db").out == Path("all.jsonl").read_text()
    assert two("store", "verify", "--store", "copy.db").code == 0
    two("approve", waiting[1], "--store", "copy.db")
    assert two("resume", "shop:agent", "t1", "--no-input", "--store", "copy.db").code == 3
    assert len(Path("ran.txt").read_text().splitlines()) == 2
    again = two("store", "import", "all.jsonl", "--store", "copy.db", "--json")
    assert (again.code, again.doc["error"]["code"]) == (4, "conflict")


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: lines[:1] + lines[2:],
        lambda lines: [lines[0], lines[1].replace("orders", "others"), *lines[2:]],
        lambda lines: [line for line in lines if '"item"' not in line],
        lambda lines: [lines[0].replace('"t1"', '"t7"', 1), *lines[1:]],
        lambda lines: ["{}", *lines],
        lambda lines: ["[", *lines],
        lambda lines: [lines[0].replace('"format":1', '"format":2'), *lines[1:]],
        lambda lines: [lines[0], '{"entry":{"seq":"1"}}', *lines[1:]],
        lambda lines: [lines[0], '{"item":{"id":"1"}}', *lines[1:]],
        lambda lines: [lines[0].replace('"base":', '"base":1'), *lines[1:]],
    ],
)
def test_an_export_that_was_cut_or_changed_is_refused_and_nothing_of_it_taken_in(two, change):
    lines = two("store", "export", "t1").out.splitlines()
    changed = change(lines)
    if changed == lines:
        changed = [line.replace("clean up", "clean off") for line in lines]
    Path("bad.jsonl").write_text("\n".join(changed))
    shown = two("store", "import", "bad.jsonl", "--store", "copy.db", "--json")
    assert shown.code == 6, shown.out
    assert shown.doc["error"]["code"] == "damaged"
    assert two("store", "info", "--store", "copy.db", "--json").doc["threads"] == 0


def test_bytes_that_are_no_text_are_refused(two):
    Path("bad.jsonl").write_bytes(b"\xff\xfe\n")
    assert two("store", "import", "bad.jsonl", "--store", "copy.db").code == 6


def test_vacuum_gives_the_room_back(two):
    with sqlite3.connect("hitl.db") as file:
        file.execute("CREATE TABLE big AS SELECT zeroblob(1000000) AS x")
        file.execute("DROP TABLE big")
    file.close()
    shown = two("store", "vacuum", "--json").doc
    assert shown["after"] < shown["before"]
    assert len(json.dumps(shown)) < 100
    assert two("store", "verify").code == 0


def test_commands_on_a_missing_store_make_none(hitl):
    for words in (["info"], ["verify"], ["prune", "--keep-last", "1"], ["export"], ["vacuum"]):
        assert hitl("store", *words).code == 6
    assert not Path("hitl.db").exists()
