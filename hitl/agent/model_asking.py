"""Asking a model: whole or in pieces, told to those who watch, with its structured answer read."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace

from hitl.agent.messages import AIMessage, AIMessageChunk
from hitl.agent.model import ChatModel, ModelFailed, ModelInput, StreamingModel, as_answer
from hitl.agent.model_request import ModelRequest, ModelResponse, Told
from hitl.agent.review import copied
from hitl.agent.structured import Plan, plan_of
from hitl.engine import MessageWriter, Span, message_writer, span
from hitl.values import ToolCall

__all__ = ["aask", "ask", "complete"]


def _input(request: ModelRequest, plan: Plan | None) -> ModelInput:
    before = () if request.system_message is None else (request.system_message,)
    sent = ModelInput(
        (*before, *request.messages),
        tuple(tool.spec for tool in request.tools),
        dict(request.model_settings),
        request.tool_choice,
    )
    return sent if plan is None else plan.asked(sent)


def ask(request: ModelRequest) -> Told:
    """Return what the model answers.

    Raises:
        ModelFailed: It did not.
        StructuredOutputError: Its structured answer cannot be taken, and it is not to be told.
    """
    plan = plan_of(request.response_format, request.model)
    with span("model", request.model.name) as traced:
        teller = message_writer()
        sent = _input(request, plan)
        if teller is not None and isinstance(request.model, StreamingModel):
            answer = _streamed(request.model, sent, teller)
        else:
            answer = request.model.generate(sent)
        return _read(_counted(answer, traced), plan, request.model)


async def aask(request: ModelRequest) -> Told:
    """Return what the model answers, in an async run; see ``ask``.

    Raises:
        ModelFailed: It did not.
        StructuredOutputError: Its structured answer cannot be taken, and it is not to be told.
    """
    plan = plan_of(request.response_format, request.model)
    with span("model", request.model.name) as traced:
        teller = message_writer()
        sent = _input(request, plan)
        if teller is not None and isinstance(request.model, StreamingModel):
            answer = await _astreamed(request.model, sent, teller)
        else:
            answer = await request.model.agenerate(sent)
        return _read(_counted(answer, traced), plan, request.model)


def _read(answer: object, plan: Plan | None, model: ChatModel) -> Told:
    message = complete(as_answer(answer, model.name))
    if plan is None:
        return Told(ModelResponse([message]))
    return Told(ModelResponse(*plan.read(message)))


def _counted(answer: AIMessage, traced: Span | None) -> AIMessage:
    """Return an answer, after telling its trace how many tokens it took."""
    usage = getattr(answer, "usage_metadata", None)  # a model of one's own may give anything
    if traced is not None and usage:
        traced.note({key: usage[key] for key in ("input_tokens", "output_tokens")})
    return answer


class _Pieces:
    """Joins the pieces of an answer, and gives all of them the id that it will have."""

    def __init__(self, request: ModelInput) -> None:
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
        return complete(self._whole.whole())


def _streamed(model: StreamingModel, request: ModelInput, teller: MessageWriter) -> AIMessage:
    """Ask for an answer in pieces, and tell each to those who watch."""
    pieces = _Pieces(request)
    stream = model.stream(request)
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
    model: StreamingModel, request: ModelInput, teller: MessageWriter
) -> AIMessage:
    """Ask for an answer in pieces, and tell each to those who watch."""
    pieces = _Pieces(request)
    stream = model.astream(request)
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


def complete(message: AIMessage) -> AIMessage:
    """Return an answer whose calls all have ids."""
    if message.tool_calls:
        calls = [_named(copied(call)) for call in message.tool_calls]
        message = replace(message, tool_calls=calls)
    return message


def _named(call: ToolCall) -> ToolCall:
    """Return a call with an id, without which no provider can tell whose its result is."""
    return call if call.get("id") else {**call, "id": f"call_{uuid.uuid4().hex}"}
