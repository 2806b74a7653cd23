"""The review of a model's turn: what was decided about each of its calls, frozen in the state.

It is computed once, when the turn is reviewed, and stored with the step's own entry. The
executor reads it just before a tool's body. It only points at the decisions, which the ledger
keeps: a call that waited runs as its item says, and never because of what stands here alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypedDict

from hitl.agent.wording import NOT_JSON
from hitl.codec import register
from hitl.engine import Hidden
from hitl.errors import Refused
from hitl.values import Item, ToolCall, fingerprint, plain

__all__ = [
    "CLOSED",
    "CallReview",
    "Review",
    "ReviewState",
    "accepted",
    "copied",
    "join_reviews",
    "mark",
]

CallVerdict = Literal["free", "asked", "closed"]
"""``free``: no rule asked; ``asked``: a human said yes; ``closed``: it has its answer and never
runs."""

_STRICTER = {"free": 0, "asked": 1, "closed": 2}


@dataclass(frozen=True, slots=True)
class CallReview:
    """What was decided about one call.

    Attributes:
        verdict: Whether it may run.
        fingerprint: Of the call that may run: the model's, or what edits made of it.
        items: Ids of the items on which humans said yes, in the order in which they were asked.
        gates: Names of the approval middleware that have had their say on exactly this call.
        granted: What a remembered answer stood and fell with when it freed the call, if one did:
            the policy, and the tool's schema and version.
    """

    verdict: CallVerdict
    fingerprint: str = ""
    items: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    granted: str = ""


CLOSED = CallReview("closed")


@dataclass(frozen=True, slots=True)
class Review:
    """The review of one model turn.

    Attributes:
        message: Id of the turn's message.
        calls: What was decided about each call, in their order.
    """

    message: str
    calls: tuple[CallReview, ...]

    def of(self, message: str, index: int) -> CallReview | None:
        """Return what was decided about a call, None where this review does not speak of it."""
        if message != self.message or index >= len(self.calls):
            return None
        return self.calls[index]


def mark(call: ToolCall) -> str:
    """Return the fingerprint of a call.

    Raises:
        Refused: Its arguments are not plain JSON, so nobody can say what would run.
    """
    try:
        return fingerprint(call["name"], plain(call["args"]))
    except ValueError as error:
        raise Refused(NOT_JSON.format(name=call["name"], error=error)) from error


def copied(call: ToolCall) -> ToolCall:
    """Return a call of its own: whoever holds the one it was made of cannot change it."""
    try:
        return {**call, "args": plain(call["args"])}  # type: ignore[typeddict-item]
    except ValueError:
        return call  # not plain JSON: it is refused before it runs


def accepted(review: CallReview, proposed: ToolCall, items: Mapping[str, Item]) -> ToolCall | None:
    """Return the call that may run in place of a proposed one, None where there is none.

    It follows from the decisions themselves: each must be a yes that has not been used up, to
    exactly what the one before it made of the call.

    Args:
        review: What was decided about the call.
        proposed: The call as it stands in the model's turn.
        items: The thread's live items.

    Raises:
        Refused: The call's arguments are not plain JSON.
    """
    if review.verdict == "closed":
        return None
    call = proposed
    for id in review.items:
        item = items.get(id)
        if item is None or item.state not in ("cleared", "started", "uncertain"):
            return None
        if item.decision is None or item.fingerprint != mark(call):
            return None
        if item.decision.type == "edit":
            call = {**call, **item.decision.payload["edited_action"]}  # type: ignore[typeddict-item]
        elif item.decision.type != "approve":
            return None
    return call if mark(call) == review.fingerprint else None


def _pack(review: CallReview) -> dict[str, object]:
    packed: dict[str, object] = {"v": review.verdict, "fp": review.fingerprint}
    if review.items:
        packed["items"] = list(review.items)
    if review.gates:
        packed["gates"] = list(review.gates)
    if review.granted:
        packed["granted"] = review.granted
    return packed


def _unpack(packed: Mapping[str, object]) -> CallReview:
    return CallReview(
        packed["v"],  # type: ignore[arg-type]
        str(packed["fp"]),
        tuple(packed.get("items", ())),  # type: ignore[arg-type]
        tuple(packed.get("gates", ())),  # type: ignore[arg-type]
        str(packed.get("granted", "")),
    )


register(CallReview, name="call_review", pack=_pack, unpack=_unpack)
register(Review, name="review")


def join_reviews(old: Review | None, new: Review | None) -> Review | None:
    """Return the newer review; of two reviews of one turn, what both together say."""
    if old is None or new is None or old.message != new.message:
        return new
    if len(old.calls) != len(new.calls):
        return new  # the turn was written anew
    calls = tuple(_joined(a, b) for a, b in zip(old.calls, new.calls, strict=True))
    return Review(new.message, calls)


def _joined(old: CallReview, new: CallReview) -> CallReview:
    """Return the stricter of two verdicts; a call that two asked about needs both."""
    stricter = old if _STRICTER[old.verdict] > _STRICTER[new.verdict] else new
    # Who judged what the call was before it was rewritten has not judged this one.
    gates = _union(old.gates, new.gates) if old.fingerprint == new.fingerprint else stricter.gates
    return replace(stricter, items=_union(old.items, new.items), gates=gates)


def _union(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return (*old, *(one for one in new if one not in old))


class ReviewState(TypedDict, total=False):
    """The channel that holds the newest review; only approval nodes write it."""

    hitl_review: Annotated[Review | None, join_reviews, Hidden()]
