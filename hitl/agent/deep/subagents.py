"""Sub-agents: agents that an agent sends out with the tool ``task``.

A sub-agent runs inside the task of its call: it is saved with the thread, pauses with it, and
goes on where it stopped. Its conversation is its own; what it wrote to files comes back with its
last words. Several run side by side, and each one's questions show at the top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NotRequired, Protocol, TypedDict, cast

from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.deep.path_rules import FilesystemPermission
from hitl.agent.loop import create_agent
from hitl.agent.messages import AIMessage, BaseMessage, HumanMessage
from hitl.agent.middleware import AgentMiddleware
from hitl.agent.policing import PolicySource
from hitl.agent.tool import Tool, ToolRuntime, tool, tool_message
from hitl.agent.turns import messages_of
from hitl.engine import CompiledStateGraph, running_task
from hitl.errors import Misuse
from hitl.ledger import near
from hitl.policy import InterruptOnConfig
from hitl.values import Command

__all__ = ["CompiledSubAgent", "SubAgent", "SubAgentMiddleware", "checked_spec", "create_sub_agent"]


class Runnable(Protocol):
    """What a compiled sub-agent runs: takes ``{"messages": [...]}``, gives it back longer."""

    def invoke(self, input: Any) -> Any:
        """Run it."""
        ...

    async def ainvoke(self, input: Any) -> Any:
        """Run it on an event loop."""
        ...


class SubAgent(TypedDict):
    """A sub-agent, declared.

    Attributes:
        name: What the model calls it.
        description: What the model reads about it.
        system_prompt: What stands before its conversation.
        tools: Its tools; the parent's where they are not given.
        model: Its model; the parent's where it is not given.
        middleware: Its own middleware.
        interrupt_on: In place of the parent's whole map.
        permissions: In place of all of the parent's; ``[]`` for none.
        response_format: The form of its answer, see ``create_agent``; ``task`` gives it as JSON.
    """

    name: str
    description: str
    system_prompt: str
    tools: NotRequired[Sequence[object]]
    model: NotRequired[object]
    middleware: NotRequired[Sequence[AgentMiddleware]]
    interrupt_on: NotRequired[Mapping[str, bool | InterruptOnConfig]]
    permissions: NotRequired[Sequence[FilesystemPermission]]
    response_format: NotRequired[object]


class CompiledSubAgent(TypedDict):
    """A sub-agent that is a graph of your own; it inherits nothing.

    Attributes:
        name: What the model calls it.
        description: What the model reads about it.
        runnable: The graph.
    """

    name: str
    description: str
    runnable: Runnable


_DECLARED = frozenset(SubAgent.__annotations__)
_COMPILED = frozenset(CompiledSubAgent.__annotations__)


def checked_spec(spec: object) -> SubAgent | CompiledSubAgent:
    """Return a sub-agent's declaration.

    Raises:
        Misuse: Something in it would have no effect, or is missing.
    """
    if not isinstance(spec, Mapping):
        raise Misuse(
            f"subagents holds a {type(spec).__name__}.",
            hint='Give dicts: {"name": ..., "description": ..., "system_prompt": ...}.',
        )
    known = _COMPILED if "runnable" in spec else _DECLARED
    name = spec.get("name")
    for key in spec:
        if key not in known:
            raise Misuse(
                f"The sub-agent {name!r} has the key {key!r}, which is not known."
                + near(str(key), known),
                hint=f"Known: {', '.join(sorted(known))}.",
            )
    texts = (
        ("name", "description") if "runnable" in spec else ("name", "description", "system_prompt")
    )
    for key in texts:
        if not isinstance(spec.get(key), str) or not spec[key]:
            raise Misuse(f"The sub-agent {name!r} has no {key}.", hint=f"Give it a {key}: a text.")
    if "runnable" in spec:
        _check_runnable(name, spec["runnable"])
    return cast("SubAgent | CompiledSubAgent", spec)


def _check_runnable(name: object, runnable: object) -> None:
    if not (hasattr(runnable, "invoke") and hasattr(runnable, "ainvoke")):
        raise Misuse(
            f"The runnable of the sub-agent {name!r} is a {type(runnable).__name__}.",
            hint="Give a compiled graph, such as create_agent returns.",
        )
    if isinstance(runnable, CompiledStateGraph) and runnable.checkpointer is not None:
        raise Misuse(
            f"The graph of the sub-agent {name!r} has a checkpointer of its own.",
            hint="Build it without: it is saved with the agent around it, and pauses with it.",
        )


def create_sub_agent(
    spec: SubAgent,
    *,
    state_schema: type | None = None,
    response_format: object = None,
    policy: PolicySource | None = None,
) -> CompiledStateGraph:
    """Return the agent that a declaration describes, exactly as it stands there.

    Args:
        spec: The declaration; with ``model`` and ``tools``, for nothing is inherited here.
        state_schema: Keys of its state beside ``messages``.
        response_format: The form of its answer, where the declaration has none.
        policy: A policy, or the path of a policy file, that is judged beside its map.

    Raises:
        Misuse: Something is missing in it, unknown or wrong.
        BadPolicy: The policy file is none.
    """
    checked_spec(spec)
    for key in ("model", "tools"):
        if key not in spec:
            raise Misuse(
                f"The sub-agent {spec['name']!r} has no {key!r}.",
                hint=f"Give {key!r}: create_sub_agent has no parent to inherit from.",
            )
    if "permissions" in spec:
        raise Misuse(
            f"The sub-agent {spec['name']!r} has permissions, and no file tools.",
            hint="Only create_deep_agent adds file tools; declare it there.",
        )
    middleware = list(spec.get("middleware", ()))
    if spec.get("interrupt_on"):
        middleware.append(HumanInTheLoopMiddleware(spec["interrupt_on"]))
    return create_agent(
        spec["model"],
        spec["tools"],
        system_prompt=spec["system_prompt"],
        middleware=middleware,
        response_format=spec.get("response_format", response_format),
        policy=policy,
        state_schema=state_schema,
        name=spec["name"],
    )


# --- the tool that sends them out -------------------------------------------------------

_PRIVATE = frozenset({"messages", "todos", "structured_response", "hitl_review"})
"""What neither goes in nor comes back: each agent has its own."""

_TASK = """Send out a sub-agent with a task of its own; what it says last is the result.

It knows nothing of this conversation: describe the task completely, and what to report. Call it
several times in one turn for tasks that do not depend on each other; they run side by side.

Sub-agents:
{agents}"""


class SubAgentMiddleware(AgentMiddleware):
    """Gives an agent the tool ``task``.

    Args:
        subagents: The sub-agents, each with its graph.
        shares: The keys of the agent's state that sub-agents see and write.
    """

    def __init__(
        self, subagents: Sequence[CompiledSubAgent], *, shares: Sequence[str] = ()
    ) -> None:
        self._agents: dict[str, Runnable] = {}
        for spec in subagents:
            checked_spec(spec)
            if spec["name"] in self._agents:
                raise Misuse(
                    f"Two sub-agents are named {spec['name']!r}.", hint="Rename one of them."
                )
            self._agents[spec["name"]] = spec["runnable"]
        self._shares = [key for key in shares if key not in _PRIVATE]
        about = "\n".join(f"- {spec['name']}: {spec['description']}" for spec in subagents)
        # It may start again: what it did is kept call by call by the run inside, which goes on.
        made = tool("task", description=_TASK.format(agents=about), effect="idempotent")(self._task)
        asks = any(map(_asks, self._agents.values()))
        self.tools: Sequence[Tool] = (replace(made, afunc=self._atask, asks=asks),)

    def _task(self, description: str, subagent_type: str, runtime: ToolRuntime[Any, Any]) -> object:
        """Run a sub-agent.

        Args:
            description: What it is to do, and what it is to report.
            subagent_type: Its name.
            runtime: What the run gives.
        """
        agent = self._agents.get(subagent_type)
        if agent is None:
            return self._unknown(subagent_type)
        given = self._given(agent, description, runtime)
        try:
            result = agent.invoke(given)
        except Exception as error:
            _let_out(error)
            raise
        return self._told(given, result)

    async def _atask(
        self, description: str, subagent_type: str, runtime: ToolRuntime[Any, Any]
    ) -> object:
        agent = self._agents.get(subagent_type)
        if agent is None:
            return self._unknown(subagent_type)
        given = self._given(agent, description, runtime)
        try:
            result = await agent.ainvoke(given)
        except Exception as error:
            _let_out(error)
            raise
        return self._told(given, result)

    def _unknown(self, name: str) -> str:
        known = ", ".join(map(repr, self._agents))
        return f"There is no sub-agent {name!r}.{near(name, self._agents)} Known: {known}."

    def _given(
        self, agent: Runnable, description: str, runtime: ToolRuntime[Any, Any]
    ) -> dict[str, object]:
        state: Mapping[str, object] = runtime.state or {}
        has: Callable[[str], bool] = lambda _: True  # noqa: E731
        if isinstance(agent, CompiledStateGraph):
            has = agent.shape.channels.__contains__
        given = {key: state[key] for key in self._shares if key in state and has(key)}
        return {**given, "messages": [HumanMessage(description)]}

    def _told(self, given: Mapping[str, object], result: object) -> object:
        """Return the sub-agent's last words, and what it changed of the state it was given."""
        values = result if isinstance(result, Mapping) else {}
        update: dict[str, object] = {}
        for key in self._shares:
            if key in values and values[key] != given.get(key):
                update[key] = _changes(given.get(key), values[key])
        structured = values.get("structured_response")
        said = _last_words(messages_of(values)) if structured is None else structured
        message = tool_message(said, {"name": "task", "args": {}, "id": ""})
        return Command(update={**update, "messages": [message]})


def _let_out(error: Exception) -> None:
    """Let an error end the outer run too, rather than be a result that the model reads.

    The sub-agent has not ended: what it did is kept, and it goes on when the thread is run again.
    """
    task = running_task()
    if task is not None:
        task.error = error


def _changes(before: object, after: object) -> object:
    """Return what is new in a value: of a dict only the keys that changed, gone ones as None.

    The whole dict would undo what sub-agents beside it wrote.
    """
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return after
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return changed | dict.fromkeys(key for key in before if key not in after)


def _last_words(messages: Sequence[BaseMessage]) -> str:
    for message in reversed(messages):
        if isinstance(message, AIMessage) and message.text.strip():
            return message.text
    return "(The sub-agent ended without a word.)"


def _asks(agent: Runnable) -> bool:
    nodes = agent.nodes.values() if isinstance(agent, CompiledStateGraph) else ()
    return any(node.approves for node in nodes)
