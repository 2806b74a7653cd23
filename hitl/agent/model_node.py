"""The model node: asks the model, with middleware around the request, and routes its answer."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hitl.agent.messages import AIMessage, SystemMessage
from hitl.agent.middleware import AgentMiddleware, ModelRequest, overrides
from hitl.agent.model import ChatModel, ModelInput, as_answer
from hitl.agent.tool import Tool
from hitl.agent.turns import messages_of
from hitl.engine import Runtime
from hitl.errors import Misuse

__all__ = ["MODEL", "ModelNode"]

MODEL = "model"

Handler = Callable[[ModelRequest], AIMessage]
AsyncHandler = Callable[[ModelRequest], Awaitable[AIMessage]]


class ModelNode:
    """Asks the model for its next answer.

    Args:
        model: The model.
        tools: What it may call.
        system_prompt: What stands before the conversation.
        middleware: Whose ``wrap_model_call`` stands around it, the first one outermost.
    """

    def __init__(
        self,
        model: ChatModel,
        tools: Sequence[Tool],
        system_prompt: str | None,
        middleware: Sequence[AgentMiddleware],
    ) -> None:
        self.model = model
        self.tools = tools
        self.system_prompt = system_prompt
        self.wraps = [m for m in middleware if overrides(m, "wrap_model_call")]
        self.awraps = [
            m
            for m in middleware
            if overrides(m, "awrap_model_call") or overrides(m, "wrap_model_call")
        ]

    def __call__(self, state: Any, runtime: Runtime) -> AIMessage:
        """Return the model's answer, with an id of its own."""
        handler: Handler = _ask
        for middleware in reversed(self.wraps):
            handler = _around(middleware, handler)
        return _settled(handler(self._request(state, runtime)), self.model.name)

    async def acall(self, state: Any, runtime: Runtime) -> AIMessage:
        """Return the model's answer in an async run."""
        handler: AsyncHandler = _aask
        for middleware in reversed(self.awraps):
            handler = _aaround(middleware, handler)
        return _settled(await handler(self._request(state, runtime)), self.model.name)

    def _request(self, state: Any, runtime: Runtime) -> ModelRequest:
        return ModelRequest(
            self.model,
            messages_of(state),  # type: ignore[arg-type]
            self.system_prompt,
            self.tools,
            state,
            runtime,
        )


def _input(request: ModelRequest) -> ModelInput:
    messages = list(request.messages)
    if request.system_prompt:
        messages.insert(0, SystemMessage(request.system_prompt))
    return ModelInput(
        messages, tuple(tool.spec for tool in request.tools), dict(request.settings)
    )


def _ask(request: ModelRequest) -> AIMessage:
    return request.model.generate(_input(request))


async def _aask(request: ModelRequest) -> AIMessage:
    return await request.model.agenerate(_input(request))


def _settled(answer: object, name: str) -> AIMessage:
    message = as_answer(answer, name)
    if message.id is None:
        message.id = str(uuid.uuid4())
    return message


def _around(middleware: AgentMiddleware, inner: Handler) -> Handler:
    return lambda request: middleware.wrap_model_call(request, inner)


def _aaround(middleware: AgentMiddleware, inner: AsyncHandler) -> AsyncHandler:
    if not overrides(middleware, "awrap_model_call"):
        raise Misuse(
            f"{middleware.name} wraps model calls in sync runs only.",
            hint="Give it awrap_model_call, or use invoke.",
        )
    return lambda request: middleware.awrap_model_call(request, inner)
