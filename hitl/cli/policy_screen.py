"""Findings, explanations and changes of policies, as people read them and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from hitl.cli.screen import Screen
from hitl.policy import Change, Explanation, Finding, Verdict
from hitl.values import Json

__all__ = ["show_changes", "show_explanation", "show_findings"]

_STYLES = {"allow": "green", "ask": "yellow", "deny": "red"}
_ROWS = 200


def show_findings(screen: Screen, findings: Sequence[Finding], more: dict[str, Json]) -> None:
    """Print findings; ``more`` goes into the document beside them."""
    findings = sorted(findings, key=lambda one: (one.file, one.line))
    shown: list[Json] = [
        {
            "level": one.level,
            "file": one.file,
            "line": one.line,
            "place": one.place,
            "message": one.message,
            "hint": one.hint,
        }
        for one in findings
    ]
    screen.document({**more, "findings": shown})
    for one in findings:
        where = f"{one.file}:{one.line}" if one.line else one.file
        place = f" {one.place}" if one.place else ""
        screen.say(f"{where}: {one.level}{place}", "red" if one.level == "error" else "yellow")
        screen.say(one.message, indent=2)
        if one.hint:
            screen.say(one.hint, indent=2)
    if findings:
        errors = sum(one.level == "error" for one in findings)
        counts = ((errors, "error"), (len(findings) - errors, "warning"))
        told = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts if n]
        screen.say(f"{', '.join(told)}.")


def show_explanation(screen: Screen, told: Explanation) -> None:
    """Print why a call gets its verdict."""
    screen.document(told.as_json())
    verdict = told.verdict
    screen.say(f"{verdict.effect}: {verdict.why}", f"bold {_STYLES[verdict.effect]}")
    for vote in told.by:
        name = vote.rule or "no rule"
        where = f" ({vote.place})" if vote.place else ""
        screen.say(f"by {name}{where}: {vote.why}" if vote.rule else f"by {name}", indent=2)
    obligations = verdict.obligations.as_rules()
    facts = [("decisions", ", ".join(verdict.allowed))] if verdict.allowed else []
    facts += [(name, json.dumps(value)) for name, value in obligations.items()]
    screen.facts([*facts, ("policy", told.policy_id), ("arguments", told.args_fp)])
    if told.unknowns:
        screen.say("Could not be told, so it counts for ask and deny and not for allow:", "bold")
        rows = [
            (one.rule, one.argument, f"{one.operator} {json.dumps(one.wanted)}",
             "missing" if one.missing else json.dumps(one.got))
            for one in told.unknowns
        ]  # fmt: skip
        screen.table({"rule": "fold", "argument": "fold", "wanted": "fold", "got": "cut"}, rows)
    if told.near:
        screen.say("Rules of this tool that did not match:", "bold")
        near = [
            (one.rule, one.effect, f"{one.argument} {one.operator} {json.dumps(one.wanted)}",
             json.dumps(one.got), one.place)
            for one in told.near
        ]  # fmt: skip
        headers = {"rule": "fold", "says": "whole", "wanted": "fold", "got": "cut", "at": "whole"}
        screen.table(headers, near)


def show_changes(screen: Screen, changes: Sequence[Change], calls: int) -> None:
    """Print which of so many calls are judged differently."""
    shown: list[Json] = [_change(change) for change in changes]
    screen.document({"calls": calls, "changes": shown})
    if changes:
        screen.table(
            {"tool": "fold", "arguments": "cut", "was": "whole", "is": "whole", "by": "fold"},
            list(_rows(changes[:_ROWS])),
        )
    if len(changes) > _ROWS:
        screen.say(f"{len(changes) - _ROWS} more: --json lists them.")
    screen.say(f"{len(changes)} of {calls} different calls are judged differently.")


def _change(change: Change) -> dict[str, Json]:
    def told(verdict: Verdict) -> dict[str, Json]:
        return {"verdict": verdict.effect, "rules": list(verdict.rules), "why": verdict.why}

    return {
        "name": change.call["name"],
        "args": change.call["args"],
        "direction": change.direction,
        "old": told(change.old),
        "new": told(change.new),
    }


def _rows(changes: Iterable[Change]) -> Iterable[tuple[str, ...]]:
    for change in changes:
        yield (
            change.call["name"],
            json.dumps(change.call["args"], ensure_ascii=False),
            change.old.effect,
            f"{change.new.effect} ({change.direction})",
            ", ".join(change.new.rules) or "default",
        )
