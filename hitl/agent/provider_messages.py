"""The way of a conversation into pydantic-ai's messages, and of its answer back into ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from hitl.agent.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    Content,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolMessage,
    parse_tool_call,
)
from hitl.agent.model_port import OutputSpec, ToolSpec
from hitl.errors import Misuse
from hitl.values import Json, ToolCall

if TYPE_CHECKING:
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequestPart,
        ModelResponsePart,
        UserContent,
    )

__all__ = ["from_response", "parameters", "thinking_block", "to_requests"]


def parameters(
    tools: Iterable[ToolSpec], output: OutputSpec | None = None
) -> ModelRequestParameters:
    """Return tools, and the form of a structured answer, in the library's form."""
    wanted = None
    if output is not None:
        wanted = OutputObjectDefinition(
            output.schema, output.name, output.description or None, output.strict
        )
    return ModelRequestParameters(
        output_mode="text" if wanted is None else "native",
        output_object=wanted,
        function_tools=[
            ToolDefinition(
                name=each.name,
                description=each.description,
                parameters_json_schema=each.args_schema,
            )
            for each in tools
        ],
    )


# --- there ------------------------------------------------------------------------------


def to_requests(messages: Sequence[AnyMessage]) -> list[ModelMessage]:
    """Return a conversation in the library's form: requests and responses by turns.

    Args:
        messages: Ours, in order.

    Raises:
        Misuse: A message holds something that cannot be sent.
    """
    names: dict[str | None, str] = {}
    sent: list[ModelMessage] = []
    asked: list[ModelRequestPart] = []
    for message in messages:
        if not isinstance(message, AIMessage):
            asked.append(_request_part(message, names))
            continue
        names |= {call["id"]: call["name"] for call in message.tool_calls}
        said = _response_parts(message)
        if said:
            sent += [ModelRequest(asked)] if asked else []
            sent.append(ModelResponse(said))
            asked = []
    return [*sent, ModelRequest(asked)] if asked else sent


def _request_part(message: BaseMessage, names: Mapping[str | None, str]) -> ModelRequestPart:
    if isinstance(message, SystemMessage):
        return SystemPromptPart(message.text)
    if isinstance(message, HumanMessage):
        return UserPromptPart(_user_content(message.content))
    if isinstance(message, ToolMessage):
        return ToolReturnPart(
            message.name or names.get(message.tool_call_id, "unknown"),
            _result(message.content),
            message.tool_call_id,
            outcome="failed" if message.status == "error" else "success",
        )
    raise Misuse(f"A {type(message).__name__} cannot be sent to a model.")


def _result(content: Content) -> object:
    """Return a tool's result: text where it is nothing but text."""
    texts = [block if isinstance(block, str) else _text(block) for block in content]
    return content if None in texts else "".join(cast(list[str], texts))


def _text(block: Mapping[str, Json]) -> str | None:
    text = block.get("text")
    return text if block.get("type") == "text" and isinstance(text, str) else None


def _user_content(content: Content) -> str | list[UserContent]:
    return content if isinstance(content, str) else [_user_block(block) for block in content]


def _user_block(block: str | dict[str, Json]) -> UserContent:
    if isinstance(block, str):
        return block
    text = _text(block)
    if text is not None:
        return text
    url = block.get("image_url") if block.get("type") == "image_url" else block.get("url")
    url = url.get("url") if isinstance(url, dict) else url
    if block.get("type") in ("image_url", "image") and isinstance(url, str):
        return BinaryContent.from_data_uri(url) if url.startswith("data:") else ImageUrl(url)
    if block.get("type") == "image" and isinstance(block.get("base64"), str):
        kind = block.get("mime_type", "image/png")
        return BinaryContent.from_data_uri(f"data:{kind};base64,{block['base64']}")
    raise Misuse(
        f"A content block of type {block.get('type')!r} cannot be sent to a model.",
        hint="Known are text, image_url, and image with url or base64.",
    )


def _response_parts(message: AIMessage) -> list[ModelResponsePart]:
    content = [message.content] if isinstance(message.content, str) else message.content
    parts = [part for block in content for part in _said(block)]
    parts += [_call_part(call, message.response_metadata) for call in message.tool_calls]
    for invalid in message.invalid_tool_calls:
        # Providers want an object; what could not be read goes back as a text inside one.
        args = {"INVALID_JSON": invalid["args"] or ""}
        parts.append(ToolCallPart(invalid["name"] or "unknown", args, invalid["id"] or ""))
    return parts


def _call_part(call: ToolCall, told: Mapping[str, object]) -> ToolCallPart:
    signatures = told.get("signatures")
    signed = signatures.get(call["id"]) if isinstance(signatures, Mapping) else None
    part = ToolCallPart(call["name"], call["args"], call["id"] or "")
    if isinstance(signed, Mapping):
        part.provider_name, part.provider_details = signed.get("provider"), signed.get("details")
    return part


def _said(block: str | dict[str, Json]) -> list[ModelResponsePart]:
    text = block if isinstance(block, str) else _text(block)
    if text:
        return [TextPart(text)]
    if isinstance(block, dict) and block.get("type") == "thinking":
        told = {key: block.get(key) for key in _THINKING if block.get(key) is not None}
        return [ThinkingPart(str(block.get("thinking", "")), **cast(Any, told))]
    return []


# --- and back ---------------------------------------------------------------------------

_THINKING = ("id", "signature", "provider_name")


def thinking_block(part: ThinkingPart) -> dict[str, Json]:
    """Return a thought as a content block, with what the provider wants to see again."""
    told = {key: getattr(part, key) for key in _THINKING if getattr(part, key) is not None}
    return {"type": "thinking", "thinking": part.content, **told}


def from_response(response: ModelResponse) -> AIMessage:
    """Return a provider's answer as ours.

    Calls whose arguments are no JSON object come as ``invalid_tool_calls``. The provider's
    own id is in ``response_metadata``: it may repeat, and ours must not.

    Args:
        response: The answer in the library's form.
    """
    calls = [_call(part) for part in response.parts if isinstance(part, ToolCallPart)]
    usage = response.usage
    told = {
        "id": response.provider_response_id,
        "model_name": response.model_name,
        "model_provider": response.provider_name,
        "finish_reason": response.finish_reason,
        "signatures": _signatures(response) or None,
    }
    return AIMessage(
        _content(response),
        tool_calls=[call for call in calls if call["type"] == "tool_call"],
        invalid_tool_calls=[call for call in calls if call["type"] != "tool_call"],
        usage_metadata={
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
        },
        response_metadata={key: value for key, value in told.items() if value is not None},
    )


def _signatures(response: ModelResponse) -> dict[str, Json]:
    """Return what the provider wants to see again with a call, such as Gemini's signature."""
    return {
        part.tool_call_id: {"provider": part.provider_name, "details": part.provider_details}
        for part in response.parts
        if isinstance(part, ToolCallPart) and part.provider_details
    }


def _call(part: ToolCallPart) -> ToolCall | InvalidToolCall:
    return parse_tool_call(part.tool_name, part.args, part.tool_call_id)


def _content(response: ModelResponse) -> Content:
    thoughts = any(isinstance(part, ThinkingPart) for part in response.parts)
    if not thoughts:
        return response.text or ""
    blocks: list[str | dict[str, Json]] = []
    for part in response.parts:
        if isinstance(part, ThinkingPart):
            blocks.append(thinking_block(part))
        elif isinstance(part, TextPart) and part.content:
            blocks.append({"type": "text", "text": part.content})
    return blocks
