"""Races, failures and cuts at the commits of a run."""

from __future__ import annotations

import asyncio
import operator
import threading
from typing import Annotated, TypedDict

import pytest

from hitl.checkpoint import InMemorySaver
from hitl.engine import StateGraph, interrupt
from hitl.errors import AlreadyDecided, Busy, Conflict, Stale, StoreFailed
from hitl.inbox import Inbox
from hitl.values import START, Command, Config


class Log(TypedDict, total=False):
    log: Annotated[list, operator.add]


CONFIG: Config = {"configurable": {"thread_id": "t"}}


class Meddler:
    """A store that lets a test act before, or fail around, the n-th append."""

    def __init__(self, inner):
        self.inner = inner
        self.before = {}
        self.after = {}
        self.count = 0

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def append(self, commit):
        self.count += 1
        number = self.count
        self.before.pop(number, lambda: None)()
        receipt = self.inner.append(commit)
        self.after.pop(number, lambda: None)()
        return receipt

    def next(self, when, act):
        getattr(self, when)[self.count + 1] = act


@pytest.fixture
def meddler(store):
    return Meddler(store)


def graph(*questions):
    built = StateGraph(Log)
    names = [f"n{number}" for number in range(len(questions))]
    for name, question in zip(names, questions, strict=True):
        built.add_node(name, lambda state, q=question: {"log": [(q, interrupt(q))]})
    for one, two in zip([START, *names], names, strict=False):
        built.add_edge(one, two)
    return built


def fail():
    raise StoreFailed("the disk is full")


# Races ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_id", [True, False])
def test_who_is_decided_past_while_answering_is_told_who_was_first(hand, meddler, by_id):
    app = graph("a").compile(meddler)
    id = hand.invoke(app, {}, CONFIG).interrupts[0].id
    meddler.next("before", lambda: Inbox(meddler.inner).decide(id, "first", by="ann"))
    with pytest.raises(AlreadyDecided) as caught:
        hand.invoke(app, Command(resume={id: "second"} if by_id else "second"), CONFIG)
    assert caught.value.fields["by"] == "ann"
    assert hand.invoke(app, None, CONFIG)["log"] == [("a", "first")]


@pytest.mark.parametrize("by_id", [True, False])
def test_the_same_answer_given_at_the_same_time_is_no_conflict(hand, meddler, by_id):
    app = graph("a").compile(meddler)
    id = hand.invoke(app, {}, CONFIG).interrupts[0].id
    meddler.next("before", lambda: Inbox(meddler.inner).decide(id, "same"))
    result = hand.invoke(app, Command(resume={id: "same"} if by_id else "same"), CONFIG)
    assert result["log"] == [("a", "same")]


def test_an_answer_never_slips_to_the_next_question_while_the_thread_moves(hand, meddler):
    app = graph("a", "b").compile(meddler)
    hand.invoke(app, {}, CONFIG)
    other = graph("a", "b").compile(meddler.inner)
    meddler.next("before", lambda: other.invoke(Command(resume="other"), CONFIG))
    with pytest.raises(AlreadyDecided):
        hand.invoke(app, Command(resume="mine"), CONFIG)
    state = hand.state(app, CONFIG)
    assert [one.value for one in state.interrupts] == ["b"]
    assert state.values["log"] == [("a", "other")]


def test_new_input_that_meets_a_decision_withdraws_it(hand, meddler):
    app = graph("a").compile(meddler)
    id = hand.invoke(app, {}, CONFIG).interrupts[0].id
    meddler.next("before", lambda: Inbox(meddler.inner).decide(id, 1))
    again = hand.invoke(app, {"log": ["new"]}, CONFIG)
    assert [one.value for one in again.interrupts] == ["a"]
    assert meddler.items(ids=[id])[0].state == "withdrawn"


def test_going_on_where_another_run_has_finished_meanwhile_runs_nothing_twice(hand, meddler):
    ran: list = []
    built = StateGraph(Log).add_node("a", lambda s: ran.append(1)).add_edge(START, "a")
    app = built.compile(meddler, interrupt_before=["a"])
    hand.invoke(app, {}, CONFIG)
    other = built.compile(meddler.inner)
    meddler.next("before", lambda: other.invoke(None, CONFIG))
    hand.invoke(app, None, CONFIG)
    assert ran == [1]


def test_a_thread_that_never_comes_to_rest_ends_in_the_stores_words(hand, meddler):
    app = graph("a").compile(meddler)
    hand.invoke(app, {}, CONFIG)
    other = graph("a").compile(meddler.inner)

    def meddle():
        other.invoke({}, CONFIG)
        meddler.next("before", meddle)

    meddler.next("before", meddle)
    with pytest.raises(Stale):
        hand.invoke(app, {}, CONFIG)


# A run in progress ---------------------------------------------------------------------------


def test_while_a_run_is_in_progress_an_answer_is_kept_and_delivered_later(hand, store):
    inside, go = threading.Event(), threading.Event()

    def slow(state):
        inside.set()
        assert go.wait(30)
        return {"log": ["slow"]}

    built = StateGraph(Log).add_edge(START, "ask").add_edge(START, "hold")
    built.add_node("ask", lambda s: {"log": [interrupt("a")]})
    built.add_node("hold", lambda s: interrupt("b") and slow(s))
    app = built.compile(store)
    known = {one.value: one.id for one in hand.invoke(app, {}, CONFIG).interrupts}
    thread = threading.Thread(
        target=built.compile(store).invoke, args=(Command(resume={known["b"]: 1}), CONFIG)
    )
    thread.start()
    assert inside.wait(30)
    with pytest.raises(Busy, match="held by another run"):
        hand.invoke(app, {"log": ["x"]}, CONFIG)
    with pytest.raises(Busy) as caught:
        hand.invoke(app, Command(resume={known["a"]: "kept"}), CONFIG)
    assert caught.value.fields["kept"] is True
    with pytest.raises(Busy):
        hand.invoke(app, Command(resume={known["a"]: "kept"}), CONFIG)
    with pytest.raises(AlreadyDecided):
        hand.invoke(app, Command(resume={known["a"]: "other"}), CONFIG)
    go.set()
    thread.join()
    assert hand.invoke(app, None, CONFIG)["log"] == ["kept", "slow"]


# Failures of the store -----------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_store_that_fails_at_any_commit_leaves_a_thread_that_goes_on(hand, meddler, when, number):
    built = graph("a", "b")
    app = built.compile(meddler)
    getattr(meddler, when)[number] = fail
    log, failed = None, 0
    input: object = {}
    for _ in range(8):
        try:
            result = hand.invoke(app, input, CONFIG)
        except StoreFailed:
            failed += 1
            state = hand.state(app, CONFIG)
            if not state.next and not state.values:
                continue
            result = hand.invoke(app, None, CONFIG)
        if not result.interrupts:
            log = result["log"]
            break
        input = Command(resume={one.id: f"to {one.value}" for one in result.interrupts})
    assert failed == 1
    assert log == [("a", "to a"), ("b", "to b")]


def test_a_lease_that_cannot_be_given_back_is_logged_and_taken_over(hand, meddler, caplog):
    def boom(state):
        meddler.next("before", fail)
        raise KeyError("node")

    app = StateGraph(Log).add_node("a", boom).add_edge(START, "a").compile(meddler)
    # The pause commit fails, then so does giving back the lease.
    meddler.before[3] = fail
    with pytest.raises(StoreFailed):
        hand.invoke(app, {}, CONFIG)
    assert "could not be given back" in caplog.text
    built = StateGraph(Log).add_node("a", lambda s: {"log": ["ok"]}).add_edge(START, "a")
    assert hand.invoke(built.compile(meddler.inner), None, CONFIG)["log"] == ["ok"]


def test_a_run_whose_thread_was_deleted_stops_at_its_next_commit(hand, store):
    def node(state):
        store.delete_thread("t")
        return {"log": ["x"]}

    app = StateGraph(Log).add_node("a", node).add_edge(START, "a").compile(store)
    with pytest.raises(Stale, match="deleted"):
        hand.invoke(app, {}, CONFIG)
    assert store.threads() == []


def test_a_conflict_in_the_middle_of_a_run_is_passed_on(hand, meddler):
    def conflict():
        raise Conflict("an item is not as expected")

    app = graph("a").compile(meddler)
    meddler.before[2] = conflict
    with pytest.raises(Conflict, match="not as expected"):
        hand.invoke(app, {}, CONFIG)
    assert hand.invoke(app, None, CONFIG).interrupts


# Runs that are cut ---------------------------------------------------------------------------


def test_a_keyboard_interrupt_in_a_node_gives_the_lease_back(hand, store):
    cut = [True]

    def node(state):
        if cut[0]:
            raise KeyboardInterrupt
        return {"log": ["done"]}

    app = StateGraph(Log).add_node("a", node).add_edge(START, "a").compile(store)
    with pytest.raises(KeyboardInterrupt):
        hand.invoke(app, {}, CONFIG)
    assert store.load("t").mark.owner == ""
    cut[0] = False
    assert hand.invoke(app, None, CONFIG)["log"] == ["done"]


@pytest.mark.parametrize("siblings", [1, 3])
def test_a_cancelled_run_gives_the_lease_back_and_can_go_on(store, siblings):
    hang = [True]
    cancelled = []
    started = asyncio.Event()

    async def node(state):
        if hang[0]:
            started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(1)
                raise
        return {"log": ["x"]}

    built = StateGraph(Log)
    for number in range(siblings):
        built.add_node(f"n{number}", node).add_edge(START, f"n{number}")
    app = built.compile(store)

    async def main():
        run = asyncio.create_task(app.ainvoke({}, CONFIG))
        await started.wait()
        await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert store.load("t").mark.owner == ""
        hang[0] = False
        return await app.ainvoke(None, CONFIG)

    assert asyncio.run(main())["log"] == ["x"] * siblings
    assert len(cancelled) == siblings


def test_leaving_a_stream_early_gives_the_lease_back(store):
    built = StateGraph(Log).add_node("a", lambda s: {"log": ["a"]}).add_edge(START, "a")
    built.add_node("b", lambda s: {"log": ["b"]}).add_edge("a", "b")
    app = built.compile(store)
    parts = app.stream({}, CONFIG)
    next(parts)
    assert store.load("t").mark.owner
    parts.close()
    assert store.load("t").mark.owner == ""

    async def main():
        other: Config = {"configurable": {"thread_id": "u"}}
        parts = app.astream({}, other)
        await anext(parts)
        assert store.load("u").mark.owner
        await parts.aclose()
        assert store.load("u").mark.owner == ""
        return await app.ainvoke(None, other)

    assert app.invoke(None, CONFIG)["log"] == ["a", "b"]
    assert asyncio.run(main())["log"] == ["a", "b"]


def test_a_task_that_outlives_its_run_writes_nothing_any_more():
    store = InMemorySaver()
    inside, go, over, said = threading.Event(), threading.Event(), threading.Event(), []

    def late(state):
        from hitl.engine.ask import step

        inside.set()
        assert go.wait(30)
        try:
            step(len, "abc")
        except Stale as error:
            said.append(error)
        finally:
            over.set()

    def dies(state):
        assert inside.wait(30)
        raise KeyboardInterrupt

    built = StateGraph(Log).add_node("late", late).add_node("dies", dies)
    app = built.add_edge(START, "late").add_edge(START, "dies").compile(store)
    with pytest.raises(KeyboardInterrupt):
        app.invoke({}, CONFIG)
    entries = store.entries("t")
    go.set()
    assert over.wait(30)
    assert len(said) == 1
    assert store.entries("t") == entries
