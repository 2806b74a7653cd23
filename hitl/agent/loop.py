"""``create_agent``: the model, its tools and the middleware around them, as one graph.

    START -> before_agent ... -> before_model ... -> model -> after_model ... -> tools -+
                                      ^                                                 |
                                      +-------------------------------------------------+

Hooks ``before_...`` run in the order of the list, hooks ``after_...`` in reverse. Each hook is
a node of its own, so that a pause in it is saved like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, get_type_hints

from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.messages import AIMessage, BaseMessage, add_messages
from hitl.agent.middleware import AgentMiddleware, AgentState, overrides
from hitl.agent.model import as_model
from hitl.agent.model_node import MODEL, ModelNode
from hitl.agent.policing import PolicySource, as_policy
from hitl.agent.repair import repair
from hitl.agent.review import ReviewState
from hitl.agent.tool import Tool, as_tool, check_names
from hitl.agent.tools_node import TOOLS, Goto, ToolsNode, sends
from hitl.agent.turns import last_turn, messages_of
from hitl.checkpoint import Checkpointer
from hitl.engine import CompiledStateGraph, Runtime, StateGraph
from hitl.errors import Misuse
from hitl.ledger import near
from hitl.values import END, START, Command

__all__ = ["bind_gates", "create_agent", "hook_node", "joined_state"]

Route = Callable[[Sequence[Any]], Goto]


def create_agent(
    model: object,
    tools: Sequence[object] | None = None,
    *,
    system_prompt: str | None = None,
    middleware: Sequence[AgentMiddleware] = (),
    policy: PolicySource | None = None,
    state_schema: type | None = None,
    context_schema: type | None = None,
    checkpointer: Checkpointer | None = None,
    store: object = None,
    interrupt_before: Sequence[str] | None = None,
    interrupt_after: Sequence[str] | None = None,
    name: str | None = None,
) -> CompiledStateGraph:
    """Return an agent: a graph that asks a model, runs the tools it calls, and asks again.

    Args:
        model: A model, a function of the messages, or a name such as ``"openai:gpt-5.5"``.
        tools: Functions, or what ``@tool`` made of them.
        system_prompt: What stands before the conversation.
        middleware: What is hung around the model and the tools, the first one outermost.
        policy: A policy, or the path of a policy file. It is judged by the first approval
            middleware, beside its map; where there is none, one is put last.
        state_schema: Keys of the state beside ``messages``; a subclass of ``AgentState``.
        context_schema: Not looked at; for your own documentation.
        checkpointer: Where threads are kept; needed where something waits for a human.
        store: Anything; passed through to tools and middleware.
        interrupt_before: Nodes before which every run stops.
        interrupt_after: Nodes after which every run stops.
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
    state = joined_state(state_schema or AgentState, [one.state_schema for one in middleware])
    model_node = ModelNode(as_model(model), list(known.values()), system_prompt, middleware)
    graph = StateGraph(state, context_schema)
    _Wiring(graph, list(middleware)).wire(model_node, ToolsNode(known, gates, middleware))
    return graph.compile(
        checkpointer,
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        name=name or "agent",
        prepare=repair,
    )


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


def hook_node(
    middleware: AgentMiddleware, hook: str, jumps: Mapping[str, Route], following: Route
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the node of a hook, sync and async: it writes, and goes where the hook says."""
    sync_hook = getattr(middleware, hook)
    async_hook = getattr(middleware, f"a{hook}")

    def left(state: Any, update: Mapping[str, Any] | None) -> Command:
        writes = dict(update or {})
        jump = writes.pop("jump_to", None)
        route = following
        if jump is not None:
            if jump not in jumps:
                raise Misuse(
                    f"{middleware.name}.{hook} jumps to {jump!r}.{near(jump, jumps)}",
                    hint=f"Known: {', '.join(jumps)}.",
                )
            route = jumps[jump]
        messages = messages_of(state)
        if "messages" in writes:
            messages = add_messages(list(messages), writes["messages"])
        return Command(update=writes or None, goto=route(messages))

    def node(state: Any, runtime: Runtime) -> Command:
        if not overrides(middleware, hook):
            raise Misuse(f"{middleware.name} has only the async hook a{hook}.", hint="Use ainvoke.")
        return left(state, sync_hook(state, runtime))

    async def anode(state: Any, runtime: Runtime) -> Command:
        if overrides(middleware, f"a{hook}"):
            return left(state, await async_hook(state, runtime))
        import asyncio

        update = await asyncio.to_thread(sync_hook, state, runtime)
        return left(state, await update if inspect.isawaitable(update) else update)

    return node, anode


class _Wiring:
    """Puts the nodes of an agent into a graph, and says where each goes next."""

    def __init__(self, graph: StateGraph, middleware: list[AgentMiddleware]) -> None:
        self.graph = graph
        self.before_agent = self._hooks(middleware, "before_agent")
        self.before_model = self._hooks(middleware, "before_model")
        self.after_model = self._hooks(middleware[::-1], "after_model")
        self.after_agent = self._hooks(middleware[::-1], "after_agent")
        self.entry = self._first(self.before_model, MODEL)
        self.exit = self._first(self.after_agent, END)

    @staticmethod
    def _hooks(middleware: list[AgentMiddleware], hook: str) -> list[tuple[str, AgentMiddleware]]:
        return [
            (f"{one.name}.{hook}", one)
            for one in middleware
            if overrides(one, hook) or overrides(one, f"a{hook}")
        ]

    @staticmethod
    def _first(hooks: list[tuple[str, AgentMiddleware]], otherwise: str) -> str:
        return hooks[0][0] if hooks else otherwise

    def wire(self, model: ModelNode, tools: ToolsNode) -> None:
        """Add all nodes and edges."""
        following = self._after_model()

        def ask(state: Any, runtime: Runtime) -> Command:
            return self._told(model(state, runtime), following)

        async def aask(state: Any, runtime: Runtime) -> Command:
            return self._told(await model.acall(state, runtime), following)

        self.graph.add_node(MODEL, ask, async_action=aask, onward=_onward(following))
        tools.after = after = self._after_tools(tools)
        self.graph.add_node(
            TOOLS, tools, async_action=tools.acall, approves=tools.asks, onward=_onward(after)
        )
        self._chain(self.before_agent, "before_agent", lambda _: self.entry)
        self._chain(self.before_model, "before_model", lambda _: MODEL)
        self._chain(self.after_model, "after_model", self._after_turn)
        self._chain(self.after_agent, "after_agent", lambda _: END)
        self.graph.add_edge(START, self._first(self.before_agent, self.entry))

    def _after_model(self) -> Route:
        """Go on after the model: to the hooks that look at its answer, if they have to."""
        if not self.after_model:
            return self._after_turn
        first = self.after_model[0][0]
        gates = all(isinstance(one, HumanInTheLoopMiddleware) for _, one in self.after_model)

        def onward(messages: Sequence[Any]) -> Goto:
            # An answer without calls has nothing to review: a step less, and a commit.
            return first if messages[-1].tool_calls or not gates else self.exit

        return onward

    def _after_tools(self, tools: ToolsNode) -> Route:
        """Go on to the model; or to the end, where all of a turn's tools return directly."""
        direct = {name for name, tool in tools.executor.tools.items() if tool.return_direct}
        if not direct:
            return _to(self.entry)

        def onward(messages: Sequence[Any]) -> str:
            place = last_turn(messages)
            turn = None if place is None else messages[place]
            names = _called(turn) if isinstance(turn, AIMessage) else set()
            return self.exit if names and names <= direct else self.entry

        return onward

    def _told(self, written: list[BaseMessage], following: Route) -> Command:
        return Command(update={"messages": written}, goto=following(written[-1:]))

    def _chain(self, hooks: list[tuple[str, AgentMiddleware]], hook: str, last: Route) -> None:
        jumps: dict[str, Route] = {
            "model": lambda _: self.entry,
            "tools": self._after_turn,
            "end": lambda _: END if hook == "after_agent" else self.exit,
        }
        for place, (name, one) in enumerate(hooks):
            following = last
            if place + 1 < len(hooks):
                following = _to(hooks[place + 1][0])
            node, anode = hook_node(one, hook, jumps, following)
            gated = isinstance(one, HumanInTheLoopMiddleware) and one.asks
            self.graph.add_node(
                name, node, async_action=anode, approves=gated, onward=_onward(following)
            )

    def _after_turn(self, messages: Sequence[Any]) -> Goto:
        """Go on after the model's turn: its open calls, the model again, or the end."""
        place = last_turn(messages)
        if place is None or not messages[place].tool_calls:
            return self.exit
        return sends(messages, place) or self.entry


def _called(turn: AIMessage) -> set[str]:
    return {call["name"] for call in turn.tool_calls}


def _onward(following: Route) -> Callable[[object], Goto]:
    return lambda state: following(messages_of(state))


def _to(name: str) -> Route:
    return lambda _: name
