"""The port to language models: what a request is, and what a model must do.

Adapters to providers are in ``provider_model``, the model for tests is in ``scripted``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from hitl.agent.messages import AIMessage, AIMessageChunk, AnyMessage
from hitl.errors import HitlError
from hitl.values import Json

__all__ = [
    "ChatModel",
    "ModelFailed",
    "ModelInput",
    "OutputSpec",
    "StreamingModel",
    "ToolSpec",
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
class OutputSpec:
    """The form that the provider is to hold the answer to; ``strict`` None leaves how."""

    name: str
    description: str
    schema: dict[str, Json]
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class ModelInput:
    """One request to a model.

    Attributes:
        messages: The conversation, system messages included.
        tools: What it may call.
        settings: Changes to the model's own settings, such as ``temperature``.
        tool_choice: ``auto``, ``required``, ``none`` or a tool's name; None leaves it.
        output: The form of a structured answer, for models with ``structured_output``.
    """

    messages: tuple[AnyMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    tool_choice: str | None = None
    output: OutputSpec | None = None


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers a conversation.

    One whose provider holds answers to a schema has ``structured_output = True`` and reads
    ``ModelInput.output``.
    """

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
