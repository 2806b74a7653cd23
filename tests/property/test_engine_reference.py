"""Random graphs against a plain interpreter that knows no pause, no error, no store and no task."""

from __future__ import annotations

import asyncio
import operator
from dataclasses import dataclass
from typing import Annotated, TypedDict

from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.checkpoint import InMemorySaver
from hitl.engine import StateGraph, interrupt
from hitl.values import END, START, Command, Config, Send

CONFIG: Config = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]
    arg: int


@dataclass(frozen=True)
class Spot:
    """One node: what it asks, how often it fails, what runs inside it, where it goes and how."""

    asks: int
    fails: int
    inside: tuple[int, ...]  # a chain of nodes, each with so many questions
    targets: tuple[int, ...]
    how: str


@dataclass(frozen=True)
class Spec:
    """A graph without loops: nodes lead to later ones, and a join waits for all of its sources."""

    spots: tuple[Spot, ...]
    starts: tuple[int, ...]
    joins: tuple[tuple[tuple[int, ...], int], ...]


@st.composite
def specs(draw):
    size = draw(st.integers(1, 6))
    spots, joins = [], []
    for index in range(size):
        later = range(index + 1, size)
        targets = draw(st.sets(st.sampled_from(later), max_size=3)) if later else set()
        spots.append(
            Spot(
                draw(st.sampled_from([0, 0, 0, 1, 2])),
                draw(st.sampled_from([0, 0, 0, 1])),
                tuple(draw(st.lists(st.sampled_from([0, 0, 1]), max_size=2))),
                tuple(sorted(targets)),
                draw(st.sampled_from(["edge", "edge", "branch", "goto", "send"])),
            )
        )
        if index > 1 and draw(st.booleans()):
            sources = draw(st.sets(st.sampled_from(range(index)), min_size=2, max_size=3))
            joins.append((tuple(sorted(sources)), index))
    led = {target for spot in spots for target in spot.targets} | {end for _, end in joins}
    starts = {0, *(set(range(size)) - led)}
    return Spec(tuple(spots), tuple(sorted(starts)), tuple(joins))


def answer(question):
    return f"re {question}"


# What should come out ---------------------------------------------------------------------------


def said(index, spot, arg):
    """Return what a node writes, with the answers that it will have been given."""
    inside = [
        [answer(f"{index}.{n}.{m}") for m in range(asks)] for n, asks in enumerate(spot.inside)
    ]
    return (index, arg, [answer(f"{index}:{n}") for n in range(spot.asks)], inside)


def interpret(spec):
    """Return the log and the steps that a graph comes to."""
    log: list = []
    steps: list = []
    arrived: dict = {}
    due = [(index, None) for index in spec.starts]
    while due:
        steps.append([index for index, _ in due])
        written, names, sends = [], set(), []
        for index, arg in due:
            spot = spec.spots[index]
            own = said(index, spot, arg)
            written.append(own)
            if spot.how == "send":
                sends += [(target, index) for target in spot.targets]
            elif spot.how == "branch" and spot.targets:
                names.add(spot.targets[(len(log) + 1) % len(spot.targets)])
            else:
                names |= set(spot.targets)
            for join in spec.joins:
                if index in join[0]:
                    reached = arrived.setdefault(join, set())
                    reached.add(index)
                    if len(reached) == len(join[0]):
                        del arrived[join]
                        names.add(join[1])
        log += written
        due = [(index, None) for index in sorted(names)] + sends
    return log, steps


# What does come out -----------------------------------------------------------------------------


def chain(index, inside):
    graph = StateGraph(State)
    nodes = [
        (
            f"c{n}",
            lambda _, n=n, asks=asks: {
                "log": [[interrupt(f"{index}.{n}.{m}") for m in range(asks)]]
            },
        )
        for n, asks in enumerate(inside)
    ]
    return graph.add_sequence(nodes).add_edge(START, "c0").compile()


def build(spec, store, failed, *, sync):
    graph = StateGraph(State)
    for index, spot in enumerate(spec.spots):
        node, anode = actions(index, spot, failed)
        ends = [f"n{target}" for target in spot.targets]
        labels = ends if spot.how == "goto" else None
        graph.add_node(f"n{index}", node if sync else anode, destinations=labels)
        if spot.how == "edge":
            for end in ends:
                graph.add_edge(f"n{index}", end)
        elif spot.how in ("branch", "send") and ends:
            graph.add_conditional_edges(f"n{index}", path(index, spot), [*ends, END])
    for index in spec.starts:
        graph.add_edge(START, f"n{index}")
    for sources, end in spec.joins:
        graph.add_edge([f"n{source}" for source in sources], f"n{end}")
    return graph.compile(store)


def path(index, spot):
    def choose(state):
        if spot.how == "send":
            return [Send(f"n{target}", {"arg": index}) for target in spot.targets]
        return f"n{spot.targets[len(state['log']) % len(spot.targets)]}"

    return choose


def actions(index, spot, failed):
    inner = chain(index, spot.inside) if spot.inside else None

    def begin(state):
        key = (index, state.get("arg"))
        failed[key] = failed.get(key, 0) + 1
        if failed[key] <= spot.fails:
            raise ConnectionError(index)
        return [interrupt(f"{index}:{n}") for n in range(spot.asks)]

    def end(state, own, inside):
        update = {"log": [(index, state.get("arg"), own, inside)]}
        ends = [f"n{target}" for target in spot.targets]
        return Command(update=update, goto=ends) if spot.how == "goto" else update

    def node(state):
        own = begin(state)
        return end(state, own, [] if inner is None else inner.invoke({"log": []})["log"])

    async def anode(state):
        own = begin(state)
        inside = [] if inner is None else (await inner.ainvoke({"log": []}))["log"]
        return end(state, own, inside)

    return node, anode


def go(app, given, *, sync):
    return app.invoke(given, CONFIG) if sync else asyncio.run(app.ainvoke(given, CONFIG))


@settings(max_examples=60, deadline=None)
@given(specs(), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_a_random_graph_comes_to_what_a_plain_interpreter_says(spec, sync, warm, random):
    store = InMemorySaver()
    failed: dict = {}
    app = build(spec, store, failed, sync=sync)
    given_next: object = {"log": []}
    for _ in range(200):
        if not warm:
            app = build(spec, store, failed, sync=sync)
        try:
            result = go(app, given_next, sync=sync)
        except ConnectionError:
            given_next = None  # what waits beside it is still there
            continue
        if not result.interrupts:
            break
        some = random.sample(result.interrupts, random.randint(1, len(result.interrupts)))
        given_next = Command(resume={one.id: answer(one.value) for one in some})
    log, steps = interpret(spec)
    assert result["log"] == log
    past = [shown for shown in app.get_state_history(CONFIG) if shown.tasks]
    ran = [[int(task.name[1:]) for task in shown.tasks] for shown in reversed(past)]
    assert ran == steps
    results = [task.result["log"][0] for shown in reversed(past) for task in shown.tasks]
    assert results == log
    for number, shown in enumerate(reversed(past)):
        assert shown.values["log"] == log[: sum(map(len, steps[:number]))]
