"""Votes and deadlines of what a node asks, as a run meets them."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from hitl.checkpoint import InMemorySaver, SqliteSaver
from hitl.engine import StateGraph, current_task, interrupt
from hitl.errors import AlreadyDecided, Busy, Expired, NotAllowed, WrongAnswer
from hitl.inbox import Inbox
from hitl.ledger import Ask
from hitl.values import START, Command, Commit, ManualClock, fingerprint

YES, NO = {"type": "approve"}, {"type": "reject"}
TWO: list[Any] = [{"any_of": [], "people": ["ann", "bob"], "need": 2, "not_requester": False}]
MINUTE = {"after": 60}


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    clock = ManualClock()
    saver = (
        InMemorySaver(clock=clock)
        if request.param == "memory"
        else SqliteSaver(tmp_path / "runs.db", clock=clock)
    )
    yield saver
    saver.close()


class Log(TypedDict, total=False):
    log: Annotated[list, operator.add]


def asking(*rules: dict[str, Any]):
    """Return a graph whose node asks about one call for each set of rules."""

    def node(state):
        asks = [
            Ask("action", fingerprint("pay", n), {"name": "pay", "args": {"n": n}},
                ("approve", "reject"), rule)
            for n, rule in enumerate(rules)
        ]  # fmt: skip
        return {"log": [current_task("asking").ask(asks, lambda ids: {"ids": list(ids)})]}

    return StateGraph(Log).add_node("ask", node).add_edge(START, "ask")


@pytest.fixture
def run(hand, store):
    class Runs:
        def __init__(self, graph, thread="t"):
            self.graph, self.thread = graph.compile(checkpointer=store), thread

        def go(self, given=None, by=None):
            config = {"configurable": {"thread_id": self.thread, "reviewer": by}}
            return hand.invoke(self.graph, given, config, version="v2")

        def ids(self):
            found = store.items(thread=self.thread, limit=10)
            return [item.id for item in sorted(found, key=lambda item: item.index)]

        def states(self):
            found = store.items(thread=self.thread, limit=10)
            return [item.state for item in sorted(found, key=lambda item: item.index)]

        def resume(self, id, what, by=None):
            return self.go(Command(resume={id: what}), by)

    return Runs


def test_a_run_goes_on_when_enough_have_voted(run):
    runs = run(asking({"reviewers": TWO}))
    runs.go({})
    (id,) = runs.ids()
    for _ in range(2):  # the same vote again is no second one
        assert runs.resume(id, YES, "ann").interrupts
    output = runs.resume(id, YES, "bob")
    assert not output.interrupts
    assert output.value["log"] == [{"decisions": [YES]}]


def test_the_reviewer_of_a_run_is_named_in_its_config(run):
    runs = run(asking({"reviewers": TWO}))
    runs.go({})
    (id,) = runs.ids()
    for by, why in ((None, "unnamed"), ("eve", "'eve' may not")):
        with pytest.raises(NotAllowed, match=why):
            runs.resume(id, YES, by)
    assert runs.states() == ["pending"]
    assert not runs.resume(id, NO, "ann").interrupts


def test_votes_are_never_given_by_position(run):
    runs = run(asking({"reviewers": TWO}, {}))
    (pause,) = runs.go({}).interrupts
    both = {"decisions": [YES, YES]}
    for answer in (both, {pause.id: both}):
        with pytest.raises(WrongAnswer, match="votes of several people"):
            runs.go(Command(resume=answer), "ann")
    assert runs.states() == ["pending", "pending"]
    one, two = runs.ids()
    assert runs.go(Command(resume={one: YES, two: YES}), "ann").interrupts
    assert runs.states() == ["pending", "decided"]
    assert not runs.resume(one, YES, "bob").interrupts


def test_one_reviewer_of_some_may_answer_by_position(run):
    runs = run(asking({"reviewers": [{"people": ["ann"]}]}))
    runs.go({})
    assert not runs.go(Command(resume={"decisions": [YES]}), "ann").interrupts


def test_a_run_that_goes_on_expires_what_nobody_decided(run, store):
    runs = run(asking({"deadline": MINUTE}))
    runs.go({})
    store.clock.advance(59.9)
    assert runs.go().interrupts
    store.clock.advance(0.1)
    output = runs.go()
    assert not output.interrupts
    (said,) = output.value["log"][0]["decisions"]
    assert said["type"] == "reject"
    assert "nobody decided in time" in said["message"]
    (item,) = store.items(thread="t")
    assert (item.state, item.decision.type) == ("done", "expire")
    assert "expire" in [entry.kind for entry in store.entries("t")]


def test_what_a_sweep_expired_the_next_run_takes(run, store):
    runs = run(asking({"deadline": MINUTE}))
    runs.go({})
    store.clock.advance(60)
    (item,) = Inbox(store).sweep()
    assert item.state == "expired"
    assert not runs.go().interrupts
    assert runs.states() == ["done"]


def test_a_late_answer_is_refused_and_consumes_nothing(run, store):
    runs = run(asking({"deadline": MINUTE}))
    runs.go({})
    (id,) = runs.ids()
    store.clock.advance(60)
    for answer in ({id: YES}, {"decisions": [YES]}):
        with pytest.raises(Expired, match="expired at"):
            runs.go(Command(resume=answer), "ann")
    assert runs.states() == ["pending"]
    runs.go()
    with pytest.raises(Expired):
        runs.resume(id, YES)


def test_an_answer_to_one_call_expires_the_others_that_are_overdue(run, store):
    runs = run(asking({"deadline": MINUTE}, {}))
    runs.go({})
    store.clock.advance(60)
    output = runs.resume(runs.ids()[1], YES)
    assert not output.interrupts
    assert [one["type"] for one in output.value["log"][0]["decisions"]] == ["reject", "approve"]


def test_calls_of_one_turn_wait_for_the_last_of_them(run, store):
    runs = run(asking({"deadline": MINUTE}, {"deadline": {"after": 90}}))
    runs.go({})
    store.clock.advance(60)
    assert runs.go().interrupts
    assert runs.states() == ["expired", "pending"]
    store.clock.advance(30)
    assert not runs.go().interrupts


def test_a_plain_question_waits_for_ever(run, store):
    graph = StateGraph(Log).add_node("ask", lambda s: {"log": [interrupt("ok?")]})
    runs = run(graph.add_edge(START, "ask"))
    runs.go({})
    store.clock.advance(1e9)
    assert runs.go().interrupts
    assert runs.go(Command(resume="yes")).value["log"] == ["yes"]


def test_new_input_gives_up_what_has_expired(run, store):
    runs = run(asking({"deadline": MINUTE}, {}))
    runs.go({})
    store.clock.advance(60)
    Inbox(store).sweep()
    assert runs.go({"log": ["new"]}).interrupts
    assert sorted(runs.states()) == ["pending", "pending", "superseded", "withdrawn"]


def test_a_question_of_a_graph_inside_another_one_expires_too(run, store):
    inner = asking({"deadline": MINUTE}).compile()
    outer = StateGraph(Log).add_node("inner", inner).add_edge(START, "inner")
    runs = run(outer)
    assert runs.go({}).interrupts
    store.clock.advance(60)
    output = runs.go()
    assert not output.interrupts
    assert output.value["log"][0]["decisions"][0]["type"] == "reject"


def test_a_vote_that_another_was_faster_than_is_told(run, store):
    runs = run(asking({"reviewers": TWO}))
    runs.go({})
    (id,) = runs.ids()
    Inbox(store).decide(id, NO, by="bob")
    with pytest.raises(AlreadyDecided, match="reject by bob"):
        runs.resume(id, YES, "ann")


def test_a_vote_while_another_run_holds_the_thread_is_kept(run, store):
    runs = run(asking({"reviewers": TWO}))
    runs.go({})
    (id,) = runs.ids()
    held = store.append(Commit("t", lease="acquire", owner="another@host:1:1"))
    with pytest.raises(Busy):
        runs.resume(id, YES, "ann")
    store.append(Commit("t", fence=held.fence, lease="release", owner="another@host:1:1"))
    assert not runs.resume(id, YES, "bob").interrupts


def test_a_grant_wished_for_with_an_answer_is_given_in_the_same_commit(run, store):
    limit = {"scope": "same_args", "ttl": 3600, "uses": 5}
    runs = run(asking({"grants": limit}))
    runs.go({})
    (id,) = runs.ids()
    output = runs.resume(id, {**YES, "grant": {"uses": 2}}, "ann")
    assert not output.interrupts
    (grant,) = Inbox(store).grants.list()
    assert (grant.by, grant.left, grant.args) == ("ann", 2, {"n": 0})
    (entry,) = [entry for entry in store.entries("t") if entry.kind == "decide"]
    assert '"grant"' in entry.body
