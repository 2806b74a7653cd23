"""The forms in which a call is shown to code and to people, and in which they answer.

Key for key what users of this field write and read; nothing here decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

from hitl.values import Json, ToolCall

__all__ = [
    "Action",
    "ActionRequest",
    "ApproveDecision",
    "EditDecision",
    "HITLDecision",
    "HITLRequest",
    "HITLResponse",
    "RejectDecision",
    "RespondDecision",
    "ReviewConfig",
    "ToolCallRequest",
]


@dataclass(slots=True)
class ToolCallRequest:
    """A tool call with what surrounds it, as a ``when`` predicate sees it.

    Attributes:
        tool_call: The call: ``name``, ``args``, ``id``.
        tool: The tool, or None where it is not known.
        state: The state of the run.
        runtime: The runtime of the run.
    """

    tool_call: ToolCall
    tool: object = None
    state: object = None
    runtime: object = None


class Action(TypedDict):
    """A tool and its arguments."""

    name: str
    args: dict[str, Json]


class ActionRequest(TypedDict):
    """A call that waits, as it is shown."""

    name: str
    args: dict[str, Json]
    description: NotRequired[str]


class ReviewConfig(TypedDict):
    """What can be decided about a call that waits."""

    action_name: str
    allowed_decisions: list[str]
    args_schema: NotRequired[dict[str, Json]]


class HITLRequest(TypedDict):
    """All calls of one turn that wait; both lists have one entry per call, in call order."""

    action_requests: list[ActionRequest]
    review_configs: list[ReviewConfig]


class ApproveDecision(TypedDict):
    """Run the call as it is."""

    type: Literal["approve"]


class EditDecision(TypedDict):
    """Run this in its place."""

    type: Literal["edit"]
    edited_action: Action


class RejectDecision(TypedDict):
    """Do not run the call; the message tells the model why."""

    type: Literal["reject"]
    message: NotRequired[str]


class RespondDecision(TypedDict):
    """Do not run the call; the message is its result."""

    type: Literal["respond"]
    message: str


HITLDecision = ApproveDecision | EditDecision | RejectDecision | RespondDecision


class HITLResponse(TypedDict):
    """One decision per call that waits, in call order."""

    decisions: list[HITLDecision]
