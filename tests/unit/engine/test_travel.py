"""Going back on a thread: replay, fork, and writing states by hand."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated, TypedDict

import pytest

from hitl.checkpoint import InMemorySaver, verify
from hitl.engine import StateGraph, current_task, interrupt, step
from hitl.errors import (
    Busy,
    InvalidUpdateError,
    Misuse,
    NoCheckpointer,
    NothingWaiting,
    OutcomeUnknown,
    Stale,
    UnknownId,
)
from hitl.values import END, START, Command, Config, Send, StateUpdate

CONFIG: Config = {"configurable": {"thread_id": "t"}}


class State(TypedDict):
    log: Annotated[list, operator.add]


def says(name, ran=None):
    def node(state):
        if ran is not None:
            ran.append(name)
        return {"log": [name]}

    node.__name__ = name
    return node


def asks(name):
    def node(state):
        return {"log": [f"{name}:{interrupt(name + '?')}"]}

    node.__name__ = name
    return node


class World:
    """A graph a -> b (asks) -> c, built anew for each call, as another process would."""

    def __init__(self, hand, store):
        self.hand, self.store, self.ran = hand, store, []

    def app(self):
        nodes = [says("a", self.ran), asks("b"), says("c", self.ran)]
        return StateGraph(State).add_sequence(nodes).add_edge(START, "a").compile(self.store)

    def go(self, input, config=CONFIG, **more):
        return self.hand.invoke(self.app(), input, config, **more)

    def state(self, config=CONFIG):
        state = self.hand.state(self.app(), config)
        assert verify(self.store.entries("t", limit=10_000)) is None
        return state

    def history(self):
        return self.hand.history(self.app(), CONFIG)

    def update(self, values, config=CONFIG, **more):
        return update(self.hand, self.app(), config, values, **more)

    def before(self, node):
        """Return the newest snapshot at which a node was due."""
        return next(one for one in self.history() if one.next == (node,))

    def items(self):
        return [(item.subject, item.state) for item in self.store.items()]

    def states(self):
        return [item.state for item in self.store.items()]


def update(hand, app, config, values, **more):
    if hand.name == "async":
        return asyncio.run(app.aupdate_state(config, values, **more))
    return app.update_state(config, values, **more)


def bulk(hand, app, config, supersteps):
    if hand.name == "async":
        return asyncio.run(app.abulk_update_state(config, supersteps))
    return app.bulk_update_state(config, supersteps)


def asked(result):
    return [one.value for one in result.interrupts]


@pytest.fixture
def world(hand, store):
    return World(hand, store)


# Replay --------------------------------------------------------------------------------------


def test_a_replay_runs_what_comes_after_and_asks_again_under_a_new_id(world):
    first = world.go({"log": []})
    world.go(Command(resume="1"))
    old = world.before("b")
    again = world.go(None, old.config)
    assert asked(again) == ["b?"]
    assert again.interrupts[0].id != first.interrupts[0].id
    assert world.ran == ["a", "c"]
    fork = world.state()
    assert (fork.metadata["source"], fork.parent_config) == ("fork", old.config)
    assert fork.metadata["step"] == old.metadata["step"] + 1
    assert world.go(Command(resume="2")) == {"log": ["a", "b:2", "c"]}


def test_the_branch_that_was_left_stays_as_it_was(world):
    world.go({"log": []})
    done = world.go(Command(resume="1"))
    old = world.history()
    world.go(None, world.before("b").config)
    world.go(Command(resume="2"))
    assert world.state(done.config).values == {"log": ["a", "b:1", "c"]}
    assert world.history()[-len(old) :] == old
    assert world.go(None, done.config) == {"log": ["a", "b:1", "c"]}  # its end: nothing to do
    assert world.state().values == {"log": ["a", "b:2", "c"]}


def test_a_replay_closes_what_waits_on_the_branch_it_leaves(world):
    old = world.go({"log": []}).interrupts[0]
    world.go(None, world.before("a").config)
    assert sorted(world.states()) == ["pending", "superseded"]
    with pytest.raises(UnknownId, match="superseded"):
        world.go(Command(resume={old.id: "late"}))
    assert world.go(Command(resume="new")) == {"log": ["a", "b:new", "c"]}


def test_an_answer_kept_for_the_branch_that_is_left_never_reaches_the_fork(world):
    def build():
        graph = StateGraph(State).add_node(asks("x")).add_node(asks("y"))
        return graph.add_edge(START, "x").add_edge(START, "y").compile(world.store)

    result = world.hand.invoke(build(), {"log": []}, CONFIG)
    world.hand.invoke(build(), Command(resume={result.interrupts[0].id: "old"}), CONFIG)
    (first,) = world.hand.history(build(), CONFIG)
    config = update(world.hand, build(), first.config, None, as_node="__copy__")
    again = world.hand.invoke(build(), None, config)
    assert asked(again) == ["x?", "y?"]
    assert "withdrawn" not in world.states()  # it had been taken: its task was done
    answers = {one.id: "new" for one in again.interrupts}
    assert world.hand.invoke(build(), Command(resume=answers), CONFIG) == {
        "log": ["x:new", "y:new"]
    }


def test_going_on_at_the_newest_checkpoint_is_no_replay(world):
    first = world.go({"log": []})
    again = world.go(None, world.state().config)
    assert again.interrupts == first.interrupts
    assert world.go(Command(resume="1"), first.config) == {"log": ["a", "b:1", "c"]}


def test_an_answer_at_an_old_checkpoint_is_stale(world):
    world.go({"log": []})
    world.go(Command(resume="1"))
    with pytest.raises(Stale, match="stands at checkpoint"):
        world.go(Command(resume="2"), world.before("b").config)
    assert world.state().values == {"log": ["a", "b:1", "c"]}


def test_new_input_at_an_old_checkpoint_begins_a_branch_there(world):
    world.go({"log": []})
    world.go(Command(resume="1"))
    result = world.go({"log": ["in"]}, world.before("b").config)
    assert asked(result) == ["b?"]
    assert result["log"] == ["a", "in", "a"]


def test_a_step_is_kept_within_a_branch_and_made_again_on_another(hand, store):
    made = []

    def fetch():
        made.append(1)
        return len(made)

    def node(state):
        return {"log": [step(fetch), interrupt("?")]}

    def build():
        return StateGraph(State).add_node(node).add_edge(START, "node").compile(store)

    hand.invoke(build(), {"log": []}, CONFIG)
    hand.invoke(build(), Command(resume="1"), CONFIG)
    first = hand.history(build(), CONFIG)[-1]
    hand.invoke(build(), None, first.config)
    assert hand.invoke(build(), Command(resume="2"), CONFIG) == {"log": [2, "2"]}


def test_a_checkpoint_that_the_thread_does_not_have_is_misuse(world):
    world.go({"log": []})
    config = {"configurable": {"thread_id": "t", "checkpoint_id": "000000000099"}}
    with pytest.raises(Misuse, match="no checkpoint 99"):
        world.go(None, config)
    with pytest.raises(Misuse, match="no checkpoint 99"):
        world.update({"log": ["x"]}, config)
    assert world.states() == ["pending"]


# update_state ----------------------------------------------------------------------------------


def test_an_update_of_a_paused_thread_asks_anew_on_the_changed_state(world):
    old = world.go({"log": []}).interrupts[0]
    config = world.update({"log": ["by hand"]})
    state = world.state()
    assert state.config == config
    assert state.interrupts == ()
    assert state.next == ("b",)
    assert (state.metadata["source"], state.values) == ("update", {"log": ["a", "by hand"]})
    again = world.go(None, config)
    assert asked(again) == ["b?"]
    assert again.interrupts[0].id != old.id
    assert world.go(Command(resume="1"), again.config) == {"log": ["a", "by hand", "b:1", "c"]}
    assert sorted(world.states()) == ["done", "superseded"]


def test_a_question_that_an_update_has_closed_cannot_be_answered(world):
    world.go({"log": []})
    world.update({"log": ["by hand"]})
    with pytest.raises(NothingWaiting):
        world.go(Command(resume="1"))


def test_an_update_as_a_node_goes_on_after_that_node(world):
    world.go({"log": []})
    world.update({"log": ["for b"]}, as_node="b")
    assert world.state().next == ("c",)
    assert world.go(None) == {"log": ["a", "for b", "c"]}


def test_a_fork_by_update_leaves_the_old_branch_alone(world):
    world.go({"log": []})
    done = world.go(Command(resume="1"))
    old = world.before("b")
    config = world.update({"log": ["X"]}, old.config)
    assert world.state(config).parent_config == old.config
    paused = world.go(None, config)
    assert world.go(Command(resume="2"), paused.config) == {"log": ["a", "X", "b:2", "c"]}
    assert world.state(done.config).values == {"log": ["a", "b:1", "c"]}


def test_no_values_change_nothing_but_what_waits(world):
    world.go({"log": []})
    world.update(None)
    state = world.state()
    assert (state.next, state.interrupts, state.values) == (("b",), (), {"log": ["a"]})
    assert asked(world.go(None)) == ["b?"]


def test_finished_siblings_stay_finished_where_an_update_only_drops_a_question(hand, store):
    ran: list = []

    def build():
        graph = StateGraph(State).add_node(says("x", ran)).add_node(asks("y"))
        return graph.add_edge(START, "x").add_edge(START, "y").compile(store)

    hand.invoke(build(), {"log": []}, CONFIG)
    update(hand, build(), CONFIG, None)
    assert hand.state(build(), CONFIG).next == ("y",)
    assert asked(hand.invoke(build(), None, CONFIG)) == ["y?"]
    assert hand.invoke(build(), Command(resume="1"), CONFIG) == {"log": ["x", "y:1"]}
    assert ran == ["x"]


def test_an_update_as_a_node_keeps_what_finished_siblings_wrote(hand, store):
    def build():
        graph = StateGraph(State).add_node(says("x")).add_node(asks("y")).add_node(says("z"))
        graph.add_edge(START, "x").add_edge(START, "y").add_edge("y", "z")
        return graph.compile(store)

    hand.invoke(build(), {"log": []}, CONFIG)
    update(hand, build(), CONFIG, {"log": ["for y"]}, as_node="y")
    assert hand.invoke(build(), None, CONFIG) == {"log": ["x", "for y", "z"]}


def test_end_drops_what_is_due(world):
    world.go({"log": []})
    world.update(None, as_node=END)
    state = world.state()
    assert (state.next, state.interrupts, state.values) == ((), (), {"log": ["a"]})
    assert world.states() == ["superseded"]
    assert world.go(None) == {"log": ["a"]}


def test_a_copy_is_a_sibling_of_its_checkpoint(world):
    world.go({"log": []})
    old = world.state()
    world.update(None, as_node="__copy__")
    copy = world.state()
    assert copy.metadata["source"] == "fork"
    assert copy.config != old.config
    assert (copy.parent_config, copy.values, copy.next) == (old.parent_config, old.values, ("b",))


def test_an_update_as_input_begins_anew(world):
    world.go({"log": []})
    world.update({"log": ["in"]}, as_node="__input__")
    assert (world.state().next, world.state().metadata["source"]) == (("a",), "input")
    world.update({"log": ["more"]}, as_node=START)
    assert asked(world.go(None)) == ["b?"]
    assert world.state().values == {"log": ["a", "in", "more", "a"]}


def test_an_update_of_a_new_thread_is_its_input(world):
    world.update({"log": ["seed"]})
    state = world.state()
    assert (state.values, state.next) == ({"log": ["seed"]}, ("a",))


def test_the_only_node_is_the_author(hand, store):
    app = StateGraph(State).add_node(asks("b")).add_edge(START, "b").compile(store)
    hand.invoke(app, {"log": []}, CONFIG)
    update(hand, app, CONFIG, {"log": ["for b"]})
    assert hand.state(app, CONFIG).values == {"log": ["for b"]}
    assert hand.state(app, CONFIG).next == ()


def test_an_ambiguous_or_unknown_author_is_refused_and_nothing_changes(hand, store):
    graph = StateGraph(State).add_node(says("x")).add_node(says("y")).add_node(asks("z"))
    graph.add_edge(START, "x").add_edge(START, "y").add_edge("x", "z").add_edge("y", "z")
    app = graph.compile(store)
    hand.invoke(app, {"log": []}, CONFIG)
    before = hand.state(app, CONFIG)
    with pytest.raises(InvalidUpdateError, match="not clear"):
        update(hand, app, CONFIG, {"log": ["?"]})
    with pytest.raises(InvalidUpdateError, match="no node"):
        update(hand, app, CONFIG, {"log": ["?"]}, as_node="X")
    with pytest.raises(InvalidUpdateError, match="lag"):
        update(hand, app, CONFIG, {"lag": ["?"]}, as_node="x")
    assert hand.state(app, CONFIG) == before
    assert hand.state(graph.compile(store), CONFIG) == before


def test_values_that_nobody_would_write_are_refused(world):
    world.go({"log": []})
    for author in (END, "__copy__"):
        with pytest.raises(InvalidUpdateError, match="writes nothing"):
            world.update({"log": ["x"]}, as_node=author)
    assert world.states() == ["pending"]


def test_a_branch_is_asked_on_the_updated_state(hand, store):
    def build():
        graph = StateGraph(State).add_node(says("a")).add_node(asks("b")).add_node(says("c"))
        graph.add_conditional_edges("a", lambda s: "c" if "skip" in s["log"] else "b")
        return graph.add_edge(START, "a").compile(store)

    hand.invoke(build(), {"log": []}, CONFIG)
    update(hand, build(), CONFIG, {"log": ["skip"]})
    assert hand.state(build(), CONFIG).next == ("c",)
    assert hand.invoke(build(), None, CONFIG) == {"log": ["a", "skip", "c"]}


def routed(store, ran=None):
    def chooser(state):
        if ran is not None:
            ran.append("chooser")
        return Command(goto="b")

    graph = StateGraph(State).add_node(chooser).add_node(asks("b")).add_node(says("c"))
    return graph.add_edge(START, "chooser").compile(store)


def test_a_way_that_a_command_chose_is_kept_through_an_update(hand, store):
    hand.invoke(routed(store), {"log": []}, CONFIG)
    update(hand, routed(store), CONFIG, {"log": ["by hand"]})
    assert hand.state(routed(store), CONFIG).next == ("b",)
    hand.invoke(routed(store), None, CONFIG)
    assert hand.invoke(routed(store), Command(resume="1"), CONFIG) == {"log": ["by hand", "b:1"]}


def test_an_update_can_bring_a_command_that_chooses_another_way(hand, store):
    hand.invoke(routed(store), {"log": []}, CONFIG)
    update(hand, routed(store), CONFIG, Command(update={"log": ["by hand"]}, goto="c"))
    assert hand.state(routed(store), CONFIG).next == ("c",)
    assert hand.invoke(routed(store), None, CONFIG) == {"log": ["by hand", "c"]}


def test_sends_that_are_due_are_kept_with_their_arguments(hand, store):
    def one(arg):
        return {"log": [f"{arg}:{interrupt(arg)}"]}

    def build():
        graph = StateGraph(State).add_node(says("a")).add_node(one)
        graph.add_conditional_edges("a", lambda s: [Send("one", "x"), Send("one", "y")])
        return graph.add_edge(START, "a").compile(store)

    hand.invoke(build(), {"log": []}, CONFIG)
    update(hand, build(), CONFIG, None)
    result = hand.invoke(build(), None, CONFIG)
    answers = {one.id: "!" for one in result.interrupts}
    assert hand.invoke(build(), Command(resume=answers), CONFIG) == {"log": ["a", "x:!", "y:!"]}


def test_the_past_shows_the_values_that_a_fork_begins_from(hand, store):
    def build():
        graph = StateGraph(State).add_node(says("x")).add_node(asks("y"))
        return graph.add_edge(START, "x").add_edge(START, "y").compile(store)

    hand.invoke(build(), {"log": ["in"]}, CONFIG)
    assert hand.state(build(), CONFIG).values == {"log": ["in", "x"]}
    hand.invoke(build(), Command(resume="1"), CONFIG)
    first = hand.history(build(), CONFIG)[-1]
    assert (first.values, first.next) == ({"log": ["in"]}, ("x", "y"))
    assert hand.state(build(), first.config) == first


def test_joins_that_were_half_reached_are_so_on_the_fork_too(hand, store):
    def build():
        graph = StateGraph(State)
        for node in (says("x"), says("y1"), asks("y2"), says("z")):
            graph.add_node(node)
        graph.add_edge(START, "x").add_edge(START, "y1").add_edge("y1", "y2")
        return graph.add_edge(["x", "y2"], "z").compile(store)

    hand.invoke(build(), {"log": []}, CONFIG)
    hand.invoke(build(), Command(resume="1"), CONFIG)
    old = next(one for one in hand.history(build(), CONFIG) if one.next == ("y2",))
    hand.invoke(build(), None, old.config)
    result = hand.invoke(build(), Command(resume="2"), CONFIG)
    assert result == {"log": ["x", "y1", "y2:2", "z"]}


# Several at once ---------------------------------------------------------------------------------


def test_several_supersteps_are_written_in_order(world):
    steps = [
        [StateUpdate({"log": ["in"]}, "__input__")],
        [StateUpdate({"log": ["1"]}, "a")],
        [StateUpdate({"log": ["2"]}, "b")],
    ]
    config = bulk(world.hand, world.app(), CONFIG, steps)
    assert world.state().config == config
    assert world.state().values == {"log": ["in", "1", "2"]}
    assert [one.metadata["source"] for one in world.history()] == ["update", "update", "input"]
    assert world.go(None) == {"log": ["in", "1", "2", "c"]}


def test_one_superstep_can_have_several_authors(hand, store):
    graph = StateGraph(State).add_node(says("x")).add_node(says("y")).add_node(says("z"))
    graph.add_edge(START, "x").add_edge(START, "y").add_edge(["x", "y"], "z")
    app = graph.compile(store)
    both = [StateUpdate({"log": ["1"]}, "x"), StateUpdate({"log": ["2"]}, "y")]
    bulk(hand, app, CONFIG, [[StateUpdate({"log": []}, "__input__")], both])
    assert hand.invoke(app, None, CONFIG) == {"log": ["1", "2", "z"]}


@pytest.mark.parametrize("special", ["__input__", "__copy__", END])
def test_an_update_that_is_no_nodes_stands_alone(world, special):
    world.go({"log": []})
    with pytest.raises(InvalidUpdateError, match="of its own"):
        bulk(
            world.hand,
            world.app(),
            CONFIG,
            [[StateUpdate({"log": ["x"]}, "a"), StateUpdate(None, special)]],
        )


def test_no_updates_are_misuse(world):
    empty: list = [[], [[]]]
    for nothing in empty:
        with pytest.raises(Misuse, match="nothing to update"):
            bulk(world.hand, world.app(), CONFIG, nothing)


def test_a_graph_without_a_checkpointer_has_no_state_to_update(hand):
    app = StateGraph(State).add_node(says("a")).add_edge(START, "a").compile()
    with pytest.raises(NoCheckpointer):
        update(hand, app, CONFIG, {"log": ["x"]})


# What stands in the way -----------------------------------------------------------------------


def test_a_running_thread_is_busy(hand, store):
    errors: list = []
    first: Config = {"configurable": {"thread_id": "t", "checkpoint_id": "000000000001"}}

    def node(state):
        app = graph.compile(store)
        changes = [
            lambda: app.update_state(CONFIG, {"log": ["x"]}, as_node="a"),
            lambda: app.invoke(None, first),
        ]
        for change in changes:
            with pytest.raises(Busy) as error:
                change()
            errors.append(error)
        return {"log": ["done"]}

    graph = StateGraph(State).add_sequence([says("a"), node]).add_edge(START, "a")
    assert hand.invoke(graph.compile(store), {"log": []}, CONFIG) == {"log": ["a", "done"]}
    assert len(errors) == 2


class Died(BaseException):
    """The process dies."""


def lost(store):
    """Leave a thread with a call that started and left no result."""
    from hitl.engine import Intent

    died: list = []

    def pay(state):
        task = current_task("pay")
        if not died:
            intent = Intent(1, False, {"name": "pay", "args": {}})
            task.run.journal.intent(task.place, "call", intent, ())
            died.append(1)
            raise Died
        return {"log": ["paid"]}

    graph = StateGraph(State).add_sequence([says("a"), pay]).add_edge(START, "a")
    with pytest.raises(Died):
        graph.compile(store).invoke({"log": []}, CONFIG)
    return graph


def test_a_call_of_unknown_outcome_blocks_forks_and_updates(hand, store):
    graph = lost(store)
    first = hand.history(graph.compile(store), CONFIG)[-1]
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            hand.invoke(graph.compile(store), None, first.config)
        with pytest.raises(OutcomeUnknown):
            update(hand, graph.compile(store), CONFIG, {"log": ["x"]}, as_node="a")
        with pytest.raises(OutcomeUnknown):
            update(hand, graph.compile(store), first.config, None)
    (question,) = hand.state(graph.compile(store), CONFIG).interrupts
    assert "outcome_unknown" in question.value
    told = hand.invoke(graph.compile(store), None, first.config, on_unknown="tell_model")
    assert told == {"log": ["a", "paid"]}


def test_code_that_lost_the_node_cannot_go_back_to_it(world):
    world.go({"log": []})
    old = world.state().config
    world.update(None, as_node=END)
    other = StateGraph(State).add_node(says("a")).add_edge(START, "a").compile(world.store)
    before = world.state()
    with pytest.raises(Stale, match="'b'"):
        world.hand.invoke(other, None, old)
    with pytest.raises(Stale, match="'b'"):
        update(world.hand, other, old, None)
    assert world.state() == before


def test_an_update_that_was_overtaken_is_made_anew_on_what_is_there_now(hand, store):
    fired: list = []
    graph = StateGraph(State).add_node(says("a")).add_node(asks("b")).add_node(says("c"))
    graph.add_edge("b", "c").add_edge(START, "a")

    def path(state):
        if len(fired) == 1:
            fired.append(2)
            graph.compile(store).update_state(CONFIG, {"log": ["sooner"]}, as_node="b")
        return "b"

    graph.add_conditional_edges("a", path)
    hand.invoke(graph.compile(store), {"log": []}, CONFIG)
    fired.append(1)
    update(hand, graph.compile(store), CONFIG, {"log": ["later"]}, as_node="a")
    assert hand.state(graph.compile(store), CONFIG).values == {"log": ["a", "sooner", "later"]}


def test_a_graph_inside_begins_anew_on_a_fork(hand, store):
    runs: list = []

    def build():
        inner = StateGraph(State).add_sequence([says("first", runs), asks("ask")])
        sub = inner.add_edge(START, "first").compile(name="inner")
        graph = StateGraph(State).add_node("sub", sub)
        return graph.add_edge(START, "sub").compile(store)

    old = hand.invoke(build(), {"log": []}, CONFIG).interrupts[0]
    first = hand.history(build(), CONFIG)[-1]
    assert hand.invoke(build(), Command(resume="1"), CONFIG) == {"log": ["first", "ask:1"]}
    again = hand.invoke(build(), None, first.config)
    assert asked(again) == ["ask?"]
    assert again.interrupts[0].id != old.id
    assert hand.invoke(build(), Command(resume="2"), CONFIG) == {"log": ["first", "ask:2"]}
    assert runs == ["first", "first"]


def test_a_graph_inside_is_not_led_by_the_checkpoint_of_the_run_around(hand, store):
    """A node may hand its own config on to the graph it runs."""
    runs: list = []

    def build():
        inner = StateGraph(State).add_sequence([says("first", runs), asks("ask")])
        sub = inner.add_edge(START, "first").compile(name="inner")

        def outer(state, config):
            return sub.invoke({"log": []}, config)

        return StateGraph(State).add_node(outer).add_edge(START, "outer").compile(store)

    paused = hand.invoke(build(), {"log": []}, CONFIG)
    result = hand.invoke(build(), Command(resume="1"), paused.config)
    assert result == {"log": ["first", "ask:1"]}
    assert runs == ["first"]
    first = hand.history(build(), CONFIG)[-1]
    assert asked(hand.invoke(build(), None, first.config)) == ["ask?"]


def test_forks_of_a_thread_do_not_touch_another_thread():
    store = InMemorySaver()
    app = StateGraph(State).add_sequence([says("a"), asks("b")]).add_edge(START, "a").compile(store)
    other: Config = {"configurable": {"thread_id": "other"}}
    app.invoke({"log": []}, CONFIG)
    kept = app.invoke({"log": []}, other)
    app.update_state(CONFIG, None)
    assert app.get_state(other).interrupts == kept.interrupts
