"""Why a call got its verdict: which rules voted, which nearly did, what could not be told.

Owns the account that people read; it asks every rule of the tool one by one, so that it also
tells of those that did not match. The verdict itself comes from the judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from hitl.policy.condition import Args, Condition, parse_pointer, value_at
from hitl.policy.layer import FileLayer, Layer
from hitl.policy.operators import MISSING
from hitl.policy.rule import Part, Rule
from hitl.policy.strictest import RANK
from hitl.policy.verdict import Verdict, VerdictEffect
from hitl.values import Json, fingerprint, plain

__all__ = ["Explanation", "Near", "Unknown", "Vote", "explain"]

_NEAR = 20
_LONG = 200


@dataclass(frozen=True, slots=True)
class Vote:
    """What decided, or would have.

    Attributes:
        layer: The layer's name.
        effect: What was said.
        rule: The rule's id, empty for a default, an unknown tool and code.
        place: The rule's file and line.
        why: Its reason.
    """

    layer: str
    effect: VerdictEffect
    rule: str = ""
    place: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Near:
    """A rule that speaks of the tool and did not match, with the first thing that failed.

    Attributes:
        rule: The rule's id.
        effect: What it would have said.
        place: The rule's file and line.
        layer: The layer's name.
        argument: The argument that was looked at.
        operator: What was asked of it; ``unless`` before it for an exception that held.
        wanted: What the rule wants.
        got: What the call has, None where the argument is missing.
        unknown: Whether it could not be told, which is no match for a rule that allows.
    """

    rule: str
    effect: VerdictEffect
    place: str
    layer: str
    argument: str
    operator: str
    wanted: Json
    got: Json
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """A condition that could not be told.

    Attributes:
        rule: The rule's id.
        argument: The argument that was looked at.
        operator: What was asked of it.
        wanted: What the rule wants.
        got: What the call has, None where the argument is missing.
        missing: Whether the argument is missing.
    """

    rule: str
    argument: str
    operator: str
    wanted: Json
    got: Json
    missing: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a call got its verdict.

    Attributes:
        verdict: The verdict, with its decisions and merged obligations.
        by: What decided.
        layers: What each layer said, in their order.
        near: Rules of the tool that did not match; of many, the strictest.
        unknowns: Conditions that could not be told.
        policy_id: The hash of the policy.
        args_fp: The fingerprint of the call, empty where its arguments are not plain JSON.
    """

    verdict: Verdict
    by: tuple[Vote, ...]
    layers: tuple[Vote, ...]
    near: tuple[Near, ...]
    unknowns: tuple[Unknown, ...]
    policy_id: str
    args_fp: str

    def as_json(self) -> dict[str, Json]:
        """Return it as plain JSON."""
        verdict = self.verdict
        return {
            "verdict": verdict.effect,
            "why": verdict.why,
            "allowed": list(verdict.allowed),
            "by": [_json(asdict(vote)) for vote in self.by],
            "layers": [_json(asdict(vote)) for vote in self.layers],
            "merged": verdict.obligations.as_rules(),
            "near": [_json(asdict(near)) for near in self.near],
            "unknowns": [_json(asdict(unknown)) for unknown in self.unknowns],
            "policy_id": self.policy_id,
            "args_fp": self.args_fp,
        }


def explain(
    layers: Sequence[Layer], said: Sequence[Verdict], verdict: Verdict, name: str, args: Args
) -> Explanation:
    """Return the account of a judgement.

    Args:
        layers: The policy's layers.
        said: What each of them said.
        verdict: What they said together.
        name: The tool's name.
        args: The arguments.
    """
    top = max(RANK[one.effect] for one in said)
    by: list[Vote] = []
    near: list[Near] = []
    unknowns: list[Unknown] = []
    for layer, one in zip(layers, said, strict=True):
        whole = Vote(layer.name, one.effect, "", one.rule if not one.rules else "", one.why)
        rules = layer.rules_for(name) if isinstance(layer, FileLayer) else []
        votes = [rule for rule in rules if rule.id in one.rules and rule.matches(args)]
        if RANK[one.effect] == top:
            by += [_vote(layer.name, rule) for rule in votes] or [whole]
        near += [_near(layer.name, rule, args) for rule in rules if not rule.matches(args)]
        unknowns += [unknown for rule in rules for unknown in _unknowns(rule, args)]
    near.sort(key=lambda one: (-RANK[one.effect], one.place, one.rule))
    overall = tuple(
        Vote(layer.name, one.effect, "", one.rule, one.why)
        for layer, one in zip(layers, said, strict=True)
    )
    print_ = _fingerprint(name, args)
    return Explanation(
        verdict,
        tuple(sorted(by, key=lambda vote: (vote.layer, vote.rule))),
        overall,
        tuple(near[:_NEAR]),
        tuple(unknowns[:_NEAR]),
        verdict.policy_id,
        print_,
    )


def _vote(layer: str, rule: Rule) -> Vote:
    return Vote(layer, rule.effect, rule.id, rule.verdict.rule, rule.verdict.why)


def _near(layer: str, rule: Rule, args: Args) -> Near:
    """Return why a rule did not match: its first condition that failed, or its exception."""
    wants = (True,) if rule.effect == "allow" else (True, None)
    failed = next((part for part in rule.where if part.check(args) not in wants), None)
    part = failed or rule.unless[0]
    condition = _telling(part, args)
    word = condition.operator
    if isinstance(part, Condition):
        word = word if failed else f"unless {word}"
    else:
        word = f"{part.kind} {word}" if failed else f"unless {part.kind} {word}"
    return Near(
        rule.id,
        rule.effect,
        rule.verdict.rule,
        layer,
        condition.pointer,
        word,
        condition.wanted,
        _got(condition, args)[0],
        part.check(args) is None,
    )


def _telling(part: Part, args: Args) -> Condition:
    """Return the condition of a part that says most: of a group the first that is not met."""
    inside = part.conditions
    return next((one for one in inside if one.check(args) is not True), inside[0])


def _unknowns(rule: Rule, args: Args) -> Iterator[Unknown]:
    for part in (*rule.where, *rule.unless):
        for condition in part.conditions:
            if condition.check(args) is None:
                got, missing = _got(condition, args)
                yield Unknown(
                    rule.id, condition.pointer, condition.operator, condition.wanted, got, missing
                )


def _got(condition: Condition, args: Args) -> tuple[Json, bool]:
    """Return what a call has where a condition looks, in few words, and whether it is missing."""
    value = value_at(args, parse_pointer(condition.pointer))
    if value is MISSING:
        return None, True
    if isinstance(value, str) and len(value) > _LONG:
        return f"{value[:_LONG]}...", False
    try:
        shown = plain(value)
    except ValueError:
        return f"a value of type {type(value).__name__}", False
    if isinstance(shown, list | dict) and len(repr(shown)) > _LONG:
        return f"{repr(shown)[:_LONG]}...", False
    return shown, False


def _fingerprint(name: str, args: Args) -> str:
    try:
        return fingerprint(name, plain(args))
    except (ValueError, TypeError, RecursionError):
        return ""


def _json(value: object) -> dict[str, Json]:
    shown = plain(value)
    assert isinstance(shown, dict)
    return shown
