"""What a human is asked and what they answer: interrupts, items, decisions.

An *interrupt* is a question that a run put. An *item* is one thing a reviewer can decide: the
whole of a plain interrupt, or one action of a batched approval. The rules by which items move
are the ledger's; here is only their form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hitl.values.jsonable import Json

__all__ = ["Decision", "DecisionType", "Interrupt", "Item", "ItemKind", "ItemState"]

ItemKind = Literal["question", "action", "outcome", "grant"]
"""``question``: any answer to a plain ``interrupt()``; ``action``: approve, edit, reject or
respond; ``outcome``: a started call whose result is not known: respond, retry or reject;
``grant``: an answer that is remembered, which nobody is asked about."""

ItemState = Literal[
    "pending",
    "decided",
    "cleared",
    "started",
    "ran",
    "done",
    "uncertain",
    "superseded",
    "withdrawn",
    "expired",
    "granted",
]

DecisionType = Literal["approve", "edit", "reject", "respond", "retry", "answer", "expire"]


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A question that waits for a human.

    Attributes:
        value: What the node asked, any storable value.
        id: 32 hex digits, its own for every occurrence.
        response_schema: The JSON Schema that an answer must fit, None where any answer does.
    """

    value: object
    id: str = ""
    response_schema: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What someone decided about one item.

    Attributes:
        type: One of the four decisions, ``retry`` for an outcome, ``answer`` for a question,
            ``expire`` where nobody decided in time.
        payload: What belongs to it, packed: ``{"edited_action": ...}``, ``{"message": ...}``,
            ``{"value": ...}`` of an answer, ``{"grant": ...}`` of a yes that shall be
            remembered, or nothing.
        by: An opaque id that the host vouches for; None for an unnamed reviewer.
        at: When, by the store's clock.
    """

    type: DecisionType
    payload: dict[str, Json] = field(default_factory=dict)
    by: str | None = None
    at: float = 0.0

    def same(self, other: Decision) -> bool:
        """Return whether both say the same, whoever said it and when."""
        return self.type == other.type and self.payload == other.payload


@dataclass(frozen=True, slots=True)
class Item:
    """One thing a reviewer can decide, as it stands.

    Attributes:
        id: 32 hex digits; equal to ``interrupt`` for a plain question.
        thread: The thread it belongs to.
        interrupt: The id of the question it is a part of.
        index: Its place among the actions of that question.
        kind: Question, action or outcome.
        state: Where it stands; the moves are ``hitl.ledger.lifecycle``.
        version: Counts from 1; a changed item has a higher one.
        fingerprint: Hash of what the reviewer sees (tool name and arguments, or the value).
        subject: What is shown, plain JSON: ``{"name", "args", "description"}`` of an action,
            the packed value of a question.
        allowed: The decisions it can take, in the order in which they are offered.
        rules: Frozen facts that an answer is checked against: ``args_schema``, ``tools``,
            ``response_schema``; ``reviewers``, ``requester``, ``deadline``, ``edit`` and
            ``grants``, see ``hitl.ledger``.
        path: Where it was asked: node names from the top, joined with ``/``.
        call_id: The provider's id of the call, empty for a question.
        asked_at: When, by the store's clock.
        decision: The decision, once there is one.
        votes: What was said so far of an item with rules on its reviewers, one of each person.
        deadline: When it can no longer be decided, by the store's clock; of a grant, when it
            ends. None for never.
    """

    id: str
    thread: str
    interrupt: str
    kind: ItemKind
    fingerprint: str
    subject: Json
    allowed: tuple[str, ...]
    index: int = 0
    state: ItemState = "pending"
    version: int = 1
    rules: dict[str, Json] = field(default_factory=dict)
    path: str = ""
    call_id: str = ""
    asked_at: float = 0.0
    decision: Decision | None = None
    votes: tuple[Decision, ...] = ()
    deadline: float | None = None
