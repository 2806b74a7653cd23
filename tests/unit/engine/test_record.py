"""Entries as text: changes of channels, whole states, and what cannot be read back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hitl.engine import record
from hitl.engine.record import apply, checkpoint_body, intent_tree, record_body, task_tree
from hitl.engine.standing import NO_ARG, Asked, Done, Intent, Record, Standing
from hitl.errors import Damaged, InvalidUpdateError
from hitl.values import Entry


def entry(body, kind="step", seq=1):
    return Entry(seq, kind, 0, 5.0, body, "")


def written(standing, *changed, base=False, first=False, keep=False):
    return checkpoint_body(standing, changed, base=base, first=first, keep=keep)


def test_a_list_that_grows_is_written_as_its_tail():
    standing: Any = Standing(values={"log": ["a", "b"]})
    assert json.loads(written(standing, "log"))["ch"] == {"log": {"k": 0, "t": ["a", "b"]}}
    standing.values["log"] = [*standing.values["log"], "c"]
    assert json.loads(written(standing, "log"))["ch"] == {"log": {"k": 2, "t": ["c"]}}
    standing.values["log"] = [*standing.values["log"][:1], "d"]
    assert json.loads(written(standing, "log"))["ch"] == {"log": {"k": 1, "t": ["d"]}}


def test_a_list_of_n_turns_costs_n_elements():
    standing: Any = Standing(values={"log": []})
    size = 0
    for turn in range(300):
        standing.values["log"] = [*standing.values["log"], f"turn {turn:04}"]
        size += len(written(standing, "log"))
        assert not record.is_wasteful(standing)
    assert size < 300 * 80


def test_a_whole_state_is_written_when_dead_text_outweighs_the_live(monkeypatch):
    monkeypatch.setattr(record, "_SPARE", 100)
    standing: Any = Standing(values={"text": ""}, checkpoint=7)
    for turn in range(20):
        standing.values["text"] = f"{turn}" * 20
        written(standing, "text")
    assert record.is_wasteful(standing)
    body = json.loads(written(standing, base=True))
    assert (body["base"], body["up"]) == (True, 7)
    assert not record.is_wasteful(standing)


def test_a_committed_element_that_was_changed_in_place_is_named():
    rows = [{"n": 1}]
    standing: Any = Standing(values={"rows": rows})
    written(standing, "rows")
    rows[0]["n"] = 2
    standing.values["rows"] = [*rows, {"n": 3}]
    with pytest.raises(InvalidUpdateError, match="Element 0 of 'rows' was changed in place"):
        written(standing, "rows")


def test_what_tasks_leave_is_read_back():
    intent = Intent(2, False, {"name": "x", "args": {}}, "i" * 32)
    done = Done([("n", (1, b"2"))], [("a", NO_ARG), ("b", {"arg": 1})])
    asked = Asked("q" * 32, {"q": (1,)}, ("q" * 32,))
    standing = Standing()
    bodies = [
        ("intent", record_body({0: {"intents": {"k": intent_tree(intent)}}})),
        ("note", record_body({0: {"notes": {"step:0:f": {"x": 1}}}})),
        ("result", record_body({1: task_tree(Record(done=done), "n"), 2: {"err": "E: x"}})),
        ("pause", record_body({0: task_tree(Record(intents={"k": intent}), "n", [asked])})),
        ("decide", "not even JSON"),
    ]
    for seq, (kind, body) in enumerate(bodies, 1):
        apply(standing, entry(body, kind, seq))
    assert standing.records == {
        0: Record([asked], {"step:0:f": {"x": 1}}, {"k": intent}),
        1: Record(done=done),
        2: Record(error="E: x"),
    }


def test_a_pause_says_which_calls_paused_inside():
    intent = Intent(1, False, {}, paused=True)
    asked = Asked("q" * 32, "?", ("q" * 32,), lost="k")
    standing = Standing()
    apply(standing, entry(record_body({0: {"intents": {"k": intent_tree(intent)}}}), "intent"))
    assert standing.records[0].intents["k"].paused is False
    tree = task_tree(Record(intents={"k": intent}), "n", [asked])
    apply(standing, entry(record_body({0: tree}), "pause", 2))
    found = standing.records[0].intents["k"]
    assert (found.paused, found.outcome) == (True, "q" * 32)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("step", "nonsense"),
        ("step", "[]"),
        ("step", "{}"),
        ("step", '{"n":"x","src":"loop","due":[],"ch":{}}'),
        ("step", '{"n":1,"src":"loop","due":[[]],"ch":{}}'),
        ("step", '{"n":1,"src":"loop","due":[],"ch":{"log":{"k":9,"t":[]}}}'),
        ("step", '{"n":1,"src":"loop","due":[],"ch":{"log":{"k":-1,"t":[]}}}'),
        ("step", '{"n":1,"src":"loop","due":[],"ch":{"log":{"k":0}}}'),
        ("step", '{"n":1,"src":"loop","due":[],"ch":{"x":{"v":{"$":"no.Such","v":1}}}}'),
        ("step", '{"n":1,"src":"loop","due":[],"ch":{},"base":true}'),
        ("result", '{"tasks":[]}'),
        ("result", '{"tasks":{"a":{}}}'),
        ("result", '{"tasks":{"0":{"w":[[1]],"go":[]}}}'),
        ("pause", '{"tasks":{"0":{"ask":[{"id":"q","v":1,"items":[],"lost":"k"}]}}}'),
        ("pause", '{"tasks":{"0":{"in":["k"]}}}'),
    ],
)
def test_an_entry_that_cannot_be_read_is_named(kind, body):
    with pytest.raises(Damaged, match=rf"Entry 9 \({kind}\) of thread 't'") as caught:
        apply(Standing("t"), entry(body, kind, 9))
    assert caught.value.fields["seq"] == 9
