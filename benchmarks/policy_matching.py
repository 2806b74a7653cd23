"""What one judgement costs, over the number of rules: a look-up or a scan.

``python -m benchmarks.policy_matching`` measures ours beside each peer, and with ``--save``
writes the table and a plot.
"""

from __future__ import annotations

import argparse
import gc
import json
import tracemalloc
from collections.abc import Callable, Sequence

from benchmarks.measure import Figure, Scale, measure, scaled, timed
from benchmarks.paired import VARIABLE, Peer, find_peer, run_peer
from benchmarks.policy_report import show, write
from benchmarks.policy_rules import CASES, KINDS, Call, Rule, call_for, rules_for, sizes, title
from benchmarks.report import Result
from hitl.policy import Policy
from hitl.values import ToolCall

__all__ = ["AIMS", "bare", "document", "hitl", "main"]

AIMS = {title(kind, size, case): "2 µs"
        for kind in KINDS for size in sizes(quick=False) for case in CASES}  # fmt: skip


def document(rules: Sequence[Rule]) -> str:
    """Return the policy file for some rules, as JSON."""
    return json.dumps(
        {
            "hitl_policy": 1,
            "default": "allow",
            "rules": [
                {
                    "id": f"r{number}",
                    "tools": [rule.tool],
                    "effect": "ask",
                    **({"where": {"path": {"glob": f"{rule.under}**"}}} if rule.under else {}),
                }
                for number, rule in enumerate(rules)
            ],
        }
    )


def _call(call: Call) -> ToolCall:
    return {"name": call.tool, "args": {"path": call.path}, "id": "1", "type": "tool_call"}


def hitl(scale: Scale) -> list[Figure]:
    """Measure ours."""
    found = []
    for size in sizes(quick=scale.quick):
        for kind in KINDS:
            policy = Policy.from_text(document(rules_for(kind, size)))
            for case in CASES:
                call = _call(call_for(kind, size, case))
                effect = policy.judge(call).effect
                if effect != ("ask" if case == "hit" else "allow"):
                    raise AssertionError(f"{kind}, {size}, {case}: {effect}")
                run = lambda policy=policy, call=call: policy.judge(call)  # noqa: E731
                found.append(measure(title(kind, size, case), run, scale))
        found += [_interrupt_on(size, scale), _worst(size, scale)]
    return [*found, _compiling(scale)]


def _interrupt_on(size: int, scale: Scale) -> Figure:
    policy = Policy.from_interrupt_on({rule.tool: True for rule in rules_for("names", size)})
    call = _call(call_for("names", size, "miss"))
    return measure(f"policy: interrupt_on, {size:,} names, miss", lambda: policy.judge(call), scale)


def _worst(size: int, scale: Scale) -> Figure:
    """Measure rules that no index helps with: every one must be asked, and none matches."""
    rules = [
        {
            "id": f"r{i}",
            "tools": ["say"],
            "effect": "ask",
            "where": {"text": {"contains": f"w{i}-"}},
        }
        for i in range(size)
    ]
    policy = Policy.from_text(json.dumps({"hitl_policy": 1, "default": "allow", "rules": rules}))
    call: ToolCall = {"name": "say", "args": {"text": "nothing of it"}, "id": "1",
                      "type": "tool_call"}  # fmt: skip
    return measure(f"policy: contains, {size:,} rules, worst", lambda: policy.judge(call), scale)


def _compiling(scale: Scale) -> Figure:
    """Measure how long the largest file takes to load, and the memory that it then holds."""
    size = sizes(quick=scale.quick)[-1]
    text = document(rules_for("mixed", size))
    Policy.from_text(document(rules_for("mixed", 1)))
    gc.collect()
    tracemalloc.start()
    policy = Policy.from_text(text)
    gc.collect()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del policy
    counts = {"bytes of file": float(len(text)), "bytes held": float(held), "peak": float(peak)}
    return timed(
        f"policy: load a file of {size:,} mixed rules",
        lambda: Policy.from_text(text),
        times=1 if scale.quick else 3,
        counts=counts,
    )


def bare(scale: Scale) -> list[Figure]:
    """Measure what one writes by hand: a set of names, a tuple of beginnings."""
    found = []
    for size in sizes(quick=scale.quick):
        for kind in KINDS:
            asks = _by_hand(rules_for(kind, size))
            for case in CASES:
                call = call_for(kind, size, case)
                run = lambda asks=asks, call=call: asks(call)  # noqa: E731
                found.append(measure(title(kind, size, case), run, scale))
    return found


def _by_hand(rules: Sequence[Rule]) -> Callable[[Call], bool]:
    names = {rule.tool for rule in rules if not rule.under and "*" not in rule.tool}
    starts = tuple(rule.tool[:-1] for rule in rules if rule.tool.endswith("*"))
    paths = {
        tool: tuple(rule.under for rule in rules if rule.under and rule.tool == tool)
        for tool in {rule.tool for rule in rules if rule.under}
    }

    def asks(call: Call) -> bool:
        return (
            call.tool in names
            or call.tool.startswith(starts)
            or call.path.startswith(paths.get(call.tool, ()))
        )

    return asks


def main(words: Sequence[str] | None = None) -> int:
    """Measure all sides, show them, and write them down if asked; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policy_matching")
    parser.add_argument("--quick", action="store_true", help="a smoke run of some seconds")
    parser.add_argument("--save", action="store_true", help="write table and plot")
    peer = f"an interpreter with the peers; or the variable {VARIABLE}"
    parser.add_argument("--rival-python", metavar="PATH", help=peer)
    options = parser.parse_args(words)
    result = Result(options.quick)
    with scaled(quick=options.quick) as scale:
        ours, by_hand = hitl(scale), bare(scale)
    python = find_peer(options.rival_python)
    theirs = (
        run_peer(python, "policy_matching", quick=options.quick)
        if python
        else Peer(trouble=f"No peers: use --rival-python or {VARIABLE}.")
    )
    result.peers.update(theirs.versions)
    result.notes += [theirs.trouble] if theirs.trouble else []
    show(ours, by_hand, theirs, result)
    if options.save:
        for path in write(ours, by_hand, theirs, result):
            print(f"written: {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
