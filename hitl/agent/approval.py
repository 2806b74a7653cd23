"""``HumanInTheLoopMiddleware``: reviews the calls of a model's turn, and asks where a rule asks.

In the batched mode the turn's gated calls are asked about together, in one interrupt, before
any call of the turn runs. In the per-call mode each gated call is asked about on its own, by
the executor, and free calls run at once. In both, the executor decides what may run; this
file only puts the question and turns decisions into a review.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from hitl.agent.messages import AIMessage, ToolMessage
from hitl.agent.middleware import AgentMiddleware, Update
from hitl.agent.review import CallReview, Review, ReviewState
from hitl.agent.tool import Tool, ToolArgumentsError, ToolRuntime
from hitl.agent.turns import last_turn, messages_of, unanswered
from hitl.engine import Runtime, Task, current_task
from hitl.errors import Misuse
from hitl.ledger import Ask
from hitl.policy import DESCRIPTION_PREFIX, InterruptOn, InterruptOnConfig, ToolCallRequest, Verdict
from hitl.values import Item, Json, ToolCall, fingerprint, plain

__all__ = ["EDITED", "REJECTED", "REJECTED_WHY", "HumanInTheLoopMiddleware"]

REJECTED = (
    "The user rejected the call of {name!r} (id {id}). It was not executed. Do not call it "
    "again unless the user asks for it."
)
REJECTED_WHY = (
    "The user rejected the call of {name!r}; it was not executed. Their reason: {message}"
)
EDITED = "A reviewer changed this call. What ran: {name} with {args}. Its result:\n"

Mode = Literal["batched", "per_call"]


class HumanInTheLoopMiddleware(AgentMiddleware):
    """Lets a human approve, edit, reject or answer tool calls before they run.

    Args:
        interrupt_on: For each tool ``True`` (every call waits, all decisions), ``False`` (never
            waits) or ``{"allowed_decisions": [...], "description"?, "args_schema"?, "when"?}``.
        description_prefix: First line of descriptions that are not given.
        interrupt_mode: ``"batched"`` asks once per turn, ``"per_call"`` once per call.
        edit_notice: Put before the result of an edited call, with ``{name}`` and ``{args}``;
            None for nothing.

    Raises:
        Misuse: Something in the map is wrong; the message names the tool and the place.
    """

    state_schema = ReviewState

    def __init__(
        self,
        interrupt_on: Mapping[str, bool | InterruptOnConfig],
        *,
        description_prefix: str = DESCRIPTION_PREFIX,
        interrupt_mode: Mode = "batched",
        edit_notice: str | None = EDITED,
    ) -> None:
        if interrupt_mode not in ("batched", "per_call"):
            raise Misuse(
                f"interrupt_mode is {interrupt_mode!r}.", hint='Known: "batched", "per_call".'
            )
        self.interrupt_on = dict(interrupt_on)
        self.description_prefix = description_prefix
        self.interrupt_mode = interrupt_mode
        self.edit_notice = edit_notice
        self.policy = InterruptOn.compile(interrupt_on, description_prefix=description_prefix)
        self._tools: Mapping[str, Tool] = {}

    def bind(self, tools: Mapping[str, Tool]) -> None:
        """Learn which tools the agent has, so that edits are checked against their schemas."""
        self._tools = tools

    def after_model(self, state: Any, runtime: Runtime) -> Update:
        """Review the calls of the last answer; pause where one of them is gated.

        Returns:
            The answer itself, messages for calls that do not run, and the turn's review; None
            where the last answer has no open calls or each call is asked about on its own.

        Raises:
            OutsideRun: It needs a human and no node is running here.
            NoCheckpointer: It needs a human and the graph has no checkpointer.
        """
        messages = messages_of(state)
        place = last_turn(messages)
        if place is None or self.interrupt_mode == "per_call":
            return None
        turn = messages[place]
        calls = list(unanswered(messages, place))
        if not calls or not isinstance(turn, AIMessage):
            return None
        review, answers = self._reviewed(turn, calls, state, runtime)
        return {"messages": [turn, *answers], "hitl_review": review}

    async def aafter_model(self, state: Any, runtime: Runtime) -> Update:
        """Review the calls of the last answer in an async run; see ``after_model``.

        Raises:
            OutsideRun: It needs a human and no node is running here.
            NoCheckpointer: It needs a human and the graph has no checkpointer.
        """
        return self.after_model(state, runtime)

    def _reviewed(
        self, turn: AIMessage, calls: Sequence[tuple[int, ToolCall]], state: Any, runtime: Runtime
    ) -> tuple[Review, list[ToolMessage]]:
        asks, free = self._asks(calls, state, runtime)
        answers: dict[int, ToolMessage] = {}
        found = {
            index: CallReview("free", fingerprint(call["name"], plain(call["args"])))
            for index, call in calls
            if index in free
        }
        by_index = dict(calls)
        while asks:
            items = self._ask(current_task("An approval"), asks)
            asks = []
            for item in items:
                index = int(item.rules["call"])  # type: ignore[arg-type]
                call = by_index[index]
                problem = self._edit_problem(item)
                if problem:
                    asks.append(self._again(item, call, problem))
                    continue
                found[index], answer = self._taken(item, call)
                if answer is not None:
                    answers[index] = answer
        closed = CallReview("closed", "")
        reviews = tuple(found.get(index, closed) for index in range(len(turn.tool_calls)))
        return Review(turn.id or "", reviews), [answers[index] for index in sorted(answers)]

    def _asks(
        self, calls: Sequence[tuple[int, ToolCall]], state: Any, runtime: Runtime
    ) -> tuple[list[Ask], set[int]]:
        """Return what to ask about, and which calls are free; on a resumed turn as it was."""
        asked = _asked_before()
        if asked:
            gated = {int(item.rules["call"]) for item in asked}  # type: ignore[arg-type]
            return [_same(item) for item in asked], {i for i, _ in calls if i not in gated}
        asks: list[Ask] = []
        free: set[int] = set()
        for index, call in calls:
            verdict, description = self.judge(call, state, runtime)
            if verdict.effect == "allow":
                free.add(index)
            else:
                asks.append(self.ask_for(index, call, verdict, description))
        return asks, free

    def ask_here(
        self, task: Task, gate: int, index: int, call: ToolCall, state: Any
    ) -> tuple[CallReview, ToolMessage | None] | None:
        """Judge one call where it is about to run, and ask there if a rule asks.

        Args:
            task: The task that is to run it.
            gate: This middleware's number among those that judge.
            index: The call's place in its turn.
            call: The call.
            state: The agent's state.

        Returns:
            None where it is free; else what was decided, and the answer that stands in for
            the call if it does not run.

        Raises:
            Pause: Nobody has answered yet.
        """
        asked = _asked_before()
        if asked:
            # What was asked when this task ran before is not judged again.
            if asked[0].kind != "action" or asked[0].rules.get("gate") != gate:
                return None
            asks = [_same(asked[0])]
        else:
            verdict, description = self.judge(call, state, task.run.runtime)
            if verdict.effect == "allow":
                return None
            ask = self.ask_for(index, call, verdict, description)
            asks = [replace(ask, rules={**ask.rules, "gate": gate})]
        while True:
            (item,) = self._ask(task, asks)
            problem = self._edit_problem(item)
            if not problem:
                return self._taken(item, call)
            asks = [self._again(item, call, problem)]

    @property
    def asks(self) -> bool:
        """Return whether any tool's calls may wait."""
        return self.policy.asks

    def judge(self, call: ToolCall, state: Any, runtime: Runtime) -> tuple[Verdict, str]:
        """Return what the map says about a call, and what a reviewer reads of it."""

        def request() -> ToolCallRequest:
            from hitl.engine import current_config

            return ToolCallRequest(
                tool_call=_copy(call),
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

        verdict = self.policy.judge(call, request)
        text = "" if verdict.effect == "allow" else self.policy.describe(call, request)
        return verdict, text

    def ask_for(self, index: int, call: ToolCall, verdict: Verdict, description: str) -> Ask:
        """Return the question about one call, with everything that an answer is checked against.

        Raises:
            Misuse: The call's arguments are not plain JSON.
        """
        name, args = call["name"], _plain_args(call)
        rules: dict[str, Json] = {"call": index, "why": verdict.why}
        schema = self.policy.args_schema(name)
        if schema is None and name in self._tools:
            schema = self._tools[name].args_schema
        if "edit" in verdict.allowed:
            rules["args_schema"] = schema
            rules["tools"] = {other: self._allows(other) for other in self._tools}
        return Ask(
            "action",
            fingerprint(name, args),
            {"name": name, "args": args, "description": description},
            verdict.allowed,
            rules,
            call.get("id") or "",
        )

    def _allows(self, name: str) -> Json:
        """Return which decisions another tool's rule takes, None where it has no rule."""
        rule = self.policy.allowed(name)
        return None if rule is None else list(rule)

    def _ask(self, task: Task, asks: Sequence[Ask]) -> list[Item]:
        """Put the questions of a turn as one interrupt; return the items, all decided."""
        number = task.asks
        task.ask(asks, lambda ids: _request(asks, ids))
        own = [asked for asked in task.record.asked if not asked.lost]
        return [task.run.items[id] for id in own[number].items]

    def _edit_problem(self, item: Item) -> str:
        """Return why an edit into another tool cannot run, known only where the tool is."""
        decision = item.decision
        if decision is None or decision.type != "edit":
            return ""
        action = decision.payload["edited_action"]
        assert isinstance(action, dict)
        tool = self._tools.get(str(action["name"]))
        if tool is None:
            return ""
        try:
            tool.validate(action["args"])  # type: ignore[arg-type]
        except ToolArgumentsError as error:
            return str(error)
        return ""

    def _again(self, item: Item, call: ToolCall, problem: str) -> Ask:
        """Ask again about a call whose edit turned out not to fit."""
        subject = dict(item.subject) if isinstance(item.subject, dict) else {}
        subject["description"] = f"The edit was not run: {problem}\n\n{subject['description']}"
        return Ask("action", item.fingerprint, subject, item.allowed, item.rules, item.call_id)

    def _taken(self, item: Item, call: ToolCall) -> tuple[CallReview, ToolMessage | None]:
        decision = item.decision
        assert decision is not None
        name, id = call["name"], call.get("id") or ""
        if decision.type == "approve":
            return CallReview("asked", item.fingerprint, item.id), None
        if decision.type == "edit":
            action = decision.payload["edited_action"]
            assert isinstance(action, dict)
            mark = fingerprint(str(action["name"]), action["args"])
            return CallReview("asked", mark, item.id, action), None
        message = str(decision.payload.get("message") or "")
        if decision.type == "respond":
            return _closed(item, ToolMessage(message, name=name, tool_call_id=id))
        text = (REJECTED_WHY if message else REJECTED).format(name=name, id=id, message=message)
        return _closed(item, ToolMessage(text, name=name, tool_call_id=id, status="error"))


def _closed(item: Item, answer: ToolMessage) -> tuple[CallReview, ToolMessage]:
    return CallReview("closed", item.fingerprint, item.id), answer


def _copy(call: ToolCall) -> ToolCall:
    """Return a call of its own, so that a predicate cannot change what runs."""
    return {**call, "args": plain(call["args"])}  # type: ignore[typeddict-item]


def _plain_args(call: ToolCall) -> Json:
    try:
        return plain(call["args"])
    except ValueError as error:
        raise Misuse(
            f"The arguments of a call of {call['name']!r} are not plain JSON: {error}."
        ) from error


def _asked_before() -> list[Item]:
    """Return the items that this task has put in an earlier execution: its frozen review."""
    from hitl.engine import running_task

    task = running_task()
    if task is None:
        return []
    own = [asked for asked in task.record.asked if not asked.lost]
    if len(own) <= task.asks:
        return []
    return [task.run.items[id] for id in own[task.asks].items]


def _same(item: Item) -> Ask:
    return Ask(item.kind, item.fingerprint, item.subject, item.allowed, item.rules, item.call_id)


def _request(asks: Sequence[Ask], ids: Sequence[str]) -> dict[str, object]:
    """Return the interrupt's value: the request as the source documents print it."""
    requests: list[object] = []
    configs: list[object] = []
    for ask, id in zip(asks, ids, strict=True):
        assert isinstance(ask.subject, dict)
        requests.append({**ask.subject, "id": id, "fingerprint": ask.fingerprint})
        configs.append(
            {"action_name": ask.subject["name"], "allowed_decisions": list(ask.allowed)}
        )
    return {"action_requests": requests, "review_configs": configs}
