"""``Gate``: reviews and runs the tool calls of somebody's own loop, without our agent.

The loop proposes calls, gets back what waits, and asks again later; somewhere else, minutes or
weeks later, someone decides. What was approved runs here, once, whatever crashed in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from hitl.agent.approval import HumanInTheLoopMiddleware
from hitl.agent.loop import bind_gates, joined_state
from hitl.agent.messages import AIMessage, ToolMessage
from hitl.agent.middleware import AgentState
from hitl.agent.policing import PolicySource
from hitl.agent.repair import repair
from hitl.agent.review import copied, mark
from hitl.agent.tool import as_tool, check_names
from hitl.agent.tools_node import TOOLS, ToolsNode, sends
from hitl.agent.turns import answers_of, last_turn, messages_of
from hitl.agent.wiring import hook_node
from hitl.agent.wording import EDITED
from hitl.checkpoint import Checkpointer, check_store
from hitl.engine import CompiledStateGraph, StateGraph
from hitl.errors import EmptyInputError, Misuse
from hitl.inbox import Inbox
from hitl.ledger import check_reviewer
from hitl.policy import DESCRIPTION_PREFIX, InterruptOnConfig
from hitl.values import END, START, Config, Item, ToolCall

__all__ = ["Gate", "GateResult"]

T = TypeVar("T")

_REVIEW = "review"


@dataclass(frozen=True, slots=True)
class GateResult:
    """Where the calls of a turn stand.

    Attributes:
        done: Whether every call has its result.
        results: One per call, in the order of the calls, once all are done: ``{"tool_call_id",
            "name", "content", "status"}``; ``status`` is ``"error"`` for a call that was
            rejected or failed.
        pending: What waits for a human, in the order of the calls.
    """

    done: bool
    results: tuple[dict[str, Any], ...] = ()
    pending: tuple[Item, ...] = ()


class Gate:
    """Stands between a model's tool calls and the tools.

    Args:
        tools: Functions, or what ``@tool`` made of them.
        interrupt_on: Which calls wait, see ``HumanInTheLoopMiddleware``.
        policy: A policy, or the path of a policy file, that is judged beside it.
        store: Where calls and decisions are kept.
        description_prefix: First line of descriptions that are not given.
        interrupt_mode: ``"batched"``: nothing of a turn runs before all of it is decided;
            ``"per_call"``: free calls run at once, each approved one when it is approved.
        edit_notice: Put before the result of an edited call.
        max_asks: How often exactly the same call is asked about on a thread, once it is
            rejected each time; None for no bound.

    Raises:
        Misuse: A tool or the map is not what it should be; or there is neither map nor policy.
        BadPolicy: The policy file is none; everything that is wrong with it is listed.
    """

    def __init__(
        self,
        tools: Sequence[object],
        *,
        interrupt_on: Mapping[str, bool | InterruptOnConfig] | None = None,
        policy: PolicySource | None = None,
        store: Checkpointer,
        description_prefix: str = DESCRIPTION_PREFIX,
        interrupt_mode: Literal["batched", "per_call"] = "batched",
        edit_notice: str | None = EDITED,
        max_asks: int | None = None,
    ) -> None:
        check_store(store, "store")
        if interrupt_on is None and policy is None:
            raise Misuse(
                "A gate without interrupt_on and policy would stop nothing.",
                hint='Give one: interrupt_on={"pay": True}, or policy="policy.yaml".',
            )
        known = check_names([as_tool(tool) for tool in tools])
        approval = HumanInTheLoopMiddleware(
            {} if interrupt_on is None else interrupt_on,
            policy=policy,
            description_prefix=description_prefix,
            interrupt_mode=interrupt_mode,
            edit_notice=edit_notice,
            max_asks=max_asks,
        )
        _, gates = bind_gates([approval], known)
        self.store = store
        self.inbox = Inbox(store)
        self.graph = _graph(gates[0], ToolsNode(known, gates, []), store)

    def review(
        self,
        thread: str,
        calls: Sequence[object],
        *,
        turn: str | None = None,
        requester: str | None = None,
        context: object = None,
    ) -> GateResult:
        """Propose the calls of one model turn; run them, or say what waits.

        The very calls that still wait or are decided, proposed again (by a loop that was
        started anew, say), are not asked about twice: the result is that of ``resume``. Other
        calls close what waits as superseded, and what was decided and has not run as withdrawn.

        Args:
            thread: Names the conversation.
            calls: ``{"name", "args", "id"}`` each, or the form of the OpenAI chat protocol.
            turn: The provider's id of the message that holds the calls. Proposed again under
                it, calls that are done give the results they gave, and do not run again.
            requester: On whose behalf the agent acts; an opaque id that your program vouches
                for. Policies can keep them from approving their own calls.
            context: Given to tools as ``runtime.context``.

        Raises:
            Misuse: Something is no tool call, or ``turn`` was the id of other calls.
            HitlError: See ``CompiledStateGraph.invoke``.
        """
        message = _turn(calls, turn)
        given = None if self._known(thread, message) else {"messages": [message]}
        output = self.graph.invoke(given, _on(thread, requester), context=context)
        return self._result(thread, output)

    async def areview(
        self,
        thread: str,
        calls: Sequence[object],
        *,
        turn: str | None = None,
        requester: str | None = None,
        context: object = None,
    ) -> GateResult:
        """Propose the calls of one model turn on an event loop; see ``review``.

        Raises:
            Misuse: Something is no tool call, or ``turn`` was the id of other calls.
            HitlError: See ``CompiledStateGraph.invoke``.
        """
        message = _turn(calls, turn)
        given = None
        if not await _in_thread(self._known, thread, message):
            given = {"messages": [message]}
        output = await self.graph.ainvoke(given, _on(thread, requester), context=context)
        return await _in_thread(self._result, thread, output)

    def _known(self, thread: str, turn: AIMessage) -> bool:
        """Return whether these are the calls on which the thread stands, or stood last.

        Raises:
            Misuse: The id of this turn was that of other calls.
        """
        standing = self.graph.get_state(_on(thread))
        messages = messages_of(standing.values)
        place = last_turn(messages)
        last = None if place is None else messages[place]
        same = isinstance(last, AIMessage) and _marks(last) == _marks(turn)
        if turn.id is None:
            return same and bool(standing.next)
        if not any(message.id == turn.id for message in messages):
            return False
        if last is None or last.id != turn.id or not same:
            raise Misuse(
                f"The turn {turn.id!r} of thread {thread!r} had other calls, or was not the last.",
                hint="Give each message of the model an id of its own, and propose it as it is.",
                thread=thread,
                turn=turn.id,
            )
        return True

    def decide(self, item: str, decision: object, *, by: str | None = None) -> Item:
        """Decide one item, from any process; see ``Inbox.decide``.

        Raises:
            HitlError: See ``Inbox.decide``.
        """
        return self.inbox.decide(item, decision, by=by)

    async def adecide(self, item: str, decision: object, *, by: str | None = None) -> Item:
        """Decide one item without blocking the event loop; see ``Inbox.decide``.

        Raises:
            HitlError: See ``Inbox.decide``.
        """
        return await _in_thread(lambda: self.inbox.decide(item, decision, by=by))

    def resume(
        self, thread: str, *, requester: str | None = None, context: object = None
    ) -> GateResult:
        """Run what has been decided since, and say where the calls stand.

        Args:
            thread: Names the conversation.
            requester: As ``review`` was given it, for calls that are asked about only now.
            context: Given to tools as ``runtime.context``.

        Raises:
            Misuse: Nothing was ever proposed on this thread.
            HitlError: See ``CompiledStateGraph.invoke``.
        """
        try:
            output = self.graph.invoke(None, _on(thread, requester), context=context)
        except EmptyInputError as error:
            raise _unknown(thread) from error
        return self._result(thread, output)

    async def aresume(
        self, thread: str, *, requester: str | None = None, context: object = None
    ) -> GateResult:
        """Run what has been decided since, on an event loop; see ``resume``.

        Raises:
            Misuse: Nothing was ever proposed on this thread.
            HitlError: See ``CompiledStateGraph.invoke``.
        """
        try:
            output = await self.graph.ainvoke(None, _on(thread, requester), context=context)
        except EmptyInputError as error:
            raise _unknown(thread) from error
        return await _in_thread(self._result, thread, output)

    def _pending(self, thread: str) -> tuple[Item, ...]:
        """Return what waits, in the order of the calls: items of one turn have one time."""
        found = self.inbox.pending(thread=thread, limit=10_000)
        return tuple(sorted(found, key=lambda item: (item.asked_at, item.rules.get("call", 0))))

    def _result(self, thread: str, output: Mapping[str, Any]) -> GateResult:
        if output.interrupts:  # type: ignore[attr-defined]
            return GateResult(False, (), self._pending(thread))
        messages = messages_of(output)
        place = last_turn(messages)
        if place is None:
            return GateResult(True)
        turn = messages[place]
        assert isinstance(turn, AIMessage)
        answers = answers_of(messages, place)
        results = [
            _result(call, answer)
            for call, answer in zip(turn.tool_calls, answers, strict=True)
            if answer is not None
        ]
        whole = len(results) == len(answers)
        return GateResult(whole, tuple(results) if whole else ())


def _result(call: ToolCall, answer: ToolMessage) -> dict[str, Any]:
    return {
        "tool_call_id": call.get("id") or "",
        "name": answer.name or call["name"],
        "content": answer.content,
        "status": answer.status,
    }


def _graph(
    approval: HumanInTheLoopMiddleware, tools: ToolsNode, store: Checkpointer
) -> CompiledStateGraph:
    graph = StateGraph(joined_state(AgentState, []))

    def following(messages: Sequence[Any]) -> Any:
        place = last_turn(messages)
        return END if place is None else sends(messages, place) or END

    node, anode = hook_node(approval, "after_model", {}, following)
    graph.add_node(_REVIEW, node, async_action=anode, approves=True)
    graph.add_node(TOOLS, tools, async_action=tools.acall, approves=True)
    graph.add_edge(START, _REVIEW)
    graph.add_edge(TOOLS, END)
    return graph.compile(store, name="gate", prepare=repair)


def _marks(turn: AIMessage) -> list[tuple[str, str]]:
    """Return what stands for the calls of a turn, in which 1 and True differ."""
    return [(call.get("id") or "", mark(call)) for call in turn.tool_calls]


def _turn(calls: object, id: object) -> AIMessage:
    """Return calls as the message of a model that proposed them; each has an id.

    Raises:
        Misuse: Something is no tool call, or the message's id is no text.
    """
    from hitl.agent.messages import to_message

    if id is not None and not (isinstance(id, str) and id):
        raise Misuse(f"turn is {id!r}.", hint="Give the id of the model's message, a text.")
    if isinstance(calls, Mapping) or not isinstance(calls, Sequence) or not calls:
        raise Misuse(
            "review() wants a list of tool calls.",
            hint='Example: [{"name": "pay", "args": {"amount": 5}, "id": "1"}].',
        )
    turn = to_message({"role": "assistant", "content": "", "tool_calls": list(calls)})
    if not isinstance(turn, AIMessage) or turn.invalid_tool_calls:
        raise Misuse(
            "One of the calls cannot be read: its arguments are no JSON object.",
            calls=getattr(turn, "invalid_tool_calls", None),
        )
    own = [copied(call) for call in turn.tool_calls]  # the caller keeps theirs, and may change it
    for index, call in enumerate(own):
        if not call.get("id"):
            own[index] = {**call, "id": f"call_{index}"}
    return replace(turn, id=id, tool_calls=own)


def _unknown(thread: str) -> Misuse:
    return Misuse(
        f"Nothing was proposed on thread {thread!r}.",
        hint="Check its name, or propose calls with review().",
        thread=thread,
    )


def _on(thread: str, requester: str | None = None) -> Config:
    """Return the config of a run on a thread.

    Raises:
        Misuse: The requester is no id.
    """
    named: dict[str, object] = {"thread_id": thread}
    if requester is not None:
        named["requester"] = check_reviewer(requester, "requester")
    return {"configurable": named}


async def _in_thread(fn: Callable[..., T], *args: object) -> T:
    import asyncio

    return await asyncio.to_thread(fn, *args)
