"""``HumanInTheLoopMiddleware``: reviews the calls of a model's turn, and asks where a rule asks.

In the batched mode the turn's gated calls are asked about together, in one interrupt, before
any call of the turn runs. In the per-call mode each gated call is asked about on its own, by
the executor, and free calls run at once. In both, the executor decides what may run; this
file only puts the question and turns decisions into a review.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from hitl.agent.approval_options import MAX_ASKS, check_options, check_schemas, one_spelling
from hitl.agent.deciding import ask_again, asked_before, denied, edited, rejections
from hitl.agent.messages import AIMessage
from hitl.agent.middleware import AgentMiddleware, Update
from hitl.agent.policing import PolicySource, as_policy, breach, frozen, together, unmet
from hitl.agent.review import Review, ReviewState, copied, mark
from hitl.agent.tool import Tool, ToolInvocationError, ToolRuntime
from hitl.agent.tool_change import schema_hash, tool_change
from hitl.agent.turn_review import TurnReview
from hitl.agent.turns import last_turn, messages_of, showing, unanswered
from hitl.agent.wording import ASKED_ENOUGH, EDITED
from hitl.engine import Pause, Runtime, current_config, running_task
from hitl.inbox import Grants
from hitl.ledger import Ask
from hitl.policy import (
    DESCRIPTION_PREFIX,
    InterruptOn,
    InterruptOnConfig,
    ToolCallRequest,
    Verdict,
    strictest,
)
from hitl.values import Item, Json, ToolCall, fingerprint, plain

if TYPE_CHECKING:
    from hitl.policy import Policy

__all__ = ["HumanInTheLoopMiddleware"]

Mode = Literal["batched", "per_call"]
T = TypeVar("T")


class HumanInTheLoopMiddleware(AgentMiddleware):
    """Lets a human approve, edit, reject or answer tool calls before they run.

    Args:
        interrupt_on: For each tool ``True`` (every call waits, all decisions), ``False`` (never
            waits) or ``{"allowed_decisions": [...], "description"?, "args_schema"?, "when"?,
            "on_reject"?}``.
        policy: A policy, or the path of a policy file, that is judged beside the map; for each
            call the stricter of the two counts.
        description_prefix: First line of descriptions that are not given.
        interrupt_mode: ``"batched"`` asks once per turn, ``"per_call"`` once per call.
        edit_notice: Put before the result of an edited call, with ``{name}`` and ``{args}``;
            None for nothing.
        max_asks: How often exactly the same call is asked about before the user says something
            new, once it is rejected each time; then the model is told, and nobody is asked. None
            for no bound.
        **javascript: ``interruptOn`` and ``descriptionPrefix``, as JavaScript spells them; an
            object of these may also be given in place of the map.

    Raises:
        Misuse: Something in the map is wrong; the message names the tool and the place.
        BadPolicy: The file is no policy; everything that is wrong with it is listed.
    """

    state_schema = ReviewState

    def __init__(
        self,
        interrupt_on: Mapping[str, bool | InterruptOnConfig] | None = None,
        *,
        policy: PolicySource | None = None,
        description_prefix: str = DESCRIPTION_PREFIX,
        interrupt_mode: Mode = "batched",
        edit_notice: str | None = EDITED,
        max_asks: int | None = MAX_ASKS,
        **javascript: Any,
    ) -> None:
        interrupt_on, description_prefix = one_spelling(
            interrupt_on, description_prefix, javascript
        )
        check_options(interrupt_mode, edit_notice, max_asks)
        self.description_prefix = description_prefix
        self.interrupt_mode = interrupt_mode
        self.edit_notice = edit_notice
        self.max_asks = max_asks
        self.map = InterruptOn.compile(interrupt_on, description_prefix=description_prefix)
        self.policy = None if policy is None else as_policy(policy)
        self.interrupt_on = dict(interrupt_on)
        check_schemas(self.map)
        self._tools: Mapping[str, Tool] = {}
        self._gates: Sequence[HumanInTheLoopMiddleware] = (self,)

    def bound(self, tools: Mapping[str, Tool], policy: Policy | None) -> HumanInTheLoopMiddleware:
        """Return a copy for one agent, which knows the agent's tools.

        Args:
            tools: The tools by name.
            policy: A policy that is judged beside this one's own.
        """
        own = copy(self)
        own._tools, own._gates = tools, (own,)
        own.policy = together(self.policy, policy, tools)
        return own

    def join(self, gates: Sequence[HumanInTheLoopMiddleware]) -> None:
        """Learn of all approval middleware of the agent: each judges what an edit makes."""
        self._gates = gates

    @property
    def asks(self) -> bool:
        """Return whether any tool's calls may wait."""
        return self.map.asks or self.policy is not None

    @property
    def stops(self) -> bool:
        """Return whether a rejection may stop the run."""
        return self.map.stops

    def after_model(self, state: Any, runtime: Runtime) -> Update:
        """Review the calls of the last answer; pause where one of them is gated.

        Returns:
            The answer itself, messages for calls that do not run, and the turn's review; only
            the review where nothing is gated; None where the last answer has no open calls or
            each call is asked about on its own.

        Raises:
            OutsideRun: It needs a human and no node is running here.
            NoCheckpointer: It needs a human and the graph has no checkpointer.
        """
        messages = messages_of(state)
        place = last_turn(messages)
        # What was asked about together stays so, whatever the mode is now.
        if place is None or (
            self.interrupt_mode == "per_call" and not asked_before(running_task())
        ):
            return None
        turn = messages[place]
        calls = [(index, copied(call)) for index, call in unanswered(messages, place)]
        if not calls or not isinstance(turn, AIMessage):
            return None
        shown = showing(state, place, replace(turn, tool_calls=list(map(copied, turn.tool_calls))))
        turn_review = TurnReview(self, turn, _review_of(state, turn), shown, runtime)
        review = turn_review.run(calls)
        if not turn_review.gated:
            # Outside a run nobody could read the review.
            return None if running_task() is None else {"hitl_review": review}
        answers = [turn_review.answers[index] for index in sorted(turn_review.answers)]
        return {"messages": [turn, *answers], "hitl_review": review}

    async def aafter_model(self, state: Any, runtime: Runtime) -> Update:
        """Review the calls of the last answer in an async run; see ``after_model``.

        Raises:
            OutsideRun: It needs a human and no node is running here.
            NoCheckpointer: It needs a human and the graph has no checkpointer.
        """
        if not self.remembers:
            return self.after_model(state, runtime)
        import asyncio

        return await asyncio.to_thread(self.after_model, state, runtime)

    def judge(self, call: ToolCall, state: Any, runtime: Runtime) -> Verdict:
        """Return what the map and the policy say about a call, the stricter of the two."""
        verdict = self._by_map(call, state, runtime)
        return verdict if self.policy is None else strictest([verdict, self.policy.judge(call)])

    def _by_map(self, call: ToolCall, state: Any, runtime: Runtime) -> Verdict:
        """Return what the map says about a call; a rule that pauses itself asks."""
        verdict = _unpaused(lambda: self.map.judge(call, lambda: _request(call, state, runtime)))
        if verdict is not None:
            return verdict
        allowed = self.map.allowed(call["name"]) or ()
        return Verdict("ask", allowed, "Its `when` cannot ask a human itself, so the call waits.")

    def ask_for(
        self, index: int, call: ToolCall, verdict: Verdict, state: Any, runtime: Runtime
    ) -> Ask:
        """Return the question about a call, with everything that an answer is checked against.

        Args:
            index: The call's place in its turn.
            call: The call.
            verdict: What the map and the policy say about it.
            state: The agent's state, for a description that looks at it.
            runtime: The run's surroundings.

        Raises:
            Refused: The call's arguments are not plain JSON.
        """
        call = copied(call)
        name, print_ = call["name"], mark(call)
        description = _unpaused(
            lambda: self.map.describe(call, lambda: _request(call, state, runtime))
        )
        if description is None:
            description = f"Tool: {name}\nArgs: {call['args']!r}\n\n{_NO_DESCRIPTION}"
        why = verdict.why + self._misfit(call)
        rules: dict[str, Json] = {"call": index, "why": why, "gate": self.name}
        rules |= frozen(verdict, current_config()) | self._facts(name, verdict.allowed)
        if self.map.stops_at(name):
            rules["on_reject"] = "stop"
        subject: Json = {"name": name, "args": plain(call["args"]), "description": description}
        return Ask("action", print_, subject, verdict.allowed, rules, call.get("id") or "")

    def _facts(self, name: str, allowed: Sequence[str]) -> dict[str, Json]:
        """Return what of the code is frozen with a question about a call of a tool."""
        tool, found = self._tools.get(name), dict[str, Json]()
        if tool is not None:
            found["schema"] = schema_hash(tool)
            if tool.version:
                found["tool_version"] = tool.version
        if "edit" in allowed:
            schema = self.map.args_schema(name)
            if schema is None and tool is not None:
                schema = tool.args_schema
            found["args_schema"] = schema
            found["tools"] = {other: self._allows(other) for other in self._tools}
        return found

    def _misfit(self, call: ToolCall) -> str:
        """Return the warning that a call cannot run as it stands, empty where it can."""
        tool = self._tools.get(call["name"])
        if tool is None:
            return ""
        try:
            tool.validate(copied(call)["args"])
        except ToolInvocationError as error:
            return f" As it stands it cannot run, and approving it will not help: {error}"
        return ""

    def _allows(self, name: str) -> Json:
        """Return which decisions the rules of another tool take, None where it has none."""
        rules = [allowed for gate in self._gates if (allowed := gate.map.allowed(name))]
        if not rules:
            return None
        return [*next((allowed for allowed in rules if "approve" not in allowed), rules[0])]

    def ask_again(self, item: Item, problem: str) -> Ask:
        """Return the question about a call once more, by the code of now.

        Args:
            item: The question as it was decided.
            problem: Why the answer could not be used.
        """
        name = item.subject.get("name") if isinstance(item.subject, dict) else ""
        rules = {**item.rules, **self._facts(str(name), item.allowed)}
        return ask_again(item, problem, rules)

    def tool_change(self, item: Item) -> str:
        """Return why a yes is not used as the call's tool is now; empty where it may be.

        Raises:
            Stale: The tool is gone; the decision is kept.
        """
        return tool_change(item, self._tools)

    def problem(self, item: Item, state: Any, runtime: Runtime) -> str:
        """Return why a yes cannot be used, as far as only code can tell; empty where it can.

        What was decided counts as a yes by every rule that lets a reviewer approve. The rule
        that asked is met already, unless the edit goes to another tool.

        Args:
            item: The decided item.
            state: The agent's state, for rules that look at it.
            runtime: The run's surroundings.

        Raises:
            Stale: The tool is gone; the decision is kept.
        """
        change = self.tool_change(item)
        if change:
            return change
        call = edited(item)
        tool = None if call is None else self._tools.get(call["name"])
        if call is None or tool is None:
            return ""
        try:
            tool.validate(copied(call)["args"])
        except ToolInvocationError as error:
            return f"The edit was not run: {error}"
        asked = item.subject.get("name") if isinstance(item.subject, dict) else None
        for gate in self._gates:
            own = gate is self and call["name"] == asked
            verdict = gate.by_policy(call) if own else gate.judge(call, state, runtime)
            problem = unmet(verdict, item.rules) or breach(verdict, item, call)
            if problem:
                why = f"this call of {call['name']!r} cannot run: {problem} {verdict.why}"
                return f"The edit was not run: {why}"
        return ""

    def granted(self, ask: Ask) -> bool:
        """Return whether a remembered answer lets a call go on; one use of it is taken then."""
        task = running_task()
        store = None if task is None or "grants" not in ask.rules else task.store
        if task is None or store is None:
            return False
        grants = Grants(store)
        grant = grants.find(ask)
        return grant is not None and grants.use(grant, thread=task.run.thread) is not None

    def grounds(self, call: ToolCall, verdict: Verdict) -> str:
        """Return what stands for all that a remembered answer stands and falls with."""
        tool = self._tools.get(call["name"])
        facts: list[Json] = [] if tool is None else [schema_hash(tool), tool.version]
        return fingerprint(verdict.policy_id, facts)

    @property
    def remembers(self) -> bool:
        """Return whether answers may be remembered, so that judging reads the store."""
        return self.policy is not None and self.policy.grants

    def refusal(self, call: ToolCall, verdict: Verdict, state: Any) -> str:
        """Return what the model reads of a call about which nobody is asked; empty otherwise.

        Args:
            call: The call.
            verdict: What the map and the policy say about it.
            state: The agent's state, whose conversation tells what was rejected before.
        """
        if verdict.effect == "deny":
            return denied(call, verdict)
        if verdict.effect != "ask" or self.max_asks is None:
            return ""
        times = rejections(messages_of(state), call)
        if times < self.max_asks:
            return ""
        return ASKED_ENOUGH.format(name=call["name"], times=times)

    def by_policy(self, call: ToolCall) -> Verdict:
        """Return what the policy alone says about a call; a map and its code have no say."""
        return Verdict("allow") if self.policy is None else self.policy.judge(call)


_NO_DESCRIPTION = "(Its description failed: it cannot ask a human itself.)"


def _unpaused(rule: Callable[[], T]) -> T | None:
    """Return what a rule says; None where it called ``interrupt``, which leaves nothing then.

    A rule is called to find out whether to ask; a question of its own would stand where the
    question about the call belongs.
    """
    task = running_task()
    if task is None or task.paused:
        return rule()
    asks = task.asks
    try:
        said = rule()
    except Pause:
        said = None
    if task.asks != asks or task.held:
        task.asks, task.asked, task.new_items, task.held = asks, None, [], False
        return None
    return said


def _review_of(state: Any, turn: AIMessage) -> Review | None:
    """Return what another middleware has found of this turn."""
    if isinstance(state, Mapping):
        found = state.get("hitl_review")
    else:
        found = getattr(state, "hitl_review", None)
    if not isinstance(found, Review) or found.message != turn.id:
        return None
    return found if len(found.calls) == len(turn.tool_calls) else None  # else written anew


def _request(call: ToolCall, state: Any, runtime: Runtime) -> ToolCallRequest:
    """Return what user code sees of a call: a copy, so that it cannot change what runs."""
    return ToolCallRequest(
        tool_call=copied(call),
        tool=None,
        state=state,
        runtime=ToolRuntime(
            state=state,
            context=runtime.context,
            config=current_config(),
            stream_writer=runtime.stream_writer,
            tool_call_id=call.get("id"),
            store=runtime.store,
            execution_info=runtime.execution_info,
            server_info=runtime.server_info,
        ),
    )
