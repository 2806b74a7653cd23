"""What stands around a call of the model: the request that middleware sees, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from hitl.agent.messages import AIMessage, AnyMessage, BaseMessage, SystemMessage
from hitl.agent.model import ChatModel, as_answer, as_model
from hitl.agent.structured import ResponseFormat, as_response_format
from hitl.agent.tool import Tool, as_tool
from hitl.engine import Runtime
from hitl.errors import Misuse
from hitl.values import NO_ANSWER, Command

__all__ = [
    "ExtendedModelResponse",
    "ModelCallResult",
    "ModelRequest",
    "ModelResponse",
    "Told",
]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to the model, as ``wrap_model_call`` sees it; change it with ``override``.

    Attributes:
        model: The model that is asked.
        messages: The conversation, without the system message.
        system_message: What stands before it.
        tools: What the model may call.
        state: The agent's state.
        runtime: The run's surroundings.
        tool_choice: ``auto``, ``required``, ``none`` or a tool's name; None leaves it.
        response_format: The form of a structured answer, if one is wanted.
        model_settings: Changes to the model's own settings, such as ``temperature``.
    """

    model: ChatModel
    messages: Sequence[AnyMessage]
    system_message: SystemMessage | None
    tools: Sequence[Tool]
    state: Mapping[str, Any]
    runtime: Runtime
    tool_choice: str | None = None
    response_format: ResponseFormat | None = None
    model_settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def system_prompt(self) -> str | None:
        """Return the text of the system message, None where there is none."""
        return None if self.system_message is None else self.system_message.text

    def override(self, **changes: Any) -> ModelRequest:
        """Return a copy with some fields changed.

        Args:
            **changes: Fields by name. ``system_prompt`` gives the system message as a text; a
                model may be a name, a tool a function, and a response format a bare schema.

        Raises:
            Misuse: A value is not what its field wants, or both forms of the system message
                are given.
        """
        if "system_prompt" in changes:
            if "system_message" in changes:
                raise Misuse(
                    "override() was given system_prompt and system_message.", hint="Give one."
                )
            changes["system_message"] = as_system_message(changes.pop("system_prompt"))
        if "model" in changes:
            changes["model"] = as_model(changes["model"])
        if "tools" in changes:
            changes["tools"] = [as_tool(each) for each in changes["tools"]]
        if "response_format" in changes:
            changes["response_format"] = as_response_format(changes["response_format"])
        return replace(self, **changes)


def as_system_message(prompt: object) -> SystemMessage | None:
    """Return a system prompt as a message; None and an empty text are none.

    Raises:
        Misuse: It is neither a text nor a system message.
    """
    if prompt is None or isinstance(prompt, SystemMessage):
        return prompt
    if isinstance(prompt, str):
        return SystemMessage(prompt) if prompt else None
    raise Misuse(
        f"The system prompt is of type {type(prompt).__name__}.",
        hint="Give a text or a SystemMessage.",
    )


@dataclass(slots=True)
class ModelResponse:
    """What came of a call of the model.

    Attributes:
        result: Its answer, and where it gave a structured one, the message that takes it.
        structured_response: The structured answer, None where there is none.
    """

    result: list[BaseMessage]
    structured_response: Any = None

    @property
    def message(self) -> AIMessage:
        """Return the model's answer itself.

        Raises:
            Misuse: There is none, or more than one.
        """
        answers = [one for one in self.result if isinstance(one, AIMessage)]
        if len(answers) != 1:
            raise Misuse(
                f"The result of a model call holds {len(answers)} AIMessages.",
                hint="Give exactly one, and tool messages that answer its calls.",
            )
        return answers[0]


@dataclass(slots=True)
class ExtendedModelResponse:
    """A response of the model, with something more to write to the state.

    Attributes:
        model_response: The response.
        command: A ``Command(update={...})``; nothing else of a command is taken.
    """

    model_response: ModelResponse
    command: Command | None = None


ModelCallResult: TypeAlias = ModelResponse | AIMessage | ExtendedModelResponse
"""What ``wrap_model_call`` may return."""


@dataclass(slots=True)
class Told:
    """A response on its way out, and the updates that middleware has put beside it."""

    response: ModelResponse
    updates: list[Mapping[str, Any]] = field(default_factory=list)

    def wrapped(self, result: object, name: str) -> Told:
        """Return what a middleware made of this.

        Args:
            result: What its ``wrap_model_call`` returned.
            name: The middleware's name, for errors.

        Raises:
            Misuse: It is no response.
        """
        updates = self.updates
        if isinstance(result, ExtendedModelResponse):
            updates = [*updates, *_update_of(result.command, name)]
            result = result.model_response
        if isinstance(result, ModelResponse):
            return Told(result, updates)
        if isinstance(result, AIMessage):
            structured = self.response.structured_response
            others = [one for one in self.response.result if not isinstance(one, AIMessage)]
            return Told(ModelResponse([as_answer(result, name), *others], structured), updates)
        raise Misuse(
            f"{name}.wrap_model_call returned a {type(result).__name__}.",
            hint="Return what handler(request) returned, a ModelResponse, an AIMessage or an "
            "ExtendedModelResponse.",
        )


def _update_of(command: Command | None, name: str) -> list[Mapping[str, Any]]:
    if command is None:
        return []
    rest = command.goto or command.graph or command.resume is not NO_ANSWER
    if rest or not isinstance(command.update, Mapping):
        raise Misuse(
            f"The command of {name}.wrap_model_call says more than an update.",
            hint="Give Command(update={...}); jump from before_model or after_model.",
        )
    return [command.update]
