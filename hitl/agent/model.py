"""What may be given as a model: the front of the port, and how other things become one."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast

from hitl.agent.messages import AIMessage, AIMessageChunk, AnyMessage
from hitl.agent.model_port import ChatModel, ModelFailed, ModelInput, StreamingModel, ToolSpec
from hitl.agent.own_loop import run_in_own_loop
from hitl.agent.providers import init_chat_model
from hitl.errors import Misuse

__all__ = [
    "ChatModel",
    "ModelFailed",
    "ModelFunction",
    "ModelInput",
    "StreamingModel",
    "ToolSpec",
    "as_answer",
    "as_model",
]

ModelFunction: TypeAlias = (
    Callable[[list[AnyMessage]], AIMessage | str]
    | Callable[[list[AnyMessage]], Awaitable[AIMessage | str]]
)


def as_model(value: object) -> ChatModel:
    """Return a model for a model, a function of the messages, or a name.

    Args:
        value: A ``ChatModel``, ``f(messages) -> AIMessage | str`` (also async), or a text such
            as ``"openai:gpt-5.5"``, see ``init_chat_model``.

    Raises:
        Misuse: It is none of these, or the name cannot be told to a provider.
    """
    if isinstance(value, str):
        return init_chat_model(value)
    if isinstance(value, ChatModel) and not isinstance(value, type):
        return value
    if callable(value) and not isinstance(value, type):
        return _FunctionModel(cast(ModelFunction, value))
    raise Misuse(
        f"A {type(value).__name__} is not a model.",
        hint='Give "provider:name", an object with name, generate and agenerate, or a function '
        "of the messages that returns an AIMessage or a text.",
    )


def as_answer(value: object, model: str) -> AIMessage:
    """Return what a model's function gave as an ``AIMessage``.

    Args:
        value: An ``AIMessage``, or its text.
        model: The model's name, for the error.

    Raises:
        Misuse: It is neither.
    """
    if isinstance(value, str):
        return AIMessage(value)
    if isinstance(value, AIMessage):
        return value.whole() if isinstance(value, AIMessageChunk) else value
    raise Misuse(
        f"The model {model} answered with a {type(value).__name__}.",
        hint="Return an AIMessage or a text.",
    )


class _FunctionModel:
    """A function of the messages, as a model."""

    __slots__ = ("_function", "name")

    def __init__(self, function: ModelFunction) -> None:
        self._function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def generate(self, request: ModelInput) -> AIMessage:
        answer = self._function(list(request.messages))
        if inspect.isawaitable(answer):
            answer = run_in_own_loop(f"model {self.name}", answer)
        return as_answer(answer, self.name)

    async def agenerate(self, request: ModelInput) -> AIMessage:
        import asyncio

        if inspect.iscoroutinefunction(self._function):
            answer: object = await self._function(list(request.messages))
        else:
            # An ordinary function may block, and our code never blocks the loop.
            answer = await asyncio.to_thread(self._function, list(request.messages))
            answer = await answer if inspect.isawaitable(answer) else answer
        return as_answer(answer, self.name)

    def __repr__(self) -> str:
        return f"<model {self.name}>"
