"""The model node: asks the model, with middleware around the request, and routes its answer."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from hitl.agent.messages import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    RemoveMessage,
    SystemMessage,
)
from hitl.agent.middleware import AgentMiddleware, ModelRequest, overrides
from hitl.agent.model import ChatModel, ModelFailed, ModelInput, StreamingModel, as_answer
from hitl.agent.repair import repaired
from hitl.agent.review import copied
from hitl.agent.tool import Tool
from hitl.agent.turns import messages_of
from hitl.engine import MessageWriter, Runtime, Span, message_writer, span
from hitl.errors import Misuse
from hitl.values import ToolCall

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

    def __call__(self, state: Any, runtime: Runtime) -> list[BaseMessage]:
        """Return what to write to the conversation, the model's answer last."""
        handler: Handler = _ask
        for middleware in reversed(self.wraps):
            handler = _around(middleware, handler)
        whole = repaired(messages_of(state))
        answer = handler(self._request(state, whole, runtime))
        return self._written(state, whole, answer)

    async def acall(self, state: Any, runtime: Runtime) -> list[BaseMessage]:
        """Return what to write to the conversation in an async run, the model's answer last."""
        handler: AsyncHandler = _aask
        for middleware in reversed(self.awraps):
            handler = _aaround(middleware, handler)
        whole = repaired(messages_of(state))
        answer = await handler(self._request(state, whole, runtime))
        return self._written(state, whole, answer)

    def _written(
        self, state: Any, whole: list[BaseMessage] | None, answer: object
    ) -> list[BaseMessage]:
        message = _settled(answer, self.model.name, messages_of(state))
        if whole is None:
            return [message]
        return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *whole, message]

    def _request(
        self, state: Any, whole: list[BaseMessage] | None, runtime: Runtime
    ) -> ModelRequest:
        return ModelRequest(
            self.model,
            messages_of(state) if whole is None else whole,  # type: ignore[arg-type]
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
        tuple(messages), tuple(tool.spec for tool in request.tools), dict(request.settings)
    )


def _ask(request: ModelRequest) -> AIMessage:
    with span("model", request.model.name) as traced:
        teller = message_writer()
        if teller is not None and isinstance(request.model, StreamingModel):
            answer = _streamed(request.model, request, teller)
        else:
            answer = request.model.generate(_input(request))
        return _counted(answer, traced)


async def _aask(request: ModelRequest) -> AIMessage:
    with span("model", request.model.name) as traced:
        teller = message_writer()
        if teller is not None and isinstance(request.model, StreamingModel):
            answer = await _astreamed(request.model, request, teller)
        else:
            answer = await request.model.agenerate(_input(request))
        return _counted(answer, traced)


def _counted(answer: AIMessage, traced: Span | None) -> AIMessage:
    """Return an answer, after telling its trace how many tokens it took."""
    usage = getattr(answer, "usage_metadata", None)  # a model of one's own may give anything
    if traced is not None and usage:
        traced.note({key: usage[key] for key in ("input_tokens", "output_tokens")})
    return answer


class _Pieces:
    """Joins the pieces of an answer, and gives all of them the id that it will have."""

    def __init__(self, request: ModelRequest) -> None:
        self._taken = {message.id for message in request.messages}
        self._whole: AIMessageChunk | None = None
        self.id = ""

    def take(self, piece: AIMessageChunk) -> AIMessageChunk:
        """Return a piece with the answer's id."""
        if not self.id:
            new = piece.id is None or piece.id in self._taken
            self.id = str(uuid.uuid4()) if new else str(piece.id)
        piece = replace(piece, id=self.id)
        self._whole = piece if self._whole is None else self._whole + piece
        return piece

    def whole(self, model: ChatModel) -> AIMessage:
        """Return the answer."""
        if self._whole is None:
            raise ModelFailed(
                f"The model {model.name} answered with nothing at all.",
                hint="Try again; stream() must give at least one piece.",
                model=model.name,
            )
        return _complete(self._whole.whole())


def _streamed(model: StreamingModel, request: ModelRequest, teller: MessageWriter) -> AIMessage:
    """Ask for an answer in pieces, and tell each to those who watch."""
    pieces = _Pieces(request)
    stream = model.stream(_input(request))
    try:
        for piece in stream:
            told = pieces.take(piece)
            teller.put(told, pieces.id)
    except Exception:
        teller.end(pieces.id, None)
        raise
    finally:
        if isinstance(stream, Generator):
            stream.close()  # whoever is left in the middle must not go on asking
    whole = pieces.whole(model)
    teller.end(pieces.id, whole)
    return whole


async def _astreamed(
    model: StreamingModel, request: ModelRequest, teller: MessageWriter
) -> AIMessage:
    """Ask for an answer in pieces, and tell each to those who watch."""
    pieces = _Pieces(request)
    stream = model.astream(_input(request))
    try:
        async for piece in stream:
            told = pieces.take(piece)
            await teller.aput(told, pieces.id)
    except Exception:
        teller.end(pieces.id, None)
        raise
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
    whole = pieces.whole(model)
    teller.end(pieces.id, whole)
    return whole


def _settled(answer: object, name: str, before: Sequence[BaseMessage]) -> AIMessage:
    """Return an answer with an id that no message has, whose calls are ours and have ids."""
    message = as_answer(answer, name)
    if message.id is None or any(one.id == message.id for one in before):
        message = replace(message, id=str(uuid.uuid4()))
    return _complete(message)


def _complete(message: AIMessage) -> AIMessage:
    """Return an answer whose calls all have ids."""
    if message.tool_calls:
        calls = [_named(copied(call)) for call in message.tool_calls]
        message = replace(message, tool_calls=calls)
    return message


def _named(call: ToolCall) -> ToolCall:
    """Return a call with an id, without which no provider can tell whose its result is."""
    return call if call.get("id") else {**call, "id": f"call_{uuid.uuid4().hex}"}


def _around(middleware: AgentMiddleware, inner: Handler) -> Handler:
    return lambda request: middleware.wrap_model_call(request, inner)


def _aaround(middleware: AgentMiddleware, inner: AsyncHandler) -> AsyncHandler:
    if not overrides(middleware, "awrap_model_call"):
        raise Misuse(
            f"{middleware.name} wraps model calls in sync runs only.",
            hint="Give it awrap_model_call, or use invoke.",
        )
    return lambda request: middleware.awrap_model_call(request, inner)
