"""Working on a policy file from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hitl.policy import Policy

POLICY = """\
hitl_policy: 1
default: allow
rules:
  - id: big-delete
    tools: [delete_rows]
    effect: ask
    where: {table: {in: [orders, users]}}
    unless: {where: {eq: none}}
    why: orders and users matter
    examples:
      hit: [{table: orders, where: all}]
      miss: [{table: logs, where: all}]
"""
CASES = """\
cases:
  - {tool: delete_rows, args: {table: orders, where: all}, verdict: ask, rules: [big-delete]}
  - {tool: delete_rows, args: {table: logs, where: all}, verdict: allow, rules: []}
"""


@pytest.fixture
def policy(hitl):
    Path("policy.yaml").write_text(POLICY)
    return lambda word, *words: hitl("policy", word, *words)


def test_a_good_policy_is_said_to_be_good(policy):
    shown = policy("check", "policy.yaml")
    assert (shown.code, shown.out) == (0, "policy.yaml: nothing is wrong.\n")
    assert policy("check", "policy.yaml", "--json").doc == {"ok": True, "findings": []}


def test_every_error_is_listed_with_its_line_and_fails_the_check(policy):
    text = POLICY.replace("effect: ask", "effct: ask").replace(
        "hitl_policy: 1", "hitl_policy: 1\nx: 1"
    )
    Path("policy.yaml").write_text(text)
    shown = policy("check", "policy.yaml")
    assert shown.code == 1
    for part in (
        "policy.yaml:2: error x",
        "policy.yaml:7: error",
        "Did you mean 'effect'?",
        "3 err",
    ):
        assert part in shown.out
    lines = [one["line"] for one in policy("check", "policy.yaml", "--json").doc["findings"]]
    assert lines == sorted(lines)


def test_a_warning_fails_only_a_strict_check(policy):
    shown = policy("check", "policy.yaml", "--tools", "shop:agent")
    assert shown.code == 0
    assert "No rule speaks of ask_user" in shown.out
    assert "1 warning." in shown.out
    assert policy("check", "policy.yaml", "--tools", "shop:agent", "--strict").code == 1


@pytest.mark.parametrize("tools", ["shop:agent", "shop:gate", "shop:delete_rows", "tools.json"])
def test_tools_come_from_an_agent_a_gate_a_tool_or_a_file(policy, tools):
    schema = {"type": "object", "properties": {"tabel": {}, "where": {}}}
    Path("tools.json").write_text(json.dumps({"delete_rows": schema}))
    shown = policy("check", "policy.yaml", "--tools", tools)
    assert shown.err == ""
    assert ("tabel" in shown.out) is (tools == "tools.json")


@pytest.mark.parametrize("tools", ["shop:number", "shop:nothing", "nowhere:x", "x", "none.json"])
def test_what_has_no_tools_is_refused(policy, tools):
    assert policy("check", "policy.yaml", "--tools", tools).code == 2


def test_an_explanation_tells_what_decided_and_under_which_rule(policy):
    args = json.dumps({"table": "orders", "where": "all"})
    shown = policy("explain", "policy.yaml", "--tool", "delete_rows", "--args", args)
    assert shown.code == 0
    assert shown.out.startswith("ask: orders and users matter\n  by big-delete (policy.yaml:4)")


def test_an_explanation_tells_what_nearly_matched(policy):
    words = ("--tool", "delete_rows", "--args", '{"table": "logs", "where": "all"}')
    shown = policy("explain", "policy.yaml", *words)
    assert shown.out.startswith("allow: ")
    near = policy("explain", "policy.yaml", *words, "--json").doc["near"]
    assert [(one["rule"], one["argument"], one["got"]) for one in near] == [
        ("big-delete", "table", "logs")
    ]
    assert "Rules of this tool that did not match" in shown.out


def test_an_explanation_tells_what_is_not_known(policy):
    shown = policy("explain", "policy.yaml", "--tool", "delete_rows", "--args", '{"table": 7}')
    assert shown.out.startswith("ask: ")
    assert "Could not be told" in shown.out
    assert "missing" in shown.out


def test_arguments_come_from_a_file_too(policy):
    Path("call.json").write_text('{"table": "users", "where": "x"}')
    words = ("--tool", "delete_rows", "--args", "@call.json", "--json")
    assert policy("explain", "policy.yaml", *words).doc["verdict"] == "ask"


def test_a_tool_that_the_agent_does_not_have_is_explained_as_such(policy):
    words = ("--tool", "drop", "--tools", "shop:agent", "--json")
    assert policy("explain", "policy.yaml", *words).doc["verdict"] == "deny"


@pytest.mark.parametrize("args", ["{", "[]", "7", "@none.json"])
def test_arguments_that_are_no_map_are_refused(policy, args):
    assert policy("explain", "policy.yaml", "--tool", "x", "--args", args).code == 2


def test_an_unusable_policy_is_told_on_one_line_with_where_to_look(policy):
    Path("policy.yaml").write_text("hitl_policy: 2\n")
    shown = policy("explain", "policy.yaml", "--tool", "x")
    assert shown.code == 2
    assert "hitl policy check" in shown.err
    assert policy("explain", "none.yaml", "--tool", "x").code == 2


def test_examples_and_cases_pass(policy):
    Path("cases.yaml").write_text(CASES)
    shown = policy("test", "policy.yaml", "--cases", "cases.yaml")
    assert shown.code == 0
    assert "2 cases pass" in shown.out


def test_a_failing_case_is_told_with_its_line(policy):
    Path("cases.yaml").write_text(CASES.replace("verdict: allow", "verdict: deny"))
    shown = policy("test", "policy.yaml", "--cases", "cases.yaml")
    assert shown.code == 1
    assert "cases.yaml:3: error" in shown.out
    assert "is allowed, wanted deny" in shown.out


def test_a_failing_example_is_told_with_its_line(policy):
    Path("policy.yaml").write_text(POLICY.replace("hit: [{table: orders", "hit: [{table: logs"))
    shown = policy("test", "policy.yaml")
    assert shown.code == 1
    assert "policy.yaml:11: error" in shown.out


def test_a_policy_that_loosens_is_found_in_past_calls(policy):
    Path("new.yaml").write_text(
        POLICY.replace("[orders, users]", "[orders]").replace("users m", "m")
    )
    calls = [
        {"name": "delete_rows", "args": {"table": t, "where": "all"}} for t in ("users", "orders")
    ]
    Path("calls.jsonl").write_text("\n".join(map(json.dumps, [*calls, *calls])) + "\n")
    words = ("policy.yaml", "new.yaml", "--calls", "calls.jsonl")
    shown = policy("diff", *words)
    assert shown.code == 1
    assert "allow (looser)" in shown.out
    assert "1 of 2 different calls" in shown.out
    assert policy("diff", *words, "--only", "stricter").code == 0
    (change,) = policy("diff", *words, "--json").doc["changes"]
    assert (change["args"]["table"], change["direction"]) == ("users", "looser")


def test_past_calls_come_from_a_store_too_those_that_were_free_as_well(hitl, policy):
    first, second = hitl.start()
    assert hitl("approve", first).code == 0
    assert hitl("reject", second).code == 0
    assert hitl("resume", "shop:agent", "t1").code == 3
    Path("open.yaml").write_text("hitl_policy: 1\ndefault: allow\nrules: []\n")
    Path("shut.yaml").write_text("hitl_policy: 1\ndefault: deny\nrules: []\n")
    shown = policy("diff", "open.yaml", "shut.yaml", "--calls", "hitl.db", "--json")
    assert [(one["name"], one["args"]) for one in shown.doc["changes"]] == [
        ("delete_rows", {"table": "orders", "where": "old"}),
        ("delete_rows", {"table": "users", "where": "all"}),
        ("ask_user", {"question": "Which colour?"}),
    ]


@pytest.mark.parametrize("line", ["{", "[]", '{"name": 1, "args": {}}', '{"name": "x", "args": 1}',
                                  '{"name": "x", "args": {"a": NaN}}'])  # fmt: skip
def test_a_line_that_is_no_call_is_refused_with_its_number(policy, line):
    Path("calls.jsonl").write_text('{"tool": "x", "args": {}}\n\n' + line)
    shown = policy("diff", "policy.yaml", "policy.yaml", "--calls", "calls.jsonl")
    assert shown.code == 2
    assert "calls.jsonl:3" in shown.err


def test_a_starter_file_is_a_policy_that_asks(policy):
    shown = policy("init", "shop:agent")
    assert shown.code == 0
    made = Policy.from_text(shown.out)
    for name in ("delete_rows", "ask_user"):
        assert made.judge({"name": name, "args": {}, "id": None}).effect == "ask"
    assert policy("init", "shop:agent", "--json").doc["policy"] == shown.out


def test_hostile_text_of_a_call_cannot_act_on_the_terminal(policy):
    args = json.dumps({"table": "\x1b[2Korders", "where": "\u202e"})
    shown = policy("explain", "policy.yaml", "--tool", "delete_rows", "--args", args)
    assert not {"\x1b", "\u202e"} & set(shown.out)
