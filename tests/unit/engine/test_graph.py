"""Building graphs: what is refused, and when."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, TypedDict

import pytest
import typing_extensions
from pydantic import BaseModel

from hitl.checkpoint import InMemorySaver
from hitl.engine import Hidden, Runtime, StateGraph, get_runtime
from hitl.engine.schema import read_schema
from hitl.errors import InvalidUpdateError, Misuse, NoCheckpointer, OutsideRun
from hitl.values import END, START, Command, Send


class State(TypedDict, total=False):
    n: int
    log: Annotated[list, operator.add]


def nothing(state):
    return None


def build(**nodes):
    graph = StateGraph(State)
    for name, fn in nodes.items():
        graph.add_node(name, fn)
    return graph


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda g: g.add_node("a", nothing), "a node 'a' already"),
        (lambda g: g.add_node("", nothing), "no name"),
        (lambda g: g.add_node(START, nothing), "no name"),
        (lambda g: g.add_node("b"), "has no function"),
        (lambda g: g.add_node(lambda s: s), "lambda has no name"),
        (lambda g: g.add_node("b", lambda: None), "takes no argument"),
        (lambda g: g.add_node("b", lambda s, x: None), "'x', which nobody gives"),
        (lambda g: g.add_edge(END, "a"), "is none"),
        (lambda g: g.add_edge("a", START), "is none"),
        (lambda g: g.add_sequence([]), "no nodes"),
        (lambda g: g.compile(), "Nothing begins"),
        (lambda g: g.add_edge(START, "aaaa").compile(), "no node"),
        (lambda g: g.add_edge(START, "alpha").compile(), "no node"),
        (lambda g: g.add_edge(START, "a").add_edge("b", "a").compile(), "names 'b'"),
        (lambda g: g.add_edge(START, "a").add_edge(["a", "b"], "a").compile(), "names 'b'"),
        (
            lambda g: g.add_edge(START, "a").add_conditional_edges("a", nothing, ["x"]).compile(),
            "path_map after 'a' names 'x'",
        ),
        (lambda g: g.add_edge(START, "a").compile("runs.db"), "is a str"),
        (lambda g: g.add_edge(START, "a").compile(interrupt_before=["b"]), "no node"),
        (lambda g: g.add_edge(START, "a").compile(interrupt_after="b"), "no node"),
    ],
)
def test_a_wrong_graph_is_refused_when_it_is_built(act, words):
    with pytest.raises(Misuse, match=words):
        act(build(a=nothing))


def test_a_saver_that_belongs_to_an_outer_graph_is_refused():
    with pytest.raises(NoCheckpointer):
        build(a=nothing).add_edge(START, "a").compile(checkpointer=True).invoke({})
    assert build(a=nothing).add_edge(START, "a").compile(checkpointer=False).invoke({}) == {
        "log": []
    }


@pytest.mark.parametrize("schema", [int, "State", 3, list[int]])
def test_a_schema_without_fields_is_refused(schema):
    with pytest.raises(Misuse, match="state_schema"):
        StateGraph(schema)


def test_nodes_get_what_they_ask_for_by_name(hand):
    seen: dict = {}

    def node(state, config, runtime: Runtime, *, store, writer):
        seen.update(config=config, runtime=runtime, store=store)
        writer("nobody reads this")

    graph = build(a=node).add_edge(START, "a").compile(store="mine")
    hand.invoke(graph, {}, {"metadata": {"x": 1}}, context={"user": 7})
    assert seen["config"] == {"metadata": {"x": 1}}
    assert seen["runtime"].context == {"user": 7}
    assert seen["store"] == "mine"


def test_a_join_waits_for_all_of_its_sources(hand):
    names = "abcd"
    graph = build(**{name: lambda s, name=name: {"log": [name]} for name in names})
    graph.add_edge(START, "a").add_edge(START, "b").add_edge("b", "c").add_edge(["a", "c"], "d")
    assert hand.invoke(graph.compile(), {})["log"] == ["a", "b", "c", "d"]


def test_conditional_edges_go_by_name_by_map_by_list_and_by_send(hand):
    def word(name):
        return lambda s: {"log": [name]}

    for path, path_map, log in (
        (lambda s: "b", None, ["a", "b"]),
        (lambda s: END, None, ["a"]),
        (lambda s: ["c", "b"], None, ["a", "b", "c"]),
        (lambda s: True, {True: "b", False: "c"}, ["a", "b"]),
        (lambda s: "c", ["b", "c"], ["a", "c"]),
        (lambda s: Send("b", {}), None, ["a", "b"]),
        (lambda s: [Send("b", {}), Send("b", {}), "c"], None, ["a", "c", "b", "b"]),
    ):
        graph = build(a=word("a"), b=word("b"), c=word("c")).add_edge(START, "a")
        graph.add_conditional_edges("a", path, path_map)
        assert hand.invoke(graph.compile(), {})["log"] == log


@pytest.mark.parametrize(
    ("path", "path_map", "words"),
    [
        (lambda s: "bb", None, "goes to 'bb'"),
        (lambda s: None, None, "chose None"),
        (lambda s: "c", ["b"], "not in its path_map"),
        (lambda s: {"b": 1}, ["b"], "not in its path_map"),
        (lambda s: Send("bb", 1), None, "goes to 'bb'"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(hand, path, path_map, words):
    graph = build(a=nothing, b=nothing).add_edge(START, "a")
    graph.add_conditional_edges("a", path, path_map)
    with pytest.raises(InvalidUpdateError, match=words):
        hand.invoke(graph.compile(), {})


def test_async_path_functions_and_lambdas_over_async_code_work_with_sync_nodes():
    import asyncio

    async def route(state):
        return "b"

    async def later(state):
        return {"log": ["b"]}

    hidden = lambda s: later(s)  # noqa: E731, PLW0108 - nothing shows that it is async
    graph = build(a=lambda s: {"log": ["a"]}, b=hidden).add_edge(START, "a")
    app = graph.add_conditional_edges("a", route).compile()
    assert asyncio.run(app.ainvoke({}))["log"] == ["a", "b"]
    with pytest.raises(Misuse, match="Use ainvoke"):
        app.invoke({})


def test_a_sync_node_that_raises_stop_iteration_fails_like_any_other(hand):
    def node(state):
        raise StopIteration(3)

    app = build(a=node).add_edge(START, "a").compile(InMemorySaver())
    with pytest.raises((StopIteration, RuntimeError)):
        hand.invoke(app, {}, {"configurable": {"thread_id": "t"}})


def test_a_node_may_return_several_commands_and_updates(hand):
    def node(state):
        return [Command(update={"log": ["x"]}, goto="b"), {"log": ["y"]}]

    graph = build(a=node, b=lambda s: {"log": ["b"]}).add_edge(START, "a").compile()
    assert hand.invoke(graph, {})["log"] == ["x", "y", "b"]


def test_inputs_outputs_and_node_inputs_have_schemas_of_their_own(hand):
    class In(TypedDict):
        ask: str

    class Out(TypedDict):
        n: int

    @dataclass
    class View:
        ask: str = ""
        log: list = field(default_factory=list)

    seen: list = []
    graph = StateGraph(State, input_schema=In, output_schema=Out)
    graph.add_node("a", seen.append, input_schema=View)
    graph.add_node("b", lambda s: {"n": 3, "log": ["b"]})
    app = graph.add_edge(START, "a").add_edge("a", "b").compile()
    assert hand.invoke(app, {"ask": "x"}) == {"n": 3}
    assert seen == [View("x", [])]


def test_a_hidden_channel_is_kept_out_of_inputs_and_outputs(hand):
    class Private(State):
        secret: Annotated[int, Hidden()]

    graph = StateGraph(Private).add_node("a", lambda s: {"secret": 3}).add_edge(START, "a")
    assert "secret" not in hand.invoke(graph.compile(), {"n": 1})
    with pytest.raises(Misuse, match="sets secret"):
        hand.invoke(graph.compile(), {"secret": 1})


def test_a_pydantic_input_that_does_not_fit_is_refused(hand):
    class Model(BaseModel):
        n: int

    app = StateGraph(Model).add_node("a", nothing).add_edge(START, "a").compile()
    with pytest.raises(Misuse, match="does not fit Model"):
        hand.invoke(app, {"n": "x"})


def test_the_last_reducer_of_an_annotation_counts():
    class Two(TypedDict):
        a: Annotated[list, "words", operator.add]
        b: Annotated[int, int]

    channels = read_schema(Two).channels
    assert channels["a"].reducer is operator.add
    assert channels["b"].reducer is None


def test_the_signature_changes_with_the_names_and_not_with_the_code():
    one = build(a=nothing).add_edge(START, "a").compile().shape.signature
    two = build(a=lambda s: {"n": 1}).add_edge(START, "a").compile().shape.signature
    three = build(b=nothing).add_edge(START, "b").compile().shape.signature
    assert one == two != three


def test_a_typed_dict_of_typing_extensions_is_a_state():
    class Typed(typing_extensions.TypedDict):
        log: Annotated[list, operator.add]
        note: typing_extensions.NotRequired[str]

    builder = StateGraph(Typed).add_node("node", lambda state: {"log": [1], "note": "n"})
    assert builder.add_edge(START, "node").compile().invoke({"log": [0]}) == {
        "log": [0, 1],
        "note": "n",
    }


@dataclass
class Context:
    user: str
    limit: int = 3


class ContextModel(BaseModel):
    user: str
    limit: int = 3


def with_context(node, schema):
    builder = StateGraph(State, context_schema=schema).add_node("node", node)
    return builder.add_edge(START, "node").compile()


@pytest.mark.parametrize("schema", [Context, ContextModel])
@pytest.mark.parametrize("made", [True, False])
def test_a_context_is_an_instance_of_its_schema(hand, schema, made):
    seen: list[object] = []
    graph = with_context(lambda state, runtime: seen.append(runtime.context), schema)
    given = schema(user="ann") if made else {"user": "ann"}
    hand.invoke(graph, {"log": []}, context=given)
    assert seen == [schema(user="ann")]


@pytest.mark.parametrize("schema", [Context, ContextModel])
def test_a_context_that_does_not_fit_is_refused_before_anything_runs(hand, schema):
    ran: list[object] = []
    graph = with_context(ran.append, schema)
    with pytest.raises(Misuse, match=f"does not fit {schema.__name__}"):
        hand.invoke(graph, {"log": []}, context={"limit": 1})
    assert ran == []


def test_a_context_without_a_schema_is_passed_as_it_is(hand):
    seen: list[object] = []
    graph = with_context(lambda state, runtime: seen.append(runtime.context), None)
    hand.invoke(graph, {"log": []}, context={"any": 1})
    hand.invoke(graph, {"log": []})
    assert seen == [{"any": 1}, None]


def test_a_runtime_is_given_by_its_annotation_whatever_the_parameters_name(hand):
    seen: list[object] = []

    def node(state, surroundings: Runtime[Context]):
        seen.append(surroundings.context.user)

    def path(state, rt: Runtime):
        seen.append(rt.context)
        return END

    builder = StateGraph(State, Context).add_node("node", node).add_edge(START, "node")
    graph = builder.add_conditional_edges("node", path).compile()
    hand.invoke(graph, {"log": []}, context=Context("ann"))
    assert seen == ["ann", Context("ann")]


def test_a_runtime_is_known_by_a_real_annotation_too(hand):
    def node(state, rt):
        seen.append(rt.context)

    seen: list[object] = []
    node.__annotations__["rt"] = Runtime[Context]
    hand.invoke(with_context(node, Context), {"log": []}, context={"user": "bob"})
    assert seen == [Context("bob")]


def test_code_inside_a_node_finds_the_runtime(hand):
    seen: list[object] = []

    def deep():
        seen.append(get_runtime(Context).context.user)

    def node(state):
        deep()

    hand.invoke(with_context(node, Context), {"log": []}, context=Context("ann"))
    assert seen == ["ann"]
    with pytest.raises(OutsideRun):
        get_runtime()
