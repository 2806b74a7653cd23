"""Policy files: load and judge."""

from __future__ import annotations

import pytest

from hitl.errors import BadPolicy, Misuse
from hitl.policy import DECISIONS, Policy, ReviewerRule

PAY = """
hitl_policy: 1
groups: {finance: [ann, bob], board: [cfo]}
rules:
  - id: small
    tools: [pay]
    effect: allow
    where: {amount: {le: 100}}
  - id: big
    tools: [pay]
    effect: ask
    where: {amount: {gt: 100}}
    unless: {payee: {in: [payroll]}}
    decisions: [reject, approve, edit]
    edit: {fields: [memo, amount], keep: [payee]}
    reviewers: {any_of: [finance], need: 2, not_requester: true}
    deadline: {after: 24h, then: reject, escalate_at: 4h, to: [board]}
    grants: {allowed: true, ttl: 1h, uses: 5}
    why: Payments over 100 need two people.
    examples:
      hit: [{amount: 101, payee: x}]
      miss: [{amount: 5, payee: x}]
  - id: never
    tools: ["fs.delete_*", drop]
    effect: deny
"""


def call(name, **args):
    return {"name": name, "args": args, "id": "c1"}


def listed(error):
    return error.fields["findings"]


@pytest.fixture(scope="module")
def policy():
    return Policy.from_text(PAY, name="pay.yaml")


def test_a_call_that_an_allow_rule_matches_runs(policy):
    verdict = policy.judge(call("pay", amount=5))
    assert (verdict.effect, verdict.rules, verdict.rule) == ("allow", ("small",), "pay.yaml:5")


def test_an_ask_rule_brings_its_decisions_and_obligations(policy):
    verdict = policy.judge(call("pay", amount=101, payee="x"))
    assert (verdict.effect, verdict.allowed) == ("ask", ("approve", "edit", "reject"))
    assert verdict.why == "Payments over 100 need two people."
    asked = verdict.obligations
    assert asked.reviewers == (ReviewerRule(("finance",), ("ann", "bob"), 2, True),)
    assert (asked.editable, asked.keep) == (("amount", "memo"), ("payee",))
    assert (asked.deadline.after, asked.deadline.escalate_at) == (86400, 14400)
    assert asked.deadline.people == ("cfo",)
    assert (asked.grants.scope, asked.grants.ttl, asked.grants.uses) == ("same_args", 3600, 5)
    assert verdict.policy_id == policy.policy_id != ""


def test_an_exception_stands_inside_the_rule(policy):
    assert policy.judge(call("pay", amount=500, payee="payroll")).rules == ()


def test_without_a_vote_the_default_holds(policy):
    verdict = policy.judge(call("other"))
    assert (verdict.effect, verdict.allowed, verdict.rules) == ("ask", DECISIONS, ())


def test_a_tool_that_the_agent_does_not_have_is_refused(policy):
    bound = policy.bind(["pay", "other"])
    assert bound.judge(call("pay", amount=5)).effect == "allow"
    assert bound.judge(call("other")).effect == "ask"
    assert bound.judge(call("pay_", amount=5)).effect == "deny"
    assert policy.judge(call("pay_", amount=5)).effect == "ask"


@pytest.mark.parametrize("amount", ["101", "5", True, None, [5], float("nan"), {}])
def test_a_value_of_another_kind_asks(policy, amount):
    assert policy.judge(call("pay", amount=amount, payee="x")).rules == ("big",)


def test_a_missing_argument_asks(policy):
    assert policy.judge(call("pay", payee="x")).rules == ("big",)


@pytest.mark.parametrize("args", [None, [], "amount=5", 5])
def test_arguments_that_are_no_map_ask(policy, args):
    assert policy.judge({"name": "pay", "args": args, "id": None}).rules == ("big",)


def test_a_policy_is_read_from_a_file_and_its_roots_start_there(tmp_path):
    text = """
    {"hitl_policy": 1, "roots": {"work": "w"}, "rules": [
      {"id": "r", "tools": ["read"], "effect": "allow", "where": {"path": {"within": "work"}}}]}
    """
    (tmp_path / "w").mkdir()
    (tmp_path / "p.json").write_text(text)
    policy = Policy.load(tmp_path / "p.json")
    assert policy.judge(call("read", path=str(tmp_path / "w" / "a"))).effect == "allow"
    assert policy.judge(call("read", path=str(tmp_path / "a"))).effect == "ask"


def test_a_file_that_is_not_there_is_told_of(tmp_path):
    with pytest.raises(Misuse, match="cannot be read"):
        Policy.load(tmp_path / "none.yaml")


def test_all_errors_are_listed_with_their_lines():
    with pytest.raises(BadPolicy) as caught:
        Policy.from_text("hitl_policy: 1\nrulez: []\ndefault: aks\n", name="p.yaml")
    found = {(f.line, f.place) for f in listed(caught.value)}
    assert found == {(2, "rulez"), (3, "default")}
    assert "Did you mean 'rules'?" in str(caught.value)
    assert "p.yaml:3" in str(caught.value)
