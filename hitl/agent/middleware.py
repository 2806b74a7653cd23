"""Middleware: what can be hung around the model and the tools of an agent.

A middleware overrides the hooks it wants. Hooks named ``a...`` serve async runs; where only the
sync one is there, async runs call it in a thread. What stands around a call (``wrap_...``) needs
the ``a...`` hook in async runs: a thread could not await the call.
"""

# ruff: noqa: ARG002 - the hooks do nothing here; their parameters' names are public

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hitl.agent.messages import AIMessage, AnyMessage, MessagesState, ToolMessage
from hitl.agent.model import ChatModel
from hitl.agent.tool import Tool
from hitl.engine import Runtime
from hitl.policy import ToolCallRequest

__all__ = ["AgentMiddleware", "AgentState", "ModelRequest", "overrides"]

Update = Mapping[str, Any] | None
ModelHandler = Callable[["ModelRequest"], AIMessage]
AsyncModelHandler = Callable[["ModelRequest"], Awaitable[AIMessage]]
ToolHandler = Callable[[ToolCallRequest], ToolMessage]
AsyncToolHandler = Callable[[ToolCallRequest], Awaitable[ToolMessage]]


class AgentState(MessagesState):
    """The state of an agent: its conversation. Subclass it to add keys of your own."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to the model, as ``wrap_model_call`` sees it; change it with ``override``."""

    model: ChatModel
    messages: Sequence[AnyMessage]
    system_prompt: str | None
    tools: Sequence[Tool]
    state: Mapping[str, Any]
    runtime: Runtime
    settings: Mapping[str, Any] = field(default_factory=dict)

    def override(self, **changes: Any) -> ModelRequest:
        """Return a copy with some fields changed."""
        return replace(self, **changes)


class AgentMiddleware:
    """Base of all middleware; every hook is optional.

    The node hooks return what to write to the state, or None. The key ``jump_to`` in it
    (``"model"``, ``"tools"`` or ``"end"``) says where the run goes next.

    Attributes:
        state_schema: Keys that the middleware adds to the agent's state.
        tools: Tools that it adds.
    """

    state_schema: type | None = None
    tools: Sequence[object] = ()

    @property
    def name(self) -> str:
        """Return the name under which its nodes stand in the graph."""
        return type(self).__name__

    def before_agent(self, state: Any, runtime: Runtime) -> Update:
        """Run once, before anything else."""
        return None

    def before_model(self, state: Any, runtime: Runtime) -> Update:
        """Run before each call of the model."""
        return None

    def after_model(self, state: Any, runtime: Runtime) -> Update:
        """Run after each call of the model, before any of its tool calls."""
        return None

    def after_agent(self, state: Any, runtime: Runtime) -> Update:
        """Run once, after everything else."""
        return None

    async def abefore_agent(self, state: Any, runtime: Runtime) -> Update:
        """Run once, before anything else."""
        return None

    async def abefore_model(self, state: Any, runtime: Runtime) -> Update:
        """Run before each call of the model."""
        return None

    async def aafter_model(self, state: Any, runtime: Runtime) -> Update:
        """Run after each call of the model, before any of its tool calls."""
        return None

    async def aafter_agent(self, state: Any, runtime: Runtime) -> Update:
        """Run once, after everything else."""
        return None

    def wrap_model_call(self, request: ModelRequest, handler: ModelHandler) -> AIMessage:
        """Stand around a call of the model; ``handler(request)`` makes it."""
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest, handler: AsyncModelHandler
    ) -> AIMessage:
        """Stand around a call of the model in an async run."""
        return await handler(request)

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolMessage:
        """Stand around a tool call; ``handler(request)`` runs it if it may run."""
        return handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> ToolMessage:
        """Stand around a tool call in an async run."""
        return await handler(request)


def overrides(middleware: AgentMiddleware, hook: str) -> bool:
    """Return whether a middleware has a hook of its own."""
    return getattr(type(middleware), hook) is not getattr(AgentMiddleware, hook)
