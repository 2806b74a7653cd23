"""Middleware: what can be hung around the model and the tools of an agent.

A middleware overrides the hooks it wants. Hooks named ``a...`` serve async runs; where only the
sync one is there, async runs call it in a thread. What stands around a call (``wrap_...``) needs
the ``a...`` hook in async runs: a thread could not await the call.
"""

# ruff: noqa: ARG002 - the hooks do nothing here; their parameters' names are public

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from hitl.agent.messages import MessagesState, ToolMessage
from hitl.agent.model_request import ModelCallResult, ModelRequest, ModelResponse
from hitl.engine import Hidden, Runtime
from hitl.errors import Misuse
from hitl.ledger import near
from hitl.policy import ToolCallRequest

__all__ = [
    "AgentMiddleware",
    "AgentState",
    "AsyncModelHandler",
    "AsyncToolHandler",
    "ModelHandler",
    "OmitFromInput",
    "OmitFromOutput",
    "PrivateStateAttr",
    "ToolHandler",
    "Update",
    "check_jumps",
    "jumps_of",
    "overrides",
]

Update = Mapping[str, Any] | None
ModelHandler = Callable[[ModelRequest], ModelResponse]
AsyncModelHandler = Callable[[ModelRequest], Awaitable[ModelResponse]]
ToolHandler = Callable[[ToolCallRequest], ToolMessage]
AsyncToolHandler = Callable[[ToolCallRequest], Awaitable[ToolMessage]]


OmitFromInput = Hidden(from_input=True, from_output=False)
"""``Annotated[T, OmitFromInput]``: only nodes write this key of the state."""

OmitFromOutput = Hidden(from_input=False, from_output=True)
"""``Annotated[T, OmitFromOutput]``: runs do not give this key of the state back."""

PrivateStateAttr = Hidden()
"""``Annotated[T, PrivateStateAttr]``: neither in inputs nor in outputs."""


class AgentState(MessagesState):
    """The state of an agent: its conversation. Subclass it to add keys of your own."""


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

    def wrap_model_call(self, request: ModelRequest, handler: ModelHandler) -> ModelCallResult:
        """Stand around a call of the model; ``handler(request)`` makes it."""
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest, handler: AsyncModelHandler
    ) -> ModelCallResult:
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


JUMPS = ("model", "tools", "end")


def check_jumps(places: Sequence[str]) -> tuple[str, ...]:
    """Return places that a hook may jump to.

    Raises:
        Misuse: One of them is none.
    """
    for place in [places] if isinstance(places, str) else places:
        if place not in JUMPS:
            raise Misuse(
                f"A hook cannot jump to {place!r}.{near(place, JUMPS)}",
                hint=f"Known: {', '.join(JUMPS)}.",
            )
    if isinstance(places, str):
        raise Misuse(f"can_jump_to is the text {places!r}.", hint=f"Give a list: [{places!r}].")
    return tuple(places)


def jumps_of(hook: Callable[..., object]) -> tuple[str, ...]:
    """Return where a hook may jump to; anywhere, where it has not declared it."""
    declared: tuple[str, ...] | None = getattr(hook, "__can_jump_to__", None)
    return JUMPS if declared is None else declared
