"""The classes of messages, and how each is stored.

A message counts as frozen once it is in a thread's state: put a changed copy
(``dataclasses.replace``) under the same id in its place. Only what a message says is stored,
not its defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import ClassVar, Literal, TypeAlias, cast

from typing_extensions import TypedDict

from hitl.codec import register
from hitl.errors import Damaged, Misuse
from hitl.values import Json, ToolCall

__all__ = [
    "AIMessage",
    "AIMessageChunk",
    "AnyMessage",
    "BaseMessage",
    "Content",
    "HumanMessage",
    "InvalidToolCall",
    "RemoveMessage",
    "SystemMessage",
    "ToolMessage",
    "UsageMetadata",
    "checked_call",
]

Content: TypeAlias = "str | list[str | dict[str, Json]]"
"""Text, or a list of texts and content blocks such as ``{"type": "text", "text": ...}``."""


class InvalidToolCall(TypedDict):
    """A tool call whose arguments could not be read; ``args`` is what the model wrote."""

    name: str | None
    args: str | None
    id: str | None
    error: str | None
    type: Literal["invalid_tool_call"]


class UsageMetadata(TypedDict):
    """Tokens that one model call took."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


@dataclass(slots=True, repr=False)
class BaseMessage:
    """One message of a conversation.

    Attributes:
        content: Text, or a list of texts and content blocks.
        id: Unique within the conversation; ``add_messages`` gives one where it is missing.
        name: Who speaks, where the provider knows such a thing; the tool of a tool message.
        additional_kwargs: Whatever else the sender attached.
        response_metadata: What the provider told about the answer.
        type: ``human``, ``ai``, ``system``, ``tool`` or ``remove``.
    """

    content: Content
    id: str | None = field(default=None, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    additional_kwargs: dict[str, object] = field(default_factory=dict, kw_only=True)
    response_metadata: dict[str, object] = field(default_factory=dict, kw_only=True)

    type: ClassVar[str] = "base"

    def __post_init__(self) -> None:
        if not isinstance(self.content, str | list):
            raise Misuse(
                f"The content of a {type(self).__name__} is a {type(self.content).__name__}.",
                hint="Give a string, or a list of strings and content blocks.",
            )

    @property
    def text(self) -> str:
        """The text of the content, without its other blocks."""
        if isinstance(self.content, str):
            return self.content
        return "".join(_block_text(block) for block in self.content)

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in _told(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(slots=True, repr=False)
class HumanMessage(BaseMessage):
    """What a person said."""

    type: ClassVar[str] = "human"


@dataclass(slots=True, repr=False)
class SystemMessage(BaseMessage):
    """What the model is told to be."""

    type: ClassVar[str] = "system"


@dataclass(slots=True, repr=False)
class AIMessage(BaseMessage):
    """What the model answered.

    Attributes:
        tool_calls: The calls it proposes, in order.
        invalid_tool_calls: Calls whose arguments could not be read.
        usage_metadata: Tokens the answer took, where the provider says so.
    """

    content: Content = ""
    tool_calls: list[ToolCall] = field(default_factory=list, kw_only=True)
    invalid_tool_calls: list[InvalidToolCall] = field(default_factory=list, kw_only=True)
    usage_metadata: UsageMetadata | None = field(default=None, kw_only=True)

    type: ClassVar[str] = "ai"

    def __post_init__(self) -> None:
        BaseMessage.__post_init__(self)
        if self.tool_calls:
            self.tool_calls = [checked_call(call) for call in self.tool_calls]


@dataclass(slots=True, repr=False)
class AIMessageChunk(AIMessage):
    """A piece of an answer that is still arriving; pieces are joined with ``+``."""

    def __add__(self, other: AIMessageChunk) -> AIMessageChunk:
        return AIMessageChunk(
            _joined(self.content, other.content),
            id=self.id or other.id,
            name=self.name or other.name,
            additional_kwargs=self.additional_kwargs | other.additional_kwargs,
            response_metadata=self.response_metadata | other.response_metadata,
            tool_calls=self.tool_calls + other.tool_calls,
            invalid_tool_calls=self.invalid_tool_calls + other.invalid_tool_calls,
            usage_metadata=other.usage_metadata or self.usage_metadata,
        )

    def whole(self) -> AIMessage:
        """Return the joined pieces as the finished answer."""
        return AIMessage(**{spec.name: getattr(self, spec.name) for spec in fields(self)})


@dataclass(slots=True, repr=False)
class ToolMessage(BaseMessage):
    """What came of one tool call.

    Attributes:
        tool_call_id: The id of the call it answers.
        status: ``success``, or ``error`` where the tool did not do what was asked.
        artifact: A value for the program, which the model does not see.
    """

    tool_call_id: str = field(kw_only=True)
    status: Literal["success", "error"] = field(default="success", kw_only=True)
    artifact: object = field(default=None, kw_only=True)

    type: ClassVar[str] = "tool"

    def __post_init__(self) -> None:
        BaseMessage.__post_init__(self)
        if self.status not in ("success", "error"):
            raise Misuse(
                f"The status of a ToolMessage is {self.status!r}.",
                hint='Give "success" or "error".',
            )


@dataclass(slots=True, repr=False, init=False)
class RemoveMessage(BaseMessage):
    """An instruction to ``add_messages``: take out the message with this id."""

    type: ClassVar[str] = "remove"

    def __init__(self, id: str) -> None:
        BaseMessage.__init__(self, "", id=id)


AnyMessage: TypeAlias = (
    HumanMessage | AIMessage | SystemMessage | ToolMessage | RemoveMessage | AIMessageChunk
)

# --- parts of messages ------------------------------------------------------------------


def _block_text(block: object) -> str:
    if isinstance(block, dict):
        text = block.get("text") if block.get("type") == "text" else None
        return text if isinstance(text, str) else ""
    return block if isinstance(block, str) else ""


def _joined(left: Content, right: Content) -> Content:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    first, second = _blocks(left), _blocks(right)
    if first and second and isinstance(first[-1], str) and isinstance(second[0], str):
        return [*first[:-1], first[-1] + second[0], *second[1:]]
    return [*first, *second]


def _blocks(content: Content) -> list[str | dict[str, Json]]:
    if isinstance(content, str):
        return [content] if content else []
    return content


def checked_call(call: object) -> ToolCall:
    """Return a tool call with all its keys.

    Args:
        call: A dict with ``name``, ``args`` and, where the provider gave one, ``id``.

    Raises:
        Misuse: It has no name, or its arguments are not a dict.
    """
    if type(call) is not dict and not isinstance(call, Mapping):
        raise Misuse(
            f"A tool call is a {type(call).__name__}.",
            hint='Give {"name": ..., "args": {...}, "id": ...}.',
        )
    if not isinstance(call.get("name"), str) or not isinstance(call.get("args"), dict):
        raise Misuse(
            f"A tool call needs a name (text) and args (a dict); it has the keys {sorted(call)}.",
            hint='Give {"name": ..., "args": {...}, "id": ...}.',
        )
    return cast(ToolCall, {"id": None, **call, "type": "tool_call"})


# --- storing ----------------------------------------------------------------------------


_DEFAULTS: dict[type[BaseMessage], tuple[tuple[str, object], ...]] = {}


def _defaults(kind: type[BaseMessage]) -> tuple[tuple[str, object], ...]:
    """Return names and defaults of a class's fields; a required field has none of its own."""
    if kind not in _DEFAULTS:
        _DEFAULTS[kind] = tuple(
            (each.name, each.default if each.default_factory is MISSING else each.default_factory())
            for each in fields(kind)
        )
    return _DEFAULTS[kind]


def _told(message: BaseMessage) -> dict[str, object]:
    """Return the fields of a message that say something; required ones always do."""
    told: dict[str, object] = {}
    for name, default in _defaults(type(message)):
        value = getattr(message, name)
        # Types first: an artifact's own == may do anything.
        if type(value) is not type(default) or value != default:
            told[name] = value
    return told


def _pack(message: BaseMessage) -> dict[str, object]:
    told = _told(message)
    if isinstance(message, AIMessage) and message.tool_calls:
        told["tool_calls"] = [
            {key: value for key, value in call.items() if key != "type"}
            for call in message.tool_calls
        ]
    return told


def _unpack(kind: type[BaseMessage], told: Mapping[str, object]) -> BaseMessage:
    names = dict(_defaults(kind))
    known = {name: value for name, value in told.items() if name in names}
    if kind is RemoveMessage:
        known.pop("content", None)
    try:
        return cast(Callable[..., BaseMessage], kind)(**known)
    except Misuse as error:
        raise Damaged(f"A stored message cannot be rebuilt: {error.message}") from error


_NAMES: dict[type[BaseMessage], str] = {
    HumanMessage: "human",
    AIMessage: "ai",
    SystemMessage: "system",
    ToolMessage: "tool",
    RemoveMessage: "remove",
    AIMessageChunk: "ai_chunk",
}

for _kind, _name in _NAMES.items():
    register(_kind, name=_name, pack=_pack, unpack=partial(_unpack, _kind))
