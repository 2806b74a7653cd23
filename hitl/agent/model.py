"""The port to language models: what a request is, what a model must do, what becomes one.

Any object with a ``name`` and a ``generate`` is a model; so is a plain function of the
messages. Adapters to providers are in ``providers``, the model for tests in ``scripted``.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, cast, runtime_checkable

from hitl.agent.messages import AIMessage, AIMessageChunk, AnyMessage
from hitl.errors import HitlError, Misuse
from hitl.values import Json

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


class ModelFailed(HitlError):
    """A provider did not answer; ``fields`` holds ``provider``, ``model`` and ``status``."""

    code = "model_failed"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it. ``args_schema`` is the JSON schema of its arguments."""

    name: str
    description: str
    args_schema: dict[str, Json]


@dataclass(frozen=True, slots=True)
class ModelInput:
    """One request to a model.

    Attributes:
        messages: The conversation, system messages included.
        tools: What it may call.
        settings: Changes to the model's own settings, such as ``temperature``.
        tool_choice: ``auto``, ``required``, ``none`` or a tool's name; None leaves it.
    """

    messages: tuple[AnyMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    tool_choice: str | None = None


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers a conversation."""

    @property
    def name(self) -> str:
        """Its name, for people."""
        ...

    def generate(self, request: ModelInput) -> AIMessage:
        """Return the model's answer.

        Raises:
            ModelFailed: The provider did not answer.
        """
        ...

    async def agenerate(self, request: ModelInput) -> AIMessage:
        """Return the model's answer, without blocking the event loop."""
        ...


@runtime_checkable
class StreamingModel(ChatModel, Protocol):
    """A model that can also give its answer in pieces, which ``+`` joins."""

    def stream(self, request: ModelInput) -> Iterator[AIMessageChunk]:
        """Return the pieces of the answer as they arrive."""
        ...

    def astream(self, request: ModelInput) -> AsyncIterator[AIMessageChunk]:
        """Return the pieces of the answer as they arrive."""
        ...


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
        from hitl.agent.providers import init_chat_model

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
            import asyncio

            answer = asyncio.run(_awaited(answer))
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


async def _awaited(answer: Awaitable[AIMessage | str]) -> AIMessage | str:
    return await answer
