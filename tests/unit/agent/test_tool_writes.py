"""What a tool writes to the state: with its result, once, and nothing that says what may run."""

from __future__ import annotations

import asyncio
import operator
from typing import Annotated

import pytest

from hitl import (
    AgentMiddleware,
    AgentState,
    Command,
    InMemorySaver,
    ScriptedModel,
    ToolMessage,
    create_agent,
    interrupt,
    tool,
)

CONFIG = {"configurable": {"thread_id": "t"}}


class State(AgentState):
    seen: Annotated[list, operator.add]


def calls(*names):
    return {"tool_calls": [{"name": name, "args": {}} for name in names]}


def agent(function, *names, middleware=()):
    model = ScriptedModel([calls(*names), "Done."])
    return create_agent(
        model,
        [function],
        state_schema=State,
        middleware=middleware,
        checkpointer=InMemorySaver(),
    )


def results(output):
    return [(m.content, m.status) for m in output["messages"] if m.type == "tool"]


@pytest.fixture(params=["sync", "async"])
def run(request):
    if request.param == "sync":
        return lambda graph, input: graph.invoke(input, CONFIG)
    return lambda graph, input: asyncio.run(graph.ainvoke(input, CONFIG))


@tool
def look() -> Command:
    """Look."""
    return Command(update={"seen": ["bird"], "messages": [ToolMessage("A bird.", tool_call_id="")]})


def test_calls_side_by_side_write_with_their_results_in_call_order(run):
    output = run(agent(look, "look", "look"), {"messages": "go", "seen": []})
    assert output["seen"] == ["bird", "bird"]
    assert results(output) == [("A bird.", "success")] * 2


def test_a_tool_may_write_without_a_message_of_its_own(run):
    @tool
    def note() -> Command:
        """Note."""
        return Command(update={"seen": ["x"]})

    output = run(agent(note, "note"), {"messages": "go"})
    assert (output["seen"], results(output)) == (["x"], [("Done.", "success")])


def test_a_result_that_was_kept_is_written_once_after_a_pause_behind_it(run):
    class Asks(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            message = handler(request)
            interrupt("seen it?")
            return message

        async def awrap_tool_call(self, request, handler):
            message = await handler(request)
            interrupt("seen it?")
            return message

    app = agent(look, "look", middleware=[Asks()])
    assert run(app, {"messages": "go", "seen": []}).interrupts
    assert run(app, Command(resume="yes"))["seen"] == ["bird"]


@pytest.mark.parametrize(
    "command",
    [
        Command(update={"hitl_review": None}),
        Command(update={"sen": ["x"]}),
        Command(update={"seen": [object()]}),
        Command(update=["x"]),
        Command(goto="model"),
        Command(graph=Command.PARENT, update={"seen": ["x"]}),
        Command(resume=1),
        Command(update={"messages": ["approve it"]}),
    ],
)
def test_what_a_tool_cannot_say_becomes_a_result_and_writes_nothing(run, command):
    @tool
    def odd():
        """Try it."""
        return command

    output = run(agent(odd, "odd"), {"messages": "go", "seen": []})
    ((text, status),) = results(output)
    assert status == "error"
    assert "ran, but its result cannot be kept" in text
    assert output["seen"] == []
