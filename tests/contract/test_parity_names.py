"""The engine's public names are the field's, and so are the keywords that they take."""

from __future__ import annotations

import asyncio
import inspect
import operator
from typing import Annotated, TypedDict

import pytest

import hitl
from hitl import (
    END,
    START,
    AIMessage,
    Command,
    InMemorySaver,
    MessagesState,
    ParentCommand,
    Runtime,
    StateGraph,
    get_runtime,
    interrupt,
    push_message,
)
from hitl.engine.settings import RunOptions

CONFIG: dict[str, object] = {"configurable": {"thread_id": "t"}}

NAMES = """
    StateGraph START END Send Command interrupt Interrupt GraphOutput StateSnapshot PregelTask
    StateUpdate StreamPart Durability InvalidUpdateError MessagesState add_messages
    REMOVE_ALL_MESSAGES InMemorySaver MemorySaver SqliteSaver AsyncSqliteSaver
    ParentCommand get_stream_writer get_runtime ExecutionInfo ServerInfo Overwrite StreamWriter
    push_message ChatModelStream AsyncChatModelStream GraphRecursionError EmptyInputError
    Runtime RetryPolicy NodeTimeoutError
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_of_the_field_is_imported_from_hitl(name):
    assert name in hitl.__all__
    assert getattr(hitl, name) is not None


# "*" stands before keywords. What the engine does not have is in docs/differences.md.
_RUN = (
    "input config * context stream_mode print_mode output_keys interrupt_before interrupt_after "
    "durability version"
)
SIGNATURES = {
    "StateGraph": "state_schema context_schema * input_schema output_schema",
    "StateGraph.add_node": "node action * metadata input_schema retry_policy destinations timeout",
    "StateGraph.add_edge": "start end",
    "StateGraph.add_conditional_edges": "source path path_map",
    "StateGraph.add_sequence": "nodes",
    "StateGraph.set_entry_point": "node",
    "StateGraph.set_finish_point": "node",
    "StateGraph.set_conditional_entry_point": "path path_map",
    "StateGraph.compile": "checkpointer * store interrupt_before interrupt_after debug name",
    "CompiledStateGraph.invoke": _RUN,
    "CompiledStateGraph.stream": f"{_RUN} subgraphs debug",
    "CompiledStateGraph.stream_events": "input config * version",
    "CompiledStateGraph.batch": "inputs config * return_exceptions",
    "CompiledStateGraph.get_state": "config * subgraphs",
    "CompiledStateGraph.get_state_history": "config * filter before limit",
    "CompiledStateGraph.update_state": "config values as_node task_id",
    "CompiledStateGraph.bulk_update_state": "config supersteps",
    "CompiledStateGraph.get_subgraphs": "namespace recurse",
    "CompiledStateGraph.with_config": "config",
    "CompiledStateGraph.get_graph": "",
    "Send": "node arg",
    "Command": "* graph update resume goto",
    "interrupt": "value * response_schema",
    "Interrupt": "value id",
    "GraphOutput": "value interrupts",
    "StateSnapshot": "values next config metadata created_at parent_config tasks interrupts",
    "PregelTask": "id name path error interrupts state result",
    "StateUpdate": "values as_node task_id",
    "Overwrite": "value",
    "Runtime": "* context store stream_writer previous execution_info server_info control",
    "ExecutionInfo": "checkpoint_id checkpoint_ns task_id thread_id run_id node_attempt",
    "ServerInfo": "assistant_id graph_id user",
    "push_message": "message * state_key",
    "ParentCommand": "command",
}


def _takes(what):
    """Return the places and the keywords that a callable takes."""
    places, keywords = [], set()
    for one in inspect.signature(what).parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.VAR_KEYWORD and "RunOptions" in str(one.annotation):
            keywords |= set(RunOptions.__annotations__)
        elif one.kind is one.KEYWORD_ONLY:
            keywords.add(one.name)
        else:
            places.append(one.name)
    return places, keywords | set(places)


@pytest.mark.parametrize("name", SIGNATURES)
def test_it_takes_what_it_takes_in_the_field(name):
    kind, _, method = name.partition(".")
    what = getattr(hitl, kind)
    places, keywords = _takes(getattr(what, method) if method else what)
    wanted_places, _, wanted_keywords = SIGNATURES[name].partition("*")
    assert places[: len(wanted_places.split())] == wanted_places.split()
    assert keywords >= set(wanted_keywords.split())


COLUMNS = """
    invoke stream stream_events batch get_state get_state_history update_state bulk_update_state
"""


@pytest.mark.parametrize("name", COLUMNS.split())
def test_the_async_method_takes_what_the_sync_one_takes(name):
    sync = inspect.signature(getattr(hitl.CompiledStateGraph, name))
    twin = inspect.signature(getattr(hitl.CompiledStateGraph, f"a{name}"))
    assert sync.parameters == twin.parameters


def test_no_async_method_is_without_a_sync_one():
    names = [name for name, _ in inspect.getmembers(hitl.CompiledStateGraph, callable)]
    twins = [name for name in names if f"a{name}" in names]
    assert sorted(twins) == sorted(COLUMNS.split())


# What the names mean --------------------------------------------------------------------------


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]


def test_a_node_knows_which_execution_it_is():
    seen: list = []

    def node(state, runtime: Runtime):
        seen.append((runtime.execution_info, get_runtime().execution_info))
        return {"log": [interrupt("?")]}

    inner = StateGraph(State).add_node("deep", node).add_edge(START, "deep").compile()
    graph = StateGraph(State).add_node("sub", inner).add_edge(START, "sub")
    app = graph.compile(InMemorySaver())
    paused = app.invoke({}, {**CONFIG, "run_id": 7})
    app.invoke(Command(resume="yes"), CONFIG)
    (first, same), (again, _) = seen
    assert first == same
    assert (first.task_id, first.checkpoint_ns) == (again.task_id, again.checkpoint_ns)
    (task,) = app.get_state(paused.config, subgraphs=True).tasks
    outer, deep = first.checkpoint_ns.split("|")
    assert (outer, deep) == (f"sub:{task.id}", f"deep:{first.task_id}")
    assert (first.thread_id, first.run_id, again.run_id) == ("t", "7", None)
    assert first.node_attempt == 1


def test_a_command_for_the_parent_can_be_raised():
    def up(state):
        raise ParentCommand(Command(graph=Command.PARENT, goto="after", update={"log": ["up"]}))

    inner = StateGraph(State).add_node("up", up).add_edge(START, "up").compile()
    graph = StateGraph(State).add_node("sub", inner, destinations=["after"]).add_edge(START, "sub")
    app = graph.add_node("after", lambda _: {"log": ["after"]}).add_edge("after", END).compile()
    assert app.invoke({"log": []}) == {"log": ["up", "after"]}
    assert asyncio.run(app.ainvoke({"log": []})) == {"log": ["up", "after"]}


def _pushes(state):
    push_message({"role": "ai", "content": "working", "id": "1"})
    push_message({"role": "ai", "content": "aside", "id": "2"}, state_key=None)
    return {"messages": [AIMessage("done", id="3")]}


def test_a_message_that_is_pushed_is_told_at_once_and_written_first():
    app = StateGraph(MessagesState).add_node("n", _pushes).add_edge(START, "n").compile()
    told = list(app.stream({"messages": []}, stream_mode=["messages", "updates"]))
    assert [(mode, data[0].content) for mode, data in told if mode == "messages"] == [
        ("messages", "working"),
        ("messages", "aside"),
        ("messages", "done"),
    ]
    assert [one.content for one in app.invoke({"messages": []})["messages"]] == ["working", "done"]
    run = app.stream_events({"messages": []}, version="v3")
    read = [(type(one), str(one.text)) for one in run.messages]
    assert read == [(hitl.ChatModelStream, text) for text in ("working", "aside", "done")]


def test_a_message_can_be_pushed_by_an_async_node_and_not_outside_a_run():
    async def node(state):
        return _pushes(state)

    app = StateGraph(MessagesState).add_node("n", node).add_edge(START, "n").compile()

    async def read():
        run = await app.astream_events({"messages": []}, version="v3")
        return [(type(one), await one.text) async for one in run.messages]

    assert asyncio.run(read())[0] == (hitl.AsyncChatModelStream, "working")
    with pytest.raises(RuntimeError):
        push_message("hello")
    wrong = StateGraph(State).add_node("n", _pushes).add_edge(START, "n").compile()
    with pytest.raises(hitl.InvalidUpdateError):
        wrong.invoke({})


def test_a_graph_compiled_for_debugging_prints_every_run(capsys):
    graph = StateGraph(State).add_node("n", lambda _: {"log": [1]}).add_edge(START, "n")
    graph.compile(debug=True).invoke({})
    assert "[updates] {'n': {'log': [1]}}" in capsys.readouterr().out.splitlines()
