"""Tools: functions that a model may call.

Owns what a tool is, how it is made of a function, and how it is run once somebody else has
decided that it may. Knows nothing of approval, of graphs or of stores.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast, overload

from hitl.agent.arguments import (
    ArgsSchema,
    Arguments,
    ToolInvocationError,
    read_arguments,
    split_docstring,
)
from hitl.agent.injection import (
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
    ToolRuntime,
)
from hitl.agent.model_port import ToolSpec
from hitl.agent.own_loop import run_in_own_loop
from hitl.agent.probing import Probe
from hitl.agent.tool_names import is_name, plain_name
from hitl.agent.tool_result import Happened, ToolException, tool_message
from hitl.errors import Misuse
from hitl.values import EFFECTS, Effect, Json, ToolCall

__all__ = [
    "BaseTool",
    "Happened",
    "InjectedState",
    "InjectedStore",
    "InjectedToolArg",
    "InjectedToolCallId",
    "Tool",
    "ToolException",
    "ToolInvocationError",
    "ToolRuntime",
    "as_tool",
    "check_names",
    "tool",
    "tool_message",
]

ToolFunction = Callable[..., object]
AnyRuntime = ToolRuntime[Any, Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tool:
    """A function that a model may call. Made by ``tool`` or ``as_tool``.

    Attributes:
        name: What the model calls it.
        description: What the model reads about it.
        func: The function, sync or async.
        arguments: The function's signature, read.
        effect: ``pure``, ``idempotent`` or ``effect``: whether a call whose result is not known
            may start again by itself.
        return_direct: Whether its result ends the agent's turn.
        probe: Tells of an idempotency key whether its call happened, see ``tool``.
        afunc: Its async form, for a tool that has both; ``func`` is sync then.
        asks: Whether its body is known to wait for humans, so that a checkpointer must be there.
        version: Of what it does; a remembered answer counts for one version.
    """

    name: str
    description: str
    func: ToolFunction
    arguments: Arguments
    effect: Effect = "effect"
    return_direct: bool = False
    probe: Probe | None = None
    afunc: ToolFunction | None = None
    asks: bool = False
    version: str = ""

    @property
    def args_schema(self) -> dict[str, Json]:
        """JSON schema of what the model may give."""
        return self.arguments.schema

    @property
    def is_async(self) -> bool:
        """Whether the function behind it is async."""
        return inspect.iscoroutinefunction(self.func) or inspect.iscoroutinefunction(
            getattr(self.func, "__call__", None)  # noqa: B004
        )

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return ToolSpec(self.name, self.description, self.args_schema)

    def validate(self, args: dict[str, Json]) -> dict[str, object]:
        """Return what the model gave as keyword arguments, checked and converted once.

        Args:
            args: The arguments as they stand in the tool call.

        Raises:
            ToolInvocationError: They do not fit; the text is written for the model.
        """
        return self.arguments.check(args)

    def run(
        self,
        arguments: Mapping[str, object],
        runtime: AnyRuntime | None = None,
        injected: Mapping[str, object] | None = None,
    ) -> object:
        """Return what the function returns. An async one runs in an event loop of its own.

        Args:
            arguments: What ``validate`` returned.
            runtime: What the run gives; needed where the function has parameters for it.
            injected: Values of parameters marked ``InjectedToolArg``, by name.

        Raises:
            Misuse: A parameter that the run gives is missing, or the tool is async and this
                thread already runs an event loop.
        """
        result = self.func(**arguments, **self._injected(runtime, injected or {}))
        if inspect.isawaitable(result):
            return run_in_own_loop(f"tool {self.name!r}", result)
        return result

    async def arun(
        self,
        arguments: Mapping[str, object],
        runtime: AnyRuntime | None = None,
        injected: Mapping[str, object] | None = None,
    ) -> object:
        """Return what the function returns. A sync one runs in a thread.

        Args:
            arguments: What ``validate`` returned.
            runtime: What the run gives; needed where the function has parameters for it.
            injected: Values of parameters marked ``InjectedToolArg``, by name.

        Raises:
            Misuse: A parameter that the run gives is missing.
        """
        given = {**arguments, **self._injected(runtime, injected or {})}
        if self.is_async or self.afunc is not None:
            return await cast(Awaitable[object], (self.afunc or self.func)(**given))
        import asyncio

        result = await asyncio.to_thread(self.func, **given)
        return await result if inspect.isawaitable(result) else result

    def invoke(
        self, input: Mapping[str, Json] | ToolCall, runtime: AnyRuntime | None = None
    ) -> object:
        """Check arguments and run the function, by hand: no approval, no record.

        Args:
            input: The arguments, or a tool call (a dict of type ``tool_call``).
            runtime: What the run gives, where the function has parameters for it.

        Returns:
            What the function returns; for a tool call, a ``ToolMessage`` with it.

        Raises:
            ToolInvocationError: The arguments do not fit.
            Misuse: See ``run``.
        """
        args, call, runtime = _opened(input, runtime)
        result = self.run(self.validate(args), runtime)
        return result if call is None else tool_message(result, call)

    async def ainvoke(
        self, input: Mapping[str, Json] | ToolCall, runtime: AnyRuntime | None = None
    ) -> object:
        """Do what ``invoke`` does, without blocking the event loop.

        Args:
            input: The arguments, or a tool call (a dict of type ``tool_call``).
            runtime: What the run gives, where the function has parameters for it.

        Returns:
            What the function returns; for a tool call, a ``ToolMessage`` with it.

        Raises:
            ToolInvocationError: The arguments do not fit.
            Misuse: See ``arun``.
        """
        args, call, runtime = _opened(input, runtime)
        result = await self.arun(self.validate(args), runtime)
        return result if call is None else tool_message(result, call)

    def _injected(
        self, runtime: AnyRuntime | None, injected: Mapping[str, object]
    ) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, take in self.arguments.injected.items():
            if key in injected:
                found[key] = injected[key]
            elif take is not None and runtime is not None:
                found[key] = take(runtime)
            elif key not in self.arguments.optional:
                raise Misuse(
                    f"The tool {self.name!r} needs {key!r}, which only the run can give.",
                    hint=f"Give runtime=ToolRuntime(...), or injected={{{key!r}: ...}}.",
                )
        return found

    def __repr__(self) -> str:
        return f"<tool {self.name}({', '.join(_properties(self.args_schema))})>"


BaseTool = Tool


def _properties(schema: Mapping[str, Json]) -> dict[str, Json]:
    return cast(dict[str, Json], schema.get("properties", {}))


def _opened(
    given: Mapping[str, Json] | ToolCall, runtime: AnyRuntime | None
) -> tuple[dict[str, Json], ToolCall | None, AnyRuntime | None]:
    """Return arguments, the call if it is one, and a runtime that knows the call."""
    if given.get("type") != "tool_call" or "args" not in given:
        return cast(dict[str, Json], given), None, runtime
    call = cast(ToolCall, given)
    if runtime is None:
        runtime = ToolRuntime(tool_call_id=call.get("id"))
    elif runtime.tool_call_id is None:
        runtime = replace(runtime, tool_call_id=call.get("id"))
    return call["args"], call, runtime


# --- making tools -----------------------------------------------------------------------


@overload
def tool(
    name_or_function: ToolFunction,
    /,
    *,
    description: str | None = None,
    effect: Effect = "effect",
    args_schema: ArgsSchema = None,
    return_direct: bool = False,
    probe: Probe | None = None,
    version: str = "",
) -> Tool: ...


@overload
def tool(
    name_or_function: str | None = None,
    /,
    *,
    description: str | None = None,
    effect: Effect = "effect",
    args_schema: ArgsSchema = None,
    return_direct: bool = False,
    probe: Probe | None = None,
    version: str = "",
) -> Callable[[ToolFunction], Tool]: ...


def tool(
    name_or_function: str | ToolFunction | None = None,
    /,
    *,
    description: str | None = None,
    effect: Effect = "effect",
    args_schema: ArgsSchema = None,
    return_direct: bool = False,
    probe: Probe | None = None,
    version: str = "",
) -> Tool | Callable[[ToolFunction], Tool]:
    """Make a tool of a function: ``@tool``, ``@tool("name")`` or ``@tool(description=...)``.

    Args:
        name_or_function: The function, or the tool's name where it is not the function's.
        description: What the model reads; the docstring where it is not given.
        effect: ``pure`` changes nothing, ``idempotent`` may run again under the same key,
            ``effect`` must never start twice by itself.
        args_schema: A pydantic model or a JSON schema in place of the signature's own.
        return_direct: Whether its result ends the agent's turn.
        probe: Called with the idempotency key of a call that started and left no result, before
            a human is asked about it. ``Happened(result)``: it took effect, this is the result;
            ``False``: it did not, run it; anything else: it does not know. May be async.
        version: Of what the tool does. Answers that were remembered for another version are void.

    Returns:
        The tool, or a decorator that makes it.

    Raises:
        Misuse: Name, description, effect or signature cannot be used.
    """
    name = name_or_function if isinstance(name_or_function, str) else None

    def make(function: ToolFunction) -> Tool:
        made = _made(function, name, description, effect, args_schema, return_direct, probe)
        return replace(made, version=version)

    if name_or_function is None or isinstance(name_or_function, str):
        return make
    return make(name_or_function)


def as_tool(value: object) -> Tool:
    """Return a tool for a tool or a plain function.

    Args:
        value: A ``Tool``, or a function with a docstring.

    Raises:
        Misuse: It is neither, or the function cannot be used as a tool.
    """
    if isinstance(value, Tool):
        return value
    if callable(value) and not isinstance(value, type):
        return tool(value)
    raise Misuse(
        f"A {type(value).__name__} is not a tool.", hint="Give a function, or one made by @tool."
    )


def check_names(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Return tools by name, once it is sure that nobody can take one for another.

    Args:
        tools: The tools of one agent.

    Raises:
        Misuse: Two names are equal, or would be but for case, Unicode form, or letters of
            other scripts that look the same.
    """
    by_name: dict[str, Tool] = {}
    seen: dict[str, str] = {}
    for each in tools:
        plain = plain_name(each.name)
        if plain in seen:
            raise Misuse(
                f"Two tools have names that are too alike: {seen[plain]!r} and {each.name!r}.",
                hint='Rename one of them with @tool("other_name").',
            )
        seen[plain] = each.name
        by_name[each.name] = each
    return by_name


def _made(
    function: ToolFunction,
    name: str | None,
    description: str | None,
    effect: Effect,
    args_schema: ArgsSchema,
    return_direct: bool,
    probe: Probe | None,
) -> Tool:
    if not callable(function):
        raise Misuse(f"A {type(function).__name__} cannot be a tool.", hint="Decorate a function.")
    name = name if name is not None else getattr(function, "__name__", "")
    if not is_name(name):
        raise Misuse(
            f"A tool cannot be named {name!r}.",
            hint='Use letters, digits, "_", "-", "." and give it as @tool("name").',
        )
    if effect not in EFFECTS:
        raise Misuse(
            f"The effect of the tool {name!r} is {effect!r}.", hint=f"Use one of {EFFECTS}."
        )
    if probe is not None and (effect != "effect" or not callable(probe)):
        raise Misuse(
            f"The tool {name!r} cannot have the probe {probe!r}.",
            hint='Give a function of the key, to a tool with effect="effect": others run again.',
        )
    text, about = split_docstring(inspect.getdoc(function) or "")
    text = _description(name, description, text, args_schema)
    return Tool(
        name,
        text,
        function,
        read_arguments(name, function, about, args_schema),
        effect,
        return_direct,
        probe,
    )


def _description(name: str, given: str | None, docstring: str, args_schema: ArgsSchema) -> str:
    own = (args_schema.__doc__ or "") if isinstance(args_schema, type) else ""
    text = (given or docstring or inspect.cleandoc(own)).strip()
    if not text:
        raise Misuse(
            f"The tool {name!r} has no description, so that no model can know when to call it.",
            hint="Write a docstring, or give description=.",
        )
    return text
