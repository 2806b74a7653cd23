"""The review of a model's turn: what was decided about each of its calls, frozen in the state.

It is computed once, when the turn is reviewed, and stored with the step's own entry. The
executor reads it just before a tool's body; nothing else says that a reviewed call may run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

from hitl.codec import register
from hitl.engine import Hidden
from hitl.values import Json, ToolCall

__all__ = ["CallReview", "Review", "ReviewState", "join_reviews"]

CallVerdict = Literal["free", "asked", "closed"]
"""``free``: no rule asked; ``asked``: a human said yes to exactly this; ``closed``: it has its
answer and never runs."""

_STRICTER = {"free": 0, "asked": 1, "closed": 2}


@dataclass(frozen=True, slots=True)
class CallReview:
    """What was decided about one call.

    Attributes:
        verdict: Whether it may run.
        fingerprint: Of the call that may run: the model's, or the edited one.
        item: Id of the item on which a human said yes; empty for a free call.
        edited: ``{"name", "args"}`` that runs in place of the model's call, if it was edited.
    """

    verdict: CallVerdict
    fingerprint: str
    item: str = ""
    edited: dict[str, Json] | None = None

    def call(self, proposed: ToolCall) -> ToolCall:
        """Return the call that runs: the proposed one, or what a reviewer made of it."""
        if self.edited is None:
            return proposed
        edited: ToolCall = {**proposed, **self.edited}  # type: ignore[typeddict-item]
        return edited


@dataclass(frozen=True, slots=True)
class Review:
    """The review of one model turn: its message's id, and a verdict for each call in order."""

    message: str
    calls: tuple[CallReview, ...]

    def of(self, message: str, index: int) -> CallReview | None:
        """Return what was decided about a call, None where this review does not speak of it."""
        if message != self.message or index >= len(self.calls):
            return None
        return self.calls[index]


def _pack(review: CallReview) -> dict[str, object]:
    packed: dict[str, object] = {"v": review.verdict, "fp": review.fingerprint}
    if review.item:
        packed["item"] = review.item
    if review.edited is not None:
        packed["edited"] = review.edited
    return packed


def _unpack(packed: Mapping[str, object]) -> CallReview:
    return CallReview(
        packed["v"],  # type: ignore[arg-type]
        str(packed["fp"]),
        str(packed.get("item", "")),
        packed.get("edited"),  # type: ignore[arg-type]
    )


register(CallReview, name="call_review", pack=_pack, unpack=_unpack)
register(Review, name="review")


def join_reviews(old: Review | None, new: Review | None) -> Review | None:
    """Return the newer review; of two reviews of one turn, the stricter verdict per call."""
    if old is None or new is None or old.message != new.message:
        return new
    pairs = zip(old.calls, new.calls, strict=True)
    calls = (a if _STRICTER[a.verdict] > _STRICTER[b.verdict] else b for a, b in pairs)
    return Review(new.message, tuple(calls))


class ReviewState(TypedDict, total=False):
    """The channel that holds the newest review; only approval nodes write it."""

    hitl_review: Annotated[Review | None, join_reviews, Hidden()]
