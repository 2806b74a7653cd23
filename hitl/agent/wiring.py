"""The wiring of an agent: which node goes where, hooks in their order, and jumps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.messages import AIMessage, add_messages
from hitl.agent.middleware import AgentMiddleware, jumps_of, overrides
from hitl.agent.model_node import MODEL, Answer, ModelNode
from hitl.agent.tools_node import TOOLS, Goto, ToolsNode, sends
from hitl.agent.turns import ends_run, last_turn, messages_of, shown_to_code
from hitl.engine import Runtime, StateGraph
from hitl.errors import Misuse
from hitl.ledger import near
from hitl.values import END, START, Command

__all__ = ["Wiring", "hook_node"]

Route = Callable[[Sequence[Any]], Goto]

CHECK = "after_tools"
"""Stands behind the tools where a rejection may stop the run: each call is a task of its own."""


def hook_node(
    middleware: AgentMiddleware, hook: str, jumps: Mapping[str, Route], following: Route
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the node of a hook, sync and async: it writes, and goes where the hook says."""
    sync_hook = getattr(middleware, hook)
    async_hook = getattr(middleware, f"a{hook}")
    # Approval middleware only reads; what it gives back are the very messages.
    gate = isinstance(middleware, HumanInTheLoopMiddleware)
    shown: Callable[[Any], Any] = (lambda state: state) if gate else shown_to_code

    def left(state: Any, update: Mapping[str, Any] | None) -> Command:
        writes = dict(update or {})
        jump = writes.pop("jump_to", None)
        route = following
        if jump is not None:
            route = jumps[_allowed(jump, middleware, hook)]
        messages = messages_of(state)
        if "messages" in writes:
            messages = add_messages(list(messages), writes["messages"])
        return Command(update=writes or None, goto=route(messages))

    def node(state: Any, runtime: Runtime) -> Command:
        if not overrides(middleware, hook):
            raise Misuse(f"{middleware.name} has only the async hook a{hook}.", hint="Use ainvoke.")
        return left(state, sync_hook(shown(state), runtime))

    async def anode(state: Any, runtime: Runtime) -> Command:
        if overrides(middleware, f"a{hook}"):
            return left(state, await async_hook(shown(state), runtime))
        import asyncio

        update = await asyncio.to_thread(sync_hook, shown(state), runtime)
        return left(state, await update if inspect.isawaitable(update) else update)

    return node, anode


def _allowed(jump: object, middleware: AgentMiddleware, hook: str) -> str:
    """Return where a hook jumps to, if it may."""
    own = [name for name in (hook, f"a{hook}") if overrides(middleware, name)]
    places = {place for name in own for place in jumps_of(getattr(middleware, name))}
    if not isinstance(jump, str) or jump not in places:
        raise Misuse(
            f"{middleware.name}.{hook} jumps to {jump!r}.{near(jump, places)}",
            hint=f"It may jump to: {', '.join(sorted(places)) or 'nowhere'}.",
        )
    return jump


class Wiring:
    """Puts the nodes of an agent into a graph, and says where each goes next."""

    def __init__(self, graph: StateGraph, middleware: list[AgentMiddleware]) -> None:
        self.graph = graph
        self.stops = any(isinstance(m, HumanInTheLoopMiddleware) and m.stops for m in middleware)
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

        def ask(state: Any, runtime: Runtime) -> list[Command]:
            return _told(model(state, runtime), following)

        async def aask(state: Any, runtime: Runtime) -> list[Command]:
            return _told(await model.acall(state, runtime), following)

        self.graph.add_node(MODEL, ask, async_action=aask, onward=_onward(following))
        tools.after = after = self._after_tools(tools)
        if self.stops:
            self._check_after(after)
            tools.after = after = _to(CHECK)
        self.graph.add_node(
            TOOLS, tools, async_action=tools.acall, approves=tools.asks, onward=_onward(after)
        )
        self._chain(self.before_agent, "before_agent", lambda _: self.entry)
        self._chain(self.before_model, "before_model", lambda _: MODEL)
        self._chain(self.after_model, "after_model", self._after_turn)
        self._chain(self.after_agent, "after_agent", lambda _: END)
        self.graph.add_edge(START, self._first(self.before_agent, self.entry))

    def _check_after(self, following: Route) -> None:
        """Add the node that sees what all calls of a turn came to, and says how to go on."""

        def check(state: Any) -> Command:
            return Command(goto=following(messages_of(state)))

        self.graph.add_node(CHECK, check, onward=_onward(following))

    def _after_model(self) -> Route:
        """Go on after the model: to the hooks that look at its answer, if they have to."""
        if not self.after_model:
            return self._after_turn
        first = self.after_model[0][0]
        gates = all(isinstance(one, HumanInTheLoopMiddleware) for _, one in self.after_model)

        def onward(messages: Sequence[Any]) -> Goto:
            # An answer without calls has nothing to review: a step less, and a commit.
            place = last_turn(messages)
            calls = place is not None and messages[place].tool_calls
            return first if calls or not gates else self._after_turn(messages)

        return onward

    def _after_tools(self, tools: ToolsNode) -> Route:
        """Go on to the model; or to the end, where all of a turn's tools return directly."""
        direct = {name for name, tool in tools.executor.tools.items() if tool.return_direct}
        if not direct:
            # A structured answer beside calls ends the run too: see `ends_run`.
            return self._ended_or

        def onward(messages: Sequence[Any]) -> str:
            place = last_turn(messages)
            turn = None if place is None else messages[place]
            names = _called(turn) if isinstance(turn, AIMessage) else set()
            return self.exit if names and names <= direct else self._ended_or(messages)

        return onward

    def _ended_or(self, messages: Sequence[Any]) -> str:
        """Go on to the model, or to the end where an answer of the turn ends the run."""
        place = last_turn(messages)
        return self.exit if place is not None and ends_run(messages, place) else self.entry

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
            # Calls that nobody can read are told to the model, which then writes them anew.
            broken = place is not None and messages[place].invalid_tool_calls
            return self.entry if broken else self.exit
        return sends(messages, place) or self._ended_or(messages)


def _told(answer: Answer, following: Route) -> list[Command]:
    """Return what the model node writes, and where it goes after the turn that is its answer."""
    place = last_turn(answer.messages)
    turn = answer.messages[place:]
    told = Command(update={"messages": answer.messages}, goto=following(turn))
    return [told, *(Command(update=update) for update in answer.updates)]


def _called(turn: AIMessage) -> set[str]:
    return {call["name"] for call in turn.tool_calls}


def _onward(following: Route) -> Callable[[object], Goto]:
    return lambda state: following(messages_of(state))


def _to(name: str) -> Route:
    return lambda _: name
