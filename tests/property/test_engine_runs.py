"""Random small graphs give one result, however they are run, answered, cut or read again."""

from __future__ import annotations

import asyncio
import itertools
import operator
import random
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.checkpoint import InMemorySaver, SqliteSaver, retire, verify
from hitl.engine import StateGraph, astep, interrupt, record, step
from hitl.engine.effects import Append, Load, Look, Settle, Start
from hitl.engine.run import run_task
from hitl.engine.shelf import Shelf
from hitl.engine.standing import Record
from hitl.engine.writer import Writer
from hitl.values import END, START, Command, Config, Send

CONFIG: Config = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]
    seen: Annotated[dict, operator.or_]
    rows: list
    text: str


@dataclass(frozen=True)
class Spot:
    """One node: what it does, and which later nodes it goes to and how."""

    asks: int
    keeps: bool
    rows: int | None
    text: int
    targets: tuple[int, ...]
    how: str


@st.composite
def specs(draw):
    size = draw(st.integers(1, 5))
    spots = []
    for index in range(size):
        later = range(index + 1, size)
        spots.append(
            Spot(
                draw(st.sampled_from([0, 0, 1, 1, 2])),
                draw(st.booleans()),
                draw(st.none() | st.integers(0, 3)) if index == 0 else None,
                draw(st.sampled_from([0, 0, 40])) if index == 0 else 0,
                tuple(draw(st.sets(st.sampled_from(later), max_size=3))) if later else (),
                draw(st.sampled_from(["edge", "edge", "branch", "goto", "send"])),
            )
        )
    return tuple(spots), draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=3))


def work(index, spot, state, ran, kept):
    """Do what a node does; its answers say which question they belong to."""
    ran.append(index)
    said = [f"n{index}", *kept]
    who = state.get("who", "") if "who" in state else ""
    said += [interrupt(f"{index}{who}.{number}") for number in range(spot.asks)]
    written = {"log": [tuple(said)], "seen": {index: len(said)}}
    if spot.rows is not None:
        written["rows"] = [*state.get("rows", [])[: spot.rows], f"row{index}"]
    if spot.text:
        written["text"] = "x" * spot.text
    return written


def build(spec, *, awaited=False, ran=None):
    spots, first = spec
    ran = [] if ran is None else ran
    graph = StateGraph(State)
    for index, spot in enumerate(spots):
        names = [f"n{target}" for target in spot.targets]

        def end(state, kept, index=index, spot=spot, names=names):
            written = work(index, spot, state, ran, kept)
            return Command(update=written, goto=names) if spot.how == "goto" else written

        def node(state, index=index, spot=spot, end=end):
            return end(state, [step(str.upper, f"kept{index}")] if spot.keeps else [])

        async def anode(state, index=index, spot=spot, end=end):
            await asyncio.sleep(0)
            return end(state, [await astep(str.upper, f"kept{index}")] if spot.keeps else [])

        graph.add_node(f"n{index}", anode if awaited and index % 2 else node)
        if spot.how == "branch":
            graph.add_conditional_edges(f"n{index}", lambda s, names=names: names or END)
        elif spot.how == "send":
            graph.add_conditional_edges(
                f"n{index}",
                lambda s, names=names: [Send(name, {"who": w}) for name in names for w in "ab"],
            )
        elif spot.how == "edge":
            for name in names:
                graph.add_edge(f"n{index}", name)
    for index in first:
        graph.add_edge(START, f"n{index}")
    return graph


def call(app, input, *, awaited=False, streamed=False):
    """Run once; return what is open."""
    if awaited and streamed:

        async def collect():
            return [part async for part in app.astream(input, CONFIG)]

        asyncio.run(collect())
    elif awaited:
        asyncio.run(app.ainvoke(input, CONFIG))
    elif streamed:
        list(app.stream(input, CONFIG))
    else:
        app.invoke(input, CONFIG)
    return app.get_state(CONFIG)


def said_to(question):
    return {"to": question, "n": [1, None]}


def finish(make, state, choose, **how):
    """Answer what is open, some of it at a time, until nothing is."""
    for _ in itertools.count():
        if not state.interrupts:
            break
        some = choose(list(state.interrupts))
        answers = {one.id: said_to(one.value) for one in some}
        state = call(make(), Command(resume=answers), **how)
    assert state.next == ()
    return state.values


def everything(questions):
    return questions


def whole(spec, store=None):
    graph = build(spec).compile(store or InMemorySaver())
    return finish(lambda: graph, call(graph, {"log": ["in"]}), everything)


@given(specs(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_graph_gives_the_same_however_it_is_run(spec, awaited, cold, streamed, on_disk):
    how = {"awaited": awaited, "streamed": streamed}
    graph = build(spec, awaited=awaited)
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteSaver(Path(folder) / "runs.db") if on_disk else InMemorySaver()
        try:
            warm = graph.compile(store)
            make = (lambda: graph.compile(store)) if cold else (lambda: warm)
            values = finish(make, call(make(), {"log": ["in"]}, **how), everything, **how)
            assert verify(store.entries("t", limit=10_000)) is None
            assert not store.load("t").items
        finally:
            store.close()
    assert values == whole(spec)


@given(specs(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_answers_in_any_order_and_grouping_give_the_same(spec, rng: random.Random):
    def some(questions):
        rng.shuffle(questions)
        return questions[: rng.randint(1, len(questions))]

    graph = build(spec).compile(InMemorySaver())
    assert finish(lambda: graph, call(graph, {"log": ["in"]}), some) == whole(spec)


# Cuts ----------------------------------------------------------------------------------------


def drive_to(app, input, last):
    """Carry out a run up to its effect number ``last`` and drop it; return how many it had.

    Tasks settle one by one, so that every kind of commit is met. Nothing is released or closed:
    the process is as good as dead.
    """
    run = app._run(input, CONFIG, (), {})
    waiting, reply = [], None
    for count in itertools.count(1):
        try:
            effect = run.steps.send(reply)
        except StopIteration:
            run.desk.writer.release()
            return count - 1
        reply = None
        if type(effect) is Start:
            waiting = list(effect.tasks)
        elif type(effect) is Settle:
            reply = [run_task(waiting.pop())]
        elif type(effect) is Append:
            reply = run.desk.append(effect)
        elif type(effect) is Load:
            reply = run.desk.load(0)
        elif type(effect) is Look:
            reply = run.desk.look(effect.ids)
        if count == last:
            retire(run.desk.writer._owner)
            return count
    raise AssertionError


def recover(spec, store):
    graph = build(spec).compile(store)
    fresh = not graph.get_state(CONFIG).config["configurable"].get("checkpoint_id")
    state = call(graph, {"log": ["in"]} if fresh else None)
    return finish(lambda: build(spec).compile(store), state, everything)


@given(specs())
@settings(max_examples=8, deadline=None)
def test_a_run_cut_after_any_effect_ends_as_the_whole_one(spec):
    wanted = whole(spec)
    calls = 0
    for number in itertools.count():
        # Cut call `number` after each of its effects, with the calls before it uncut.
        for last in itertools.count(1):
            store = InMemorySaver()
            inputs: list = [{"log": ["in"]}]
            for _ in range(number):
                drive_to(build(spec).compile(store), inputs[-1], -1)
                open_now = build(spec).compile(store).get_state(CONFIG).interrupts
                inputs.append(Command(resume={one.id: said_to(one.value) for one in open_now}))
            if isinstance(inputs[-1], Command) and not inputs[-1].resume:
                assert calls > 0
                return
            done = drive_to(build(spec).compile(store), inputs[-1], last)
            assert recover(spec, store) == wanted
            assert verify(store.entries("t", limit=10_000)) is None
            calls += 1
            if done < last:
                break


@given(specs(), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_a_committed_result_is_not_made_again(spec, last):
    ran: list = []
    store = InMemorySaver()
    drive_to(build(spec, ran=ran).compile(store), {"log": ["in"]}, last)
    app = build(spec).compile(store)
    state = app.get_state(CONFIG)
    done = [task.name for task in state.tasks if task.result is not None]
    again: list = []
    if state.config["configurable"].get("checkpoint_id"):
        call(build(spec, ran=again).compile(store), None)
        first_step = [f"n{index}" for index in again[: len(state.tasks) - len(done)]]
        assert not set(done) & set(first_step)


# What is written is what is there --------------------------------------------------------------


def settled(standing):
    kept = {place: one for place, one in standing.records.items() if one != Record()}
    return replace(standing, records=kept)


@given(specs(), st.lists(st.booleans(), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_reading_a_thread_gives_what_its_last_run_left(spec, inputs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "_SPARE", 60)  # whole states are written often
        store = InMemorySaver()
        app = build(spec).compile(store)
        for go_to_the_end in inputs:
            state = call(app, {"log": ["in"], "text": "y" * 30})
            while True:
                _, _, warm = app._shelf._warm["t"]
                cold = Shelf(app.shape, store).take(Writer(store, "t"))
                assert settled(warm) == settled(cold)
                if not (state.interrupts and go_to_the_end):
                    break
                one = state.interrupts[0]
                state = call(app, Command(resume={one.id: said_to(one.value)}))
        assert app.get_state(CONFIG) == build(spec).compile(store).get_state(CONFIG)
