"""Processes are killed around the work of sub-agents; another one opens the file and goes on."""

from __future__ import annotations

import pytest

START = {"input": {"messages": [{"role": "user", "content": "go"}]}}
DEEP = {"deep": True}


def asked(place):
    """Return the turns that the sub-agents' models were asked for, over all processes."""
    return (place.folder / "asked.txt").read_text().splitlines()


def approve(said):
    yes = {"decisions": [{"type": "approve"}]}
    return {**DEEP, "input": {"resume": dict.fromkeys(said["ids"], yes)}}


def paused(place):
    said = place.run({**DEEP, **START})
    assert len(said["waits"]) == 2
    return said


def test_sub_agents_that_wait_go_on_in_another_process_without_asking_again(place):
    said = paused(place)
    assert sorted(asked(place)) == ["a 2", "b 2"]
    said = place.run(approve(said))
    assert (said["waits"], said["results"]) == ([], ["a paid", "b paid"])
    assert len(place.ran()) == 2
    assert sorted(asked(place)) == ["a 2", "a 4", "b 2", "b 4"]


def settled(place, said):
    """Answer what is lost as the oracle says, and approve what still waits; return the end."""
    while said["waits"]:
        lost = [one["outcome_unknown"] for one in said["waits"] if "outcome_unknown" in one]
        answers = approve(said)["input"]["resume"]
        for one in lost:
            paid = [line for line in place.ran() if line.startswith(f"{one['args']['amount']} ")]
            happened = {"type": "respond", "message": "paid"}
            answers[one["id"]] = happened if paid else {"type": "retry"}
        said = place.run({**DEEP, "input": {"resume": answers}})
    return said


@pytest.mark.parametrize("point", ["sub:1:before", "sub:2:after", "sub:3:before", "sub:4:after"])
def test_a_process_that_dies_before_the_pause_leaves_work_that_goes_on(place, point):
    assert place.run({**DEEP, **START, "point": point}) == {"died": True}
    said = place.run({**DEEP, "input": None})
    assert len(said["waits"]) == 2
    assert place.ran() == []
    said = settled(place, said)
    assert (said["results"], said["last"]) == (["a paid", "b paid"], "done")
    assert len(place.ran()) == 2


@pytest.mark.parametrize(
    "point", [f"sub:{n}:{when}" for n in range(1, 8, 2) for when in ("before", "after")]
)
def test_a_process_that_dies_behind_the_answers_never_pays_twice(place, point):
    place.run({**approve(paused(place)), "point": point})
    said = settled(place, place.run({**DEEP, "input": None}))
    assert (said["results"], said["last"]) == (["a paid", "b paid"], "done")
    assert sorted(line.split()[0] for line in place.ran()) == ["5", "6"]


@pytest.mark.parametrize("point", ["body:before", "body:after"])
def test_a_payment_inside_that_was_cut_off_is_asked_about(place, point):
    assert place.run({**approve(paused(place)), "point": point}) == {"died": True}
    said = place.run({**DEEP, "input": None})
    assert any("outcome_unknown" in one for one in said["waits"])
    said = settled(place, said)
    assert (said["results"], said["last"]) == (["a paid", "b paid"], "done")
    assert sorted(line.split()[0] for line in place.ran()) == ["5", "6"]
