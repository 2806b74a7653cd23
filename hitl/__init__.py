"""hitl: an agent proposes, a human decides, and exactly what was approved happens, once.

The front door: names load on first use, so that ``import hitl`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hitl.agent import (
        AgentMiddleware,
        AgentState,
        AIMessage,
        AnyMessage,
        BaseTool,
        Gate,
        HumanInTheLoopMiddleware,
        HumanMessage,
        MessagesState,
        RemoveMessage,
        ScriptedModel,
        SystemMessage,
        ToolMessage,
        ToolRuntime,
        add_messages,
        create_agent,
        init_chat_model,
        tool,
    )
    from hitl.checkpoint import (
        AsyncSqliteSaver,
        Checkpointer,
        InMemorySaver,
        MemorySaver,
        SqliteSaver,
    )
    from hitl.codec import register
    from hitl.engine import CompiledStateGraph, Runtime, StateGraph, interrupt, step
    from hitl.errors import (
        AlreadyDecided,
        Busy,
        Conflict,
        EmptyInputError,
        GraphRecursionError,
        HitlError,
        InvalidUpdateError,
        Misuse,
        NoCheckpointer,
        NothingWaiting,
        NoThreadId,
        NotAllowed,
        NotStorable,
        OutcomeUnknown,
        Refused,
        Stale,
        StoreFailed,
        UnknownId,
        WrongAnswer,
    )
    from hitl.inbox import Inbox
    from hitl.policy import InterruptOnConfig, ToolCallRequest
    from hitl.values import (
        END,
        START,
        Command,
        GraphOutput,
        Interrupt,
        PregelTask,
        Send,
        StateSnapshot,
        ToolCall,
    )

_FLOORS: dict[str, tuple[str, ...]] = {
    "hitl.agent": (
        "AIMessage",
        "AgentMiddleware",
        "AgentState",
        "AnyMessage",
        "BaseTool",
        "Gate",
        "HumanInTheLoopMiddleware",
        "HumanMessage",
        "MessagesState",
        "RemoveMessage",
        "ScriptedModel",
        "SystemMessage",
        "ToolMessage",
        "ToolRuntime",
        "add_messages",
        "create_agent",
        "init_chat_model",
        "tool",
    ),
    "hitl.checkpoint": (
        "AsyncSqliteSaver",
        "Checkpointer",
        "InMemorySaver",
        "MemorySaver",
        "SqliteSaver",
    ),
    "hitl.codec": ("register",),
    "hitl.engine": ("CompiledStateGraph", "Runtime", "StateGraph", "interrupt", "step"),
    "hitl.errors": (
        "AlreadyDecided",
        "Busy",
        "Conflict",
        "EmptyInputError",
        "GraphRecursionError",
        "HitlError",
        "InvalidUpdateError",
        "Misuse",
        "NoCheckpointer",
        "NoThreadId",
        "NotAllowed",
        "NotStorable",
        "NothingWaiting",
        "OutcomeUnknown",
        "Refused",
        "Stale",
        "StoreFailed",
        "UnknownId",
        "WrongAnswer",
    ),
    "hitl.inbox": ("Inbox",),
    "hitl.policy": ("InterruptOnConfig", "ToolCallRequest"),
    "hitl.values": (
        "END",
        "START",
        "Command",
        "GraphOutput",
        "Interrupt",
        "PregelTask",
        "Send",
        "StateSnapshot",
        "ToolCall",
    ),
}
_HOME = {name: floor for floor, names in _FLOORS.items() for name in names}

__version__ = "0.1.0"

__all__ = [  # noqa: PLE0604 - the names are those of the table above
    "__version__",
    *sorted(_HOME),
]


def __getattr__(name: str) -> object:
    """Load a public name from its floor, once."""
    floor = _HOME.get(name)
    if floor is None:
        raise AttributeError(f"module 'hitl' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(floor), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)
