"""``create_deep_agent``: an agent with files, a todo list and sub-agents, and approvals mounted.

This file owns who inherits what: a declared sub-agent the parent's model, tools, map and
permissions, each replaced as a whole by its own; the general-purpose one all of them; a compiled
one nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_type_hints

from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.deep.backend import Backend, StateBackend
from hitl.agent.deep.file_tools import FileTools
from hitl.agent.deep.path_rules import FilesystemPermission, PathRules
from hitl.agent.deep.permissions import InterruptMap, interrupts_of
from hitl.agent.deep.subagents import (
    CompiledSubAgent,
    SubAgent,
    SubAgentMiddleware,
    checked_spec,
    create_sub_agent,
)
from hitl.agent.deep.todos import TodoListMiddleware
from hitl.agent.loop import create_agent
from hitl.agent.middleware import AgentMiddleware
from hitl.agent.policing import PolicySource, as_policy
from hitl.agent.tool import Tool, as_tool
from hitl.checkpoint import Checkpointer
from hitl.engine import CompiledStateGraph
from hitl.errors import Misuse
from hitl.ledger import near
from hitl.policy import InterruptOnConfig, Policy

__all__ = ["FilesystemMiddleware", "create_deep_agent"]

GENERAL = "general-purpose"

PROMPT = (
    "You work with files through ls, read_file, write_file, edit_file, delete, glob and grep; "
    "paths begin with /. Keep a list with write_todos where the work has several steps."
)
TASK_PROMPT = "Send out sub-agents with task for work that stands on its own."


class FilesystemMiddleware(AgentMiddleware):
    """Gives an agent the file tools over a backend.

    Args:
        backend: Where its files are.
        rules: What it may read and write; what they ask about is for approval middleware.
    """

    def __init__(self, backend: Backend, rules: PathRules) -> None:
        self.tools: Sequence[Tool] = FileTools(backend, rules).tools()
        self.state_schema = backend.state_schema


@dataclass(frozen=True, slots=True)
class _Parent:
    """What sub-agents may inherit."""

    model: object
    tools: Sequence[Tool]
    interrupt_on: Mapping[str, bool | InterruptOnConfig]
    rules: PathRules
    base: Sequence[AgentMiddleware]
    backend: Backend
    state_schema: type | None
    policy: Policy | None


def create_deep_agent(
    model: object,
    tools: Sequence[object] | None = None,
    *,
    system_prompt: str | None = None,
    middleware: Sequence[AgentMiddleware] = (),
    subagents: Sequence[SubAgent | CompiledSubAgent] | None = None,
    permissions: Sequence[FilesystemPermission] | None = None,
    backend: Backend | None = None,
    interrupt_on: Mapping[str, bool | InterruptOnConfig] | None = None,
    policy: PolicySource | None = None,
    response_format: object = None,
    state_schema: type | None = None,
    context_schema: type | None = None,
    checkpointer: Checkpointer | None = None,
    store: object = None,
    debug: bool = False,
    name: str | None = None,
) -> CompiledStateGraph:
    """Return an agent that has file tools, a todo list and sub-agents.

    Args:
        model: A model, a function of the messages, or a name such as ``"openai:gpt-5.5"``.
        tools: Functions, or what ``@tool`` made of them; beside the built-in ones.
        system_prompt: What stands before the conversation.
        middleware: What is hung around the model and the tools, outside the approval.
        subagents: Agents that it can send out with the tool ``task``; one named
            ``general-purpose`` is there by itself.
        permissions: Rules over the paths of the file tools, the first that matches wins.
        backend: Where its files are; ``StateBackend()`` where it is not given.
        interrupt_on: Which tools wait for a human, see ``HumanInTheLoopMiddleware``; over what
            permissions with ``mode="interrupt"`` ask, tool by tool.
        policy: A policy, or the path of a policy file, for the agent and all its declared
            sub-agents: no map of theirs loosens it.
        response_format: The form of a structured answer, see ``create_agent``.
        state_schema: Keys of the state beside the built-in ones, which sub-agents share.
        context_schema: For your own documentation.
        checkpointer: Where threads are kept; needed where something waits for a human.
        store: Anything; passed through to tools and middleware.
        debug: Whether every run prints its updates and values.
        name: The agent's name.

    Returns:
        A graph whose input is ``{"messages": [...]}``, with ``files`` if the state keeps them.

    Raises:
        Misuse: A part is not what it should be, names are alike, or a rule names a tool that
            neither the agent nor a sub-agent has.
        BadPolicy: The policy file is none.
    """
    law = None if policy is None else as_policy(policy)
    files, rules = backend or StateBackend(), PathRules(permissions or ())
    own, asks = [as_tool(each) for each in tools or ()], _as_map(interrupt_on)
    base = _base(files, rules)
    parent = _Parent(_model(model), own, asks, rules, base, files, state_schema, law)
    return create_agent(
        model,
        own,
        system_prompt=_prompt(system_prompt, PROMPT, TASK_PROMPT),
        middleware=_stack(parent, subagents or (), middleware),
        policy=law,
        response_format=response_format,
        state_schema=state_schema,
        context_schema=context_schema,
        checkpointer=checkpointer,
        store=store,
        debug=debug,
        name=name or "deep-agent",
    )


def _stack(
    parent: _Parent,
    subagents: Sequence[SubAgent | CompiledSubAgent],
    middleware: Sequence[AgentMiddleware],
) -> list[AgentMiddleware]:
    """Return the parent's middleware: the built-in one, the given one, and the approval last."""
    built, elsewhere = _subagents(parent, subagents)
    shared = _keys(parent.state_schema) | _keys(parent.backend.state_schema)
    stack = [*parent.base, SubAgentMiddleware(built, shares=sorted(shared)), *middleware]
    known = _names(parent.tools, stack)
    _check_map(parent.interrupt_on, known | elsewhere)
    return stack + _approval(parent.rules, parent.backend, parent.interrupt_on, known)


def _base(backend: Backend, rules: PathRules) -> list[AgentMiddleware]:
    return [TodoListMiddleware(), FilesystemMiddleware(backend, rules)]


def _approval(
    rules: PathRules,
    backend: Backend,
    interrupt_on: Mapping[str, bool | InterruptOnConfig],
    known: Collection[str],
) -> list[AgentMiddleware]:
    """Return the approval middleware, if anything may ask: rules first, the map over them."""
    merged: InterruptMap = interrupts_of(rules, backend)
    # A map also speaks of tools that only sub-agents have, or that only the parent has.
    merged.update({n: entry for n, entry in interrupt_on.items() if n in known or n == "*"})
    return [HumanInTheLoopMiddleware(merged)] if merged else []


def _subagents(
    parent: _Parent, specs: Sequence[SubAgent | CompiledSubAgent]
) -> tuple[list[CompiledSubAgent], set[str]]:
    """Return the sub-agents with their graphs, and the names of the tools that they have."""
    checked = [checked_spec(spec) for spec in specs]
    if GENERAL not in [spec["name"] for spec in checked]:
        general: SubAgent = {
            "name": GENERAL,
            "description": "For any task; has the same tools as you.",
            "system_prompt": "Do the task that you are given, and report what was asked for.",
        }
        checked.insert(0, general)
    built: list[CompiledSubAgent] = []
    elsewhere: set[str] = set()
    for spec in checked:
        if "runnable" in spec:
            built.append(cast(CompiledSubAgent, spec))
            continue
        graph, names = _declared(parent, spec)
        elsewhere |= names
        built.append({"name": spec["name"], "description": spec["description"], "runnable": graph})
    return built, elsewhere


def _declared(parent: _Parent, spec: SubAgent) -> tuple[CompiledStateGraph, set[str]]:
    """Return the agent of a declaration, and the names of its tools."""
    tools = [as_tool(each) for each in spec.get("tools", parent.tools)]
    rules, base = parent.rules, parent.base
    if "permissions" in spec:
        rules = PathRules(spec["permissions"])
        base = _base(parent.backend, rules)
    stack = [*base, *spec.get("middleware", ())]
    known = _names(tools, stack)
    interrupt_on = parent.interrupt_on
    if "interrupt_on" in spec:
        interrupt_on = _as_map(spec["interrupt_on"])
        _check_map(interrupt_on, known, f" of the sub-agent {spec['name']!r}")
    stack += _approval(rules, parent.backend, interrupt_on, known)
    whole: SubAgent = {
        "name": spec["name"],
        "description": spec["description"],
        "system_prompt": _prompt(spec["system_prompt"], PROMPT),
        "model": spec.get("model", parent.model),
        "tools": tools,
        "middleware": stack,
        "response_format": spec.get("response_format"),
    }
    return create_sub_agent(whole, state_schema=parent.state_schema, policy=parent.policy), known


def _names(tools: Sequence[Tool], stack: Sequence[AgentMiddleware]) -> set[str]:
    more = [as_tool(each) for one in stack for each in getattr(one, "tools", ())]
    return {each.name for each in [*tools, *more]}


def _model(given: object) -> object:
    if given is None:
        raise Misuse("create_deep_agent has no model.", hint='Give one, e.g. "openai:gpt-5.5".')
    return given


def _as_map(given: object) -> Mapping[str, bool | InterruptOnConfig]:
    if given is not None and not isinstance(given, Mapping):
        raise Misuse(
            f"interrupt_on is of type {type(given).__name__}.",
            hint="Give a map from tool names to True, False or a config.",
        )
    return given or {}


def _check_map(
    interrupt_on: Mapping[str, bool | InterruptOnConfig],
    known: Collection[str],
    whose: str = "",
) -> None:
    for name in interrupt_on or {}:
        if name not in known and name != "*":
            raise Misuse(
                f"interrupt_on{whose} names the tool {name!r}, which is not there."
                + near(name, known),
                hint=f"Tools: {', '.join(sorted(known))}.",
                tool=name,
            )


def _keys(schema: type | None) -> set[str]:
    hints: dict[str, Any] = {} if schema is None else get_type_hints(schema)
    return set(hints)


def _prompt(*parts: str | None) -> str:
    return "\n\n".join(part for part in parts if part)
