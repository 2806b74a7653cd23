"""A process is killed around a tool's effect; another one opens the file and goes on.

What the tool did is read from a file that it appends to and syncs.
"""

from __future__ import annotations

import pytest

from tests.crash.points import POINTS

HAPPENED = {point.place for point in POINTS if point.happened}


def killed(place, waiting, order, point):
    id = waiting(order)
    approve = {"input": {"resume": {id: {"type": "approve"}}}}
    said = place.run({**order, **approve, "point": point})
    return approve, said


def recovered(place, order, approve):
    """Go on in a new process; return what it says, its answer given again if it was lost."""
    said = place.run({**order, "input": None})
    if said["waits"] and "action_requests" in said["waits"][0]:
        said = place.run({**order, **approve})
    return said


@pytest.mark.parametrize("point", POINTS, ids=[point.name for point in POINTS])
def test_an_effect_never_runs_twice_by_itself(place, waiting, point):
    approve, said = killed(place, waiting, {}, point.place)
    assert said == {"died": True}
    assert bool(place.ran()) == point.happened
    said = recovered(place, {}, approve)
    assert len(place.ran()) == (point.happened or not point.unknown)
    if not point.unknown:
        assert (said["waits"], said["results"]) == ([], ["paid 5"])
        return
    asked = said["waits"][0]["outcome_unknown"]
    assert (asked["name"], asked["args"]) == ("pay", {"amount": 5})
    what = {"type": "respond", "message": "paid 5"} if place.ran() else {"type": "retry"}
    said = place.run({"input": {"resume": {asked["id"]: what}}})
    assert (said["waits"], said["results"], said["last"]) == ([], ["paid 5"], "done")
    assert len(place.ran()) == 1


@pytest.mark.parametrize("effect", ["idempotent", "pure"])
@pytest.mark.parametrize("point", ["intent:1:after", "body:before", "body:after", "step:2:before"])
def test_a_call_that_may_be_repeated_runs_again_with_the_same_key(place, waiting, effect, point):
    if effect == "pure" and point.startswith("intent"):
        point = "step:1:after"  # a pure call writes no intent
    order = {"effect": effect}
    approve, said = killed(place, waiting, order, point)
    assert said == {"died": True}
    said = recovered(place, order, approve)
    assert (said["waits"], said["results"]) == ([], ["paid 5"])
    assert len(place.ran()) == (2 if point in HAPPENED else 1)
    assert len(set(place.ran())) == 1


@pytest.mark.parametrize(
    ("point", "unknown"),
    [("decide:1:after", False), ("intent:1:after", True), ("body:after", True)],
)
def test_per_call_approval_holds_to_the_same(place, waiting, point, unknown):
    order = {"mode": "per_call"}
    approve, said = killed(place, waiting, order, point)
    assert said == {"died": True}
    said = recovered(place, order, approve)
    assert bool(said["waits"]) == unknown
    assert len(place.ran()) == (point != "intent:1:after")


def test_a_call_that_is_given_up_never_runs_and_the_model_is_told(place, waiting):
    killed(place, waiting, {}, "intent:1:after")
    asked = place.run({"input": None})["waits"][0]["outcome_unknown"]
    said = place.run({"input": {"resume": {asked["id"]: {"type": "reject"}}}})
    assert place.ran() == []
    assert "its outcome is not known" in said["results"][0]


def test_a_retry_that_dies_too_is_asked_about_again(place, waiting):
    killed(place, waiting, {}, "body:after")
    first = place.run({"input": None})["waits"][0]["outcome_unknown"]
    retry = {"input": {"resume": {first["id"]: {"type": "retry"}}}}
    assert place.run({**retry, "point": "body:after"}) == {"died": True}
    second = place.run({"input": None})["waits"][0]["outcome_unknown"]
    assert second["id"] != first["id"]
    assert len(place.ran()) == 2
    assert len(set(place.ran())) == 1, "both starts bear the same key"


def test_an_unknown_outcome_is_not_approved_and_not_answered_by_position(place, waiting):
    killed(place, waiting, {}, "body:after")
    asked = place.run({"input": None})["waits"][0]["outcome_unknown"]
    by_id = place.run({"input": {"resume": {asked["id"]: {"type": "approve"}}}})
    by_place = place.run({"input": {"resume": {"decisions": [{"type": "approve"}]}}})
    message = place.run({"input": {"messages": [{"role": "user", "content": "and?"}]}})
    assert by_id["error"] == "NotAllowed"
    assert by_place["error"] == "WrongAnswer"
    assert message["error"] == "OutcomeUnknown"
    assert len(place.ran()) == 1
