"""Running and resuming agents by name."""

from __future__ import annotations

import pytest


def test_a_run_that_needs_nobody_is_done(hitl):
    done = hitl("run", "shop:plain", "hello")
    assert done.code == 0
    assert "agent: Hello." in done.out
    doc = hitl("run", "shop:plain", "hello", "--json").doc
    assert doc["status"] == "done"
    assert doc["result"]["messages"][-1]["content"] == "Hello."
    assert doc["thread"].startswith("run-")


def test_a_run_that_waits_says_how_to_decide_and_to_go_on(hitl):
    waits = hitl("run", "shop:agent", "clean up", "--thread", "t1")
    assert waits.code == 3
    first, second = hitl.ids()
    for part in ("2 items wait", f"hitl approve {first}", f"hitl show {second}",
                 "hitl resume shop:agent t1"):  # fmt: skip
        assert part in waits.out
    again = hitl("resume", "shop:agent", "t1", "--json")
    assert again.code == 3
    assert [item["id"] for item in again.doc["items"]] == [first, second]


def test_a_message_is_told_once(hitl):
    waits = hitl("run", "shop:agent", "clean up", "--thread", "t1")
    assert waits.out.count("agent: I will delete.") == 1


def test_an_agent_in_memory_gets_the_file_so_that_its_items_outlive_the_command(hitl):
    assert hitl("run", "shop:remembering", "x").code == 3
    assert len(hitl.ids()) == 2


def test_an_agent_that_brings_a_store_keeps_it_unless_one_is_given(hitl, tmp_path):
    waits = hitl("run", "shop:keeping", "x", "--thread", "t1")
    assert waits.code == 3
    assert "own.db" in waits.out
    assert not (tmp_path / "hitl.db").exists()
    assert len(hitl("inbox", "--store", "own.db", "--json").doc["items"]) == 2
    hitl("run", "shop:keeping", "x", "--store", "given.db")
    assert len(hitl("inbox", "--store", "given.db", "--json").doc["items"]) == 2


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ("shop", "module:name"),
        ("shop:", "module:name"),
        ("shop.py:agent", "without .py"),
        ("nowhere:agent", "no module"),
        ("shop:agnet", "'agent'"),
        ("shop:number", "not an agent"),
    ],
)
def test_a_name_that_is_no_agent_is_wrong_use(hitl, spec, part, tmp_path):
    wrong = hitl("run", spec, "x")
    assert wrong.code == 2
    assert part in wrong.err.replace("\n│ ", "")
    assert not (tmp_path / "hitl.db").exists()


def test_an_agent_that_cannot_be_built_is_a_failure_with_its_reason(hitl, tmp_path, monkeypatch):
    failed = hitl("run", "shop:broken", "x")
    assert failed.code == 1
    assert "RuntimeError: no key" in failed.err
    assert "Traceback" not in failed.err
    (tmp_path / "halting.py").write_text("import nowhere_at_all")
    assert hitl("run", "halting:agent", "x").code == 1
    monkeypatch.setenv("HITL_DEBUG", "1")
    assert "Traceback" in hitl("run", "shop:broken", "x").err


@pytest.mark.parametrize("thread", ["", "a\x00b", "x" * 600, "a\x1b[2Jb"])
def test_a_thread_id_that_cannot_be_is_refused(hitl, thread):
    refused = hitl("run", "shop:plain", "x", "--thread", thread)
    assert refused.code == 2
    assert "\x1b" not in refused.err


def test_a_reviewer_has_a_short_name(hitl):
    assert hitl("run", "shop:plain", "x", "--reviewer", "x" * 600).code == 2
    assert hitl("run", "shop:plain", "x", "--reviewer", "").code == 0


def test_wrong_words_are_told_with_the_way_to_help(hitl):
    for words in (("nonsense",), ("run",), ("inbox", "--nope"), ("respond", "abcd")):
        wrong = hitl(*words)
        assert wrong.code == 2
        assert "--help" in wrong.err
    assert hitl().code == 2


COMMANDS = ["demo", "run", "inbox", "show", "approve", "edit", "reject", "respond", "answer",
            "retry", "resume", "log"]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(hitl, command):
    shown = hitl(command, "--help")
    assert shown.code == 0
    assert f"  hitl {command}" in shown.out.partition("Examples:")[2]


def test_the_list_of_commands_above_is_whole():
    from hitl.cli.app import hitl as group

    assert sorted(group.commands) == sorted(COMMANDS)
