"""Putting questions about calls, and what a decision makes of a call.

Shared by the review of a whole turn and by the executor, which asks about one call. Knows no
rule: what is asked about comes in, and what an answer is checked against was frozen with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hitl.agent.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from hitl.agent.review import mark
from hitl.agent.turns import ENDS_RUN, answers_of, last_turn
from hitl.agent.wording import DENIED, EXPIRED, REJECTED, REJECTED_WHY
from hitl.engine import Task
from hitl.ledger import Ask
from hitl.policy import Verdict
from hitl.values import Item, Json, ToolCall

__all__ = [
    "alone",
    "ask_again",
    "asked_before",
    "denied",
    "edited",
    "made_of",
    "put",
    "refused",
    "rejections",
    "same_ask",
]


DECISION = "hitl_decision"
"""In ``additional_kwargs`` of a tool message that a human's decision made: its type."""


def rejections(messages: Sequence[BaseMessage], call: ToolCall) -> int:
    """Return how often humans have rejected exactly this call since the last human message.

    Args:
        messages: The conversation, up to the turn that proposes the call.
        call: The call.

    Raises:
        Refused: Its arguments are not plain JSON.
    """
    print_, times = mark(call), 0
    newest = last_turn(messages)
    for place in range(len(messages) - 1 if newest is None else newest - 1, -1, -1):
        turn = messages[place]
        if isinstance(turn, HumanMessage):
            break
        if isinstance(turn, AIMessage) and turn.tool_calls:
            answers = zip(turn.tool_calls, answers_of(messages, place), strict=True)
            times += sum(_rejected(answer) and mark(one) == print_ for one, answer in answers)
    return times


def _rejected(answer: ToolMessage | None) -> bool:
    return answer is not None and answer.additional_kwargs.get(DECISION) == "reject"


def alone(ask: Ask) -> Ask:
    """Return a question about one call that is put by itself, with the form of its answer."""
    args: Json = ask.rules.get("args_schema") or {"type": "object"}
    action: dict[str, Json] = {"name": {"type": "string"}, "args": args}
    more: dict[str, dict[str, Json]] = {
        "edit": {"edited_action": _object(action, list(action))},
        "reject": {"message": {"type": "string"}},
        "respond": {"message": {"type": "string"}},
    }
    forms: list[Json] = [
        _object(
            {"type": {"const": kind}, **more.get(kind, {})},
            ["type", *([] if kind == "reject" else more.get(kind, {}))],
        )
        for kind in ask.allowed
    ]
    return replace(ask, rules={**ask.rules, "response_schema": {"anyOf": forms}})


def _object(properties: Mapping[str, Json], required: Sequence[Json]) -> dict[str, Json]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def asked_before(task: Task | None) -> list[Item]:
    """Return the items that a task asked at this point in an earlier execution, if it did."""
    if task is None:
        return []
    own = [asked for asked in task.record.asked if not asked.lost]
    if len(own) <= task.asks:
        return []
    return [task.run.items[id] for id in own[task.asks].items]


def put(task: Task, asks: Sequence[Ask]) -> list[Item]:
    """Put questions as one interrupt; return the items, all decided.

    Raises:
        Pause: Nobody has answered yet.
        NoCheckpointer: The run is not saved.
    """
    before = asked_before(task)
    task.ask(asks, lambda ids: _request(asks, ids))
    return before


def _request(asks: Sequence[Ask], ids: Sequence[str]) -> dict[str, object]:
    """Return the interrupt's value: the request as the source documents print it."""
    requests: list[object] = []
    configs: list[object] = []
    for ask, id in zip(asks, ids, strict=True):
        assert isinstance(ask.subject, dict)
        requests.append({**ask.subject, "id": id, "fingerprint": ask.fingerprint})
        configs.append({"action_name": ask.subject["name"], "allowed_decisions": list(ask.allowed)})
    return {"action_requests": requests, "review_configs": configs}


def same_ask(item: Item) -> Ask:
    """Return the question that an item was put as."""
    return Ask(item.kind, item.fingerprint, item.subject, item.allowed, item.rules, item.call_id)


def ask_again(item: Item, problem: str, rules: Mapping[str, Json]) -> Ask:
    """Return a question once more, for a yes that could not be used.

    Args:
        item: The question as it was decided.
        problem: Why the yes was not used; it stands above the description.
        rules: What the next answer is checked against.
    """
    subject = dict(item.subject) if isinstance(item.subject, dict) else {}
    subject["description"] = f"{problem}\n\n{subject['description']}"
    return Ask("action", item.fingerprint, subject, item.allowed, rules, item.call_id)


def edited(item: Item) -> ToolCall | None:
    """Return what a reviewer made of the call, None where they did not edit it."""
    decision = item.decision
    if decision is None or decision.type != "edit":
        return None
    action = decision.payload["edited_action"]
    assert isinstance(action, dict)
    args = action["args"]
    assert isinstance(args, dict)
    return {"name": str(action["name"]), "args": args, "id": item.call_id}


def made_of(item: Item, call: ToolCall) -> ToolCall | ToolMessage:
    """Return the call that runs after a decision, or the message that stands in for it."""
    decision = item.decision
    assert decision is not None
    if decision.type == "approve":
        return call
    change = edited(item)
    if change is not None:
        return {**call, "name": change["name"], "args": change["args"]}
    name, id = call["name"], call.get("id") or ""
    message = str(decision.payload.get("message") or "")
    if decision.type == "respond":
        told: dict[str, object] = {DECISION: "respond"}
        return ToolMessage(message, name=name, tool_call_id=id, additional_kwargs=told)
    form = EXPIRED if decision.type == "expire" else REJECTED_WHY if message else REJECTED
    text = form.format(name=name, id=id, message=message)
    about: dict[str, object] = {DECISION: decision.type}
    if item.rules.get("on_reject") == "stop":
        about[ENDS_RUN] = True
    return replace(refused(call, text), additional_kwargs=about)


def refused(call: ToolCall, text: str) -> ToolMessage:
    """Return the message that tells the model that a call did not run."""
    return ToolMessage(text, name=call["name"], tool_call_id=call.get("id") or "", status="error")


def denied(call: ToolCall, verdict: Verdict) -> str:
    """Return what the model reads of a call that no human can allow."""
    return DENIED.format(name=call["name"], why=verdict.why).strip()
