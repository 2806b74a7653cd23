"""What OpenTelemetry is told, and what it is not told."""

from __future__ import annotations

import operator
import sys
from typing import Annotated, Any, TypedDict

import pytest

from hitl import (
    END,
    START,
    AIMessage,
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    Misuse,
    ScriptedModel,
    Send,
    StateGraph,
    create_agent,
    instrument,
    interrupt,
    tool,
    uninstrument,
)

sdk = pytest.importorskip("opentelemetry.sdk.trace")


class State(TypedDict, total=False):
    word: str
    seen: Annotated[list[str], operator.add]


@pytest.fixture
def provider():
    """Where the spans of a test go."""
    made = sdk.TracerProvider()
    yield made
    made.shutdown()


@pytest.fixture
def spans(provider):
    """Every span that has ended since the test began, in that order."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrument(provider)
    yield exporter.get_finished_spans
    uninstrument()


def on(thread: str) -> dict:
    return {"configurable": {"thread_id": thread}}


def one_node(fn):
    return StateGraph(State).add_node("node", fn).add_edge(START, "node").add_edge("node", END)


def named(found, start: str):
    return [span for span in found if span.name.startswith(start)]


def test_a_node_is_a_span_below_its_run(spans):
    one_node(lambda state: {"word": "x"}).compile(name="words").invoke({"word": ""})
    node, run = spans()
    assert (run.name, node.name) == ("invoke_agent words", "node node")
    assert node.parent.span_id == run.context.span_id
    assert run.attributes["gen_ai.agent.name"] == "words"
    assert run.attributes["hitl.paused"] is False


async def test_an_async_run_is_traced_like_a_sync_one(spans):
    async def node(state: State) -> State:
        return {"word": "x"}

    app = one_node(node).compile(InMemorySaver())
    await app.ainvoke({"word": ""}, on("a"))
    node_span, run = spans()
    assert node_span.parent.span_id == run.context.span_id
    assert run.attributes["gen_ai.conversation.id"] == "a"


@pytest.mark.parametrize("wanted", ["values", "custom"])
def test_tasks_side_by_side_are_all_below_their_run_streamed_or_not(spans, wanted):
    graph = StateGraph(State).add_node("each", lambda state: {"seen": [state["word"]]})
    graph.add_conditional_edges(START, lambda _: [Send("each", {"word": w}) for w in "abc"])
    list(graph.compile().stream({"word": ""}, stream_mode=wanted))
    (run,) = named(spans(), "invoke_agent")
    each = named(spans(), "node each")
    assert [span.parent.span_id for span in each] == [run.context.span_id] * 3
    assert {span.attributes["hitl.place"] for span in each} == {0, 1, 2}


def test_a_run_inside_a_node_is_below_that_node(spans):
    inner = one_node(lambda state: {"word": "x"}).compile(name="inner")
    one_node(inner.invoke).compile(name="outer").invoke({"word": ""})
    (within,) = named(spans(), "invoke_agent inner")
    below = [
        span for span in named(spans(), "node") if span.parent.span_id != within.context.span_id
    ]
    assert [within.parent.span_id] == [span.context.span_id for span in below]
    assert within.attributes["hitl.path"].startswith("node/")


def test_what_the_caller_traces_is_around_the_run(spans):
    from opentelemetry import trace

    app = one_node(lambda state: {"word": "x"}).compile()
    sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    around = trace.NonRecordingSpan(trace.SpanContext(7, 9, False, sampled))
    with trace.use_span(around):
        app.invoke({"word": ""})
        assert trace.get_current_span() is around
    assert named(spans(), "invoke_agent")[0].parent.span_id == 9


def test_the_time_a_human_took_is_a_span_of_the_run_that_takes_the_answer(spans):
    app = one_node(lambda state: {"word": interrupt("Which word?")}).compile(InMemorySaver())
    waiting = app.invoke({"word": ""}, on("t"), version="v2").interrupts[0].id
    paused = named(spans(), "invoke_agent")[0]
    assert paused.attributes["hitl.paused"] is True
    assert [event.attributes["hitl.interrupt"] for event in paused.events] == [waiting]
    assert named(spans(), "node")[0].attributes["hitl.paused"] is True
    assert not named(spans(), "wait_for_human")

    app.invoke(Command(resume="secret"), on("t"))
    (wait,) = named(spans(), "wait_for_human")
    assert wait.attributes["hitl.item"] == waiting
    assert wait.attributes["hitl.decision"] == "answer"
    assert wait.start_time <= wait.end_time
    assert wait.parent.span_id == named(spans(), "invoke_agent")[1].context.span_id
    assert "secret" not in str([dict(span.attributes) for span in spans()])


def test_an_error_is_told_by_its_type_and_without_its_text(spans):
    def node(state: State) -> State:
        raise ValueError("the card number is 4111")

    with pytest.raises(ValueError, match="4111"):
        one_node(node).compile().invoke({"word": ""})
    for span in spans():
        assert span.attributes["error.type"] == "ValueError"
        assert not span.status.is_ok
        assert "4111" not in span.to_json()


def test_a_stream_that_is_left_ends_its_span(spans):
    graph = StateGraph(State).add_node("a", lambda s: {"word": "a"}).add_node("b", lambda s: {})
    app = graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", END).compile()
    stream = app.stream({"word": ""}, stream_mode="updates")
    next(stream)
    stream.close()
    assert named(spans(), "invoke_agent")[0].attributes["hitl.left"] is True


@tool
def pay(amount: int) -> str:
    """Pay."""
    if amount < 0:
        raise ValueError("4111")
    return "paid"


def paying(amount: int):
    """Return an agent that pays once it is allowed to."""
    usage: Any = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    calls: Any = [{"name": "pay", "args": {"amount": amount}, "id": "call_1"}]
    return create_agent(
        ScriptedModel([AIMessage("", tool_calls=calls, usage_metadata=usage), "Done."]),
        [pay],
        middleware=[HumanInTheLoopMiddleware({"pay": True})],
        checkpointer=InMemorySaver(),
        name="payer",
    )


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_agents_model_tool_and_wait_are_spans(spans, asynchronous):
    agent, yes = paying(5), Command(resume={"decisions": [{"type": "approve"}]})
    for given in ({"messages": "go"}, yes):
        await agent.ainvoke(given, on("t")) if asynchronous else agent.invoke(given, on("t"))
    model, *_ = named(spans(), "chat")
    assert model.attributes["gen_ai.operation.name"] == "chat"
    assert model.attributes["gen_ai.usage.input_tokens"] == 7
    (call,) = named(spans(), "execute_tool")
    assert call.name == "execute_tool pay"
    assert call.attributes["gen_ai.tool.call.id"] == "call_1"
    assert "gen_ai.tool.call.arguments" not in call.attributes
    (wait,) = named(spans(), "wait_for_human")
    assert wait.attributes["gen_ai.tool.name"] == "pay"
    assert wait.attributes["hitl.decision"] == "approve"
    nodes = {span.context.span_id: span.name for span in named(spans(), "node")}
    assert nodes[model.parent.span_id] == "node model"
    assert nodes[call.parent.span_id] == "node tools"


def test_arguments_are_told_only_where_they_are_asked_for(spans, provider):
    instrument(provider, capture_arguments=True)
    agent = paying(-1)
    agent.invoke({"messages": "go"}, on("t"))
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), on("t"))
    (call,) = named(spans(), "execute_tool")
    assert call.attributes["gen_ai.tool.call.arguments"] == '{"amount":-1}'
    assert call.attributes["error.type"] == "ValueError"
    assert "4111" not in call.to_json()


def test_without_instrument_a_step_makes_no_call_more():
    graph = StateGraph(State).add_node("a", lambda s: {"word": "a"}).add_node("b", lambda s: {})
    app = graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", END).compile()
    called: list[str] = []

    def profile(frame, event, arg):
        if event == "call" and frame.f_code.co_filename.endswith(("trace.py", "tracing.py")):
            called.append(frame.f_code.co_name)

    app.invoke({"word": ""})
    sys.setprofile(profile)
    try:
        app.invoke({"word": ""})
    finally:
        sys.setprofile(None)
    assert called == ["start_trace"]


def test_without_opentelemetry_instrument_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(Misuse, match="not installed"):
        instrument()
