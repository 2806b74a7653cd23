"""What there is to tell about an item, as plain words: pure, and nothing here is made safe.

The facts come from the stored call alone. What the agent's setup wrote about it is kept apart
and is never a fact.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import inf

from hitl.ledger import has_expired, progress
from hitl.values import Decision, Item, ItemState, Json, iso

__all__ = [
    "NEXT",
    "WHY",
    "age",
    "arguments",
    "call",
    "changes",
    "collapsed",
    "decided",
    "decision_line",
    "description",
    "document",
    "edit_rows",
    "effect",
    "in_order",
    "never_ran",
    "next_step",
    "one_line",
    "pretty",
    "remaining",
    "short_ids",
    "state_word",
    "title",
    "why",
]

WHY = {
    "action": "the agent's setup lets this tool run only after a human has looked at the call",
    "question": "the run put this question and goes on with the answer",
    "outcome": "this call was started and left no result: whether it took effect is not known",
    "grant": "a reviewer wanted this answer to be remembered",
}
"""Why an item of each kind was asked."""

NEXT: dict[ItemState, tuple[str, str]] = {
    "pending": ("It waits for a decision.", "Decide it."),
    "decided": ("It was decided; the run has not taken the decision yet.", "Resume the run."),
    "cleared": ("The run took the yes; the call has not started.", "Resume the run."),
    "started": (
        "The call has started; its result is not recorded yet.",
        "Wait for the run; if its process is gone, resume it, and it asks what happened.",
    ),
    "ran": ("The call ran and its result is recorded.", "Nothing is left to do."),
    "done": ("The run took the answer.", "Nothing is left to do."),
    "uncertain": (
        "The call started and left no result; whether it took effect is not known.",
        "Find out, then settle the outcome item of this thread.",
    ),
    "superseded": ("The thread went on without an answer.", "Nothing can be decided here."),
    "withdrawn": ("The run gave it up before it started.", "Nothing can be decided here."),
    "expired": ("Nobody decided in time; the run has not taken that yet.", "Resume the run."),
    "granted": ("Calls like the approved one go on without asking.", "`hitl grants` lists them."),
}
"""For each state a sentence, and the next step."""


def never_ran(item: Item) -> bool:
    """Return whether an item is a call that a reviewer kept from running, for good."""
    kept = item.decision is not None and item.decision.type in ("reject", "respond", "expire")
    return item.kind == "action" and item.state == "done" and kept


def state_word(item: Item) -> str:
    """Return an item's state as people say it; ``document`` has the state itself."""
    if item.state != "done":
        return item.state
    if has_expired(item):
        return "expired"
    if item.kind == "action":
        return "never ran" if never_ran(item) else "given up, outcome unknown"
    return "answered" if item.kind == "question" else "settled"


def next_step(item: Item) -> tuple[str, str]:
    """Return a sentence on how an item stands, and the next step."""
    sentence, step = NEXT[item.state]
    if item.state == "pending" and item.votes:
        sentence = f"It has the votes of {progress(item)}."
    if item.state == "done" and item.kind == "action":
        sentence = (
            "Nobody decided in time; it never ran, and the agent was told so."
            if has_expired(item)
            else "It never ran; the agent was told what the reviewer said."
            if never_ran(item)
            else "The call was given up; whether it took effect is not known."
        )
    return sentence, step


def why(item: Item) -> str:
    """Return why an item was asked: what the rule that asked says, or what its kind says."""
    said = item.rules.get("why")
    return said if isinstance(said, str) and said else WHY[item.kind]


def title(item: Item) -> str:
    """Return the tool's name, or what kind of question it is."""
    name = item.subject.get("name") if isinstance(item.subject, dict) else None
    if item.kind == "question" or not isinstance(name, str):
        return item.kind
    return name if item.kind == "action" else f"outcome of {name}"


def arguments(item: Item) -> list[tuple[str, Json]]:
    """Return every argument of a call, or the parts of a question, by name and in order."""
    subject = item.subject
    if item.kind != "question" and isinstance(subject, dict) and "args" in subject:
        subject = subject["args"]
    if isinstance(subject, dict) and subject:
        return list(subject.items())
    return [] if subject == {} else [("value", subject)]


def description(item: Item) -> str:
    """Return what the agent's setup wrote about a call, nothing for a question."""
    if item.kind == "question" or not isinstance(item.subject, dict):
        return ""
    text = item.subject.get("description")
    return text if isinstance(text, str) else ""


def one_line(value: Json) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def pretty(value: Json) -> str:
    """Return a value as a person reads it: text of several lines as it is, else JSON."""
    if isinstance(value, str) and "\n" in value:
        return value
    line = one_line(value)
    return line if len(line) <= 72 else json.dumps(value, ensure_ascii=False, indent=2)


def collapsed(text: str, limit: int, where: str) -> str:
    """Return a text, cut at a limit with a note of its length and of where it is whole."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text):,} characters in all; {where} shows them)"


def effect(item: Item, limit: int = 160) -> str:
    """Return on one line what a call would do: its arguments; or what a question says."""
    if item.kind == "question":
        subject = item.subject
        return _clip(subject if isinstance(subject, str) else one_line(subject), limit)
    return call(arguments(item), limit)


def call(args: Iterable[tuple[str, Json]], limit: int = 160) -> str:
    """Return arguments on one line, cut at a limit."""
    return _clip(", ".join(f"{name}={one_line(value)}" for name, value in args), limit)


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def decision_line(decision: Decision) -> str:
    """Return who decided what, and when."""
    if decision.type == "expire":
        return f"nobody in time, {iso(decision.at)}"
    who = decision.by or "an unnamed reviewer"
    return f"{decided(decision.type, decision.payload)} by {who}, {iso(decision.at)}"


def decided(word: str, payload: Mapping[str, Json]) -> str:
    """Return a decision's word with what belongs to it."""
    action = payload.get("edited_action")
    if isinstance(action, dict) and isinstance(action.get("args"), dict):
        args = action["args"]
        assert isinstance(args, dict)
        return f"{word} to {action.get('name')}({call(args.items(), 1000)})"
    for value in payload.values():
        return f"{word} {_clip(one_line(value), 1000)}"
    return word


def changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return what an edit changes, argument by argument."""
    rows = []
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            rows.append((name, f"{one_line(before[name])} is left out"))
        elif name not in before:
            rows.append((name, f"{one_line(after[name])} is new"))
        elif one_line(before[name]) != one_line(after[name]):
            rows.append((name, f"{one_line(before[name])} -> {one_line(after[name])}"))
    return rows


def edit_rows(item: Item, action: Json) -> list[tuple[str, str]]:
    """Return an edit under labels: what the agent proposed, what runs, what differs.

    Args:
        item: The item with the proposed call.
        action: ``{"name", "args"}`` that runs in its place.
    """
    new = action if isinstance(action, dict) else {}
    args = new.get("args")
    after = args if isinstance(args, dict) else {}
    before = dict(arguments(item))
    return [
        ("proposed:", f"{title(item)}({call(before.items(), 1000)})"),
        ("runs:", f"{new.get('name')}({call(after.items(), 1000)})"),
        *((f"changed {name}:", change) for name, change in changes(before, after)),
    ]


def age(seconds: float) -> str:
    """Return a span of time in its largest unit: ``40 s``, ``3 min``, ``2 h``, ``5 d``."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(int(seconds), 0)} s"


def remaining(item: Item, now: float) -> str:
    """Return how long an item can still be decided, empty where it has no deadline."""
    if item.deadline is None:
        return ""
    return age(item.deadline - now) if item.deadline > now else "passed"


def in_order(items: list[Item]) -> list[Item]:
    """Return items by deadline, then oldest first, those of one question as it has them."""
    return sorted(
        items,
        key=lambda item: (
            inf if item.deadline is None else item.deadline,
            item.asked_at,
            item.interrupt,
            item.index,
        ),
    )


def short_ids(items: Iterable[Item], among: Iterable[Item] = ()) -> list[str]:
    """Return the first digits of each id, at least 8 and as many as tell it from all others.

    Args:
        items: Whose ids are wanted.
        among: Other items that they must not be taken for.
    """
    items = list(items)
    digits: dict[str, int] = {}
    for one, other in pairwise(sorted({item.id for item in (*items, *among)})):
        apart = next(place for place in range(33) if one[:place] != other[:place])
        for id in (one, other):
            digits[id] = max(digits.get(id, 8), apart)
    return [item.id[: digits.get(item.id, 8)] for item in items]


def document(item: Item) -> dict[str, Json]:
    """Return an item as a JSON document."""
    return {
        "id": item.id,
        "thread": item.thread,
        "interrupt": item.interrupt,
        "index": item.index,
        "kind": item.kind,
        "state": item.state,
        "version": item.version,
        "fingerprint": item.fingerprint,
        "subject": item.subject,
        "allowed": list(item.allowed),
        "rules": item.rules,
        "path": item.path,
        "call_id": item.call_id,
        "asked_at": iso(item.asked_at),
        "deadline": None if item.deadline is None else iso(item.deadline),
        "votes": [_said(vote) for vote in item.votes],
        "progress": progress(item),
        "decision": None if item.decision is None else _said(item.decision),
    }


def _said(decision: Decision) -> dict[str, Json]:
    return {
        "type": decision.type,
        "payload": decision.payload,
        "by": decision.by,
        "at": iso(decision.at),
    }
