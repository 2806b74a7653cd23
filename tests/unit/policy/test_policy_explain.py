"""Explaining, checking, comparing and starting policies."""

from __future__ import annotations

import json

import pytest

from hitl.errors import Misuse
from hitl.policy import DECISIONS, Policy, ToolFacts, diff, starter

PAY = """
hitl_policy: 1
groups: {finance: [ann, bob]}
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
    reviewers: {any_of: [finance], need: 2}
"""


def call(name, **args):
    return {"name": name, "args": args, "id": "c1"}


def mapped(interrupt_on):
    return Policy.from_interrupt_on(interrupt_on)


def as_json(explanation):
    return explanation.as_json()


def policy_of(*rules, **more):
    return Policy.from_text(json.dumps({"hitl_policy": 1, "rules": rules, **more}), name="p.json")


def test_an_explanation_names_the_rules_that_decided_and_where_they_stand():
    told = Policy.from_text(PAY, name="pay.yaml").explain(call("pay", amount=500, payee="x"))
    (vote,) = told.by
    assert (vote.rule, vote.place, vote.layer, vote.effect) == (
        "big",
        "pay.yaml:9",
        "pay.yaml",
        "ask",
    )
    assert told.verdict.effect == "ask"
    assert told.policy_id == told.verdict.policy_id
    assert len(told.args_fp) == 32


def test_an_explanation_tells_the_near_miss_with_what_was_wanted_and_what_came():
    told = Policy.from_text(PAY).explain(call("pay", amount=500, payee="payroll"))
    near = {miss.rule: miss for miss in told.near}
    assert (near["small"].argument, near["small"].operator) == ("amount", "le")
    assert (near["small"].wanted, near["small"].got) == (100, 500)
    assert near["big"].operator == "unless in"
    assert near["big"].got == "payroll"
    assert told.by[0].rule == ""
    assert told.verdict.effect == "ask"


def test_an_explanation_tells_what_could_not_be_told():
    told = Policy.from_text(PAY).explain(call("pay", amount="500"))
    unknown = {(u.rule, u.argument, u.got, u.missing) for u in told.unknowns}
    assert ("big", "amount", "500", False) in unknown
    assert ("big", "payee", None, True) in unknown
    assert {miss.rule for miss in told.near if miss.unknown} == {"small"}


def test_an_explanation_is_plain_json_whatever_the_call_holds():
    hard = call("pay", amount=float("nan"), payee=object(), memo="x" * 10_000)
    told = as_json(Policy.from_text(PAY).explain(hard))
    assert len(json.dumps(told, allow_nan=False)) < 5_000
    assert (told["verdict"], told["args_fp"]) == ("ask", "")
    assert told["merged"]["reviewers"][0]["need"] == 2


def test_an_explanation_tells_what_each_layer_said():
    asked = []

    def when(request):
        asked.append(request)
        return True

    config = {"allowed_decisions": ["approve"], "when": when}
    policy = Policy.from_text(PAY, name="f") & mapped({"pay": config})
    told = policy.explain(call("pay", amount=5))
    assert [(vote.layer, vote.effect) for vote in told.layers] == [
        ("f", "allow"),
        ("interrupt_on", "ask"),
    ]
    assert [vote.layer for vote in told.by] == ["interrupt_on"]
    assert told.verdict.allowed == ("approve",)
    assert len(asked) == 1


def test_false_in_interrupt_on_never_loosens_a_file():
    policy = Policy.layered(Policy.from_interrupt_on({"pay": False}), Policy.from_text(PAY))
    assert policy.judge(call("pay", amount=500)).rules == ("big",)
    assert policy.policy_id == Policy.from_text(PAY).policy_id


def test_the_map_alone_keeps_its_own_law():
    policy = Policy.from_interrupt_on({"pay": True, "read": False})
    assert policy.judge(call("pay")).allowed == DECISIONS
    assert policy.judge(call("read")).effect == "allow"
    assert policy.judge(call("unlisted")).effect == "allow"
    assert policy.policy_id == ""


def test_layers_must_be_bound_to_the_same_tools():
    one = Policy.from_text(PAY)
    with pytest.raises(Misuse, match="different tools"):
        one.bind(["a"]) & one.bind(["b"])
    with pytest.raises(Misuse, match="No policy"):
        Policy.layered()


SCHEMA = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "memo": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "to": {"$ref": "#/$defs/Payee"},
    },
    "$defs": {"Payee": {"type": "object", "properties": {"name": {"type": "string"}}}},
}


@pytest.mark.parametrize(
    ("rule", "level", "said"),
    [
        ({"tools": ["pya"]}, "warning", "No tool is called 'pya'. Did you mean 'pay'?"),
        ({"tools": ["bank.*"]}, "warning", "No tool is called 'bank.*'"),
        ({"where": {"amuont": {"gt": 1}}}, "error", "Did you mean 'amount'?"),
        ({"where": {"/to/nam": {"eq": "x"}}}, "error", "there is no argument '/to/nam'"),
        ({"where": {"amount": {"prefix": "1"}}}, "error", "which is number"),
        ({"where": {"amount": {"eq": "1"}}}, "error", "'eq' can tell nothing"),
        ({"where": {"memo": {"gt": 1}}}, "error", "which is null or string"),
        ({"where": {"any": [{"memo": {"gt": 1}}]}}, "error", "'gt' can tell nothing"),
        (
            {"effect": "deny", "where": {"memo": {"argv": [["rm"]]}}},
            "warning",
            "advice, not a wall",
        ),
    ],
)
def test_a_rule_that_cannot_mean_what_it_says_about_the_tools_is_found(rule, level, said):
    policy = policy_of({"id": "r", "tools": ["pay"], "effect": "ask", **rule})
    found = [f for f in policy.check({"pay": SCHEMA}) if said in str(f)]
    assert [f.level for f in found] == [level]
    assert found[0].line == 1


def test_a_rule_that_fits_the_tools_is_not_found():
    where = {
        "amount": {"gt": 1},
        "memo": {"prefix": "x"},
        "/to/name": {"in": ["a", None]},
        "to": {"size": 1},
    }
    policy = policy_of({"id": "r", "tools": ["pay"], "effect": "ask", "where": where})
    assert policy.check({"pay": SCHEMA}) == []
    assert policy.bind({"pay": SCHEMA}).check() == []
    assert policy.check(["pay"]) == []


@pytest.mark.parametrize("strong", [["pay"], ["*"], ["p?y"]])
def test_a_rule_that_can_never_win_is_found(strong):
    weak = {"id": "weak", "tools": ["pay"], "effect": "allow"}
    policy = policy_of(weak, {"id": "strong", "tools": strong, "effect": "ask"})
    (found,) = policy.check()
    assert "never win" in found.message
    assert "'strong'" in found.message
    rule = {"id": "s", "tools": strong, "effect": "ask", "where": {"a": {"eq": 1}}}
    assert policy_of(weak, rule).check() == []


def test_tools_that_no_rule_speaks_of_are_listed():
    policy = policy_of({"id": "r", "tools": ["pay"], "effect": "ask"}, default="deny")
    (found,) = policy.check(["pay", "read", "write"])
    assert found.message == "No rule speaks of read, write; the default holds: deny."


def test_a_root_that_is_no_folder_is_found(tmp_path):
    (tmp_path / "here").mkdir()
    state = {"folder": str(tmp_path / "state"), "real": False}
    roots = {"here": str(tmp_path / "here"), "gone": str(tmp_path / "gone"), "state": state}
    (found,) = policy_of(roots=roots).check()
    assert (found.level, found.place) == ("warning", "roots.gone")


def test_examples_can_be_run_again():
    assert Policy.from_text(PAY).test() == []


def test_a_comparison_lists_the_calls_whose_verdict_changes():
    old = policy_of({"id": "r", "tools": ["pay"], "effect": "ask"}, default="allow")
    new = policy_of(
        {"id": "r", "tools": ["pay"], "effect": "ask", "decisions": ["reject"]}, default="deny"
    )
    calls = [call("pay"), call("x"), call("y")]
    assert [(c.call["name"], c.direction) for c in diff(old, new, calls)] == [
        ("pay", "other"),
        ("x", "stricter"),
        ("y", "stricter"),
    ]
    assert [c.direction for c in diff(new, old, calls)] == ["other", "looser", "looser"]
    assert diff(old, old, calls) == []


def test_a_starter_file_lets_reading_tools_run_and_asks_for_all_others():
    tools = [
        ToolFacts("read", effect="pure"),
        ToolFacts("odd*name", effect="pure"),
        ToolFacts("pay", description='Pays "somebody".\nAt once.'),
        ToolFacts("put", effect="idempotent"),
    ]
    policy = Policy.from_text(starter(tools)).bind(tools)
    said = {tool.name: policy.judge(call(tool.name)).effect for tool in tools}
    assert said == {"read": "allow", "odd*name": "allow", "pay": "ask", "put": "ask"}
    assert policy.judge(call("oddxname")).effect == "deny"
    assert policy.judge(call("pay")).why == 'Pays "somebody". At once.'
    assert policy.check() == []
    assert Policy.from_text(starter([])).judge(call("x")).effect == "ask"


def test_tools_are_given_as_facts_names_or_schemas():
    with pytest.raises(Misuse, match="of type int"):
        policy_of().bind([1])
    with pytest.raises(Misuse, match="stands twice"):
        policy_of().bind(["a", "a"])
