"""What a model is told of an exception in a tool, and which exceptions it is not told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hitl.agent.arguments import ToolInvocationError
from hitl.agent.tool_result import ToolException
from hitl.agent.wording import TOOL_CALL_ERROR_TEMPLATE
from hitl.errors import Misuse

__all__ = ["HandleToolErrors", "ToolErrors", "text_of", "tool_errors"]

HandleToolErrors: TypeAlias = (
    bool | str | Callable[[Exception], str] | type[Exception] | tuple[type[Exception], ...]
)
"""True: all; False: none; a text that is told of all; a function that makes the text; or the
exceptions that are told."""

ToolErrors: TypeAlias = Callable[[Exception], str | None]
"""Returns what is told of an exception, None where it is to be raised."""


def tool_errors(handled: HandleToolErrors = True) -> ToolErrors:
    """Return what is told of exceptions.

    Args:
        handled: See ``HandleToolErrors``.

    Raises:
        Misuse: It is none of these.
    """
    if handled is True:
        return _told
    if handled is False:
        return lambda _: None
    if isinstance(handled, str):
        text = handled
        return lambda _: text
    if isinstance(handled, tuple | type):
        kinds = handled if isinstance(handled, tuple) else (handled,)
        if all(map(_is_exception, kinds)):
            return lambda error: _told(error) if isinstance(error, kinds) else None
    elif callable(handled):
        return handled
    raise Misuse(
        f"handle_tool_errors is {handled!r}.",
        hint="Give True, False, a text, a function of the exception, or exception classes.",
    )


def _is_exception(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)


def _told(error: Exception) -> str | None:
    if isinstance(error, ToolException | ToolInvocationError):
        return text_of(error)
    if type(error) is Misuse:
        return None  # the program must change; the model can do nothing about it
    return TOOL_CALL_ERROR_TEMPLATE.format(error=f"{type(error).__name__}: {text_of(error)}")


def text_of(error: Exception) -> str:
    """Return what an exception says; its own ``__str__`` is code of the tool, and may fail."""
    try:
        return f"{error}".encode(errors="backslashreplace").decode()
    except Exception:  # noqa: BLE001 - the call has run, and must not count as lost
        return "(its text cannot be read)"
