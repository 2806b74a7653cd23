"""The map of the sources: how it is read, what it says, what the reviewer reads."""

from __future__ import annotations

import dataclasses
import functools
import subprocess
import sys
import warnings
from typing import Any

import pytest

from hitl.errors import Misuse
from hitl.policy import DECISIONS, InterruptOn, InterruptOnConfig, ToolCallRequest

CALL: Any = {"name": "write_file", "args": {"path": "a.txt", "n": 1}, "id": "c1"}
STATE: Any = {"messages": []}


def request():
    return ToolCallRequest(tool_call=CALL, tool=None, state=STATE, runtime="runtime")


def never():
    raise AssertionError("the request was built though nothing needs it")


def judged(entry, call=CALL):
    return InterruptOn.compile({"write_file": entry}).judge(call, request)


def test_true_asks_for_every_call_with_all_four_decisions_in_order():
    verdict = InterruptOn.compile({"write_file": True}).judge(CALL, never)
    assert (verdict.effect, verdict.allowed) == ("ask", DECISIONS)
    assert verdict.rule == 'interrupt_on["write_file"]'
    assert DECISIONS == ("approve", "edit", "reject", "respond")


def test_false_and_unlisted_tools_run_freely():
    compiled = InterruptOn.compile({"read_file": False, "pay": True})
    listed = compiled.judge({"name": "read_file", "args": {}, "id": None}, never)
    unlisted = compiled.judge(CALL, never)
    assert (listed.effect, listed.rule) == ("allow", 'interrupt_on["read_file"]')
    assert (unlisted.effect, unlisted.rule) == ("allow", "")
    assert unlisted.why


def test_the_star_speaks_for_tools_without_an_entry_only():
    no: InterruptOnConfig = {"allowed_decisions": ["reject"]}
    compiled = InterruptOn.compile({"*": no, "read_file": False})
    assert compiled.judge(CALL, never).allowed == ("reject",)
    assert compiled.judge(CALL, never).rule == 'interrupt_on["*"]'
    assert compiled.judge({"name": "read_file", "args": {}, "id": None}, never).effect == "allow"
    assert compiled.tools == ("read_file",)


@pytest.mark.parametrize(
    "name", ["Write_File", " write_file", "write\u200b_file", "\uff57rite_file"]
)
def test_variants_of_a_name_are_other_tools_and_fall_to_the_star(name):
    compiled = InterruptOn.compile({"*": True, "write_file": False})
    assert compiled.judge({"name": name, "args": {}, "id": None}, never).effect == "ask"


def test_a_config_keeps_its_decisions_in_their_order():
    config: InterruptOnConfig = {"allowed_decisions": ["reject", "approve"]}
    assert judged(config).allowed == ("reject", "approve")


def test_changing_the_map_after_compiling_changes_nothing():
    schema = {"type": "object"}
    given: Any = {"write_file": {"allowed_decisions": ["reject"], "args_schema": schema}}
    compiled = InterruptOn.compile(given)
    given["write_file"]["allowed_decisions"].append("approve")
    schema["type"] = "array"
    copy: Any = compiled.args_schema("write_file")
    copy["type"] = "string"
    assert compiled.judge(CALL, never).allowed == ("reject",)
    assert compiled.args_schema("write_file") == {"type": "object"}
    assert compiled.args_schema("other") is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        compiled.description_prefix = "x"  # type: ignore[misc]


OK: Any = ["approve", "reject"]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, ['["allowed_decisions"] is missing', "keys given are: none"]),
        ({"when": bool}, ['["allowed_decisions"] is missing', "keys given are: when"]),
        ({"allowed_decisions": []}, ['["allowed_decisions"] is empty']),
        ({"allowed_decisions": ()}, ['["allowed_decisions"] is empty']),
        ({"allowed_decisions": ["aprove"]}, ["'aprove'", "Did you mean 'approve'?"]),
        ({"allowed_decisions": ["xyz"]}, ["'xyz'", "Known: approve, edit, reject, respond."]),
        ({"allowed_decisions": "approve"}, ["is the text 'approve'"]),
        ({"allowed_decisions": {"approve"}}, ["is of type set"]),
        ({"allowed_decisions": [["approve"]]}, ["has an element of type list"]),
        ({"allowed_decisions": ["approve", "approve"]}, ["names a decision twice"]),
        ({"allowed_decision": OK}, ["'allowed_decision'", "Did you mean 'allowed_decisions'?"]),
        ({"allowed_decisions": OK, "wen": bool}, ["'wen'", "Did you mean 'when'?"]),
        ({"allowed_decisions": OK, 3: 1}, ["the key 3"]),
        ({"allowed_decisions": OK, "when": True}, ['["when"] is True']),
        ({"allowed_decisions": OK, "description": 5}, ['["description"] is 5']),
        ({"allowed_decisions": OK, "args_schema": dict}, ['["args_schema"] is of type type']),
        ({"allowed_decisions": OK, "args_schema": {"a": {1}}}, ["not plain JSON"]),
        ({"allowed_decisions": OK, "allowedDecisions": OK}, ["'allowed_decisions' twice"]),
        ({"allowed_decisions": OK, "allowAccept": True}, ["mixes", "allowAccept"]),
        ({"allowAccept": 1}, ['["allowAccept"] is 1']),
        ({"allowAccept": False}, ['["allowed_decisions"] is empty']),
        (None, ["is None"]),
        (1, ["is 1"]),
        ("approve", ["is the text 'approve'"]),
        (["approve"], ["is of type list"]),
    ],
)
def test_a_wrong_entry_fails_at_construction_naming_tool_and_place(entry, words):
    with pytest.raises(Misuse) as caught:
        InterruptOn.compile({"write_file": entry})
    text = str(caught.value)
    assert text.startswith('interrupt_on["write_file"]')
    assert [word for word in words if word not in text] == []
    assert caught.value.hint


@pytest.mark.parametrize("key", [3, None, "", " pay", "pay\n", "fs.*"])
def test_a_key_that_no_call_can_match_fails_at_construction(key):
    with pytest.raises(Misuse, match="interrupt_on has the key"):
        InterruptOn.compile({key: True})


@pytest.mark.parametrize("given", [None, ["write_file"], "write_file", {"write_file"}])
def test_something_else_than_a_map_fails_at_construction(given):
    with pytest.raises(Misuse, match="interrupt_on is of type"):
        InterruptOn.compile(given)


def test_a_prefix_that_is_no_text_fails_at_construction():
    wrong: Any = None
    with pytest.raises(Misuse, match="description_prefix"):
        InterruptOn.compile({}, description_prefix=wrong)


def test_the_javascript_spelling_means_the_same():
    schema = {"type": "object"}
    entry: Any = {"allowedDecisions": ["approve"], "argsSchema": schema}
    compiled = InterruptOn.compile({"write_file": entry})
    assert compiled.judge(CALL, never).allowed == ("approve",)
    assert compiled.args_schema("write_file") == schema


@pytest.mark.parametrize(
    ("flags", "allowed"),
    [
        ({"allowAccept": True}, ("approve",)),
        ({"allowEdit": True, "allowAccept": False}, ("edit",)),
        ({"allowRespond": True}, ("reject", "respond")),
        ({"allowRespond": True, "allowEdit": True, "allowAccept": True}, DECISIONS),
    ],
)
def test_the_old_flags_stand_for_decisions(flags, allowed):
    assert judged(flags).allowed == allowed


class OddBool:
    """Like numpy's bool: falsy, but not False."""

    def __bool__(self):
        return False

    def __repr__(self):
        raise ValueError


def when(function):
    return judged({"allowed_decisions": OK, "when": function})


def test_only_a_when_that_returns_false_frees_the_call():
    assert when(lambda _: False).effect == "allow"
    assert when(lambda _: True).effect == "ask"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "returned None"),
        (0, "type int"),
        ("", "type str"),
        (1, "type int"),
        (OddBool(), "OddBool"),
    ],
)
def test_a_when_that_returns_no_bool_asks_and_says_so(answer, words):
    verdict = when(lambda _: answer)
    assert (verdict.effect, verdict.allowed) == ("ask", ("approve", "reject"))
    assert words in verdict.why
    assert verdict.rule == 'interrupt_on["write_file"]'


@pytest.mark.parametrize("error", [KeyError("x"), EOFError(), TimeoutError(), ValueError()])
def test_a_when_that_raises_asks_and_says_so(error):
    def broken(_):
        raise error

    verdict = when(broken)
    assert verdict.effect == "ask"
    assert f"raised {type(error).__name__}" in verdict.why


def test_an_async_when_asks_and_leaves_no_warning_behind():
    async def free(_):
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verdict = when(free)
    assert verdict.effect == "ask"
    assert "async" in verdict.why


def test_a_pause_or_an_interruption_inside_a_when_passes_through():
    def stopped(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        when(stopped)


def test_a_when_sees_call_tool_state_and_runtime_and_may_be_any_callable():
    seen: list[ToolCallRequest] = []

    def look(into, asked):
        into.append(asked)
        return False

    assert when(functools.partial(look, seen)).effect == "allow"
    (asked,) = seen
    assert asked.tool_call["args"]["path"] == "a.txt"
    assert (asked.tool, asked.state, asked.runtime) == (None, STATE, "runtime")


def described(description, **options):
    entry: Any = {"allowed_decisions": OK, "description": description}
    return InterruptOn.compile({"write_file": entry}, **options).describe(CALL, request)


FACTS = "\n\nTool: write_file\nArgs: {'path': 'a.txt', 'n': 1}"


def test_the_description_is_prefix_tool_and_arguments():
    compiled = InterruptOn.compile({"write_file": True})
    assert compiled.describe(CALL, never) == "Tool execution requires approval" + FACTS
    assert described(None, description_prefix="Look") == "Look" + FACTS


@pytest.mark.parametrize("text", ["Write a file", ""])
def test_a_static_description_is_shown_as_it_is(text):
    assert described(text) == text


def test_a_description_function_gets_call_state_and_runtime_in_that_order():
    assert described(lambda *given: repr(given)) == repr((CALL, STATE, "runtime"))


class Text(str):
    __slots__ = ()


def test_a_description_is_exactly_a_str():
    assert type(described(lambda *_: Text("x"))) is str


@pytest.mark.parametrize(
    ("answer", "words"), [(None, "it returned None"), (5, "type int"), (OddBool(), "OddBool")]
)
def test_a_description_that_is_no_text_shows_the_facts_and_a_note(answer, words):
    text = described(lambda *_: answer)
    assert text.startswith("Tool execution requires approval" + FACTS)
    assert words in text


def test_a_description_that_raises_shows_the_facts_and_a_note():
    text = described(lambda call: call)
    assert text.startswith("Tool execution requires approval" + FACTS)
    assert "TypeError" in text


def test_an_async_description_shows_the_facts_and_leaves_no_warning_behind():
    async def describe(*_):
        return "x"

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = described(describe)
    assert text.startswith("Tool execution requires approval" + FACTS)


def test_the_review_config_has_the_sources_keys():
    compiled = InterruptOn.compile({"write_file": {"allowed_decisions": OK}})
    verdict = compiled.judge(CALL, never)
    assert compiled.review_config("write_file", verdict) == {
        "action_name": "write_file",
        "allowed_decisions": ["approve", "reject"],
    }


def test_importing_the_policy_loads_nothing_heavy():
    heavy = {"pydantic", "asyncio", "sqlite3", "difflib"}
    code = f"import sys, hitl.policy; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
