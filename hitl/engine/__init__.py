"""Floor 4, the engine: a state graph that pauses, is saved, and goes on. Knows no policy."""

from typing import TYPE_CHECKING

from hitl.engine.ask import (
    astep,
    current_config,
    current_task,
    get_runtime,
    interrupt,
    running_task,
    step,
)
from hitl.engine.compiled import CompiledStateGraph
from hitl.engine.graph import StateGraph
from hitl.engine.plan import ParentCommand
from hitl.engine.pruning import prune
from hitl.engine.retry import RetryPolicy
from hitl.engine.runtime import ExecutionInfo, Runtime, ServerInfo, StreamWriter
from hitl.engine.schema import Hidden
from hitl.engine.settings import Durability
from hitl.engine.standing import Intent
from hitl.engine.streaming import MessageWriter, StreamPart, get_stream_writer, message_writer
from hitl.engine.task import Pause, Task
from hitl.engine.trace import RunTrace, Span, Tracer, trace_runs
from hitl.engine.tracing import span

if TYPE_CHECKING:
    from hitl.engine.aevents import AsyncMessageStream as AsyncChatModelStream
    from hitl.engine.events import MessageStream as ChatModelStream

__all__ = [
    "AsyncChatModelStream",
    "ChatModelStream",
    "CompiledStateGraph",
    "Durability",
    "ExecutionInfo",
    "Hidden",
    "Intent",
    "MessageWriter",
    "ParentCommand",
    "Pause",
    "RetryPolicy",
    "RunTrace",
    "Runtime",
    "ServerInfo",
    "Span",
    "StateGraph",
    "StreamPart",
    "StreamWriter",
    "Task",
    "Tracer",
    "astep",
    "current_config",
    "current_task",
    "get_runtime",
    "get_stream_writer",
    "interrupt",
    "message_writer",
    "prune",
    "running_task",
    "span",
    "step",
    "trace_runs",
]


def __getattr__(name: str) -> object:
    """Load the streams of messages on first use: one of them needs an event loop's module."""
    if name == "ChatModelStream":
        from hitl.engine.events import MessageStream

        return MessageStream
    if name == "AsyncChatModelStream":
        from hitl.engine.aevents import AsyncMessageStream

        return AsyncMessageStream
    raise AttributeError(f"module 'hitl.engine' has no attribute {name!r}")
