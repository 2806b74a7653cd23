"""A model whose answers are written beforehand: for tests, examples and the demo.

It keeps no place of its own: which answer is due follows from the conversation, so that a new
process that resumes a thread goes on with the script where the old one stopped.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeAlias, cast

from hitl.agent.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, to_message
from hitl.agent.model_port import ModelInput
from hitl.errors import Misuse
from hitl.values import ToolCall

__all__ = ["ScriptedModel"]

Line: TypeAlias = str | AIMessage | Mapping[str, object]
Answer: TypeAlias = Line | Callable[[list[AnyMessage]], Line]


class ScriptedModel:
    """A model that says what it is told to.

    The n-th answer is due when the conversation holds n answers after its first human message.

    Args:
        answers: Texts, ``AIMessage``s, dicts such as ``{"tool_calls": [...]}``, or functions of
            the messages that return one of these.
        loop: Whether the script starts over at its end.
        name: The model's name.

    Attributes:
        calls: The requests that this object has seen.
    """

    def __init__(
        self, answers: Sequence[Answer], *, loop: bool = False, name: str = "scripted"
    ) -> None:
        if isinstance(answers, str) or not isinstance(answers, Sequence):
            raise Misuse(
                f"The script of a ScriptedModel is a {type(answers).__name__}.",
                hint="Give a list of answers.",
            )
        self.name = name
        self.calls: list[ModelInput] = []
        self._answers = list(answers)
        self._loop = loop

    def generate(self, request: ModelInput) -> AIMessage:
        """Return the answer that is due.

        Args:
            request: The conversation.

        Raises:
            Misuse: The script has no more answers, or this one is not an answer.
        """
        self.calls.append(request)
        place = _place(request.messages)
        if not self._answers or (place >= len(self._answers) and not self._loop):
            raise Misuse(
                f"The model {self.name!r} has {len(self._answers)} answers, and number "
                f"{place + 1} was asked for.",
                hint="Write more answers, or give loop=True.",
            )
        answer = self._answers[place % len(self._answers)]
        if not isinstance(answer, str | AIMessage | Mapping):
            answer = answer(list(request.messages))
        return _line(answer, place)

    async def agenerate(self, request: ModelInput) -> AIMessage:
        """Return the answer that is due.

        Args:
            request: The conversation.

        Raises:
            Misuse: As ``generate``.
        """
        return self.generate(request)

    def stream(self, request: ModelInput) -> Iterator[AIMessageChunk]:
        """Return the answer that is due, word by word.

        Args:
            request: The conversation.

        Raises:
            Misuse: As ``generate``.
        """
        answer = self.generate(request)
        words = _WORDS.findall(answer.content) if isinstance(answer.content, str) else []
        for word in words[:-1]:
            yield AIMessageChunk(word, id=answer.id)
        told = {spec.name: getattr(answer, spec.name) for spec in fields(answer)}
        yield AIMessageChunk(**(told | {"content": words[-1] if words else answer.content}))

    async def astream(self, request: ModelInput) -> AsyncIterator[AIMessageChunk]:
        """Return the answer that is due, word by word.

        Args:
            request: The conversation.

        Raises:
            Misuse: As ``generate``.
        """
        for chunk in self.stream(request):
            yield chunk


_WORDS = re.compile(r"^\s+|\S+\s*")


def _place(messages: Sequence[AnyMessage]) -> int:
    """Return how many answers stand after the first human message."""
    first = next((i for i, each in enumerate(messages) if isinstance(each, HumanMessage)), 0)
    return sum(isinstance(each, AIMessage) for each in messages[first:])


def _line(answer: object, place: int) -> AIMessage:
    if isinstance(answer, Mapping):
        answer = to_message({"role": "assistant", **cast(Mapping[str, object], answer)})
    elif isinstance(answer, str):
        answer = AIMessage(answer)
    if not isinstance(answer, AIMessage):
        raise Misuse(
            f"Answer {place + 1} of a script is a {type(answer).__name__}.",
            hint='Give a text, an AIMessage or {"tool_calls": [{"name": ..., "args": {...}}]}.',
        )
    calls: list[ToolCall] = [
        {**call, "id": call["id"] or f"call_{place + 1}_{number}"}
        for number, call in enumerate(answer.tool_calls, 1)
    ]
    # A copy: add_messages gives ids, and the script may be read again.
    return replace(answer, tool_calls=calls)
