"""One tool call as the model proposed it, and how safe it is to repeat."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

__all__ = ["EFFECTS", "Effect", "ToolCall"]

Effect = Literal["pure", "idempotent", "effect"]
"""``pure`` changes nothing; ``idempotent`` may run again under the same key; ``effect``, the
default, must never start twice by itself."""

EFFECTS: tuple[Effect, ...] = ("pure", "idempotent", "effect")


class ToolCall(TypedDict):
    """A tool call in a model's answer. ``id`` is the provider's and may repeat."""

    name: str
    args: dict[str, Any]
    id: str | None
    type: NotRequired[Literal["tool_call"]]
