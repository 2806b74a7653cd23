"""The form of policy files: what is read, what is refused and where, and the shipped schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import hitl.policy
from hitl.errors import BadPolicy, Misuse
from hitl.policy import Policy
from hitl.policy.document_reading import json_schema

SHIPPED = Path(hitl.policy.__file__).with_name("policy.schema.json")


def findings(text):
    with pytest.raises(BadPolicy) as caught:
        Policy.from_text(text, name="p")
    return listed(caught.value)


def listed(error):
    return error.fields["findings"]


def call(name, **args):
    return {"name": name, "args": args, "id": None}


def rule(text):
    return f"hitl_policy: 1\ngroups: {{g: [ann]}}\nrules:\n  - id: r\n    tools: [t]\n{text}"


def test_the_shipped_schema_is_the_readers():
    assert json.loads(SHIPPED.read_text()) == json_schema()
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 0, "Wanted a map; it is empty"),
        ("[]", 1, "Wanted a map; it is a list"),
        ("- 1", 1, "list"),
        ("rules: []", 1, "'hitl_policy' is missing"),
        ("hitl_policy: 2", 1, "1"),
        ("hitl_policy: 1\nhitl_policy: 1", 2, "stands twice, first in line 1"),
        ("hitl_policy: 1\nrules: &a []\n", 2, "Anchors"),
        ("hitl_policy: 1\nrules: *a\n", 2, "Anchors"),
        ("hitl_policy: 1\n<<: {default: ask}\n", 2, "Merge keys"),
        ("hitl_policy: !!int 1\n", 1, "tag"),
        ("hitl_policy: 1\n1: 2\n", 2, "not a text"),
        ("hitl_policy: 1\n? [a]\n: b\n", 2, "key is a map or a list"),
        ("hitl_policy: 1\n---\nhitl_policy: 1\n", 2, "second document"),
        ("hitl_policy: 1\n\t- x", 2, "not YAML"),
        ("a: " + "[" * 60, 1, "nested"),
        ("a: \x00", 0, "not YAML"),
        ('{"hitl_policy": 1,\n "hitl_policy": 1}', 2, "stands twice"),
        ('{"hitl_policy": 1,\n}', 2, "not JSON"),
        ('{"hitl_policy": NaN}', 0, "NaN"),
        ('{"hitl_policy": 1,\n"roots": {"a": "\\ud800"}}', 2, "half a character"),
        ("{" + '"a":{' * 60 + "}" * 61, 1, "nested"),
        ('{"a":' * 100_000, 0, "not JSON"),
        ("\ud800", 0, "half a character"),
    ],
)
def test_what_is_no_policy_is_refused_with_its_line(text, line, said):
    assert any(f.line == line and said in f"{f.message} {f.hint}" for f in findings(text)), (
        findings(text)
    )


@pytest.mark.parametrize(
    "word",
    [
        *("yes", "No", "on", "OFF", "017", "0x1F", "0o17", "1_000", "12:30:00", "1e3", ".5", "5."),
        *("+1", ".inf", ".NaN", "2026-01-01", "True", "NULL", "~"),
    ],
)
def test_a_plain_word_that_yaml_readers_take_for_different_things_is_refused(word):
    found = findings(rule(f"    effect: ask\n    where: {{x: {{eq: {word}}}}}"))
    assert [f.line for f in found] == [7]
    assert "different things" in found[0].message
    quoted = rule(f"    effect: ask\n    where: {{x: {{eq: '{word}'}}}}")
    assert Policy.from_text(quoted).judge(call("t", x=word)).rules == ("r",)


def test_yaml_and_json_of_the_same_policy_are_the_same_policy():
    yaml = rule("    effect: ask\n    where: {'x': {eq: é}, n: {in: [1, -2.5, true, null]}}")
    data = {
        "rules": [
            {
                "where": {"n": {"in": [1, -2.5, True, None]}, "x": {"eq": "é"}},
                "effect": "ask",
                "tools": ["t"],
                "id": "r",
            }
        ],
        "groups": {"g": ["ann"]},
        "hitl_policy": 1,
    }
    assert Policy.from_text(yaml).policy_id == Policy.from_text(json.dumps(data)).policy_id


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("    effect: alow", "rules[0].effect", "Did you mean 'allow'?"),
        ("    effect: ask\n    wher: {}", "rules[0].wher", "Did you mean 'where'?"),
        ("    effect: allow\n    where:", "rules[0]", "'where' has no value"),
        ("    effect: allow\n    where: {}", "rules[0].where", "No condition"),
        ("    effect: ask\n    where: {a: {}}", "rules[0].where.a", "No operator"),
        ("    effect: ask\n    where: {a: {lik: 1}}", "rules[0].where.a.lik", "not known"),
        ("    effect: ask\n    where: {a: {gt: '1'}}", "rules[0].where.a.gt", "Wanted a number"),
        ("    effect: ask\n    where: {a: {gt: true}}", "rules[0].where.a.gt", "Wanted a number"),
        ("    effect: ask\n    where: {a: {between: [2, 1]}}", "rules[0].where.a.between", "more"),
        ("    effect: ask\n    where: {a: {eq: [1]}}", "rules[0].where.a.eq", "Wanted a text"),
        ("    effect: ask\n    where: {any: []}", "rules[0].where.any", "at least 1"),
        ("    effect: ask\n    where: {any: [{not: {eq: 1}}]}", "rules[0].where.any[0]", "group"),
        ("    effect: ask\n    where: {/a~2: {eq: 1}}", "rules[0].where./a~2", "pointer"),
        ("    effect: ask\n    where: {a: {glob: '[x'}}", "rules[0].where.a.glob", "position 0"),
        ("    effect: ask\n    where: {a: {within: w}}", "rules[0].where.a.within", "no root"),
        ("    effect: ask\n    decisions: [approve]", "rules[0].decisions", "say no"),
        ("    effect: ask\n    decisions: [reject, reject]", "rules[0].decisions", "twice"),
        ("    effect: deny\n    decisions: [reject]", "rules[0].decisions", "does not ask"),
        (
            "    effect: ask\n    reviewers: {any_of: [h]}",
            "rules[0].reviewers.any_of[0]",
            "Known: g",
        ),
        ("    effect: ask\n    reviewers: {any_of: [g], need: 2}", "rules[0].reviewers.need", "1"),
        ("    effect: ask\n    deadline: {after: 5}", "rules[0].deadline.after", "24h"),
        ("    effect: ask\n    deadline: {after: 1h, then: allow}", "rules[0].deadline.then", ""),
        (
            "    effect: ask\n    deadline: {after: 1h, escalate_at: 2h, to: [g]}",
            "rules[0].deadline.escalate_at",
            "expires before",
        ),
        ("    effect: ask\n    grants: {}", "rules[0].grants", "'allowed' is missing"),
        ("    effect: ask\n    examples: {hit: [1]}", "rules[0].examples.hit[0]", ""),
        (
            "    effect: ask\n    where: {a: {eq: 1}}\n    examples: {hit: [{a: 2}]}",
            "examples.hit",
            "does not match",
        ),
        (
            "    effect: ask\n    where: {a: {eq: 1}}\n    examples: {miss: [{}]}",
            "examples.miss",
            "matches its example",
        ),
    ],
)
def test_what_cannot_stand_in_a_rule_is_refused_with_its_place(text, place, said):
    found = {f.place: f"{f.message} {f.hint}" for f in findings(rule(text))}
    assert said in found[place]


@pytest.mark.parametrize("pattern", ["*", "**", "*_file", "{a,b}*", "?x"])
def test_allowing_what_nobody_has_seen_takes_a_word(pattern):
    text = f"hitl_policy: 1\nrules: [{{id: r, tools: ['{pattern}'], effect: allow%s}}]"
    (found,) = findings(text % "")
    assert "broad: true" in found.hint
    assert Policy.from_text(text % ", broad: true").judge(call("a_file"))


def test_an_id_that_stands_twice_is_refused():
    text = rule("    effect: ask\n  - {id: r, tools: [u], effect: ask}")
    assert "first in line 4" in findings(text)[0].message


def test_a_star_alone_is_every_tool_and_other_globs_stop_at_dots():
    text = "hitl_policy: 1\ndefault: allow\nrules: [{id: r, tools: ['%s'], effect: deny}]"
    asked = call("fs.read/x")
    assert Policy.from_text(text % "*").judge(asked).effect == "deny"
    assert Policy.from_text(text % "fs.*").judge(asked).effect == "allow"
    assert Policy.from_text(text % "fs.**").judge(asked).effect == "deny"


def test_a_file_that_is_too_long_or_no_text_is_refused(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_bytes(b"hitl_policy: 1\n#\xff")
    with pytest.raises(BadPolicy, match=r"p\.yaml:2: error: .*not UTF-8"):
        Policy.load(file)
    file.write_bytes(b"#" * (16 * 2**20 + 1))
    with pytest.raises(BadPolicy, match="longer than 16 MiB"):
        Policy.load(file)
    file.write_bytes(b"\xef\xbb\xbfhitl_policy: 1\n")
    assert Policy.load(file).judge(call("t")).effect == "ask"


def test_json_needs_no_library_and_yaml_says_which(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    assert Policy.from_text('{"hitl_policy": 1}').policy_id
    with pytest.raises(Misuse, match=r"hitl\[policy\]"):
        Policy.from_text("hitl_policy: 1")


def test_many_errors_are_counted_and_not_all_told():
    rules = ", ".join(f"{{id: r{n}, tools: [t], effect: no_}}" for n in range(80))
    with pytest.raises(BadPolicy, match="80 errors") as caught:
        Policy.from_text(f"hitl_policy: 1\nrules: [{rules}]")
    assert "and 30 more" in str(caught.value)
    assert len(listed(caught.value)) == 80
