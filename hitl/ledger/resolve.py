"""Which items an answer to a thread is meant for: by id, by position, or refused as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hitl.errors import NothingWaiting, UnknownId, WrongAnswer
from hitl.ledger.deadlines import has_expired, late
from hitl.ledger.decide import CLOSED, decisions
from hitl.ledger.votes import needs_votes
from hitl.ledger.wording import near
from hitl.values import Item, ItemChange, is_id

__all__ = ["bind", "groups", "is_map", "resolve"]

_UNTAKEN = ("pending", "decided")

Lookup = Callable[[str], Sequence[Item]]


def is_map(answer: object) -> bool:
    """Return whether an answer is a map from ids: a non-empty dict whose keys are all ids."""
    return isinstance(answer, Mapping) and bool(answer) and all(is_id(key) for key in answer)


def groups(items: Iterable[Item]) -> dict[str, list[Item]]:
    """Return items by the question they belong to, each group in order."""
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(item.interrupt, []).append(item)
    for group in found.values():
        group.sort(key=lambda item: item.index)
    return found


def bind(live: Mapping[str, Item], answer: object, *, thread: str) -> Mapping[str, object]:
    """Return an answer as a map from ids; one without id is bound to the one open question.

    Once bound, an answer can be given again after the thread has moved, and never reaches a
    question that its sender has not seen.

    Args:
        live: The thread's live items by id.
        answer: A map from item or interrupt ids, or the answer to the one open question.
        thread: The thread that is answered.

    Raises:
        NothingWaiting: No question is open, and no id was given.
        WrongAnswer: More than one question is open, or it must be answered by id.
    """
    if is_map(answer):
        assert isinstance(answer, Mapping)
        return answer
    questions = groups(item for item in live.values() if item.state in _UNTAKEN)
    return {_the_one(questions, thread)[0].interrupt: answer}


def resolve(
    live: Mapping[str, Item],
    answer: object,
    *,
    thread: str,
    lookup: Lookup,
    by: str | None,
    at: float,
) -> list[ItemChange]:
    """Return the changes that an answer makes; none where all of it has been said already.

    Args:
        live: The thread's live items by id.
        answer: A map from item or interrupt ids, or the answer to the one open question.
        thread: The thread that is answered.
        lookup: Finds items, closed ones included, by item or interrupt id.
        by: Who answers.
        at: The store's time.

    Raises:
        NothingWaiting: No question is open, and no id was given.
        WrongAnswer: It has not the right form or number, or more than one question is open.
        UnknownId: An id names nothing of this thread that can be decided.
        NotAllowed, AlreadyDecided, Stale, Expired: See ``decide``.
    """
    pairs = [
        pair
        for id, value in bind(live, answer, thread=thread).items()
        for pair in _by_id(id, value, live, thread, lookup)
    ]
    if len({item.id for item, _ in pairs}) < len(pairs):
        raise WrongAnswer("One item is answered twice in the same call.", thread=thread)
    return decisions(pairs, by=by, at=at)


def _by_id(
    id: str, value: object, live: Mapping[str, Item], thread: str, lookup: Lookup
) -> list[tuple[Item, object]]:
    if id in live:
        return [(live[id], value)]
    # Closed items are looked up, so that a repeat can be told from a stranger's id.
    group = groups(item for item in live.values() if item.interrupt == id).get(id)
    group = group or [item for item in lookup(id) if item.thread == thread]
    for item in group:
        if has_expired(item) and item.state not in CLOSED:
            raise late(item)
    closed = next((item for item in group if item.state in CLOSED), None)
    if not group or closed is not None:
        open_ids = [item.id for item in live.values() if item.state == "pending"]
        what = (
            f"No open item of this thread has the id {id}.{near(id, open_ids)}"
            if closed is None
            else f"Item {closed.id} is {closed.state}; it can no longer be decided."
        )
        raise UnknownId(
            what,
            hint=f"Open here: {', '.join(open_ids) or 'nothing'}.",
            id=id,
            open=tuple(open_ids),
        )
    if len(group) == 1 and (group[0].id == id or _is_decision(group[0], value)):
        return [(group[0], value)]
    return _by_position(sorted(group, key=lambda item: item.index), value)


def _is_decision(item: Item, value: object) -> bool:
    """Return whether a question about one call is answered with the decision itself."""
    asked_alone = item.kind == "action" and "response_schema" in item.rules
    return asked_alone and isinstance(value, Mapping) and "decisions" not in value


def _the_one(questions: Mapping[str, list[Item]], thread: str) -> list[Item]:
    waiting = [g for g in questions.values() if any(item.state == "pending" for item in g)]
    candidates = waiting or list(questions.values())
    if not candidates:
        raise NothingWaiting(
            f"Nothing waits for an answer on thread {thread!r}.",
            hint="Check the thread_id; the inbox lists what waits. A run that was only stopped "
            "goes on with invoke(None, config).",
            thread=thread,
        )
    if len(candidates) > 1:
        ids = [group[0].interrupt for group in candidates]
        raise WrongAnswer(
            f"{len(ids)} questions are open on thread {thread!r}; an answer without id could "
            "go to any of them.",
            hint=f"Answer by id: Command(resume={{id: answer}}). Open: {', '.join(ids)}.",
            thread=thread,
            open=tuple(ids),
        )
    group = candidates[0]
    if group[0].kind == "outcome":
        raise WrongAnswer(
            f"What waits on thread {thread!r} is a call whose outcome is not known.",
            hint=f"Answer it by id: Command(resume={{{group[0].id!r}: {{'type': 'retry'}}}}), "
            "or 'respond' or 'reject'.",
            thread=thread,
            open=(group[0].id,),
        )
    return group


def _by_position(group: Sequence[Item], answer: object) -> list[tuple[Item, object]]:
    if group[0].kind == "question":
        return [(group[0], answer)]
    for item in group:
        if needs_votes(item):
            raise WrongAnswer(
                f"Item {item.id} needs the votes of several people.",
                hint=f"Vote by its id: Command(resume={{{item.id!r}: {{'type': 'approve'}}}}).",
                open=tuple(item.id for item in group),
            )
    if not isinstance(answer, Mapping) or set(answer) != {"decisions"}:
        keys = answer if isinstance(answer, Mapping) else ()
        raise WrongAnswer(
            "The answer to an approval must be {'decisions': [...]} and nothing else."
            + next((near(key, ["decisions"]) for key in keys if key != "decisions"), ""),
            hint=f"Give {len(group)} decisions, in the order of the action requests.",
            open=tuple(item.id for item in group),
        )
    decisions = answer["decisions"]
    if not isinstance(decisions, Sequence) or isinstance(decisions, str):
        raise WrongAnswer("'decisions' must be a list.", got=type(decisions).__name__)
    if len(decisions) != len(group):
        raise WrongAnswer(
            f"{len(decisions)} decisions were given for {len(group)} actions.",
            hint="Give one for each action request in order, or answer single items by id.",
            given=len(decisions),
            wanted=len(group),
        )
    return list(zip(group, decisions, strict=True))
