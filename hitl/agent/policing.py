"""Policies at the approval middleware: what is frozen with a question, and what still holds.

A question keeps the obligations under which it was asked. Whether these suffice for what is
about to run, under the policy of now, is told here; a policy can tighten in the meantime, and
never loosen.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from hitl.agent.tool import Tool
from hitl.errors import Misuse
from hitl.policy import ToolFacts, Verdict
from hitl.values import Config, Item, Json, ToolCall

if TYPE_CHECKING:
    from hitl.policy import Policy

__all__ = [
    "PolicySource",
    "as_policy",
    "breach",
    "facts",
    "frozen",
    "tightened",
    "together",
    "unmet",
]

PolicySource: TypeAlias = "Policy | str | os.PathLike[str]"
"""A policy, or the path of a policy file."""


def as_policy(given: object) -> Policy:
    """Return a policy, read from its file where a path was given.

    Raises:
        Misuse: It is neither, or the file cannot be read.
        BadPolicy: The file is no policy.
    """
    from hitl.policy import Policy  # with all that policy files need

    if isinstance(given, Policy):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Policy.load(given)
    raise Misuse(
        f"policy is of type {type(given).__name__}.",
        hint="Give a Policy, or the path of a policy file.",
    )


def facts(tools: Mapping[str, Tool]) -> list[ToolFacts]:
    """Return an agent's tools as a policy sees them."""
    return [
        ToolFacts(tool.name, tool.args_schema, tool.effect, tool.description)
        for tool in tools.values()
    ]


def together(
    first: Policy | None, second: Policy | None, tools: Mapping[str, Tool]
) -> Policy | None:
    """Return two policies as one for an agent's tools, None where there is none."""
    given = [policy for policy in (first, second) if policy is not None]
    if not given:
        return None
    from hitl.policy import Policy

    return Policy.layered(*given).bind(facts(tools))


def frozen(verdict: Verdict, config: Config) -> dict[str, Json]:
    """Return what is frozen with a question, beside what every question has.

    Args:
        verdict: What asked.
        config: The run's; it may name on whose behalf the agent runs, as ``requester``.
    """
    rules = verdict.obligations.as_rules()
    if verdict.policy_id:
        rules["policy"] = {"id": verdict.policy_id, "rules": list(verdict.rules)}
    given = config.get("configurable")
    requester = given.get("requester") if isinstance(given, Mapping) else None
    # A name that nobody could have is no name: nobody can say yes then.
    named = isinstance(requester, str) and bool(requester.strip()) and requester.isprintable()
    if "reviewers" in rules and named:
        rules["requester"] = str(requester)
    return rules


def unmet(verdict: Verdict, rules: Mapping[str, Json]) -> str:
    """Return why a yes given under some rules is not enough for a verdict; empty where it is.

    Args:
        verdict: What is said about the call that is to run.
        rules: What was frozen with the question that was answered.
    """
    if verdict.effect == "allow":
        return ""
    if verdict.effect == "deny":
        return "it is not allowed."
    if "approve" not in verdict.allowed:
        return "a reviewer cannot approve it."
    asked = rules.get("reviewers", [])
    met = asked if isinstance(asked, list) else []
    if any(rule not in met for rule in _reviewers(verdict)):
        return "it needs other reviewers than those who were asked."
    return ""


def breach(verdict: Verdict, item: Item, call: ToolCall) -> str:
    """Return which rule an edit breaks about what edits may change; empty where none.

    Args:
        verdict: What is said about the call that the edit made.
        item: The question that was answered with the edit.
        call: What the edit made.
    """
    shown = item.subject if isinstance(item.subject, dict) else {}
    before, after = shown.get("args"), call["args"]
    if verdict.effect != "ask" or not isinstance(before, dict):
        return ""
    if call["name"] != shown.get("name"):
        return ""  # another tool: its rule says whether a reviewer may approve it, see `unmet`
    if "edit" not in verdict.allowed:
        return "its rules take no edits."
    names = {*before, *after}
    changed = {n for n in names if (n in before) != (n in after) or before.get(n) != after.get(n)}
    law = verdict.obligations
    kept = changed & set(law.keep)
    if law.editable is not None:
        kept |= changed - set(law.editable)
    return f"its rules let nobody change {', '.join(map(repr, sorted(kept)))}." if kept else ""


def tightened(verdict: Verdict, approvals: Sequence[Item]) -> bool:
    """Return whether a policy now demands more of a call than it was let through with.

    Args:
        verdict: What the policy says now.
        approvals: The items by which humans let it through, none for a call that was free.
    """
    if verdict.effect == "allow":
        return False
    return not any(not unmet(verdict, item.rules) for item in approvals)


def _reviewers(verdict: Verdict) -> Sequence[Json]:
    found = verdict.obligations.as_rules().get("reviewers", [])
    return found if isinstance(found, list) else []
