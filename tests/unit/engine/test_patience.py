"""``wait=``: a run that finds its thread held waits for a bounded time."""

from __future__ import annotations

import operator
import threading
from contextlib import suppress
from typing import Annotated, TypedDict

import pytest

from hitl.engine import StateGraph, interrupt
from hitl.engine.patience import Patience
from hitl.errors import Busy, Misuse
from hitl.values import START, Command, Commit

CONFIG = {"configurable": {"thread_id": "t"}}


class Log(TypedDict, total=False):
    log: Annotated[list, operator.add]


def asking(store):
    built = StateGraph(Log)
    built.add_node("ask", lambda state: {"log": [interrupt("a")]})
    return built.add_edge(START, "ask").compile(store)


def hold(store):
    """Hold the thread as a run of another machine does; return what lets it go."""
    receipt = store.append(Commit("t", lease="acquire", owner="elsewhere:1:1:run"))
    return lambda: store.append(Commit("t", fence=receipt.fence, lease="release"))


def test_pauses_grow_and_their_sum_is_what_was_given():
    patience = Patience(3.0)
    pauses = []
    while (pause := patience.pause()) is not None:
        pauses.append(pause)
    assert sum(pauses) == pytest.approx(3.0)
    assert pauses[:-1] == sorted(pauses[:-1])
    assert max(pauses) <= 0.5
    assert Patience().pause() is None


def test_a_run_waits_until_the_thread_is_let_go(hand, store):
    hand.invoke(asking(store), {"log": ["in"]}, CONFIG)
    let_go = hold(store)
    timer = threading.Timer(0.05, let_go)
    timer.start()
    result = hand.invoke(asking(store), Command(resume="yes"), CONFIG, wait=30)
    timer.join()
    assert result["log"] == ["in", "yes"]


def test_new_input_waits_too_and_finds_the_state_as_it_is_then(hand, store):
    app = asking(store)
    hand.invoke(app, {"log": ["in"]}, CONFIG)
    let_go = hold(store)
    timer = threading.Timer(0.05, let_go)
    timer.start()
    result = hand.invoke(app, {"log": ["more"]}, CONFIG, wait=30)
    timer.join()
    assert result["log"] == ["in", "more"]


def test_patience_ends_in_busy_and_the_answer_is_kept(hand, store):
    app = asking(store)
    hand.invoke(app, {"log": ["in"]}, CONFIG)
    let_go = hold(store)
    with pytest.raises(Busy) as caught:
        hand.invoke(app, Command(resume="yes"), CONFIG, wait=0.02)
    assert caught.value.fields["kept"] is True
    with pytest.raises(Busy) as caught:
        hand.invoke(app, {"log": ["more"]}, CONFIG, wait=0.02)
    assert "kept" not in caught.value.fields
    let_go()
    assert hand.invoke(app, None, CONFIG)["log"] == ["in", "yes"]


def test_an_answer_that_the_other_run_has_delivered_meanwhile_is_not_given_to_the_next_question(
    hand, store
):
    def node(state):
        return {"log": [interrupt("a"), interrupt("b")]}

    def app():
        return StateGraph(Log).add_node("ask", node).add_edge(START, "ask").compile(store)

    hand.invoke(app(), {"log": []}, CONFIG)
    let_go = hold(store)

    def deliver():
        let_go()
        with suppress(Busy):  # the one that waits may have been quicker, and delivered it itself
            app().invoke(None, CONFIG)

    timer = threading.Timer(0.05, deliver)
    timer.start()
    result = hand.invoke(app(), Command(resume="first"), CONFIG, wait=30)
    timer.join()
    assert [one.value for one in result.interrupts] == ["b"]
    assert hand.invoke(app(), Command(resume="second"), CONFIG)["log"] == ["first", "second"]


@pytest.mark.parametrize("wait", [-1, float("inf"), float("nan"), "1", True, None])
def test_a_wait_is_a_number_of_seconds(store, wait):
    with pytest.raises(Misuse, match="wait"):
        asking(store).invoke({"log": []}, CONFIG, wait=wait)
