"""What comes of a tool call, as the model reads it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from hitl.agent.messages import Content, ToolMessage
from hitl.errors import HitlError
from hitl.values import ToolCall

__all__ = ["Happened", "ToolException", "tool_message"]


@dataclass(frozen=True, slots=True)
class Happened:
    """What a tool's probe returns for a call that took effect.

    Attributes:
        result: What the tool would have returned.
    """

    result: object = "It took effect."


class ToolException(HitlError):
    """Raised by a tool to tell the model, in its own words, why the call did not work."""

    code = "tool_failed"

    def __init__(self, message: str = "", *, hint: str = "", **fields: object) -> None:
        super().__init__(message, hint=hint, **fields)


def tool_message(result: object, call: ToolCall, *, status: str = "success") -> ToolMessage:
    """Return a tool's result as the message that answers a call.

    Text and content blocks stay as they are, anything else becomes JSON. A ``ToolMessage``
    is taken over, addressed to the call.

    Args:
        result: What the tool's function returned.
        call: The call that it answers.
        status: ``success`` or ``error``.
    """
    name, call_id = call["name"], call.get("id") or ""
    if isinstance(result, ToolMessage):
        return replace(result, tool_call_id=call_id, name=result.name or name)
    return ToolMessage(
        _as_content(result),
        name=name,
        tool_call_id=call_id,
        status="error" if status == "error" else "success",
    )


def _as_content(result: object) -> Content:
    if isinstance(result, str):
        return str.__str__(result)  # exactly str: nothing else can be stored
    if isinstance(result, list) and result and all(map(_is_block, result)):
        return cast(Content, result)
    from pydantic_core import to_json

    return to_json(result, fallback=str, inf_nan_mode="constants").decode()


def _is_block(value: object) -> bool:
    return isinstance(value, dict) and value.get("type") in ("text", "image", "image_url", "file")
