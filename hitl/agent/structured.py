"""Structured answers: what form is wanted, how a model is told, and how its answer is read.

``ToolStrategy`` gives the model a tool to answer with, which every model with tools can do;
``ProviderStrategy`` uses the provider's own structured output; ``AutoStrategy``, which a bare
schema stands for, takes the provider's where the model says that it has one.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Union

from hitl.agent.message_types import AIMessage, BaseMessage, ToolMessage
from hitl.agent.model_port import ChatModel, ModelInput, OutputSpec, ToolSpec
from hitl.agent.output_schema import OutputSchema, read_schema
from hitl.agent.turns import ENDS_RUN
from hitl.agent.wording import STRUCTURED, STRUCTURED_EARLY, STRUCTURED_ERROR, STRUCTURED_TWICE
from hitl.errors import HitlError, Misuse
from hitl.values import ToolCall

__all__ = [
    "AutoStrategy",
    "MultipleStructuredOutputsError",
    "Plan",
    "ProviderStrategy",
    "ResponseFormat",
    "StructuredOutputError",
    "StructuredOutputValidationError",
    "ToolStrategy",
    "as_response_format",
    "plan_of",
    "schema_types",
    "schemas_of",
]


class StructuredOutputError(HitlError):
    """A model's structured answer cannot be taken."""

    code = "structured_output"


class StructuredOutputValidationError(StructuredOutputError):
    """A structured answer does not fit its schema; ``source`` is what was wrong with it."""

    code = "structured_output_validation"

    def __init__(self, tool_name: str, source: Exception, ai_message: AIMessage) -> None:
        super().__init__(
            f"The structured answer {tool_name!r} does not fit: {source}",
            hint="Ask again: invoke(None, config) runs the model once more.",
        )
        self.tool_name, self.source, self.ai_message = tool_name, source, ai_message


class MultipleStructuredOutputsError(StructuredOutputError):
    """A model gave several structured answers in one turn."""

    code = "multiple_structured_outputs"

    def __init__(self, tool_names: list[str], ai_message: AIMessage) -> None:
        super().__init__(STRUCTURED_TWICE.format(names=", ".join(tool_names)))
        self.tool_names, self.ai_message = tool_names, ai_message


Handled: TypeAlias = (
    bool | str | type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], str]
)


@dataclass(frozen=True, slots=True)
class ToolStrategy:
    """Let the model answer by calling a tool whose arguments are the answer.

    Attributes:
        schema: A pydantic model, a dataclass, a TypedDict, a union of these (one tool each), or
            a JSON schema with a ``title``.
        tool_message_content: What the conversation holds as the call's result.
        handle_errors: Whether an answer that does not fit is told to the model, which then
            answers again: True, False (raise), the text that it is told, the exceptions for
            which it is, or a function of the exception that returns the text.
    """

    schema: Any
    tool_message_content: str | None = None
    handle_errors: Handled = True

    def told(self, error: StructuredOutputError) -> str | None:
        """Return what the model is told of an error, None where it is to be raised."""
        handled = self.handle_errors
        if handled is False:
            return None
        if isinstance(handled, str):
            return handled
        if isinstance(handled, tuple | type):
            source = getattr(error, "source", None)
            if not isinstance(error, handled) and not isinstance(source, handled):
                return None
        elif callable(handled):
            return handled(error)
        return STRUCTURED_ERROR.format(error=error.message)


@dataclass(frozen=True, slots=True)
class ProviderStrategy:
    """Let the provider hold the model to the schema; the answer is JSON in its text.

    Attributes:
        schema: A pydantic model, a dataclass, a TypedDict, or a JSON schema with a ``title``.
        strict: Whether the provider is asked to keep to it strictly; None leaves that.
    """

    schema: Any
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class AutoStrategy:
    """Take the provider's way where the model has one, and the tool otherwise.

    Attributes:
        schema: See ``ToolStrategy``.
    """

    schema: Any


ResponseFormat: TypeAlias = ToolStrategy | ProviderStrategy | AutoStrategy


def as_response_format(given: object) -> ResponseFormat | None:
    """Return a response format; a bare schema stands for ``AutoStrategy``.

    Args:
        given: A strategy, a schema, or None.

    Raises:
        Misuse: It is none of these, or no schema can be made of it.
    """
    if given is None:
        return None
    if not isinstance(given, ToolStrategy | ProviderStrategy | AutoStrategy):
        given = AutoStrategy(given)
    schemas = schemas_of(given)
    if len(schemas) > 1 and isinstance(given, ProviderStrategy):
        raise Misuse(
            "ProviderStrategy was given a union of schemas.",
            hint="Give one schema, or use ToolStrategy.",
        )
    return given


def schema_types(wanted: ResponseFormat) -> tuple[object, ...]:
    """Return the schemas of a response format as they were given, unions taken apart."""
    if typing.get_origin(wanted.schema) in (Union, types.UnionType):
        return typing.get_args(wanted.schema)
    return (wanted.schema,)


def schemas_of(wanted: ResponseFormat) -> list[OutputSchema]:
    """Return the schemas of a response format, read.

    Raises:
        Misuse: No schema can be made of one, or two have one name.
    """
    found = [read_schema(one) for one in schema_types(wanted)]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise Misuse(f"Two schemas of response_format are named {name!r}.", hint="Rename one.")
    return found


@dataclass(frozen=True, slots=True)
class Plan:
    """How one request is made for a structured answer, and its answer read."""

    strategy: ToolStrategy | ProviderStrategy
    schemas: Sequence[OutputSchema]

    def asked(self, request: ModelInput) -> ModelInput:
        """Return a request that tells the model which form is wanted."""
        if isinstance(self.strategy, ProviderStrategy):
            one = self.schemas[0]
            spec = OutputSpec(one.name, one.description, one.schema, self.strategy.strict)
            return replace(request, output=spec)
        specs = tuple(ToolSpec(one.name, one.description, one.schema) for one in self.schemas)
        choice = request.tool_choice or "required"
        return replace(request, tools=(*request.tools, *specs), tool_choice=choice)

    def read(self, answer: AIMessage) -> tuple[list[BaseMessage], object]:
        """Return an answer with the messages that belong to it, and the structured one if any.

        Raises:
            StructuredOutputError: It cannot be taken, and the model is not to be told.
        """
        if isinstance(self.strategy, ProviderStrategy):
            return [answer], None if answer.tool_calls else self._parsed(answer)
        names = [one.name for one in self.schemas]
        calls = [call for call in answer.tool_calls if call["name"] in names]
        if not calls:
            return [answer], None
        if len(calls) < len(answer.tool_calls):
            # What it says of the other calls would be a guess: a human may yet reject them.
            return [answer, *(_answer(call, STRUCTURED_EARLY, "error") for call in calls)], None
        try:
            if len(calls) > 1:
                raise MultipleStructuredOutputsError([call["name"] for call in calls], answer)
            return self._taken(self.strategy, answer, calls[0])
        except StructuredOutputError as error:
            text = self.strategy.told(error)
            if text is None:
                raise
            return [answer, *(_answer(call, text, "error") for call in calls)], None

    def _parsed(self, answer: AIMessage) -> object:
        one = self.schemas[0]
        try:
            return one.parse_json(answer.text)
        except ValueError as error:
            raise StructuredOutputValidationError(one.name, error, answer) from error

    def _taken(
        self, strategy: ToolStrategy, answer: AIMessage, call: ToolCall
    ) -> tuple[list[BaseMessage], object]:
        schema = next(one for one in self.schemas if one.name == call["name"])
        try:
            value = schema.parse(call["args"])
        except ValueError as error:
            raise StructuredOutputValidationError(schema.name, error, answer) from error
        text = strategy.tool_message_content or STRUCTURED.format(answer=call["args"])
        taken = replace(_answer(call, text, "success"), additional_kwargs={ENDS_RUN: True})
        return [answer, taken], value


def _answer(call: ToolCall, text: str, status: typing.Literal["success", "error"]) -> ToolMessage:
    return ToolMessage(text, name=call["name"], tool_call_id=call.get("id") or "", status=status)


def plan_of(wanted: ResponseFormat | None, model: ChatModel) -> Plan | None:
    """Return how a structured answer is asked of a model, None where none is wanted.

    Args:
        wanted: What is wanted.
        model: The model; ``structured_output`` says whether its provider has it.
    """
    if wanted is None:
        return None
    schemas = schemas_of(wanted)
    if isinstance(wanted, AutoStrategy):
        native = getattr(model, "structured_output", False) is True and len(schemas) == 1
        wanted = ProviderStrategy(wanted.schema) if native else ToolStrategy(wanted.schema)
    return Plan(wanted, schemas)
