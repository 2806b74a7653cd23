"""A batch of actions: any order and grouping of decisions, with refusals in between."""

from __future__ import annotations

import operator
import random
from typing import Annotated, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.checkpoint import InMemorySaver
from hitl.engine import StateGraph, current_task
from hitl.errors import HitlError
from hitl.inbox import Inbox
from hitl.ledger import Ask
from hitl.values import START, Command, Config, fingerprint

CONFIG: Config = {"configurable": {"thread_id": "t"}}
ALL = ("approve", "edit", "reject", "respond")


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]


def build(alloweds):
    def node(state):
        asks = [
            Ask("action", fingerprint(f"tool{n}", {}), {"name": f"tool{n}", "args": {}}, allowed)
            for n, allowed in enumerate(alloweds)
        ]
        given = current_task("node").ask(asks, lambda ids: {"ids": list(ids)})
        return {"log": [given]}

    return StateGraph(State).add_node("a", node).add_edge(START, "a")


def decision(kind, n):
    return {
        "approve": {"type": "approve"},
        "edit": {"type": "edit", "edited_action": {"name": f"tool{n}", "args": {"x": n}}},
        "reject": {"type": "reject", "message": f"no {n}"},
        "respond": {"type": "respond", "message": f"say {n}"},
    }[kind]


batches = st.lists(
    st.sets(st.sampled_from(ALL), min_size=1).flatmap(
        lambda allowed: st.tuples(st.just(tuple(sorted(allowed))), st.sampled_from(sorted(allowed)))
    ),
    min_size=1,
    max_size=5,
)


def wrong_answers(ids, alloweds, rng):
    """Return answers that must be refused, whatever has been decided so far."""
    n = rng.randrange(len(ids))
    forbidden = [kind for kind in ALL if kind not in alloweds[n]]
    made: list = [
        "yes",
        {"decisions": []} if len(ids) else None,
        {"decisions": [{"type": "approve"}] * (len(ids) + 1)},
        {"decision": [{"type": "approve"}] * len(ids)},
        {ids[n]: {"type": "aprove"}},
        {ids[n]: "approve"},
        {"0" * 32: {"type": "approve"}},
        {ids[n]: {"type": "reject", "mesage": "x"}},
    ]
    made += [{ids[n]: decision(kind, n)} for kind in forbidden]
    return made


@given(batches, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_decisions_in_any_order_give_the_same_and_refusals_take_nothing(batch, rng: random.Random):
    alloweds = [allowed for allowed, _ in batch]
    wanted = [decision(kind, n) for n, (_, kind) in enumerate(batch)]
    store = InMemorySaver()
    make = lambda: build(alloweds).compile(store)  # noqa: E731
    (asked,) = make().invoke({}, CONFIG).interrupts
    ids = asked.value["ids"]
    left = list(range(len(ids)))
    rng.shuffle(left)
    while left:
        before = store.entries("t"), store.items(thread="t")
        with pytest.raises(HitlError):
            make().invoke(Command(resume=rng.choice(wrong_answers(ids, alloweds, rng))), CONFIG)
        assert (store.entries("t"), store.items(thread="t")) == before
        now, left = left[: rng.randint(1, len(left))], left[:]
        left = [n for n in left if n not in now]
        if rng.random() < 0.3:
            for n in now:
                Inbox(store).decide(ids[n], wanted[n])
            result = make().invoke(None, CONFIG)
        elif len(now) == len(ids) and rng.random() < 0.5:
            result = make().invoke(Command(resume={"decisions": wanted}), CONFIG)
        else:
            result = make().invoke(Command(resume={ids[n]: wanted[n] for n in now}), CONFIG)
        assert [one.id for one in result.interrupts] == ([asked.id] if left else [])
    assert result["log"] == [{"decisions": wanted}]
    cleared = {one.id for one in store.items(thread="t") if one.state == "withdrawn"}
    runs = {ids[n] for n, (_, kind) in enumerate(batch) if kind in ("approve", "edit")}
    assert cleared == runs  # a yes that nothing used is withdrawn when the run ends
