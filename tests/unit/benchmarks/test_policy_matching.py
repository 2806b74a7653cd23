"""The policy benchmark: all sides judge the same rules, and the results come to a page."""

from __future__ import annotations

import sys

import pytest

from benchmarks.measure import Figure
from benchmarks.paired import Peer
from benchmarks.policy_matching import AIMS, document
from benchmarks.policy_report import write
from benchmarks.policy_rules import CASES, KINDS, call_for, rules_for, sizes, title
from benchmarks.report import Result
from hitl.policy import Policy


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_the_last_rule_is_hit_and_nothing_else_is(kind, size):
    policy = Policy.from_text(document(rules_for(kind, size)))
    for case in CASES:
        call = call_for(kind, size, case)
        verdict = policy.judge({"name": call.tool, "args": {"path": call.path}, "id": None})
        assert verdict.effect == ("ask" if case == "hit" else "allow")
        assert len(verdict.rules) == (case == "hit")


def figures(*, peer: str = "") -> list[Figure]:
    works = [
        title(kind, size, case) for kind in KINDS for size in sizes(quick=True) for case in CASES
    ]
    end = f" | {peer}" if peer else ""
    return [Figure(work + end, 2.0, 2.5, 2.0, 2.5) for work in works]


def test_results_are_written_with_a_plot_where_it_can_be_drawn(tmp_path, monkeypatch):
    loaded = Figure(
        "policy: load a file of 100 mixed rules", 1e6, 1e6, 1e6, 1e6, {"bytes held": 2e6}
    )
    theirs = Peer(figures(peer="other"), {"other": "1.0"})
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page, tree = write([*figures(), loaded], figures(), theirs, Result(quick=True), folder=tmp_path)
    assert tree.suffix == ".json"
    text = page.read_text()
    assert "| work | hitl | bare | other |" in text
    assert "1.00 s; 2.0 MB bytes held." in text
    assert "matplotlib is not installed" in text


def test_the_plot_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    loaded = Figure("policy: load a file of 100 mixed rules", 1e6, 1e6, 1e6, 1e6, {})
    paths = write([*figures(), loaded], figures(), Peer(), Result(quick=True), folder=tmp_path)
    assert paths[-1].suffix == ".svg"
    assert "<svg" in paths[-1].read_text()


def test_every_size_has_its_aim():
    assert len(AIMS) == len(KINDS) * len(CASES) * len(sizes(quick=False))
