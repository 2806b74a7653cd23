"""Whatever is done to a thread, in whatever order, all stores and readers tell one story of it.

Random graphs are run, answered, forked, updated and replayed; the same on memory and on SQLite,
by one process that keeps the thread warm and by one that reads it anew each time.
"""

from __future__ import annotations

import operator
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.checkpoint import InMemorySaver, SqliteSaver, verify
from hitl.engine import StateGraph, interrupt, record
from hitl.engine.shelf import Shelf
from hitl.engine.standing import Record
from hitl.engine.writer import Writer
from hitl.errors import HitlError
from hitl.values import (
    CHECKPOINTS,
    END,
    START,
    Command,
    Config,
    Send,
    StateSnapshot,
    checkpoint_id,
)

CONFIG: Config = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]
    last: Annotated[str, lambda _, new: new]


@dataclass(frozen=True)
class Spot:
    """One node: how often it asks, where it goes and how; or a graph inside."""

    asks: int
    targets: tuple[int, ...]
    how: str
    inside: bool
    keeps: bool


@st.composite
def specs(draw):
    size = draw(st.integers(1, 4))
    spots = tuple(
        Spot(
            draw(st.sampled_from([0, 0, 1, 1, 2])),
            tuple(draw(st.sets(st.integers(index + 1, size - 1), max_size=2)))
            if index + 1 < size
            else (),
            draw(st.sampled_from(["edge", "edge", "goto", "branch", "send"])),
            draw(st.sampled_from([False, False, True])),
            draw(st.booleans()),
        )
        for index in range(size)
    )
    if any(spot.how == "send" for spot in spots):
        # Two tasks of one node may run at once then, and cannot share what is kept.
        return tuple(replace(spot, keeps=False) for spot in spots)
    return spots


def work(index, spot):
    said = [f"n{index}"] + [interrupt(f"{index}.{number}") for number in range(spot.asks)]
    return {"log": ["/".join(said)], "last": f"n{index}"}


def node_of(index, spot, names):
    def node(state):
        written = work(index, spot)
        return Command(update=written, goto=names) if spot.how == "goto" else written

    if not spot.inside:
        return node
    inner = StateGraph(State).add_node("leaf", lambda state: work(index, spot))
    graph = inner.add_edge(START, "leaf").compile(spot.keeps or None, name="inner")

    def around(state):
        written = graph.invoke({"log": []})
        return Command(update=written, goto=names) if spot.how == "goto" else written

    return around


def build(spec):
    graph = StateGraph(State)
    for index, spot in enumerate(spec):
        names = [f"n{target}" for target in spot.targets]
        graph.add_node(f"n{index}", node_of(index, spot, names))
        if spot.how == "branch":
            graph.add_conditional_edges(
                f"n{index}", lambda s, names=names: names[: 1 + len(s["log"]) % 2] or END
            )
        elif spot.how == "send":
            graph.add_conditional_edges(
                f"n{index}", lambda s, names=names: [Send(n, {"log": []}) for n in names * 2]
            )
        elif spot.how == "edge":
            for name in names:
                graph.add_edge(f"n{index}", name)
    graph.add_edge(START, "n0")
    if len(spec) > 2:
        graph.add_edge(START, "n1")
    return graph


ACTIONS = ["answer"] * 3
ACTIONS += ["input", "go", "replay", "update", "fork", "input@"]
ACTIONS += ["nothing", "end", "copy", "stale"]

actions = st.lists(
    st.tuples(
        st.sampled_from(ACTIONS),
        st.integers(0, 30),
    ),
    min_size=2,
    max_size=6,
)


class Side:
    """One store, and graphs that are built once or anew for each call."""

    def __init__(self, spec, store, *, cold):
        self.spec, self.store, self.cold = spec, store, cold
        self.graph = build(spec)
        self.kept = self.graph.compile(store)

    @property
    def app(self):
        return build(self.spec).compile(self.store) if self.cold else self.kept

    def act(self, action, number):
        """Do one thing; return what came of it, without the ids that each store has its own."""
        try:
            return shown(self._act(action, number), self.places())
        except HitlError as error:
            return type(error).__name__

    def _act(self, action, number):
        app, state = self.app, self.app.get_state(CONFIG)
        history = list(app.get_state_history(CONFIG))
        old = history[number % len(history)].config if history else CONFIG
        name = f"n{number % len(self.spec)}"
        match action:
            case "input":
                return app.invoke({"log": [f"in{number}"]}, CONFIG)
            case "answer":
                some = state.interrupts[: 1 + number % 3]
                answers: Any = {one.id: f"{one.value}={number}" for one in some} or number
                return app.invoke(Command(resume=answers), CONFIG)
            case "go":
                return app.invoke(None, CONFIG)
            case "replay":
                return app.invoke(None, old)
            case "input@":
                return app.invoke({"log": [f"at{number}"]}, old)
            case "update":
                return app.update_state(CONFIG, {"log": [f"up{number}"]}, as_node=name)
            case "fork":
                return app.update_state(old, {"log": [f"fork{number}"]}, as_node=name)
            case "nothing":
                return app.update_state(old if number % 2 else CONFIG, None)
            case "end":
                return app.update_state(CONFIG, None, as_node=END)
            case "copy":
                return app.update_state(old, None, as_node="__copy__")
        return app.invoke(Command(resume="late"), old)

    def check(self):
        """What is read anew is what is known already, and the log is whole."""
        assert verify(self.store.entries("t", limit=10_000)) is None
        cold = Shelf(self.graph.compile().shape, self.store).take(Writer(self.store, "t"))
        warm = self.kept._shelf._warm.get("t")
        if warm is not None and not self.cold:
            warm = self.kept._shelf.peek("t", settled)
            assert settled(cold) == warm
        assert self.app.get_state(CONFIG) == self.graph.compile(self.store).get_state(CONFIG)
        open_items = {item.id for item in self.store.load("t").items.values()}
        asked = {one.id for one in self.app.get_state(CONFIG).interrupts}
        assert asked <= open_items
        pending = {i.id for i in self.store.items(limit=10_000) if i.state == "pending"}
        assert pending == asked  # nothing waits where nobody can see it

    def places(self):
        """Return the place of each checkpoint; its number also counts what siblings left."""
        entries = self.store.entries("t", limit=10_000)
        seqs = [one.seq for one in entries if one.kind in CHECKPOINTS]
        return {checkpoint_id(seq): place for place, seq in enumerate(seqs)}

    def story(self):
        places = self.places()
        return [shown(one, places) for one in self.app.get_state_history(CONFIG)]


def settled(standing):
    kept = {place: one for place, one in standing.records.items() if one != Record()}
    spaces = {key: inside(inner) for key, inner in standing.spaces.items()}
    return replace(standing, records={p: clean(one) for p, one in kept.items()}, spaces=spaces)


def clean(one):
    return replace(one, subs={key: inside(inner) for key, inner in one.subs.items()})


def inside(inner):
    """Return a run inside a task without what it is lent when it goes on."""
    had = {key: value for key, value in inner.values.items() if value != ""}
    return settled(replace(inner, items={}, thread="", values=had))


def shown(result, places):
    def place(config):
        return config and places[config["configurable"]["checkpoint_id"]]

    if isinstance(result, StateSnapshot):
        # Which siblings were committed before the last one is a matter of time.
        tasks = [(t.name, t.error, values(t.interrupts)) for t in result.tasks]
        found = (place(result.config), place(result.parent_config), result.values, result.next)
        return (*found, result.metadata, tasks, values(result.interrupts))
    if isinstance(result, dict) and "configurable" in result:
        return place(result)
    return (dict(result, __interrupt__=None), values(result.interrupts), place(result.config))


def values(interrupts):
    return [one.value for one in interrupts]


@given(specs(), actions, st.booleans())
@settings(max_examples=25, deadline=None)
def test_all_stores_and_readers_tell_one_story(spec, todo, bases):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if bases:
            patch.setattr(record, "_SPARE", 40)  # whole states are written often
        disk = SqliteSaver(Path(folder) / "runs.db")
        try:
            sides = [
                Side(spec, InMemorySaver(), cold=False),
                Side(spec, InMemorySaver(), cold=True),
                Side(spec, disk, cold=False),
            ]
            for action, number in [("input", 0), *todo]:
                before = [side.story() for side in sides]
                outcomes = [side.act(action, number) for side in sides]
                assert outcomes[1:] == outcomes[:-1]
                stories = [side.story() for side in sides]
                assert stories[1:] == stories[:-1]
                for side in sides:
                    side.check()
                # What was there stays as it was: the past is only added to.
                past = before[0][1:]
                assert stories[0][len(stories[0]) - len(past) :] == past
        finally:
            disk.close()


@given(specs(), actions)
@settings(max_examples=25, deadline=None)
def test_a_thread_can_be_brought_to_its_end_after_anything(spec, todo):
    side = Side(spec, InMemorySaver(), cold=True)
    for action, number in [("input", 0), *todo]:
        side.act(action, number)
    ids: set = set()
    for _ in range(60):
        state = side.app.get_state(CONFIG)
        if not state.next:
            break
        answers = {one.id: "yes" for one in state.interrupts}
        assert not ids & answers.keys()  # no question is asked twice
        ids |= answers.keys()
        side.app.invoke(Command(resume=answers) if answers else None, CONFIG)
    assert side.app.get_state(CONFIG).next == ()
    assert not side.store.load("t").items or side.act("go", 0)
