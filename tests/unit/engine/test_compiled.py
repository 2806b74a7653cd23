"""What a caller sees: results, pauses, answers and states, through both hands and stores."""

from __future__ import annotations

import operator
import threading
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import BaseModel

from hitl.checkpoint import InMemorySaver
from hitl.engine import StateGraph, interrupt
from hitl.errors import (
    AlreadyDecided,
    EmptyInputError,
    GraphRecursionError,
    InvalidUpdateError,
    Misuse,
    NoCheckpointer,
    NothingWaiting,
    NoThreadId,
    NotStorable,
    Stale,
    UnknownId,
    WrongAnswer,
)
from hitl.inbox import Inbox
from hitl.values import END, START, Command, GraphOutput, Output, Send


class Log(TypedDict, total=False):
    log: Annotated[list, operator.add]
    n: int


WRONG: Any = [3]


def join(old, new):
    raise ZeroDivisionError("join")


class Joined(TypedDict, total=False):
    n: Annotated[int, join]


def chain(*nodes, schema=Log, **named):
    graph = StateGraph(schema)
    pairs = [*((fn.__name__, fn) for fn in nodes), *named.items()]
    for name, fn in pairs:
        graph.add_node(name, fn)
    for (one, _), (two, _) in zip([(START, None), *pairs], [*pairs, (END, None)], strict=True):
        graph.add_edge(one, two)
    return graph


def fan(**nodes):
    graph = StateGraph(Log)
    for name, fn in nodes.items():
        graph.add_node(name, fn).add_edge(START, name).add_edge(name, END)
    return graph


def asks(question):
    def node(state):
        return {"log": [(question, interrupt(question))]}

    return node


def told(caught) -> tuple:
    """Return the open ids that an error tells."""
    ids = caught.value.fields["open"]
    assert isinstance(ids, tuple)
    return ids


def says(word):
    return lambda state: {"log": [word]}


def ids(result):
    return {one.value: one.id for one in result.interrupts}


# Results and their forms (C13) ---------------------------------------------------------------


def test_a_finished_run_gives_a_dict_that_has_no_pause(hand, store, config):
    result = hand.invoke(chain(a=says("a")).compile(store), {"n": 1}, config)
    assert result == {"log": ["a"], "n": 1}
    assert isinstance(result, Output)
    assert result.interrupts == ()
    assert result.value == {"log": ["a"], "n": 1}
    assert str(result.config).startswith("{'configurable': {'thread_id': 't'")


def test_a_pause_shows_in_the_dict_and_beside_it(hand, store, config):
    result = hand.invoke(chain(a=asks("ok?")).compile(store), {"n": 1}, config)
    assert [one.value for one in result["__interrupt__"]] == ["ok?"]
    assert tuple(result["__interrupt__"]) == result.interrupts
    assert result["n"] == 1


def test_version_two_gives_a_graph_output_that_reads_like_the_dict_with_a_warning(
    hand, store, config
):
    result = hand.invoke(chain(a=asks("ok?")).compile(store), {"n": 1}, config, version="v2")
    assert isinstance(result, GraphOutput)
    assert result.value == {"log": [], "n": 1}
    assert [one.value for one in result.interrupts] == ["ok?"]
    with pytest.warns(DeprecationWarning, match="GraphOutput"):
        assert result["n"] == 1
    with pytest.warns(DeprecationWarning, match="GraphOutput"):
        assert "__interrupt__" in result


def test_a_typed_state_comes_back_typed_in_version_two(hand, store, config):
    @dataclass
    class State:
        n: int = 0
        log: Annotated[list, operator.add] = field(default_factory=list)

    class Model(BaseModel):
        n: int = 0

    more = lambda state: {"n": state.n + 1}  # noqa: E731
    for cls in (State, Model):
        graph = chain(a=more, b=more, schema=cls).compile(store)
        place = {"configurable": {"thread_id": cls.__name__}}
        result = hand.invoke(graph, {"n": 3}, place, version="v2")
        assert type(result.value) is cls
        assert result.value.n == 5
        assert hand.invoke(graph, cls(n=1), place)["n"] == 3


def test_a_state_that_is_one_value_comes_back_as_that_value(hand, store, config):
    graph = chain(a=lambda s: ["a"], b=asks_root, schema=Annotated[list, operator.add])
    app = graph.compile(store)
    paused = hand.invoke(app, ["x"], config)
    assert paused == {"__interrupt__": list(paused.interrupts)}
    assert paused.value == ["x", "a"]
    assert hand.invoke(app, Command(resume="y"), config) == ["x", "a", "y"]


def asks_root(state):
    return [interrupt("more?")]


# Asking and answering (C14, C19) -------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", [True, False, 0, "", [], {}, None, 1.5, {"a": 1}, {"decisions": []}, ("x", 2), b"x"]
)
def test_every_value_is_an_answer(hand, store, config, answer):
    graph = chain(a=asks("ok?"))
    hand.invoke(graph.compile(store), {}, config)
    result = hand.invoke(graph.compile(store), Command(resume=answer), config)
    assert result["log"] == [("ok?", answer)]
    assert type(result["log"][0][1]) is type(answer)


def test_questions_of_one_node_are_answered_one_after_the_other(hand, store, config):
    def node(state):
        return {"log": [interrupt(1), interrupt(2), interrupt(3)]}

    app = chain(a=node).compile(store)
    seen = [one.value for one in hand.invoke(app, {}, config).interrupts]
    for answer in ("x", None):
        seen += [one.value for one in hand.invoke(app, Command(resume=answer), config).interrupts]
    assert seen == [1, 2, 3]
    assert hand.invoke(app, Command(resume=False), config)["log"] == ["x", None, False]


def test_a_loop_of_questions_takes_exactly_the_answers_it_asks_for(hand, store, config):
    asked = []

    def node(state):
        rounds = 0
        while interrupt(f"round {rounds}") != "yes":
            rounds += 1
        asked.append(rounds)
        return {"n": rounds}

    app = chain(a=node).compile(store)
    result = hand.invoke(app, {}, config)
    for answer in ("no", "no", "yes"):
        assert result.interrupts
        result = hand.invoke(app, Command(resume=answer), config)
    assert result == {"log": [], "n": 2}
    assert asked == [2]


def test_parallel_questions_show_at_once_and_take_their_own_answers_in_any_grouping(
    hand, store, config
):
    app = fan(a=asks("a"), b=asks("b"), c=asks("c"), d=says("d")).compile(store)
    first = hand.invoke(app, {}, config)
    known = ids(first)
    assert sorted(known) == ["a", "b", "c"]
    rest = hand.invoke(app, Command(resume={known["c"]: 3}), config)
    assert ids(rest) == {"a": known["a"], "b": known["b"]}
    last = hand.invoke(app, Command(resume={known["b"]: 2, known["a"]: 1}), config)
    assert last["log"] == [("a", 1), ("b", 2), ("c", 3), "d"]


def test_an_answer_without_id_is_refused_where_two_questions_are_open(hand, store, config):
    app = fan(a=asks("a"), b=asks("b")).compile(store)
    known = ids(hand.invoke(app, {}, config))
    with pytest.raises(WrongAnswer) as caught:
        hand.invoke(app, Command(resume="x"), config)
    assert set(told(caught)) == set(known.values())
    hand.invoke(app, Command(resume={known["a"]: 1}), config)
    assert hand.invoke(app, Command(resume=2), config)["log"] == [("a", 1), ("b", 2)]


def test_an_unknown_id_is_refused_with_the_open_ones_and_takes_nothing(hand, store, config):
    app = fan(a=asks("a"), b=asks("b")).compile(store)
    known = ids(hand.invoke(app, {}, config))
    with pytest.raises(UnknownId) as caught:
        hand.invoke(app, Command(resume={known["a"]: 1, "f" * 32: 2}), config)
    assert set(told(caught)) == set(known.values())
    assert {one.state for one in store.items(thread="t")} == {"pending"}


def test_an_id_of_another_thread_is_unknown_and_not_named(hand, store, config):
    app = chain(a=asks("a")).compile(store)
    other = {"configurable": {"thread_id": "other"}}
    foreign = hand.invoke(app, {}, other).interrupts[0].id
    hand.invoke(app, {}, config)
    with pytest.raises(UnknownId) as caught:
        hand.invoke(app, Command(resume={foreign: 1}), config)
    assert "other" not in str(caught.value)
    assert store.items(ids=[foreign])[0].state == "pending"


def test_a_repeat_by_id_changes_nothing_and_another_answer_is_told_who_was_first(
    hand, store, config
):
    app = chain(a=asks("a"), b=asks("b")).compile(store)
    known = ids(hand.invoke(app, {}, config))
    place = {"configurable": {"thread_id": "t", "reviewer": "ann"}}
    paused = hand.invoke(app, Command(resume={known["a"]: True}), place)
    again = hand.invoke(app, Command(resume={known["a"]: True}), config)
    assert again == paused
    with pytest.raises(AlreadyDecided) as caught:
        hand.invoke(app, Command(resume={known["a"]: 1}), config)
    assert caught.value.fields["by"] == "ann"
    assert "ann" in str(caught.value)


def test_an_answer_bound_to_an_older_checkpoint_is_stale(hand, store, config):
    app = chain(a=asks("a"), b=asks("b")).compile(store)
    first = hand.invoke(app, {}, config)
    second = hand.invoke(app, Command(resume=1), first.config)
    with pytest.raises(Stale):
        hand.invoke(app, Command(resume=2), first.config)
    assert hand.invoke(app, Command(resume=2), second.config)["log"] == [("a", 1), ("b", 2)]


def test_going_on_without_an_answer_gives_the_same_pause(hand, store, config):
    graph = chain(a=asks("a"))
    first = hand.invoke(graph.compile(store), {}, config)
    entries = len(store.entries("t"))
    assert hand.invoke(graph.compile(store), None, config) == first
    assert len(store.entries("t")) == entries


def test_an_answer_given_at_the_desk_is_delivered_by_going_on(hand, store, config):
    app = fan(a=asks("a"), b=asks("b")).compile(store)
    known = ids(hand.invoke(app, {}, config))
    Inbox(store).decide(known["b"], "from the desk", by="bob")
    assert ids(hand.invoke(app, None, config)) == {"a": known["a"]}
    assert hand.invoke(app, Command(resume=1), config)["log"] == [
        ("a", 1),
        ("b", "from the desk"),
    ]


def test_new_input_closes_what_waited_and_its_late_answer_reaches_nothing(hand, store, config):
    app = fan(a=asks("a"), b=asks("b")).compile(store)
    old = ids(hand.invoke(app, {"n": 1}, config))
    Inbox(store).decide(old["b"], "never delivered")
    new = ids(hand.invoke(app, {"n": 2}, config))
    assert not set(old.values()) & set(new.values())
    states = {one.id: one.state for one in store.items(thread="t")}
    assert [states[old[name]] for name in "ab"] == ["superseded", "withdrawn"]
    for name in "ab":
        with pytest.raises(UnknownId) as caught:
            hand.invoke(app, Command(resume={old[name]: "never delivered"}), config)
        assert set(told(caught)) == set(new.values())


def test_an_update_comes_with_the_answer_and_a_goto_adds_a_node(hand, store, config):
    app = fan(a=asks("a"), b=says("b")).compile(store)
    hand.invoke(app, {}, config)
    result = hand.invoke(app, Command(resume=1, update={"n": 9, "log": ["u"]}, goto="b"), config)
    assert result == {"log": ["u", ("a", 1), "b", "b"], "n": 9}


# Static pauses -------------------------------------------------------------------------------


def test_a_static_pause_shows_what_is_due_and_asks_nothing(hand, store, config):
    routed = []

    def route(state):
        routed.append(state["n"])
        return "c"

    graph = StateGraph(Log).add_node("a", lambda s: {"n": 1}).add_node("b", says("b"))
    graph.add_node("c", says("c")).add_edge(START, "a").add_edge("a", "b")
    graph.add_conditional_edges("b", route, ["a", "c"]).add_edge("c", END)
    app = graph.compile(store, interrupt_before=["b"], interrupt_after=["b"])
    result = hand.invoke(app, {}, config)
    assert "__interrupt__" not in result
    assert hand.state(app, config).next == ("b",)
    assert hand.state(app, config).interrupts == ()
    assert hand.stream(app, None, config) == [{"b": {"log": ["b"]}}, {"__interrupt__": ()}]
    assert hand.state(app, config).next == ("c",)
    assert hand.invoke(app, None, config) == {"n": 1, "log": ["b", "c"]}
    assert routed == [1]
    with pytest.raises(NothingWaiting):
        hand.invoke(app, Command(resume=1), config)


def test_any_answer_lets_a_static_pause_go_on(hand, store, config):
    app = fan(a=says("a")).compile(store, interrupt_before=["a"])
    hand.invoke(app, {}, config)
    with pytest.raises(Misuse):  # but not one that is meant for a question
        hand.invoke(app, Command(resume={"0" * 32: "yes"}), config)
    result = hand.invoke(app, Command(resume="yes", update={"n": 9}), config)
    assert result == {"log": ["a"], "n": 9}
    with pytest.raises(NothingWaiting):
        hand.invoke(app, Command(resume="yes"), config)


def test_an_answer_at_a_static_pause_reaches_no_question_behind_it(hand, store, config):
    app = fan(a=asks("a")).compile(store, interrupt_before=["a"])
    hand.invoke(app, {}, config)
    result = hand.invoke(app, Command(resume="unseen"), config)
    assert [one.value for one in result.interrupts] == ["a"]
    assert hand.invoke(app, Command(resume="seen"), config)["log"] == [("a", "seen")]


def test_an_answer_to_a_failed_thread_is_refused(hand, store, config):
    def fails(state):
        raise KeyError("no")

    app = fan(a=fails).compile(store)
    with pytest.raises(KeyError):
        hand.invoke(app, {}, config)
    with pytest.raises(NothingWaiting):
        hand.invoke(app, Command(resume="yes"), config)


@pytest.mark.parametrize("static", [False, True])
def test_a_goto_runs_beside_what_waits(hand, store, config, static):
    ran = []

    def says_so(state):
        ran.append("x")
        return {"log": ["x"]}

    graph = StateGraph(Log).add_node("a", asks("a")).add_node("x", says_so).add_edge(START, "a")
    graph.add_conditional_edges("a", lambda state: END, ["x", END])
    app = graph.compile(store, interrupt_before=["a"] if static else None)
    hand.invoke(app, {}, config)
    result = hand.invoke(app, Command(goto=["x", "a"]), config)
    assert (ran, [one.value for one in result.interrupts]) == (["x"], ["a"])
    assert hand.state(app, config).next == ("a",)
    assert hand.invoke(app, Command(resume=1), config)["log"] == [("a", 1), "x"]
    assert hand.invoke(app, Command(goto="x"), config)["log"] == [("a", 1), "x", "x"]


# Streams -------------------------------------------------------------------------------------


def test_a_stream_tells_each_question_once_in_every_mode(hand, store, config):
    app = fan(a=asks("a"), b=asks("b"), c=asks("c"), d=asks("d")).compile(store)
    parts = hand.stream(app, {}, config, stream_mode=["updates", "values"])
    updates = [data["__interrupt__"] for mode, data in parts if mode == "updates"]
    assert sorted(one.value for (one,) in updates) == ["a", "b", "c", "d"]
    values = [data for mode, data in parts if mode == "values"]
    assert [len(data.get("__interrupt__", ())) for data in values] == [0, 4]
    assert hand.stream(app, None, config, stream_mode="values")[-1]["__interrupt__"] == tuple(
        values[-1]["__interrupt__"]
    )


def test_a_stream_of_version_two_tells_its_kind(hand, store, config):
    app = chain(a=says("a"), b=asks("b")).compile(store)
    parts = hand.stream(app, {}, config, version="v2", stream_mode=["updates", "values"])
    assert parts[0] == {"type": "values", "ns": (), "data": {"log": []}, "interrupts": ()}
    assert parts[1] == {"type": "updates", "ns": (), "data": {"a": {"log": ["a"]}}}
    assert [one.value for one in parts[-1]["interrupts"]] == ["b"]


def test_what_a_stream_has_told_is_committed(store, config):
    app = chain(a=says("a"), b=says("b")).compile(store)
    for part in app.stream({}, config):
        assert part == {"a": {"log": ["a"]}}
        assert [entry.kind for entry in store.entries("t")] == ["input", "step"]
        break
    assert app.invoke(None, config)["log"] == ["a", "b"]


# Failing nodes -------------------------------------------------------------------------------


def test_an_error_keeps_the_siblings_results_and_only_the_failed_node_runs_again(
    hand, store, config
):
    ran: list = []
    broken = [True]

    def bad(state):
        ran.append("bad")
        if broken[0]:
            raise RuntimeError("no luck")
        return {"log": ["bad"]}

    def good(state):
        ran.append("good")
        return {"log": ["good"]}

    graph = fan(a=good, b=bad, c=good)
    app = graph.compile(store)
    with pytest.raises(RuntimeError, match="no luck") as caught:
        hand.invoke(app, {}, config)
    assert "'b'" in caught.value.__notes__[0]
    state = hand.state(graph.compile(store), config)
    assert state.next == ("b",)
    assert [task.error for task in state.tasks] == [None, "RuntimeError('no luck')", None]
    assert state.values["log"] == ["good", "good"]
    broken[0] = False
    assert hand.invoke(graph.compile(store), None, config)["log"] == ["good", "bad", "good"]
    assert sorted(ran) == ["bad", "bad", "good", "good"]


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        ({"lgo": ["x"]}, InvalidUpdateError, "Node 'bad' writes 'lgo'.*Did you mean 'log'"),
        (3, InvalidUpdateError, "Node 'bad' must give a dict"),
        (Command(goto="nowhere"), InvalidUpdateError, "Node 'bad' goes to 'nowhere'"),
        (Command(goto=WRONG), Misuse, "holds a int"),
        ({"n": object()}, NotStorable, r"Node 'bad'.*state\['n'\]"),
        ({"log": [{"rows": [1, object()]}]}, NotStorable, r"state\['log'\]\[0\]"),
        (Command(goto=Send("good", {1, object()})), NotStorable, r"Send\('good'\).arg"),
        (Command(graph="__parent__"), InvalidUpdateError, "no graph around"),
    ],
)
def test_what_a_node_may_not_return_is_its_error_and_costs_its_siblings_nothing(
    hand, store, config, value, kind, words
):
    app = fan(good=says("good"), bad=lambda state: value).compile(store)
    with pytest.raises(kind, match=words):
        hand.invoke(app, {}, config)
    state = hand.state(app, config)
    assert state.next == ("bad",)
    assert state.values["log"] == ["good"]
    assert state.tasks[0].error.startswith(kind.__name__)


def test_two_writes_to_a_key_without_reducer_are_one_nodes_fault(hand, store, config):
    app = fan(a=lambda s: {"n": 1}, b=lambda s: {"n": 2}).compile(store)
    with pytest.raises(InvalidUpdateError, match="in the same step, and it has no reducer"):
        hand.invoke(app, {}, config)
    assert len(hand.state(app, config).next) == 1


def test_a_failing_reducer_and_a_failing_path_function_leave_the_step_before(hand, store, config):
    app = chain(a=lambda s: {"n": 1}, schema=Joined).compile(store)
    with pytest.raises(ZeroDivisionError):
        hand.invoke(app, {}, config)
    assert hand.state(app, config).next == ("a",)
    assert hand.state(app, config).tasks[0].error == "ZeroDivisionError('join')"

    def route(state):
        raise LookupError("which way")

    graph = StateGraph(Log).add_node("a", says("a")).add_edge(START, "a")
    app = graph.add_conditional_edges("a", route, [END]).compile(store)
    place = {"configurable": {"thread_id": "2"}}
    with pytest.raises(LookupError):
        hand.invoke(app, {}, place)
    assert hand.state(app, place).next == ("a",)


def test_a_run_without_end_is_stopped_and_can_go_on(hand, store, config):
    graph = StateGraph(Log).add_node("a", says("a")).add_edge(START, "a").add_edge("a", "a")
    app = graph.compile(store)
    place = {**config, "recursion_limit": 3}
    with pytest.raises(GraphRecursionError, match="3 supersteps"):
        hand.invoke(app, {}, place)
    assert hand.state(app, config).values["log"] == ["a"] * 3
    with pytest.raises(GraphRecursionError):
        hand.invoke(app, None, place)
    assert hand.state(app, config).values["log"] == ["a"] * 6


# Wrong use -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kwargs", "kind", "words"),
    [
        ({"config": None}, NoThreadId, "thread_id"),
        ({"config": {"configurable": {}}}, NoThreadId, "thread_id"),
        ({"config": {"configurable": {"thread": "1"}}}, NoThreadId, "Was 'thread' meant"),
        ({"config": {"thread_id": "1"}}, NoThreadId, "belongs inside 'configurable'"),
        ({"input": Command()}, EmptyInputError, "says nothing"),
        ({"input": None}, EmptyInputError, "nothing to run"),
        ({"input": Command(resume=1)}, NothingWaiting, "'t'"),
        ({"input": Command(resume={"0" * 32: 1})}, UnknownId, "0000"),
        ({"input": Command(goto="alpho")}, InvalidUpdateError, "Did you mean 'alpha'"),
        ({"input": Command(update={"m": 1})}, InvalidUpdateError, "no key 'm'"),
        ({"input": Command(graph="__parent__")}, InvalidUpdateError, "outermost"),
        ({"input": {"lgo": []}}, InvalidUpdateError, "Did you mean 'log'"),
        ({"input": "hello"}, Misuse, "not a state"),
        ({"input": [1]}, InvalidUpdateError, "must give a dict"),
        ({"input": {"n": object()}}, NotStorable, r"state\['n'\]"),
        ({"version": "v3"}, Misuse, "v3"),
        ({"interrupt_befor": "a"}, Misuse, "Did you mean 'interrupt_before'"),
        ({"interrupt_before": ["alpho"]}, Misuse, "no node"),
        ({"on_unknown": "guess"}, Misuse, "guess"),
        ({"durability": "maybe"}, Misuse, "maybe"),
        (
            {"config": {"configurable": {"thread_id": "t", "checkpoint_id": "x"}}},
            Misuse,
            "checkpoint",
        ),
        ({"config": {"configurable": {"thread_id": "t", "reviewer": ""}}}, Misuse, "reviewer"),
    ],
)
def test_wrong_use_fails_before_anything_runs_and_stores_nothing(
    hand, store, config, kwargs, kind, words
):
    app = chain(alpha=says("a")).compile(store)
    given = {"input": {}, "config": config, **kwargs}
    with pytest.raises(kind, match=words):
        hand.invoke(app, given.pop("input"), given.pop("config"), **given)
    assert store.threads() == []


def test_a_graph_without_checkpointer_runs_but_does_not_pause(hand, config):
    ran: list = []

    def first(state):
        ran.append(1)
        return {"n": 1}

    assert hand.invoke(chain(a=first).compile(), {})["n"] == 1
    with pytest.raises(NoCheckpointer, match="'b'"):
        hand.invoke(chain(a=first, b=asks("b")).compile(), {})
    with pytest.raises(NoCheckpointer, match="nothing to resume"):
        hand.invoke(chain(a=first).compile(), Command(resume=1))
    with pytest.raises(NoCheckpointer, match="without a checkpointer"):
        hand.state(chain(a=first).compile(), config)
    ran.clear()
    graph = chain(a=first)
    graph.add_node("gate", says("g"), approves=True).add_edge("a", "gate")
    with pytest.raises(NoCheckpointer, match="pauses at gate"):
        hand.invoke(graph.compile(), {})
    with pytest.raises(NoCheckpointer):
        hand.invoke(chain(a=first).compile(), {}, interrupt_before=["a"])
    assert ran == []


def test_an_async_node_is_refused_by_the_sync_hand(store, config):
    async def node(state):
        return {"n": 1}

    with pytest.raises(Misuse, match="Use ainvoke"):
        chain(a=node).compile(store).invoke({}, config)


# States and history --------------------------------------------------------------------------


def test_the_state_of_an_unknown_thread_is_empty(hand, store, config):
    state = hand.state(chain(a=says("a")).compile(store), config)
    assert state == ({}, (), config, None, None, None, (), ())


def test_history_goes_back_from_the_newest_and_can_be_narrowed(hand, store, config):
    graph = chain(a=says("a"), b=asks("b"), c=says("c"))
    hand.invoke(graph.compile(store), {"n": 1}, {**config, "metadata": {"who": "me"}})
    app = graph.compile(store)
    hand.invoke(app, Command(resume=0), config)
    past = hand.history(app, config)
    assert [one.next for one in past] == [(), ("c",), ("b",), ("a",)]
    assert [one.metadata["step"] for one in past] == [2, 1, 0, -1]
    assert [one.value for one in past[2].interrupts] == ["b"]
    for newer, older in pairwise(past):
        assert newer.parent_config == older.config
    assert hand.history(app, config, limit=1) == past[:1]
    assert hand.history(app, config, before=past[1].config) == past[2:]
    assert hand.history(app, past[1].config) == past[1:]
    assert hand.history(app, config, filter={"source": "input"}) == past[3:]
    assert [one.metadata.get("who") for one in past] == [None, None, "me", "me"]
    for one in past:
        assert hand.state(app, one.config) == one
    with pytest.raises(Misuse, match="no checkpoint"):
        hand.state(app, {"configurable": {"thread_id": "t", "checkpoint_id": "0" * 11 + "9"}})


def test_a_result_may_be_changed_without_touching_the_thread(hand, store, config):
    app = chain(a=says("a"), b=asks("b")).compile(store)
    result = hand.invoke(app, {"n": 1}, config)
    result["log"].append("mine")
    hand.state(app, config).values["log"].append("mine")
    assert hand.invoke(app, Command(resume=1), config)["log"] == ["a", ("b", 1)]


# Changed code, other graphs, deleted threads (G10) -------------------------------------------


def test_a_thread_is_not_resumed_by_code_that_lost_its_node_or_its_keys(hand, store, config):
    class More(Log):
        extra: str

    paused = hand.invoke(
        chain(a=says("a"), bb=asks("b"), schema=More).compile(store), {"extra": "x"}, config
    )
    before = store.entries("t")
    for graph, words in (
        (chain(a=says("a"), b1=asks("b"), schema=More), "node 'bb'.*does not have"),
        (chain(a=says("a"), bb=asks("b")), "state keys extra"),
    ):
        for input in (Command(resume=1), None):
            with pytest.raises(Stale, match=words):
                hand.invoke(graph.compile(store), input, config)
    assert store.entries("t") == before
    same = chain(new=says("new"), a=says("a"), bb=asks("b"), c=says("c"), schema=More)
    result = hand.invoke(same.compile(store), Command(resume={paused.interrupts[0].id: 1}), config)
    assert result["log"] == ["a", ("b", 1), "c"]


def test_two_graphs_over_one_store_see_each_others_runs(hand, store, config):
    graph = chain(a=asks("a"), b=asks("b"))
    one, two = graph.compile(store), graph.compile(store)
    hand.invoke(one, {}, config)
    hand.invoke(two, Command(resume=1), config)
    assert hand.invoke(one, Command(resume=2), config)["log"] == [("a", 1), ("b", 2)]
    assert hand.state(two, config).next == ()


def test_a_deleted_thread_begins_anew_though_a_graph_still_knew_it(hand, store, config):
    app = chain(a=says("a"), b=asks("b")).compile(store)
    hand.invoke(app, {"n": 1}, config)
    store.delete_thread("t")
    with pytest.raises(NothingWaiting):
        hand.invoke(app, Command(resume=1), config)
    result = hand.invoke(app, {}, config)
    assert result["log"] == ["a"]
    assert "n" not in result


def test_a_finished_thread_takes_new_input_on_its_state(hand, store, config):
    app = chain(a=says("a")).compile(store)
    hand.invoke(app, {"n": 1}, config)
    assert hand.invoke(app, None, config) == {"log": ["a"], "n": 1}
    assert hand.invoke(app, {"log": ["u"]}, config) == {"log": ["a", "u", "a"], "n": 1}


def test_fifty_threads_on_one_graph_keep_to_themselves():
    store = InMemorySaver()
    app = chain(a=lambda s: {"log": [s["n"]]}, b=lambda s: asks(s["n"])(s)).compile(store)
    results = {}

    def run(n):
        place = {"configurable": {"thread_id": str(n)}}
        paused = app.invoke({"n": n}, place)
        assert [one.value for one in paused.interrupts] == [n]
        results[n] = app.invoke(Command(resume=f"for {n}"), place)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: {"n": n, "log": [n, (n, f"for {n}")]} for n in range(50)}


def test_sends_run_side_by_side_with_arguments_of_their_own(hand, store, config):
    graph = StateGraph(Log).add_node("each", lambda arg: {"log": [(arg["n"], interrupt(arg["n"]))]})
    graph.add_conditional_edges(START, lambda s: [Send("each", {"n": n}) for n in range(s["n"])])
    app = graph.compile(store)
    known = ids(hand.invoke(app, {"n": 4}, config))
    answers = {known[n]: n * 10 for n in (2, 0, 3, 1)}
    result = hand.invoke(graph.compile(store), Command(resume=answers), config)
    assert result["log"] == [(0, 0), (1, 10), (2, 20), (3, 30)]


def test_an_answer_by_position_is_bound_to_the_pause_that_its_config_names(hand, store, config):
    def ask(state):
        return {"log": [interrupt("one?"), interrupt("two?")]}

    graph = StateGraph(Log).add_node(ask).add_edge(START, "ask")
    first = hand.invoke(graph.compile(store), {"log": []}, config)
    second = hand.invoke(graph.compile(store), Command(resume="a"), first.config)
    with pytest.raises(Stale, match="has been answered"):
        hand.invoke(graph.compile(store), Command(resume="late"), first.config)
    by_id = Command(resume={first.interrupts[0].id: "a"})  # a repeat by id is harmless
    assert hand.invoke(graph.compile(store), by_id, first.config).interrupts == second.interrupts
    ended = hand.invoke(graph.compile(store), Command(resume="b"), second.config)
    assert ended["log"] == ["a", "b"]
