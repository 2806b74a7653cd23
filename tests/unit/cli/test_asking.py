"""Asking in the terminal: only an explicit word decides."""

from __future__ import annotations

import io
import json
from typing import TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hitl.checkpoint import InMemorySaver
from hitl.cli.asking import LETTERS, Asker
from hitl.cli.screen import Screen
from hitl.engine import StateGraph, current_task, interrupt
from hitl.errors import StoreFailed
from hitl.inbox import Inbox
from hitl.ledger import Ask
from hitl.values import START, Json, ManualClock, fingerprint

ARGS: dict[str, Json] = {"path": "a.txt", "text": "x" * 3000}


class State(TypedDict):
    n: int


class Typist:
    """Types prepared lines, then leaves; edits by a prepared function."""

    def __init__(self, *lines, edit=lambda text: None):
        self.lines = list(lines)
        self.edit = edit
        self.prompts = []

    def read(self, prompt):
        self.prompts.append(prompt)
        return self.lines.pop(0) if self.lines else None


def waiting(*kinds, allowed=("approve", "edit", "reject", "respond"), clock=None, **more):
    """Return an inbox in which calls (or a question) wait."""

    def node(state):
        if kinds == ("question",):
            return interrupt({"which": "colour"})
        rules: dict[str, Json] = {"args_schema": {"type": "object", "required": ["path"]}, **more}
        print_ = fingerprint("write", ARGS)
        subject: Json = {"name": "write", "args": ARGS, "description": "harmless"}
        asks = [Ask("action", print_, subject, allowed, rules) for _ in kinds]
        return current_task("test").ask(asks, list)

    store = InMemorySaver(clock=clock)
    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(store)
    graph.invoke({"n": 1}, {"configurable": {"thread_id": "t"}})
    return Inbox(store)


def ask(desk, typist):
    out = io.StringIO()
    whole = Asker(Screen(out=out, err=out), desk, typist, "ann").ask(desk.pending())
    return whole, out.getvalue()


def decisions(desk):
    return [item.decision and item.decision.type for item in desk.store.items()]


@pytest.mark.parametrize("word", ["approve", "a", "APPROVE"])
def test_the_word_or_its_letter_approves(word):
    desk = waiting("action")
    whole, _ = ask(desk, Typist(word))
    assert whole
    assert decisions(desk) == ["approve"]
    assert desk.store.items()[0].decision.by == "ann"


@pytest.mark.parametrize(
    "lines", [("",), (), ("y", ""), ("yes",), ("approve it",), ("v", ""), ("ok", "1", "")]
)
def test_nothing_else_does(lines):
    desk = waiting("action")
    whole, _ = ask(desk, Typist(*lines))
    assert not whole
    assert decisions(desk) == [None]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(st.text(max_size=12), max_size=4))
def test_no_other_text_approves(lines):
    words = {word for pair in LETTERS.items() for word in pair}
    lines = [line for line in lines if line.lower() not in words]
    desk = waiting("action")
    ask(desk, Typist(*lines))
    assert decisions(desk) == [None]


def test_a_word_that_is_not_allowed_is_none_of_these():
    desk = waiting("action", allowed=("reject",))
    _, shown = ask(desk, Typist("approve", "a", ""))
    assert shown.count("is none of these") == 2
    assert decisions(desk) == [None]


def test_enter_leaves_one_open_and_goes_to_the_next():
    desk = waiting("action", "action")
    whole, shown = ask(desk, Typist("", "approve"))
    assert not whole
    assert sorted(map(str, decisions(desk))) == ["None", "approve"]
    assert "Left open." in shown


def test_leaving_ends_all_asking():
    desk = waiting("action", "action")
    typist = Typist()
    ask(desk, typist)
    assert len(typist.prompts) == 1


def test_facts_come_first_and_long_values_are_cut_with_their_length():
    desk = waiting("action")
    _, shown = ask(desk, Typist(""))
    assert shown.index('"a.txt"') < shown.index("harmless")
    assert "3,002 characters" in shown.replace("\n      │ ", "")
    assert "x" * 60 in shown
    _, viewed = ask(desk, Typist("v", ""))
    assert viewed.count("x") > shown.count("x") + 2500


def test_a_rejection_may_say_why_and_a_response_must_say_something():
    desk = waiting("action", "action")
    ask(desk, Typist("r", "not here", "s", "", "s", "done by hand"))
    payloads = [item.decision.payload for item in desk.pending() or desk.store.items()]
    assert {"message": "not here"} in payloads
    assert {"message": "done by hand"} in payloads


def test_leaving_at_the_message_decides_nothing():
    for word in ("reject", "respond"):
        desk = waiting("action")
        ask(desk, Typist(word))
        assert decisions(desk) == [None]


def test_an_edit_is_shown_and_confirmed():
    new = json.dumps({"path": "b.txt"})
    desk = waiting("action")
    whole, shown = ask(desk, Typist("edit", "edit", edit=lambda text: new))
    assert whole
    assert "proposed:" in shown
    assert 'runs:          write(path="b.txt")' in shown
    assert '"a.txt" -> "b.txt"' in shown
    assert desk.store.items()[0].decision.payload["edited_action"] == {
        "name": "write",
        "args": {"path": "b.txt"},
    }


@pytest.mark.parametrize(
    ("lines", "edit"),
    [
        (("edit", ""), lambda text: None),
        (("edit", ""), lambda text: text),
        (("edit", ""), lambda text: "{"),
        (("edit", "", ""), lambda text: '{"path": "b"}'),
        (("edit", "yes", ""), lambda text: '{"path": "b"}'),
        (("edit",), lambda text: '{"path": "b"}'),
        (("edit", "edit", ""), lambda text: "{}"),
    ],
)
def test_an_edit_that_is_not_clear_or_not_confirmed_decides_nothing(lines, edit):
    desk = waiting("action")
    whole, _ = ask(desk, Typist(*lines, edit=edit))
    assert not whole
    assert decisions(desk) == [None]


def test_a_question_takes_json_or_text():
    for typed, value in (("blue", "blue"), ('{"a": 1}', {"a": 1})):
        desk = waiting("question")
        assert ask(desk, Typist("answer", typed))[0]
        assert desk.store.items()[0].decision.payload == {"value": value}
    desk = waiting("question")
    ask(desk, Typist("w", "", ""))
    assert decisions(desk) == [None]


def test_who_was_faster_is_told():
    desk = waiting("action")
    (item,) = desk.pending()

    class Slow(Typist):
        def read(self, prompt):
            desk.decide(item.id, {"type": "reject"}, by="bob")
            return super().read(prompt)

    _, shown = ask(desk, Slow("approve"))
    assert "reject by bob" in shown
    assert decisions(desk) == ["reject"]


def test_an_unnamed_reviewer_is_told_once_how_to_give_a_name():
    desk, out = waiting("action", "action"), io.StringIO()
    Asker(Screen(out=out, err=out), desk, Typist("a", "a"), None).ask(desk.pending())
    assert out.getvalue().count("--reviewer NAME, or HITL_REVIEWER") == 1


def test_a_store_that_fails_is_not_asked_around():
    class Failing(Inbox):
        def decide(self, id, decision, *, by=None):
            raise StoreFailed("disk full")

    desk = Failing(waiting("action").store)
    with pytest.raises(StoreFailed):
        ask(desk, Typist("approve"))
    assert decisions(desk) == [None]


def test_a_vote_is_kept_and_the_item_stays_open():
    desk = waiting("action", reviewers=[{"need": 2}])
    whole, said = ask(desk, Typist("a"))
    assert not whole
    assert "Your vote is kept: 1 of 2." in said
    assert len(desk.pending()[0].votes) == 1


def test_what_expires_while_somebody_looks_is_told_and_left():
    clock = ManualClock()
    desk = waiting("action", clock=clock, deadline={"after": 60})

    class Slow(Typist):
        def read(self, prompt):
            clock.advance(60)
            return super().read(prompt)

    whole, said = ask(desk, Slow("a"))
    assert not whole
    assert "expired at" in said
    assert decisions(desk) == [None]
