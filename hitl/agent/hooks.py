"""Hooks as plain functions: decorators that make a middleware of one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from hitl.agent.messages import SystemMessage
from hitl.agent.middleware import (
    AgentMiddleware,
    AsyncModelHandler,
    ModelHandler,
    check_jumps,
)
from hitl.agent.model_request import ModelCallResult, ModelRequest
from hitl.errors import Misuse

__all__ = [
    "Hook",
    "after_agent",
    "after_model",
    "before_agent",
    "before_model",
    "dynamic_prompt",
    "hook_config",
    "wrap_model_call",
    "wrap_tool_call",
    "wrapped_calls",
]

JumpTo = Literal["model", "tools", "end"]
Hook = Callable[..., Any]
F = TypeVar("F", bound=Hook)


class _Maker:
    """A decorator that makes a middleware with one hook, with or without arguments."""

    def __init__(self, hook: str, what: str) -> None:
        self._hook = hook
        self.__name__ = hook
        self.__doc__ = what

    def __call__(
        self,
        function: Hook | None = None,
        /,
        *,
        state_schema: type | None = None,
        tools: Sequence[object] | None = None,
        can_jump_to: Sequence[JumpTo] | None = None,
        name: str | None = None,
    ) -> Any:
        """Return the middleware, or the decorator that makes it.

        Args:
            function: The hook, sync or async.
            state_schema: Keys that it adds to the agent's state.
            tools: Tools that it adds.
            can_jump_to: Where it may jump; None for anywhere. Not for hooks around calls.
            name: The middleware's name, if not the function's.

        Raises:
            Misuse: It is no function, or jumps are declared where there are none.
        """

        def make(function: Hook) -> AgentMiddleware:
            if can_jump_to is not None:
                hook_config(can_jump_to=can_jump_to)(function)
            return _made({self._hook: function}, function, state_schema, tools, name)

        if can_jump_to is not None and self._hook.startswith("wrap_"):
            raise Misuse(
                f"{self._hook} has no can_jump_to: what stands around a call does not jump.",
                hint="Jump from before_model or after_model.",
            )
        return make if function is None else make(function)


before_agent = _Maker(
    "before_agent", "Make a middleware of ``f(state, runtime)``: run once, first."
)
before_model = _Maker(
    "before_model", "Make a middleware of ``f(state, runtime)``: before each call of the model."
)
after_model = _Maker(
    "after_model", "Make a middleware of ``f(state, runtime)``: after each call of the model."
)
after_agent = _Maker("after_agent", "Make a middleware of ``f(state, runtime)``: run once, last.")
wrap_model_call = _Maker(
    "wrap_model_call", "Make a middleware of ``f(request, handler)``: around calls of the model."
)
wrap_tool_call = _Maker(
    "wrap_tool_call", "Make a middleware of ``f(request, handler)``: around calls of tools."
)


def dynamic_prompt(function: Callable[[ModelRequest], Any]) -> AgentMiddleware:
    """Make a middleware of a function that returns the system prompt for each request.

    Args:
        function: ``f(request)``, sync or async; returns a text or a ``SystemMessage``.

    Raises:
        Misuse: It is no function.
    """

    def prompted(request: ModelRequest, prompt: object) -> ModelRequest:
        key = "system_message" if isinstance(prompt, SystemMessage) else "system_prompt"
        return request.override(**{key: prompt})

    def sync(request: ModelRequest, handler: ModelHandler) -> ModelCallResult:
        return handler(prompted(request, function(request)))

    async def anew(request: ModelRequest, handler: AsyncModelHandler) -> ModelCallResult:
        prompt = function(request)
        return await handler(
            prompted(request, await prompt if inspect.isawaitable(prompt) else prompt)
        )

    if inspect.iscoroutinefunction(function):
        return _made({"wrap_model_call": anew}, function, None, None, None)
    hooks: dict[str, Hook] = {"wrap_model_call": sync, "awrap_model_call": anew}
    return _made(hooks, function, None, None, None)


def hook_config(*, can_jump_to: Sequence[JumpTo] | None = None) -> Callable[[F], F]:
    """Declare where a hook may jump: a decorator for a hook, in a class or by itself.

    Args:
        can_jump_to: ``"model"``, ``"tools"``, ``"end"``; None for anywhere.

    Returns:
        The decorator, which returns the hook.

    Raises:
        Misuse: There is no such place.
    """
    places = None if can_jump_to is None else check_jumps(can_jump_to)

    def mark(hook: F) -> F:
        hook.__can_jump_to__ = places  # type: ignore[attr-defined]
        return hook

    return mark


def wrapped_calls(sync: Hook | None, asynchronous: Hook | None) -> list[AgentMiddleware]:
    """Return middleware of functions around tool calls, none where there are none."""
    given = {"wrap_tool_call": sync, "awrap_tool_call": asynchronous}
    hooks = {hook: function for hook, function in given.items() if function is not None}
    named = sync or asynchronous
    return [] if named is None else [_made(hooks, named, None, None, None)]


def _made(
    hooks: dict[str, Hook],
    function: Hook,
    state_schema: type | None,
    tools: Sequence[object] | None,
    name: str | None,
) -> AgentMiddleware:
    """Return an instance of a class of its own, whose methods are the functions."""
    if isinstance(function, type) or not hasattr(function, "__call__"):  # noqa: B004
        raise Misuse(f"A {type(function).__name__} cannot be a hook.", hint="Decorate a function.")
    given = {_twin(hook, one): _method(one) for hook, one in hooks.items()}
    body: dict[str, Any] = {**given, "__doc__": function.__doc__}
    if state_schema is not None:
        body["state_schema"] = state_schema
    if tools is not None:
        body["tools"] = list(tools)
    kind = type(str(name or getattr(function, "__name__", "hook")), (AgentMiddleware,), body)
    made: AgentMiddleware = kind()
    return made


def _twin(hook: str, function: Hook) -> str:
    """Return the hook's name, that of its async twin for an async function."""
    return _ASYNC.get(hook, hook) if inspect.iscoroutinefunction(function) else hook


_ASYNC = {
    hook: f"a{hook}"
    for hook in (
        "before_agent",
        "before_model",
        "after_model",
        "after_agent",
        "wrap_model_call",
        "wrap_tool_call",
    )
}


def _method(function: Hook) -> Hook:
    def hook(self: AgentMiddleware, *args: Any) -> Any:  # noqa: ARG001 - a method
        return function(*args)

    async def ahook(self: AgentMiddleware, *args: Any) -> Any:  # noqa: ARG001 - a method
        return await function(*args)

    made: Hook = ahook if inspect.iscoroutinefunction(function) else hook
    return hook_config(can_jump_to=getattr(function, "__can_jump_to__", None))(made)
