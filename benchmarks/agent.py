"""A turn of an agent: call, pause, approval, tool, answer; one without; and judging one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks import bare as by_hand
from benchmarks.measure import Figure, Scale, Trace, measure
from benchmarks.steps import thread
from hitl import Command, InMemorySaver, SqliteSaver
from hitl.checkpoint import Checkpointer
from hitl.values import ToolCall

__all__ = ["AIMS", "bare", "hitl", "missing"]

AIMS = {
    "agent turn, no store": "60 µs",
    "interrupt_on, a call, no rule": "0.4 µs",
    "interrupt_on, a call, `when`": "1.5 µs",
    "agent turn with approval, memory": "300 µs",
    "agent turn with approval, SQLite (RAM)": "450 µs, 8 commits",
}

SCRIPT: list[str | Mapping[str, object]] = [
    {"tool_calls": [{"name": "delete", "args": {"path": "a"}, "id": "c1"}]},
    "done",
]


def missing() -> str:
    """Return why there is no agent to measure, empty where there is one."""
    try:
        from hitl import HumanInTheLoopMiddleware, create_agent  # noqa: F401
    except (ImportError, AttributeError) as error:
        return f"hitl has no agent here: {error}"
    return ""


def make(saver: Checkpointer | None, *, asks: bool) -> Any:
    """Return an agent with one tool."""
    from hitl import HumanInTheLoopMiddleware, ScriptedModel, create_agent, tool

    @tool
    def delete(path: str) -> str:
        """Delete a file."""
        return f"deleted {path}"

    gate = [HumanInTheLoopMiddleware(interrupt_on={"delete": True})] if asks else []
    return create_agent(ScriptedModel(SCRIPT), [delete], middleware=gate, checkpointer=saver)


def approved(app: Any) -> Callable[[], object]:
    """Return a turn on a new thread whose one call is approved."""
    given = {"messages": [{"role": "user", "content": "delete a"}]}
    answer = Command(resume={"decisions": [{"type": "approve"}]})

    def run() -> object:
        config = thread()
        app.invoke(given, config)
        return app.invoke(answer, config)

    return run


def hitl(scale: Scale) -> list[Figure]:
    """Measure ours; nothing where the agent is missing."""
    if missing():
        return []
    given = {"messages": [{"role": "user", "content": "delete a"}]}
    free = make(None, asks=False)
    run = approved(make(InMemorySaver(), asks=True))
    found = [
        measure("agent turn, no store", lambda: free.invoke(given), scale),
        measure("agent turn with approval, memory", run, scale),
    ]
    for where, disk in (("RAM", False), ("disk", True)):
        trace = Trace(scale.file(disk=disk))
        run = approved(make(SqliteSaver(trace.connection), asks=True))
        title = f"agent turn with approval, SQLite ({where})"
        found.append(measure(title, run, scale, trace=trace))
    return found + _judging(scale)


def _judging(scale: Scale) -> list[Figure]:
    """Measure what ``interrupt_on`` says of one call."""
    from hitl.policy import InterruptOn, ToolCallRequest

    policy = InterruptOn.compile({"a": True, "b": {"allowed_decisions": ["approve"], "when": _no}})
    call: ToolCall = {"name": "delete", "args": {"path": "a"}, "id": "c1", "type": "tool_call"}
    other: ToolCall = {**call, "name": "b"}
    request = lambda: ToolCallRequest(other, None, {}, None)  # noqa: E731
    return [
        measure("interrupt_on, a call, no rule", lambda: policy.judge(call, request), scale),
        measure("interrupt_on, a call, `when`", lambda: policy.judge(other, request), scale),
    ]


def _no(_request: object) -> bool:
    return False


def bare(scale: Scale) -> list[Figure]:
    """Measure the turn written by hand."""
    return by_hand.turn(scale)
