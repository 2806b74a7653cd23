"""Running and resuming agents by name."""

from __future__ import annotations

import sys

import pytest

import hitl as package
from hitl.agent import Gate
from hitl.checkpoint import SqliteSaver


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
    for part in ("2 items wait", f"hitl approve {first[:8]}\n", f"hitl show {second[:8]}\n",
                 "hitl resume shop:agent t1"):  # fmt: skip
        assert part in waits.out
    again = hitl("resume", "shop:agent", "t1", "--json")
    assert again.code == 3
    assert [item["id"] for item in again.doc["items"]] == [first, second]


def test_a_message_is_told_once(hitl):
    waits = hitl("run", "shop:agent", "clean up", "--thread", "t1")
    assert waits.out.count("agent: I will delete.") == 1


def test_what_was_on_the_thread_before_is_not_told_again(hitl):
    first, second = hitl.start()
    hitl("approve", first)
    hitl("edit", second, "--args", '{"table": "users", "where": "none"}')
    resumed = hitl("resume", "shop:agent", "t1")
    assert "proposes delete_rows" not in resumed.out
    assert "I will delete." not in resumed.out
    assert "tool delete_rows: deleted from orders" in resumed.out
    assert "proposes ask_user" in resumed.out


def test_a_finished_thread_has_nothing_left_to_do(hitl):
    hitl("run", "shop:plain", "hello", "--thread", "t1")
    again = hitl("resume", "shop:plain", "t1")
    assert again.code == 0
    assert "Nothing was left to do" in again.out
    assert hitl("resume", "shop:plain", "t1", "--json").doc["status"] == "done"


def test_a_graph_with_async_nodes_runs_and_is_resumed_as_any_other(hitl):
    assert hitl("run", "shop:waiting", "x", "--thread", "t1").code == 3
    (question,) = hitl.ids()
    assert hitl("answer", question, "3").code == 0
    done = hitl("resume", "shop:waiting", "t1")
    assert done.code == 0, done.err
    assert "asking: n = 3" in done.out


def test_a_graph_without_messages_is_not_run_on_a_text(hitl, tmp_path):
    wrong = hitl("run", "shop:bare", "x")
    assert wrong.code == 2
    assert "always sends its text as 'messages'" in wrong.err
    assert "invoke(" in wrong.err
    assert not (tmp_path / "hitl.db").exists()


CALLS = [
    {"name": "delete_rows", "args": {"table": "orders", "where": "old"}, "id": "1"},
    {"name": "delete_rows", "args": {"table": "users", "where": "all"}, "id": "2"},
]


@pytest.mark.parametrize("store", ["hitl.db", "other.db"])
def test_a_gate_is_resumed_and_its_results_are_told(hitl, tmp_path, store):
    hitl("run", "shop:gate", "x")  # imports it
    tools = [sys.modules["shop"].delete_rows]
    with SqliteSaver(store) as saver:
        Gate(tools, interrupt_on={"delete_rows": True}, store=saver).review("t1", CALLS)
    given = () if store == "hitl.db" else ("--store", store)
    first, second = [item["id"] for item in hitl("inbox", "--json", *given).doc["items"]]
    hitl("approve", first, *given)
    waits = hitl("resume", "shop:gate", "t1", *given)
    assert waits.code == 3
    assert f"hitl approve {second[:8]}" in waits.out
    hitl("reject", second, "-m", "not users", *given)
    done = hitl("resume", "shop:gate", "t1", *given)
    assert done.code == 0, done.err
    assert "delete_rows (success): deleted from orders" in done.out
    assert "delete_rows (error)" in done.out
    again = hitl("resume", "shop:gate", "t1", "--json", *given).doc
    assert [one["tool_call_id"] for one in again["results"]] == ["1", "2"]
    assert (tmp_path / "ran.txt").read_text() == "orders old\n"


def test_a_gate_is_not_run_on_a_text(hitl):
    wrong = hitl("run", "shop:gate", "x")
    assert wrong.code == 2
    assert "gate.review(" in wrong.err


def test_the_version_is_told(hitl):
    assert hitl("--version").out == f"hitl {package.__version__}\n"


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
    assert "Calling 'shop:broken' raised" in failed.err
    assert "committed" not in failed.err
    assert "RuntimeError: no key" in failed.err
    assert "Traceback" not in failed.err
    (tmp_path / "halting.py").write_text("import nowhere_at_all")
    halted = hitl("run", "halting:agent", "x")
    assert halted.code == 1
    assert "Importing 'halting' raised ModuleNotFoundError" in halted.err
    (tmp_path / "misusing.py").write_text(
        "from hitl.agent import Gate\nGate([], store=5, interrupt_on={})"
    )
    assert "Importing 'misusing': store is" in hitl("run", "misusing:agent", "x").err
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
            "retry", "resume", "log", "grants", "sweep", "store", "policy"]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(hitl, command):
    shown = hitl(command, "--help")
    assert shown.code == 0
    assert f"  hitl {command}" in shown.out.partition("Examples:")[2]


def test_the_list_of_commands_above_is_whole():
    from hitl.cli.app import hitl as group

    assert sorted(group.commands) == sorted(COMMANDS)


def test_a_run_can_say_on_whose_behalf_it_acts(hitl, monkeypatch, tmp_path):
    seen: list[object] = []

    def agent(state, config):
        seen.append(config["configurable"].get("requester"))
        return {}

    graph = package.StateGraph(package.MessagesState).add_node("agent", agent)
    module = type(sys)("teller")
    module.agent = graph.add_edge("__start__", "agent").compile()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "teller", module)
    assert hitl("run", "teller:agent", "hello", "--requester", "ann").code == 0
    assert hitl("run", "teller:agent", "hello").code == 0
    assert hitl("run", "teller:agent", "hello", "--requester", "").code == 2
    assert seen == ["ann", None]
