"""A pruned thread stands where it stood, waits for the same, and goes on as it would have."""

from __future__ import annotations

import json
import operator
from typing import Annotated, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.checkpoint import BASE, InMemorySaver, verify
from hitl.engine import StateGraph, interrupt, prune, step
from hitl.errors import Busy, Damaged, Misuse, OutcomeUnknown
from hitl.values import START, Command, Commit, Draft, ManualClock

CONFIG = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]
    last: object


def graph(store, ran=None):
    ran = [] if ran is None else ran

    def first(state):
        return {"log": ["first"], "last": {"n": len(state["log"]), "big": 2**70}}

    def ask(state):
        kept = step(lambda: ran.append("step") or "kept")
        return {"log": [kept, interrupt("ok?")]}

    def beside(state):
        ran.append("beside")
        return {"log": ["beside"]}

    def last(state):
        return {"log": ["last"]}

    built = StateGraph(State)
    for node in (first, ask, beside, last):
        built.add_node(node)
    built.add_edge(START, "first").add_edge("first", "ask").add_edge("first", "beside")
    return built.add_edge(["ask", "beside"], "last").compile(store)


def turn(app, answer="yes"):
    app.invoke({"log": ["in"]}, CONFIG)
    return app.invoke(Command(resume=answer), CONFIG)


def test_a_finished_thread_keeps_its_newest_checkpoint_and_its_state():
    store = InMemorySaver()
    app = graph(store)
    for _ in range(3):
        turn(app)
    before, entries = app.get_state(CONFIG), store.entries("t")
    removed = prune(store, "t")
    kept = store.entries("t")
    assert (len(kept), removed) == (2, len(entries) - 2)
    assert kept[0].kind == BASE
    assert verify(kept) is None
    for fresh in (app, graph(store)):
        after = fresh.get_state(CONFIG)
        assert after.values == before.values
        assert after.config == before.config
        assert len(list(fresh.get_state_history(CONFIG))) == 1
    assert after.parent_config is None
    assert prune(store, "t") == 0


def test_a_paused_thread_waits_for_the_same_and_runs_nothing_twice():
    store = InMemorySaver()
    ran: list[str] = []
    turn(graph(store, ran), "one")
    paused = graph(store, ran).invoke({"log": ["again"]}, CONFIG)
    count = list(ran)
    prune(store, "t")
    app = graph(store, ran)
    shown = app.get_state(CONFIG)
    assert shown.interrupts == paused.interrupts
    result = app.invoke(Command(resume={paused.interrupts[0].id: "two"}), CONFIG)
    # Siblings write in the order of their names, then the join goes on.
    assert result["log"][-4:] == ["kept", "two", "beside", "last"]
    assert ran == count, "a kept step or a finished sibling ran again"


def test_all_decisions_are_kept_over_several_prunings():
    store = InMemorySaver()
    app = graph(store)
    for answer in ("one", "two", "three"):
        turn(app, answer)
        prune(store, "t")
    (base, _) = store.entries("t")
    said = json.loads(base.body)["decisions"]
    assert [row["items"][0]["payload"]["value"] for row in said] == ["one", "two", "three"]
    assert all(row["at"] and row["seq"] and row["kind"] == "decide" for row in said)
    assert len({item.id for item in store.items(thread="t")}) == 3


def test_the_newest_checkpoints_stay_as_many_as_are_wanted():
    store = InMemorySaver()
    app = graph(store)
    turn(app)
    turn(app)
    history = list(app.get_state_history(CONFIG))
    prune(store, "t", keep_last=3)
    kept = list(graph(store).get_state_history(CONFIG))
    assert [one.config for one in kept] == [one.config for one in history[:3]]
    assert [one.values for one in kept] == [one.values for one in history[:3]]
    with pytest.raises(Misuse, match="no checkpoint"):
        graph(store).get_state(history[3].config)


def test_only_what_is_old_enough_goes():
    clock = ManualClock()
    store = InMemorySaver(clock=clock)
    app = graph(store)
    turn(app)
    clock.advance(100)
    assert prune(store, "t", before=clock.now() - 200) == 0
    between = clock.now() - 50
    turn(app)
    prune(store, "t", before=between)
    base, *rest = store.entries("t")
    assert base.at < between
    assert all(entry.at > between for entry in rest)
    assert len(rest) > 3


def test_a_thread_is_forked_after_pruning():
    store = InMemorySaver()
    app = graph(store)
    turn(app)
    turn(app)
    prune(store, "t", keep_last=3)
    app = graph(store)
    early = list(app.get_state_history(CONFIG))[-1]
    forked = app.invoke(None, early.config)
    assert forked.interrupts
    prune(store, "t")
    assert graph(store).get_state(CONFIG).interrupts == forked.interrupts


def test_a_call_of_unknown_outcome_survives_pruning():
    store = InMemorySaver()
    app = graph(store)
    turn(app)
    app.invoke({"log": ["in"]}, CONFIG)
    intent = {"n": 1, "safe": False, "subject": {"name": "pay", "args": {}}, "item": ""}
    body = json.dumps({"tasks": {"0": {"intents": {"k": intent}}}})
    store.append(Commit("t", (Draft("intent", body),)))
    prune(store, "t")
    app = graph(store)
    with pytest.raises(OutcomeUnknown):
        app.invoke({"log": ["new"]}, CONFIG)


def test_a_thread_that_runs_is_left_alone():
    store = InMemorySaver()
    app = graph(store)
    turn(app)
    entries = store.entries("t")
    store.append(Commit("t", lease="acquire", owner="host:1:1:run"))
    with pytest.raises(Busy):
        prune(store, "t")
    assert store.entries("t") == entries


def test_nothing_is_pruned_of_an_unknown_thread_nor_without_a_checkpoint_to_keep():
    store = InMemorySaver()
    assert prune(store, "nobody") == 0
    with pytest.raises(Misuse, match="delete_thread"):
        prune(store, "nobody", keep_last=0)


def test_a_log_that_cannot_be_read_is_left_alone():
    store = InMemorySaver()
    store.append(Commit("t", (Draft("input", "[]"), Draft("step", "{}"), Draft("step", "{}"))))
    entries = store.entries("t")
    with pytest.raises(Damaged, match="'t'"):
        prune(store, "t")
    assert store.entries("t") == entries


acts = st.lists(
    st.sampled_from(["input", "answer", "update", "copy", "fork", "goto", "prune", "prune 3"]),
    max_size=12,
)


@given(acts)
@settings(deadline=None, max_examples=60)
def test_whatever_a_thread_has_been_through_pruning_changes_nothing_that_is_seen(history):
    """One thread is pruned on its way, its twin is not: they show the same all along."""
    pruned, whole = InMemorySaver(), InMemorySaver()
    for act in history:
        for store in (pruned, whole):
            if act.startswith("prune"):
                if store is pruned:
                    prune(store, "t", keep_last=3 if "3" in act else 1)
            else:
                _act(graph(store), act)
        assert _seen(pruned) == _seen(whole)
        assert verify(pruned.entries("t")) is None


def _act(app, act):
    state = app.get_state(CONFIG)
    if act == "input":
        app.invoke({"log": ["in"], "last": None}, CONFIG)
    elif act == "answer" and state.interrupts:
        app.invoke(Command(resume="yes"), CONFIG)
    elif act == "update" and state.config["configurable"].get("checkpoint_id"):
        app.update_state(CONFIG, {"log": ["by hand"]}, as_node="first")
    elif act == "copy" and state.config["configurable"].get("checkpoint_id"):
        app.update_state(CONFIG, {"last": 1.5}, as_node="last")
    elif act == "goto" and state.interrupts:
        app.invoke(Command(update={"log": ["more"]}, goto="last"), CONFIG)
    elif act == "fork" and state.next:
        app.update_state(state.config, None)


def _seen(store):
    state = graph(store).get_state(CONFIG)
    return (
        state.values,
        state.next,
        [one.value for one in state.interrupts],
        [(task.name, task.result, task.error) for task in state.tasks],
    )
