"""The model node: asks the model, with middleware around the request, and settles its answer."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitl.agent.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    BaseMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from hitl.agent.middleware import AgentMiddleware, overrides
from hitl.agent.model import ChatModel
from hitl.agent.model_asking import aask, ask, complete
from hitl.agent.model_request import ModelRequest, ModelResponse, Told
from hitl.agent.repair import repaired
from hitl.agent.structured import ResponseFormat
from hitl.agent.tool import Tool
from hitl.agent.turns import messages_of, result_id, shown_to_code
from hitl.engine import Runtime
from hitl.errors import Misuse

__all__ = ["MODEL", "Answer", "ModelNode"]

MODEL = "model"

Handler = Callable[[ModelRequest], Told]
AsyncHandler = Callable[[ModelRequest], Awaitable[Told]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model node leaves.

    Attributes:
        messages: What to write to the conversation; the model's answer, then what belongs to it.
        updates: What to write besides, one after the other.
    """

    messages: list[BaseMessage]
    updates: Sequence[Mapping[str, Any]] = ()


class ModelNode:
    """Asks the model for its next answer.

    Args:
        model: The model.
        tools: What it may call.
        system_message: What stands before the conversation.
        middleware: Whose ``wrap_model_call`` stands around it, the first one outermost.
        response_format: The form of a structured answer, if one is wanted.
    """

    def __init__(
        self,
        model: ChatModel,
        tools: Sequence[Tool],
        system_message: SystemMessage | None,
        middleware: Sequence[AgentMiddleware],
        response_format: ResponseFormat | None = None,
    ) -> None:
        self.model = model
        self.tools = tools
        self.system_message = system_message
        self.response_format = response_format
        self.wraps = [m for m in middleware if overrides(m, "wrap_model_call")]
        self.awraps = [
            m
            for m in middleware
            if overrides(m, "awrap_model_call") or overrides(m, "wrap_model_call")
        ]

    def __call__(self, state: Any, runtime: Runtime) -> Answer:
        """Return what to write."""
        handler: Handler = ask
        for middleware in reversed(self.wraps):
            handler = _around(middleware, handler)
        whole = repaired(messages_of(state))
        told = handler(self._request(state, whole, runtime, shown=bool(self.wraps)))
        return self._answer(state, whole, told)

    async def acall(self, state: Any, runtime: Runtime) -> Answer:
        """Return what to write, in an async run."""
        handler: AsyncHandler = aask
        for middleware in reversed(self.awraps):
            handler = _aaround(middleware, handler)
        whole = repaired(messages_of(state))
        told = await handler(self._request(state, whole, runtime, shown=bool(self.awraps)))
        return self._answer(state, whole, told)

    def _answer(self, state: Any, whole: list[BaseMessage] | None, told: Told) -> Answer:
        messages = _settled(told.response, messages_of(state))
        if whole is not None:
            messages = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *whole, *messages]
        structured = told.response.structured_response
        if structured is None:
            return Answer(messages, told.updates)
        return Answer(messages, [{"structured_response": structured}, *told.updates])

    def _request(
        self, state: Any, whole: list[BaseMessage] | None, runtime: Runtime, *, shown: bool
    ) -> ModelRequest:
        if shown:
            state = shown_to_code(state, whole)
            messages = messages_of(state)
        else:
            messages = messages_of(state) if whole is None else whole
        return ModelRequest(
            self.model,
            messages,  # type: ignore[arg-type]
            self.system_message,
            self.tools,
            state,
            runtime,
            response_format=self.response_format,
        )


def _settled(response: ModelResponse, before: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return an answer with an id that no message has, and what belongs to it addressed to it.

    Raises:
        Misuse: There is not exactly one answer, or a message answers none of its calls.
    """
    message = complete(response.message)
    if message.id is None or any(one.id == message.id for one in before):
        message = replace(message, id=str(uuid.uuid4()))
    open_calls = list(enumerate(message.tool_calls))
    settled: list[BaseMessage] = [message]
    for other in response.result:
        if isinstance(other, AIMessage):
            continue
        found = next((one for one in open_calls if _answers(other, one[1])), None)
        if found is None:
            raise Misuse(
                f"The result of a model call holds a {type(other).__name__} that answers none of "
                "its calls.",
                hint="Beside the AIMessage there may be tool messages for its calls.",
            )
        open_calls.remove(found)
        settled.append(replace(other, id=result_id(message.id, found[0])))
    return settled


def _answers(message: BaseMessage, call: Mapping[str, Any]) -> bool:
    return isinstance(message, ToolMessage) and message.tool_call_id == call.get("id")


def _around(middleware: AgentMiddleware, inner: Handler) -> Handler:
    def outer(request: ModelRequest) -> Told:
        last: Told | None = None

        def handler(request: ModelRequest) -> ModelResponse:
            nonlocal last
            last = inner(request)
            return last.response

        result = middleware.wrap_model_call(request, handler)
        return (last or Told(ModelResponse([]))).wrapped(result, middleware.name)

    return outer


def _aaround(middleware: AgentMiddleware, inner: AsyncHandler) -> AsyncHandler:
    if not overrides(middleware, "awrap_model_call"):
        raise Misuse(
            f"{middleware.name} wraps model calls in sync runs only.",
            hint="Give it awrap_model_call, or use invoke.",
        )

    async def outer(request: ModelRequest) -> Told:
        last: Told | None = None

        async def handler(request: ModelRequest) -> ModelResponse:
            nonlocal last
            last = await inner(request)
            return last.response

        result = await middleware.awrap_model_call(request, handler)
        return (last or Told(ModelResponse([]))).wrapped(result, middleware.name)

    return outer
