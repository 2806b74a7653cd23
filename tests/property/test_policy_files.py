"""Whatever a policy file holds, reading it ends in a policy or in one clear error."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hitl.errors import BadPolicy
from hitl.policy import Policy
from hitl.policy.document import Document
from hitl.policy.document_reading import json_schema, read_document
from hitl.policy.reading import decode, read_text

WHOLE = {
    "hitl_policy": 1,
    "default": "ask",
    "unknown_tool": "deny",
    "roots": {"work": "./w", "state": {"folder": "/s", "real": False, "base": "/s"}},
    "groups": {"finance": ["ann", "bob"], "board": ["cfo"]},
    "rules": [
        {
            "id": "pay",
            "tools": ["pay", "bank.*"],
            "effect": "ask",
            "where": {"amount": {"gt": 100, "le": 1e9}, "any": [{"to": {"prefix": "x"}}]},
            "unless": {"payee": {"in": ["payroll", 1, None, True]}, "not": {"a": {"size": 3}}},
            "decisions": ["approve", "edit", "reject"],
            "edit": {"fields": ["memo"], "keep": ["payee"]},
            "reviewers": {"any_of": ["finance"], "need": 2, "not_requester": True},
            "deadline": {"after": "24h", "then": "reject", "escalate_at": "4h", "to": ["board"]},
            "grants": {"allowed": True, "scope": "same_args", "ttl": "1h", "uses": 5},
            "why": "because",
            "examples": {"hit": [{"amount": 101, "to": "x"}], "miss": [{"amount": 1}]},
        },
        {
            "id": "run",
            "tools": ["run"],
            "effect": "allow",
            "where": {
                "cmd": {"argv": [["git", "status"], ["ls"]]},
                "url": {"host_in": ["example.com"]},
                "path": {"within": {"root": "work", "subtree": True}},
                "sql": {"sql": "read"},
                "/a/b": {"exists": True, "between": [1, 2]},
            },
            "broad": False,
        },
    ],
}
WORDS = ["allow", "ask", "id", "where", "any", "not", "eq", "1h", "", "*", "x", "work", "finance"]
odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.integers(2**60, 2**80),
    st.sampled_from([*WORDS, 0.5, -1.5, float("nan"), float("inf")]),
    st.sampled_from([[], {}, [[]], {"eq": 1}, [{"eq": 1}]]),
)


def places(value, path=()):
    yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        yield from places(inner, (*path, key))


PLACES = [path for path in places(WHOLE) if path]


@st.composite
def mutated(draw):
    """A valid document with some places dropped, replaced or added to."""
    document: Any = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(0, 3))):
        *above, last = draw(st.sampled_from(PLACES))
        around: Any = document
        try:
            for step in above:
                around = around[step]
            action = draw(st.sampled_from(["drop", "put", "add"]))
            if action == "drop":
                del around[last]
            elif action == "put":
                around[last] = draw(odd)
            elif isinstance(around, list):
                around.append(draw(odd))
            else:
                around[draw(st.sampled_from(WORDS))] = draw(odd)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
    return document


def told_of(error):
    assert error.fields["findings"]
    assert all(finding.level == "error" for finding in error.fields["findings"])


def ends_well(text) -> Policy | None:
    try:
        return Policy.from_text(text, name="p.yaml")
    except BadPolicy as error:
        told_of(error)
        return None


def test_the_document_to_start_from_is_a_policy():
    assert ends_well(json.dumps(WHOLE)) is not None


@given(st.text() | st.text(alphabet="{}[]:,-&*!?|>'\"#%@` \n\tabc01.~<=", max_size=60))
@example("? - :")
@example("%YAML 9.9\n---\na")
@example("a: |\n b")
def test_any_text_ends_in_a_policy_or_one_clear_error(text):
    ends_well(text)


@given(st.binary(max_size=80))
def test_any_bytes_end_in_a_text_or_one_clear_error(raw):
    try:
        ends_well(decode(raw, "p"))
    except BadPolicy as error:
        told_of(error)


@settings(max_examples=150)
@given(mutated())
def test_a_changed_file_ends_in_a_policy_or_one_clear_error_in_json_as_in_yaml(document):
    try:
        text = json.dumps(document, allow_nan=False)
    except ValueError:
        ends_well(yaml.safe_dump(document))
        return
    one = ends_well(text)
    other = ends_well(f"# YAML\n{text}")
    if one is not None and other is not None:
        assert one.policy_id == other.policy_id
    assert (one is None) == (other is None) or "e+" in text


@settings(max_examples=150)
@given(mutated())
def test_the_schema_says_of_a_files_form_what_the_reader_says(document):
    try:
        text = json.dumps(document, allow_nan=False)
    except ValueError:
        return
    try:
        assert isinstance(read_document(read_text(text, "p")), Document)
        read = True
    except BadPolicy:
        read = False
    assert jsonschema.Draft202012Validator(json_schema()).is_valid(json.loads(text)) == read


@given(mutated(), st.data())
def test_a_file_that_was_cut_or_changed_in_a_letter_ends_well(document, data):
    text = yaml.safe_dump(document, allow_unicode=True)
    at = data.draw(st.integers(0, len(text)))
    ends_well(
        text[:at] + data.draw(st.text(max_size=2)) + text[at + data.draw(st.integers(0, 3)) :]
    )
