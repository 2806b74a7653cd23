"""Floor 4, the engine: a state graph that pauses, is saved, and goes on. Knows no policy."""

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
from hitl.engine.pruning import prune
from hitl.engine.retry import RetryPolicy
from hitl.engine.runtime import Runtime
from hitl.engine.schema import Hidden
from hitl.engine.standing import Intent
from hitl.engine.streaming import MessageWriter, get_stream_writer, message_writer
from hitl.engine.task import Pause, Task
from hitl.engine.trace import RunTrace, Span, Tracer, trace_runs
from hitl.engine.tracing import span

__all__ = [
    "CompiledStateGraph",
    "Hidden",
    "Intent",
    "MessageWriter",
    "Pause",
    "RetryPolicy",
    "RunTrace",
    "Runtime",
    "Span",
    "StateGraph",
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
