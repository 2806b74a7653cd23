"""Files of cases: calls and the verdicts that a policy must give them."""

from __future__ import annotations

import pytest

from hitl.errors import BadPolicy
from hitl.policy import Policy, failing_cases, read_cases

POLICY = Policy.from_text(
    '{"hitl_policy": 1, "default": "allow", "rules": ['
    '{"id": "big", "tools": ["pay"], "effect": "ask", "where": {"amount": {"gt": 100}}}]}'
)


def test_cases_are_read_with_their_lines():
    one, two = read_cases(
        "cases:\n  - {tool: pay, args: {amount: 1}, verdict: allow}\n"
        "  - {tool: x, verdict: deny, rules: [a]}\n",
        "c.yaml",
    )
    assert (one.tool, one.args, one.verdict, one.rules, one.line) == (
        "pay", {"amount": 1}, "allow", None, 2,
    )  # fmt: skip
    assert (two.args, two.rules, two.file, two.line) == ({}, ("a",), "c.yaml", 3)


def test_a_case_fails_where_verdict_or_rules_differ():
    cases = read_cases(
        '{"cases": [{"tool": "pay", "args": {"amount": 101}, "verdict": "ask"},'
        '{"tool": "pay", "args": {"amount": 101}, "verdict": "ask", "rules": ["big"]},'
        '{"tool": "pay", "args": {"amount": 101}, "verdict": "ask", "rules": ["other"]},'
        '{"tool": "pay", "args": {"amount": 1}, "verdict": "ask"}]}'
    )
    messages = [finding.message for finding in failing_cases(POLICY, cases)]
    assert len(messages) == 2
    assert "other rules: big; wanted other" in messages[0]
    assert "is allowed, wanted ask" in messages[1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "key 'cases'"),
        ("case: []", "key 'cases'"),
        ("cases: {}", "key 'cases'"),
        ("cases: [7]", "is a map"),
        ("cases: [{verdict: ask}]", "names its tool"),
        ("cases: [{tool: x}]", "says its verdict"),
        ("cases: [{tool: x, verdict: maybe}]", "says its verdict"),
        ("cases: [{tool: x, verdict: ask, arg: {}}]", "'arg'"),
        ("cases: [{tool: x, verdict: ask, args: []}]", "arguments are a map"),
        ("cases: [{tool: x, verdict: ask, rules: y}]", "list of ids"),
        ("cases: [", "c.yaml"),
    ],
)
def test_what_is_no_case_is_told(text, told):
    with pytest.raises(BadPolicy, match=told):
        read_cases(text, "c.yaml")
