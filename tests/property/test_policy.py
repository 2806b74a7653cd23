"""Laws of policy files that hold for every file and every call.

``naive`` is the reference: it reads the rules of the document top to bottom, as a person does.
"""

from __future__ import annotations

import json
import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.policy import DECISIONS, Policy
from hitl.policy.layer import FileLayer

RANK = {"allow": 0, "ask": 1, "deny": 2}
NAMES = ["a", "b", "c"]
TEXTS = ["", "x", "xy", "xyz", "y", "/x/y", "/x/z", "\uff58", "x\u200b", "ﬁ", "fi", "1"]
NUMBERS = [0, 1, 2, 5, 1.0, 2.5, -1, 2**70]
VALUES = [*TEXTS, *NUMBERS, True, False, None, [], ["x"], [1, "xy"], {}, {"d": "x"}, float("nan")]
TOOLS = ["pay", "fs.read", "fs.write", "other"]
PATTERNS = ["pay", "fs.read", "fs.*", "*", "f**", "other", "p?y"]

scalars = st.sampled_from([*TEXTS, *NUMBERS, True, False, None])
texts = st.sampled_from([text for text in TEXTS if text])
numbers = st.sampled_from(NUMBERS)

operators = st.one_of(
    st.fixed_dictionaries({"eq": scalars}),
    st.fixed_dictionaries({"in": st.lists(scalars, min_size=1, max_size=3)}),
    st.fixed_dictionaries({"prefix": texts}),
    st.fixed_dictionaries({"suffix": texts}),
    st.fixed_dictionaries({"contains": scalars}),
    st.fixed_dictionaries({"glob": st.sampled_from(["x*", "/x/*", "**", "x", "\uff58*", "?"])}),
    st.fixed_dictionaries({"gt": numbers}),
    st.fixed_dictionaries({"ge": numbers, "lt": numbers}),
    st.fixed_dictionaries({"le": numbers}),
    st.tuples(numbers, numbers).map(lambda pair: {"between": sorted(pair)}),
    st.fixed_dictionaries({"size": st.integers(0, 3)}),
    st.fixed_dictionaries({"size_le": st.integers(0, 3)}),
    st.fixed_dictionaries({"exists": st.booleans()}),
)
groups = st.dictionaries(
    st.sampled_from([*NAMES, "/a/d", "/a/0"]), operators, min_size=1, max_size=2
)
conditions = st.one_of(
    groups,
    st.tuples(groups, st.lists(groups, min_size=1, max_size=2)).map(
        lambda p: {**p[0], "any": p[1]}
    ),
    st.lists(groups, min_size=1, max_size=2).map(lambda some: {"all": some}),
    groups.map(lambda group: {"not": group}),
)
NO_SAY = [["approve", "reject"], ["approve", "edit", "respond"], ["reject"], list(DECISIONS)]
asking = st.fixed_dictionaries(
    {"effect": st.just("ask")},
    optional={
        "decisions": st.sampled_from(NO_SAY),
        "reviewers": st.sampled_from(
            [{"any_of": ["g"], "need": 2}, {"any_of": ["h"]}, {"not_requester": True}]
        ),
        "deadline": st.sampled_from([{"after": "1h"}, {"after": "30m"}]),
        "grants": st.sampled_from(
            [{"allowed": False}, {"allowed": True}, {"allowed": True, "ttl": "30m", "uses": 3}]
        ),
    },
)
effects = st.one_of(
    st.just({"effect": "allow", "broad": True}), st.just({"effect": "deny"}), asking
)
rules = st.tuples(
    st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2, unique=True),
    effects,
    st.fixed_dictionaries({}, optional={"where": conditions, "unless": conditions}),
).map(lambda parts: {"tools": parts[0], **parts[1], **parts[2]})
documents = st.fixed_dictionaries(
    {
        "hitl_policy": st.just(1),
        "groups": st.just({"g": ["ann", "bob"], "h": ["cfo"]}),
        "rules": st.lists(rules, max_size=6).map(
            lambda some: [{"id": f"r{at}", **rule} for at, rule in enumerate(some)]
        ),
    },
    optional={
        "default": st.sampled_from(list(RANK)),
        "unknown_tool": st.sampled_from(list(RANK)),
    },
)
calls = st.builds(
    lambda name, args: {"name": name, "args": args, "id": None},
    st.sampled_from([*TOOLS, "stranger"]),
    st.one_of(
        st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VALUES), max_size=3),
        st.sampled_from([None, [], "x"]),
    ),
)

MISSING = object()


def policy_of(document) -> Policy:
    return Policy.from_text(json.dumps(document)).bind(TOOLS)


def looks(text):
    joined = unicodedata.normalize("NFKC", text)
    return "".join(char for char in joined if unicodedata.category(char) != "Cf")


def kind(value):
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number" if value == value else "nan"
    return {str: "text", type(None): "null", list: "list", dict: "map"}.get(type(value), "?")


def glob(pattern, text):
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    wild = {"**": r"[\s\S]*", "*": "[^/.]*", "?": "[^/.]"}
    return (
        re.fullmatch("".join(wild.get(part, re.escape(part)) for part in parts), text) is not None
    )


def on_text(test, wanted, value):
    if kind(value) != "text":
        return None
    found = test(value, wanted)
    return found if test(looks(value), looks(wanted)) == found else None


def equal(wanted, value):
    if value is MISSING:
        return None
    if wanted is None:
        return value is None
    if kind(value) != kind(wanted):
        return None
    return on_text(str.__eq__, wanted, value) if kind(value) == "text" else value == wanted


def some(truths):
    truths = list(truths)
    return True if True in truths else None if None in truths else False


def every(truths):
    truths = list(truths)
    return False if False in truths else None if None in truths else True


def negated(truth):
    return None if truth is None else not truth


def holds(operator, wanted, value):
    size = len(value) if kind(value) in ("text", "list", "map") else None
    number = value if kind(value) == "number" else None
    if operator == "eq":
        return equal(wanted, value)
    if operator == "in":
        if kind(value) == "text":
            near = [w for w in wanted if kind(w) == "text"]
            exact = value in near
            agree = (looks(value) in map(looks, near)) == exact
            return None if not near or not agree else exact
        if value is None or all(w is None for w in wanted):
            return (
                None
                if value is MISSING
                else True
                if None in wanted and value is None
                else (None if value is None else False)
            )
        same = [w for w in wanted if kind(w) == kind(value)]
        return any(value == w for w in same) if same else None
    if operator == "prefix":
        return on_text(str.startswith, wanted, value)
    if operator == "suffix":
        return on_text(str.endswith, wanted, value)
    if operator == "glob":
        return on_text(lambda text, pattern: glob(pattern, text), wanted, value)
    if operator == "contains":
        if kind(value) == "list":
            return some(equal(wanted, part) for part in value)
        return on_text(str.__contains__, wanted, value) if kind(wanted) == "text" else None
    if operator in ("size", "size_le"):
        return None if size is None else size == wanted if operator == "size" else size <= wanted
    if number is None:
        return None
    low, high = wanted if operator == "between" else (wanted, wanted)
    return {
        "gt": number > low,
        "ge": number >= low,
        "lt": number < low,
        "le": number <= low,
        "between": low <= number <= high,
    }[operator]


def find(args, pointer):
    value = args
    for step in pointer[1:].split("/") if pointer.startswith("/") else [pointer]:
        if isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and step.isdigit():
            value = value[int(step)] if int(step) < len(value) else MISSING
        else:
            return MISSING, isinstance(value, list) or value is MISSING
    return value, True


def argument(args, pointer, asked):
    if not isinstance(args, dict):
        return None
    value, reachable = find(args, pointer)
    for operator, wanted in asked.items():
        if operator == "exists":
            yield (value is not MISSING) == wanted if reachable else None
        else:
            yield holds(operator, wanted, value)


def group(args, conditions):
    truths: list = []
    for pointer, asked in conditions.items():
        if not isinstance(args, dict):
            truths.append(None)
        else:
            truths += argument(args, pointer, asked)
    return every(truths)


def clause(args, conditions):
    plain = {key: value for key, value in conditions.items() if key not in ("any", "all", "not")}
    truths = [group(args, plain)]
    if "any" in conditions:
        truths.append(some(group(args, one) for one in conditions["any"]))
    if "all" in conditions:
        truths.append(every(group(args, one) for one in conditions["all"]))
    if "not" in conditions:
        truths.append(negated(group(args, conditions["not"])))
    return every(truths)


def speaks_of(rule, name):
    return any(pattern == "*" or glob(pattern, name) for pattern in rule["tools"])


def votes(rule, args):
    truths = [clause(args, rule["where"])] if "where" in rule else []
    truths += [negated(clause(args, rule["unless"]))] if "unless" in rule else []
    truth = every(truths)
    return truth is True or (truth is None and rule["effect"] != "allow")


def naive(document, call):
    """Return (effect, ids of the rules that decide, decisions) as a person would find them."""
    voting = [r for r in document["rules"] if speaks_of(r, call["name"]) and votes(r, call["args"])]
    known = call["name"] in TOOLS
    said = [rule["effect"] for rule in voting]
    if not known:
        said.append(document.get("unknown_tool", "deny"))
    top = max(said, key=RANK.__getitem__, default=document.get("default", "ask"))
    deciding = [rule for rule in voting if rule["effect"] == top]
    if top != "ask":
        return top, {rule["id"] for rule in deciding}, ()
    offers = [rule.get("decisions", DECISIONS) for rule in deciding]
    allowed = tuple(word for word in DECISIONS if all(word in offer for offer in offers))
    return ("ask" if allowed else "deny"), {rule["id"] for rule in deciding}, allowed


def judged(policy, call):
    return policy.judge(call)


def told(verdict):
    return verdict.effect, set(verdict.rules), verdict.allowed


def stricter_or_equal(one, other):
    return RANK[one.effect] >= RANK[other.effect] and (
        one.effect != "ask" or other.effect != "ask" or set(one.allowed) <= set(other.allowed)
    )


@settings(max_examples=200)
@given(documents, st.lists(calls, min_size=1, max_size=8))
def test_the_fast_judge_says_what_reading_top_to_bottom_says(document, some_calls):
    policy = policy_of(document)
    for call in some_calls:
        assert told(policy.judge(call)) == naive(document, call)


@given(documents, calls, st.randoms(use_true_random=False))
def test_no_order_counts(document, call, random):
    shuffled = json.loads(json.dumps(document))
    random.shuffle(shuffled["rules"])
    shuffled["rules"] = [dict(random.sample(list(r.items()), len(r))) for r in shuffled["rules"]]
    shuffled = dict(random.sample(list(shuffled.items()), len(shuffled)))
    one, other = policy_of(document), policy_of(shuffled)
    assert one.policy_id == other.policy_id
    first, second = one.judge(call), other.judge(call)
    assert told(first) == told(second)
    assert (first.obligations, first.why) == (second.obligations, second.why)


@given(documents, rules, calls)
def test_a_rule_that_is_added_never_loosens_what_is_said_by_its_equals_and_stricter_ones(
    document, rule, call
):
    before = policy_of(document).judge(call)
    more = {**document, "rules": [*document["rules"], {"id": "new", **rule}]}
    after = policy_of(more).judge(call)
    if before.rules and RANK[rule["effect"]] >= RANK[before.effect]:
        assert stricter_or_equal(after, before)


@given(documents, documents, documents, calls)
def test_a_layer_only_tightens_and_layers_have_no_order(first, second, third, call):
    a, b, c = policy_of(first), policy_of(second), policy_of(third)
    both = (a & b).judge(call)
    assert stricter_or_equal(both, a.judge(call))
    assert stricter_or_equal(both, b.judge(call))
    whole = Policy.layered(a, b, c)
    verdicts = [p.judge(call) for p in (whole, a & (b & c), (c & b) & a, Policy.layered(b, c, a))]
    assert {told(v)[0] for v in verdicts} == {verdicts[0].effect}
    assert {(v.allowed, v.obligations, v.rules, v.policy_id) for v in verdicts} == {
        (
            whole.judge(call).allowed,
            *(getattr(whole.judge(call), n) for n in ("obligations", "rules", "policy_id")),
        )
    }


@given(documents, calls)
def test_the_unknown_never_allows(document, call):
    # Whatever the values are, where there are no arguments nothing can be told.
    policy = policy_of(document)
    blind = judged(policy, dict(call, args=None))
    for rule in document["rules"]:
        if rule["id"] in blind.rules and blind.effect == "allow":
            assert "where" not in rule
            assert "unless" not in rule


@given(documents, documents, calls)
def test_an_explanation_agrees_with_the_verdict(document, other, call):
    for policy in (policy_of(document), policy_of(document) & policy_of(other)):
        verdict = policy.judge(call)
        explanation = policy.explain(call)
        assert explanation.verdict == verdict
        ids = [vote.rule for vote in explanation.by if vote.rule]
        assert set(ids) == set(verdict.rules)
        assert {vote.effect for vote in explanation.by} <= {verdict.effect, "ask"}
        assert {vote.layer for vote in explanation.layers} == {
            layer.name for layer in policy.layers
        }
        json.dumps(explanation.as_json(), allow_nan=False)
        assert not {near.rule for near in explanation.near} & set(ids) or len(policy.layers) > 1


@given(documents, calls)
def test_a_judgement_asks_every_condition_at_most_once(document, call):
    policy = policy_of(document)
    asked = 0

    def counting(check):
        def counted(args):
            nonlocal asked
            asked += 1
            return check(args)

        return counted

    (layer,) = policy.layers
    assert isinstance(layer, FileLayer)
    total = 0
    for rule in layer.rules:
        checks = tuple(counting(check) for check in rule._checks)
        object.__setattr__(rule, "_checks", checks)
        total += len(checks)
    policy.judge(call)
    assert asked <= total
