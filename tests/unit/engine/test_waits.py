"""Calls that started and left no result: who is asked, and what new input does to them.

The nodes here do by hand what the floor above does for tools: commit an intent, run, settle.
"""

from __future__ import annotations

import operator
from typing import Annotated, TypedDict

import pytest

from hitl.engine import Intent, StateGraph, current_task, interrupt
from hitl.errors import NotAllowed, OutcomeUnknown, WrongAnswer
from hitl.inbox import Inbox
from hitl.values import START, Command, Config

CONFIG: Config = {"configurable": {"thread_id": "t"}}


class Log(TypedDict, total=False):
    log: Annotated[list, operator.add]


class Caller:
    """A node that starts a call; the process dies in its body as often as told."""

    def __init__(self, *, deaths=1, safe=False, asks=False, noted=False):
        self.deaths, self.safe, self.asks, self.noted = deaths, safe, asks, noted
        self.started = 0

    def __call__(self, state):
        task = current_task("caller")
        known = task.record.intents.get("k")
        if known is not None and known.outcome:
            decision = task.run.items[known.outcome].decision
            assert decision is not None
            if decision.type != "retry":
                return {"log": [(decision.type, decision.payload.get("message"))]}
        attempt = 1 if known is None else known.attempt + (0 if known.paused else 1)
        subject = {"name": "send", "args": {"to": "bob"}, "call_id": "c1"}
        intent = Intent(attempt, self.safe, subject)  # type: ignore[arg-type]
        task.run.journal.intent(task.place, "k", intent, ())
        task.record.intents["k"] = intent
        self.started += 1
        if self.asks:
            interrupt("inside?")
        if self.noted:
            task.run.journal.note(task.place, "k", "sent")
        if self.deaths:
            self.deaths -= 1
            raise KeyboardInterrupt
        return {"log": [f"attempt {attempt}"]}


def build(node):
    graph = StateGraph(Log).add_node("call", node).add_node("beside", lambda s: {"log": ["b"]})
    return graph.add_edge(START, "call").add_edge(START, "beside")


def die(hand, graph, store):
    with pytest.raises(KeyboardInterrupt):
        hand.invoke(graph.compile(store), {}, CONFIG)


def ask(hand, graph, store):
    result = hand.invoke(graph.compile(store), None, CONFIG)
    (question,) = result.interrupts
    return question


@pytest.mark.parametrize(
    ("decision", "log", "starts"),
    [
        ({"type": "respond", "message": "it was sent"}, ("respond", "it was sent"), 1),
        ({"type": "reject", "message": "let it be"}, ("reject", "let it be"), 1),
        ({"type": "retry"}, "attempt 2", 2),
    ],
)
def test_a_lost_call_is_not_started_again_until_a_human_has_settled_it(
    hand, store, decision, log, starts
):
    node = Caller()
    graph = build(node)
    die(hand, graph, store)
    question = ask(hand, graph, store)
    assert question.value["outcome_unknown"]["name"] == "send"
    assert question.value["allowed_decisions"] == ["respond", "retry", "reject"]
    assert ask(hand, graph, store) == question
    assert node.started == 1
    (item,) = store.items(thread="t")
    assert (item.kind, item.call_id, item.subject["args"]) == ("outcome", "c1", {"to": "bob"})
    with pytest.raises(NotAllowed):
        hand.invoke(graph.compile(store), Command(resume={item.id: {"type": "approve"}}), CONFIG)
    with pytest.raises(WrongAnswer, match="by id"):
        hand.invoke(graph.compile(store), Command(resume=decision), CONFIG)
    result = hand.invoke(graph.compile(store), Command(resume={item.id: decision}), CONFIG)
    assert result["log"] == ["b", log]  # in the order of the tasks, whichever settled first
    assert node.started == starts
    assert store.items(ids=[item.id])[0].state == "done"


def test_a_retry_that_dies_again_is_asked_about_again(hand, store):
    node = Caller(deaths=2)
    graph = build(node)
    die(hand, graph, store)
    first = ask(hand, graph, store)
    with pytest.raises(KeyboardInterrupt):
        hand.invoke(graph.compile(store), Command(resume={first.id: {"type": "retry"}}), CONFIG)
    second = ask(hand, graph, store)
    assert second.id != first.id
    assert "attempt 2" in second.value["outcome_unknown"]["description"]
    Inbox(store).decide(second.id, {"type": "retry"})
    assert "attempt 3" in hand.invoke(graph.compile(store), None, CONFIG)["log"]


@pytest.mark.parametrize("kind", ["safe", "noted"])
def test_a_safe_or_settled_call_is_never_asked_about(hand, store, kind):
    node = Caller(**{kind: True})
    graph = build(node)
    die(hand, graph, store)
    result = hand.invoke(graph.compile(store), None, CONFIG)
    assert not result.interrupts
    assert node.started == 2


def test_a_body_that_paused_is_entered_again(hand, store):
    node = Caller(deaths=0, asks=True)
    graph = build(node)
    assert [one.value for one in hand.invoke(graph.compile(store), {}, CONFIG).interrupts] == [
        "inside?"
    ]
    assert "attempt 1" in hand.invoke(graph.compile(store), Command(resume=1), CONFIG)["log"]


def test_new_input_does_not_close_a_lost_call_unseen(hand, store):
    node = Caller()
    graph = build(node)
    die(hand, graph, store)
    with pytest.raises(OutcomeUnknown, match="respond, retry or reject") as caught:
        hand.invoke(graph.compile(store), {"log": ["new"]}, CONFIG)
    (item,) = store.items(thread="t")
    assert caught.value.fields["items"] == (item.id,)
    assert store.load("t").mark.owner == ""
    Inbox(store).decide(item.id, {"type": "retry"})
    with pytest.raises(OutcomeUnknown, match="delivers it"):
        hand.invoke(graph.compile(store), {"log": ["new"]}, CONFIG)
    assert node.started == 1


def test_the_caller_may_say_that_new_input_closes_it(hand, store):
    node = Caller()
    graph = build(node)
    die(hand, graph, store)
    result = hand.invoke(graph.compile(store), {"log": ["new"]}, CONFIG, on_unknown="tell_model")
    assert "new" in result["log"]
    assert [one.state for one in store.items(thread="t")] == ["superseded"]
    assert node.started == 2  # the new input's own call
