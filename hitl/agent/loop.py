"""``create_agent``: the model, its tools and the middleware around them, as one graph.

    START -> before_agent ... -> before_model ... -> model -> after_model ... -> tools -+
                                      ^                                                 |
                                      +-------------------------------------------------+

Hooks ``before_...`` run in the order of the list, hooks ``after_...`` in reverse. Each hook is
a node of its own, so that a pause in it is saved like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict, Union, get_type_hints

from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.messages import SystemMessage
from hitl.agent.middleware import AgentMiddleware, AgentState, OmitFromInput
from hitl.agent.model import as_model
from hitl.agent.model_node import ModelNode
from hitl.agent.model_request import as_system_message
from hitl.agent.policing import PolicySource, as_policy
from hitl.agent.repair import repair
from hitl.agent.review import ReviewState
from hitl.agent.structured import (
    ResponseFormat,
    as_response_format,
    schema_types,
    schemas_of,
)
from hitl.agent.tool import Tool, as_tool, check_names
from hitl.agent.tools_node import ToolsNode
from hitl.agent.wiring import Wiring
from hitl.checkpoint import Checkpointer
from hitl.engine import CompiledStateGraph, StateGraph
from hitl.errors import Misuse
from hitl.ledger import near

__all__ = ["bind_gates", "create_agent", "joined_state"]


def create_agent(
    model: object,
    tools: Sequence[object] | None = None,
    *,
    system_prompt: str | SystemMessage | None = None,
    middleware: Sequence[AgentMiddleware] = (),
    response_format: object = None,
    policy: PolicySource | None = None,
    state_schema: type | None = None,
    context_schema: type | None = None,
    checkpointer: Checkpointer | None = None,
    store: object = None,
    interrupt_before: Sequence[str] | None = None,
    interrupt_after: Sequence[str] | None = None,
    debug: bool = False,
    name: str | None = None,
) -> CompiledStateGraph:
    """Return an agent: a graph that asks a model, runs the tools it calls, and asks again.

    Args:
        model: A model, a function of the messages, or a name such as ``"openai:gpt-5.5"``.
        tools: Functions, or what ``@tool`` made of them.
        system_prompt: What stands before the conversation.
        middleware: What is hung around the model and the tools, the first one outermost.
        response_format: The form of the state's ``structured_response``: a class of fields or a
            JSON schema, or a ``ToolStrategy``, ``ProviderStrategy`` or ``AutoStrategy`` of one.
        policy: A policy, or the path of a policy file. It is judged by the first approval
            middleware, beside its map; where there is none, one is put last.
        state_schema: Keys of the state beside ``messages``; a subclass of ``AgentState``.
        context_schema: For your own documentation; not looked at.
        checkpointer: Where threads are kept; needed where something waits for a human.
        store: Anything; passed through to tools and middleware.
        interrupt_before: Nodes before which every run stops.
        interrupt_after: Nodes after which every run stops.
        debug: Whether every run prints its updates and values.
        name: The agent's name.

    Returns:
        A graph whose input is ``{"messages": [...]}``.

    Raises:
        Misuse: A tool, a middleware or the model is not what it should be; two names are alike;
            or an approval rule names a tool that the agent does not have.
        BadPolicy: The policy file is none; everything that is wrong with it is listed.
    """
    _check_middleware(middleware)
    own = [tool for one in middleware for tool in one.tools]
    known = check_names([as_tool(tool) for tool in [*(tools or ()), *own]])
    middleware, gates = bind_gates(middleware, known, policy)
    wanted = _wanted(response_format, known)
    state = joined_state(
        state_schema or AgentState,
        [*[one.state_schema for one in middleware], _structured_state(wanted)],
    )
    system = as_system_message(system_prompt)
    model_node = ModelNode(as_model(model), [*known.values()], system, middleware, wanted)
    graph = StateGraph(state, context_schema)
    Wiring(graph, list(middleware)).wire(model_node, ToolsNode(known, gates, middleware))
    return graph.compile(
        checkpointer,
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        debug=debug,
        name=name or "agent",
        prepare=repair if wanted is None else _begun_anew,
    )


def _begun_anew(
    values: Mapping[str, object], writes: dict[str, object], lost: frozenset[str]
) -> dict[str, object]:
    """Repair the history, and take away the structured answer to the input before this one."""
    return {**repair(values, writes, lost), "structured_response": None}


def _structured_state(wanted: ResponseFormat | None) -> type | None:
    """Return the state class of a structured answer; it names the types that may be stored."""
    if wanted is None:
        return None
    types = tuple(one if isinstance(one, type) else dict for one in schema_types(wanted))
    hint = Annotated[Union[(*types, None)], OmitFromInput]  # type: ignore[valid-type]
    return TypedDict("Structured", {"structured_response": hint})  # type: ignore[operator,no-any-return]


def _wanted(response_format: object, tools: Mapping[str, Tool]) -> ResponseFormat | None:
    """Return the form of a structured answer, once it is sure that no tool has its name."""
    wanted = as_response_format(response_format)
    for schema in [] if wanted is None else schemas_of(wanted):
        if schema.name in tools:
            raise Misuse(
                f"A schema of response_format and a tool are both named {schema.name!r}.",
                hint="Rename one: a model may answer by calling the schema.",
            )
    return wanted


def _check_middleware(middleware: Sequence[AgentMiddleware]) -> None:
    seen: set[str] = set()
    for one in middleware:
        if not isinstance(one, AgentMiddleware):
            raise Misuse(
                f"middleware holds a {type(one).__name__}, which is no AgentMiddleware.",
                hint="Subclass AgentMiddleware and give instances.",
            )
        if one.name in seen:
            raise Misuse(
                f"Two middlewares are named {one.name!r}.",
                hint="Give one of them another `name`; a thread is resumed by node names.",
            )
        seen.add(one.name)


def bind_gates(
    middleware: Sequence[AgentMiddleware],
    tools: Mapping[str, Tool],
    policy: PolicySource | None = None,
) -> tuple[list[AgentMiddleware], list[HumanInTheLoopMiddleware]]:
    """Return the middleware, and the approval middleware among it, told of tools and policy.

    What is told is a copy: one approval middleware may stand in several agents.

    Args:
        middleware: All middleware.
        tools: The tools by name.
        policy: A policy for the first approval middleware, one more where there is none.

    Raises:
        Misuse: A rule names a tool that is not there: a gate that would never close.
        BadPolicy: The policy file is none.
    """
    given = None if policy is None else as_policy(policy)
    bound = list(middleware)
    if given is not None and not any(isinstance(m, HumanInTheLoopMiddleware) for m in bound):
        bound.append(HumanInTheLoopMiddleware({}))
    gates: list[HumanInTheLoopMiddleware] = []
    for place, one in enumerate(bound):
        if isinstance(one, HumanInTheLoopMiddleware):
            _check_map(one, tools)
            gates.append(one.bound(tools, None if gates else given))
            bound[place] = gates[-1]
    for gate in gates:
        gate.join(gates)
    return bound, gates


def _check_map(gate: HumanInTheLoopMiddleware, tools: Mapping[str, Tool]) -> None:
    for name in gate.map.tools:
        if name not in tools:
            raise Misuse(
                f"interrupt_on names the tool {name!r}, which is not there.{near(name, tools)}",
                hint=f"Tools: {', '.join(sorted(tools)) or 'none'}.",
                tool=name,
            )


def joined_state(first: type, more: Sequence[type | None]) -> type:
    """Return a state class with the keys of several: messages, the review, the rest."""
    keys: dict[str, Any] = {}
    for cls in (AgentState, ReviewState, *[one for one in more if one is not None], first):
        keys.update(get_type_hints(cls, include_extras=True))
    return TypedDict("State", keys)  # type: ignore[operator,no-any-return]
