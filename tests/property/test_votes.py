"""Whatever order votes come in, the first complete set wins, and a plain reading agrees."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.checkpoint import InMemorySaver, SqliteSaver
from hitl.errors import AlreadyDecided, Expired, NotAllowed
from hitl.inbox import Inbox
from hitl.ledger import Ask, decide, items_of
from hitl.values import Commit, Draft, Item, ItemChange, Json, ManualClock

PEOPLE = ["ann", "bob", "cy", "dee"]
SAYINGS: dict[str, Any] = {
    "yes": {"type": "approve"},
    "edit 1": {"type": "edit", "edited_action": {"name": "pay", "args": {"n": 1}}},
    "edit 2": {"type": "edit", "edited_action": {"name": "pay", "args": {"n": 2}}},
    "no": {"type": "reject"},
}
requirements = st.fixed_dictionaries(
    {
        "any_of": st.just([]),
        "people": st.lists(st.sampled_from(PEOPLE), unique=True),
        "need": st.integers(1, 3),
        "not_requester": st.booleans(),
    }
)
words = st.tuples(st.sampled_from(PEOPLE), st.sampled_from(list(SAYINGS)))


def an_item(reviewers: list[Any], **rules: Json) -> Item:
    ask = Ask(
        "action", "f" * 32, {"name": "pay", "args": {"n": 0}}, ("approve", "edit", "reject"),
        {"reviewers": reviewers, "args_schema": {"type": "object"}, "requester": "ann", **rules},
    )  # fmt: skip
    return items_of([ask], ["1" * 32], "2" * 32, thread="t", path="n", at=0.0)[0]


def plainly(reviewers: list[Any], said: list[tuple[str, str]]) -> tuple[str, str] | None:
    """Return who decided what, by a slow and obvious reading of the rules."""

    def listed(rule: Any, who: str) -> bool:
        return not rule["people"] or who in rule["people"]

    def may(rule: Any, who: str) -> bool:
        return listed(rule, who) and not (rule["not_requester"] and who == "ann")

    votes: dict[str, str] = {}
    for who, word in said:
        if word == "no":
            if any(listed(rule, who) for rule in reviewers):
                return who, word
            continue
        if any(may(rule, who) for rule in reviewers):
            votes[who] = word
            same = [one for one in votes if votes[one] == word]
            if all(sum(may(rule, one) for one in same) >= rule["need"] for rule in reviewers):
                return who, word
    return None


@settings(max_examples=300)
@given(st.lists(requirements, min_size=1, max_size=3), st.lists(words, max_size=12))
def test_the_ledger_agrees_with_a_plain_reading(reviewers, said):
    item = an_item(reviewers)
    for who, word in said:
        try:
            change = decide(item, SAYINGS[word], by=who, at=1.0)
        except (NotAllowed, AlreadyDecided):
            continue
        item = item if change is None else change.item
    wanted = plainly(reviewers, said)
    if wanted is None:
        assert (item.state, item.decision) == ("pending", None)
        return
    by, word = wanted
    assert item.decision is not None
    assert (item.decision.by, item.decision.type) == (by, SAYINGS[word]["type"])
    assert len({vote.by for vote in item.votes}) == len(item.votes)


@given(st.lists(requirements, min_size=1, max_size=2), st.data())
def test_the_order_of_votes_for_one_thing_does_not_matter(reviewers, data):
    voters = data.draw(st.lists(st.sampled_from(PEOPLE), unique=True, max_size=4))
    ends = set()
    for order in permutations(voters):
        item = an_item(reviewers)
        for who in order:
            try:
                change = decide(item, SAYINGS["yes"], by=who, at=1.0)
            except NotAllowed:
                continue
            item = item if change is None else change.item
        ends.add(item.state)
    assert len(ends) == 1


steps = st.one_of(
    words.map(lambda one: ("say", *one)),
    st.integers(0, 40).map(lambda by: ("wait", by)),
    st.just(("sweep",)),
)


@settings(max_examples=80)
@given(st.lists(requirements, min_size=1, max_size=2), st.lists(steps, max_size=12))
def test_both_stores_come_to_the_same_and_nothing_is_decided_late(reviewers, script):
    ends = []
    for make in (InMemorySaver, lambda clock: SqliteSaver(":memory:", clock=clock)):
        clock = ManualClock(0.0)
        store = make(clock=clock)
        item = an_item(reviewers, deadline={"after": 60, "escalate_at": 30, "people": ["dee"]})
        store.append(Commit("t", (Draft("pause", "{}"),), (ItemChange(item),)))
        desk, told = Inbox(store), list[str]()
        for kind, *more in script:
            if kind == "wait":
                clock.advance(more[0])
            elif kind == "sweep":
                desk.sweep()
            else:
                try:
                    told.append(desk.decide(item.id, SAYINGS[more[1]], by=more[0]).state)
                except (NotAllowed, AlreadyDecided, Expired) as error:
                    told.append(type(error).__name__)
        end = desk.get(item.id)
        ends.append((end, told))
        if end.state == "decided":
            assert end.decision is not None
            assert end.decision.at < 60
            assert all(vote.at < 60 for vote in end.votes)
        if end.state == "expired":
            assert clock.now() >= 60
        store.close()
    assert ends[0] == ends[1]
