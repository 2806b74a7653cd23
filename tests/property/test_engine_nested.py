"""Graphs inside graphs give what the same work without them gives, however they are cut."""

from __future__ import annotations

import asyncio
import itertools
import operator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.checkpoint import InMemorySaver, retire, verify
from hitl.engine import StateGraph, interrupt, step
from hitl.engine.effects import Append, Load, Look, Settle, Start
from hitl.engine.run import run_task
from hitl.values import START, Command, Config

CONFIG: Config = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]


@dataclass(frozen=True)
class Leaf:
    """A node that asks so many questions."""

    asks: int
    keeps: bool


@dataclass(frozen=True)
class Graph:
    """A graph: parts one after the other or side by side, as a node or in a node's function."""

    parts: tuple[Any, ...]
    parallel: bool
    called: bool


leaves = st.builds(Leaf, st.sampled_from([0, 1, 1, 2]), st.booleans())


def graphs(parts):
    some = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.builds(Graph, some, st.booleans(), st.booleans())


specs = graphs(st.recursive(leaves, graphs, max_leaves=4))


def flat(part, name):
    """Return what the work writes, without any graph: the reference."""
    if isinstance(part, Leaf):
        kept = [f"{name}!"] if part.keeps else []
        return [(name, *kept, *(answer_to(f"{name}.{n}") for n in range(part.asks)))]
    return [row for place, one in enumerate(part.parts) for row in flat(one, f"{name}{place}")]


def answer_to(question):
    return f"<{question}>"


def build(part, name, *, awaited=False):
    """Return the function of a part, or its graph where it is a node itself."""
    if isinstance(part, Leaf):

        def leaf(state):
            kept = [step(str.__add__, name, "!")] if part.keeps else []
            return {"log": [(name, *kept, *(interrupt(f"{name}.{n}") for n in range(part.asks)))]}

        return leaf
    graph = builder(part, name, awaited=awaited).compile(name=name)
    if not part.called:
        return graph

    def calls(state):
        return {"log": graph.invoke({"log": []})["log"]}

    async def acalls(state):
        return {"log": (await graph.ainvoke({"log": []}))["log"]}

    return acalls if awaited else calls


class Nothing(TypedDict, total=False):
    pass


def builder(part, name, *, awaited=False):
    graph = StateGraph(State, input_schema=Nothing)
    before = START
    for place, one in enumerate(part.parts):
        graph.add_node(f"p{place}", build(one, f"{name}{place}", awaited=awaited))
        graph.add_edge(before, f"p{place}")
        before = START if part.parallel else f"p{place}"
    return graph


def top(spec, store, *, awaited=False):
    return builder(spec, "r", awaited=awaited).compile(store)


def call(app, input, *, awaited=False):
    return asyncio.run(app.ainvoke(input, CONFIG)) if awaited else app.invoke(input, CONFIG)


def finish(make, choose, *, awaited=False):
    """Answer what is open, some of it at a time, until nothing is; return the log."""
    asked: set = set()
    for _ in range(200):
        state = make().get_state(CONFIG)
        if not state.next:
            return state.values["log"], asked
        some = choose(list(state.interrupts))
        asked |= {(one.id, one.value) for one in some}
        answers = {one.id: answer_to(one.value) for one in some}
        call(make(), Command(resume=answers) if answers else None, awaited=awaited)
    raise AssertionError("it does not end")


def everything(questions):
    return questions


@given(specs, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_graphs_inside_equal_the_flat_work(spec, awaited, cold, rng):
    store = InMemorySaver()
    warm = top(spec, store, awaited=awaited)

    def make():
        return top(spec, store, awaited=awaited) if cold else warm

    def some(questions):
        rng.shuffle(questions)
        return questions[: rng.randint(1, max(len(questions), 1))]

    call(make(), {}, awaited=awaited)
    log, asked = finish(make, some, awaited=awaited)
    assert log == flat(spec, "r")
    assert len({question for _, question in asked}) == len(asked)  # each was asked once
    assert verify(store.entries("t", limit=10_000)) is None
    assert not store.load("t").items


class Died(BaseException):
    """The process dies."""


def cut(app, input, last):
    """Carry out a run up to commit number ``last``, of whatever depth; return whether it ended."""
    run = app._run(input, CONFIG, (), {})
    writer, count, waiting, reply = run.desk.writer, itertools.count(1), [], None
    append = writer._append

    def counted(*given):
        receipt = append(*given)
        if next(count) == last:
            raise Died
        return receipt

    writer._append = counted
    try:
        while True:
            try:
                effect = run.steps.send(reply)
            except StopIteration:
                writer.release()
                return True
            reply = None
            if type(effect) is Start:
                waiting = list(effect.tasks)
            elif type(effect) is Settle:
                reply = [run_task(waiting.pop())]
            elif type(effect) is Append:
                reply = run.desk.append(effect)
            elif type(effect) is Load:
                reply = run.desk.load(effect.checkpoint)
            elif type(effect) is Look:
                reply = run.desk.look(effect.ids)
    except Died:
        retire(writer._owner)
        return False


@given(specs)
@settings(max_examples=12, deadline=None)
def test_a_run_cut_after_any_commit_inside_or_outside_ends_as_the_whole_one(spec):
    wanted = flat(spec, "r")
    for number in itertools.count():
        for last in itertools.count(1):
            store = InMemorySaver()
            given: Any = {}
            for _ in range(number):
                assert cut(top(spec, store), given, 0)
                waits = top(spec, store).get_state(CONFIG).interrupts
                given = Command(resume={one.id: answer_to(one.value) for one in waits})
                if not waits:
                    return
            ended = cut(top(spec, store), given, last)
            log, _ = finish(lambda store=store: top(spec, store), everything)
            assert log == wanted
            assert verify(store.entries("t", limit=10_000)) is None
            if ended:
                break
