"""From the checked document to rules that judge, and what must hold between its parts.

Owns the findings that need no tools: names that are used and not defined, patterns that cannot
be read, rules that allow too much, askings that nobody can refuse, examples that fail.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from hitl.errors import Misuse
from hitl.policy.condition import Check, Condition, Group, exists, looks_at, parse_pointer, value_at
from hitl.policy.config import unlike
from hitl.policy.finding import Finding
from hitl.policy.glob import compile_glob, literal_prefix
from hitl.policy.marked import Marked, Path
from hitl.policy.operators import OPERATORS
from hitl.policy.paths import Root, search_within, within
from hitl.policy.rule import EVERY_TOOL, Part, Rule, ToolPattern
from hitl.policy.verdict import (
    DECISIONS,
    DeadlineRule,
    GrantRule,
    Obligations,
    ReviewerRule,
    Verdict,
)
from hitl.values import Json

if TYPE_CHECKING:
    from hitl.policy.document import ConditionGroup, Conditions, Document, OperatorsDoc, RuleDoc

__all__ = ["Compiled", "compile_rules", "failing_examples"]

_WILD = frozenset("*?[{")
_NO = ("reject", "respond")
_SAYS = {"allow": "allows it", "ask": "asks", "deny": "refuses it"}


@dataclass(frozen=True, slots=True)
class Compiled:
    """A document's rules and roots, and everything that is wrong with them."""

    rules: tuple[Rule, ...]
    roots: tuple[Root, ...]
    findings: tuple[Finding, ...]


def compile_rules(document: Document, marked: Marked, *, folder: str, policy_id: str) -> Compiled:
    """Return a document's rules and everything that is wrong with them.

    Args:
        document: The document in its checked form.
        marked: The same with its lines.
        folder: Where relative roots start.
        policy_id: What verdicts name as their policy.
    """
    roots, findings = _roots(document, marked, folder)
    groups = {name: tuple(people) for name, people in document.groups.items()}
    compiler = _Compiler(marked, policy_id, roots, groups, findings)
    rules = tuple(compiler.rule(at, rule) for at, rule in enumerate(document.rules))
    compiler.same_ids(rules)
    if not findings:
        findings += failing_examples(rules, marked.name)
    return Compiled(rules, tuple(roots.values()), tuple(findings))


def failing_examples(rules: tuple[Rule, ...], file: str) -> list[Finding]:
    """Return a finding for every example that its own rule does not bear out."""
    findings = []
    for rule in rules:
        for kind, examples in (("hit", rule.hits), ("miss", rule.misses)):
            for line, args in examples:
                if rule.matches(dict(args)) is not (kind == "hit"):
                    said = "does not match" if kind == "hit" else "matches"
                    message = f"The rule {rule.id!r} {said} its example {args!r:.200}."
                    findings.append(Finding("error", message, file, line, f"examples.{kind}"))
    return findings


def _roots(
    document: Document, marked: Marked, folder: str
) -> tuple[dict[str, Root], list[Finding]]:
    roots: dict[str, Root] = {}
    findings = []
    for name, given in document.roots.items():
        try:
            if isinstance(given, str):
                roots[name] = Root(name, os.path.join(folder, given))  # noqa: PTH118
            else:
                base = None if given.base is None else os.path.join(folder, given.base)  # noqa: PTH118
                roots[name] = Root(
                    name,
                    os.path.join(folder, given.folder),  # noqa: PTH118
                    given.case_fold,
                    base,
                    given.real,
                )
        except Misuse as error:
            findings.append(marked.error(("roots", name), error.message, error.hint))
    return roots, findings


@dataclass(slots=True)
class _Compiler:
    """Compiles one rule after the other and notes what is wrong."""

    marked: Marked
    policy_id: str
    roots: Mapping[str, Root]
    groups: Mapping[str, tuple[str, ...]]
    findings: list[Finding]
    _made: dict[tuple[str, str, str], Check] = field(default_factory=dict)

    def rule(self, at: int, doc: RuleDoc) -> Rule:
        """Return one rule."""
        path: Path = ("rules", at)
        line = self.marked.line(path)
        tools = tuple(self._tool((*path, "tools", n), text) for n, text in enumerate(doc.tools))
        if doc.effect == "allow" and not doc.broad:
            self._narrow(path, tools)
        if doc.effect != "ask":
            self._no_obligations(path, doc)
        place = f"{self.marked.name}:{line}"
        verdict = Verdict(
            doc.effect,
            self._decisions(path, doc) if doc.effect == "ask" else (),
            doc.why or f"The rule {doc.id!r} {_SAYS[doc.effect]}.",
            place,
            (doc.id,),
            self.policy_id,
            self._obligations(path, doc),
        )
        examples = doc.examples
        return Rule(
            doc.id,
            doc.effect,
            tools,
            self._conditions((*path, "where"), doc.where),
            self._conditions((*path, "unless"), doc.unless),
            verdict,
            doc.broad,
            line,
            self._examples(path, "hit", examples.hit if examples else []),
            self._examples(path, "miss", examples.miss if examples else []),
        )

    def same_ids(self, rules: tuple[Rule, ...]) -> None:
        """Note ids that stand twice."""
        lines: dict[str, int] = {}
        for at, rule in enumerate(rules):
            if rule.id in lines:
                said = f"The id {rule.id!r} stands twice, first in line {lines[rule.id]}."
                self._error(("rules", at, "id"), said)
            lines.setdefault(rule.id, rule.line)

    def _error(self, path: Path, message: str, hint: str = "") -> None:
        self.findings.append(self.marked.error(path, message, hint))

    def _examples(
        self, path: Path, kind: str, examples: list[dict[str, Json]]
    ) -> tuple[tuple[int, dict[str, Json]], ...]:
        return tuple(
            (self.marked.line((*path, "examples", kind, at)), args)
            for at, args in enumerate(examples)
        )

    def _tool(self, path: Path, text: str) -> ToolPattern:
        if text == EVERY_TOOL:
            return ToolPattern(text, "", lambda _: True)
        if not _WILD & set(text):
            return ToolPattern(text, text)
        try:
            return ToolPattern(text, literal_prefix(text), compile_glob(text))
        except ValueError as error:
            self._error(path, f"The pattern {text!r:.80} cannot be read: {error}.")
            return ToolPattern(text, text)

    def _narrow(self, path: Path, tools: tuple[ToolPattern, ...]) -> None:
        for at, pattern in enumerate(tools):
            if pattern.fits is not None and not pattern.start:
                self._error(
                    (*path, "tools", at),
                    f"The pattern {pattern.text!r:.80} allows tools that nobody has seen yet.",
                    "Begin it with a fixed part, or say broad: true if you mean it.",
                )

    def _no_obligations(self, path: Path, doc: RuleDoc) -> None:
        for key in ("decisions", "edit", "reviewers", "deadline", "grants"):
            if getattr(doc, key) is not None:
                said = f"A rule that does not ask has no use for {key!r}."
                self._error((*path, key), said, "Set effect: ask, or leave it out.")

    def _decisions(self, path: Path, doc: RuleDoc) -> tuple[str, ...]:
        if doc.decisions is None:
            return DECISIONS
        if not any(word in doc.decisions for word in _NO):
            self._error((*path, "decisions"), "Nobody could say no.", "Add 'reject'.")
        if doc.edit is not None and "edit" not in doc.decisions:
            self._error((*path, "edit"), "Edits are no decision of this rule.", "Add 'edit'.")
        return tuple(word for word in DECISIONS if word in doc.decisions)

    def _obligations(self, path: Path, doc: RuleDoc) -> Obligations:
        edit, grants = doc.edit, doc.grants
        return Obligations(
            tuple(sorted(edit.fields)) if edit and edit.fields is not None else None,
            tuple(sorted(edit.keep)) if edit else (),
            self._reviewers(path, doc),
            self._deadline(path, doc),
            GrantRule(grants.scope, grants.ttl, grants.uses) if grants and grants.allowed else None,
        )

    def _reviewers(self, path: Path, doc: RuleDoc) -> tuple[ReviewerRule, ...]:
        given = doc.reviewers
        if given is None:
            return ()
        people = self._people((*path, "reviewers", "any_of"), given.any_of)
        if given.any_of and given.need > len(people):
            said = f"{given.need} people are needed and only {len(people)} are named."
            self._error((*path, "reviewers", "need"), said)
        any_of = tuple(sorted(given.any_of))
        return (ReviewerRule(any_of, people, given.need, given.not_requester),)

    def _deadline(self, path: Path, doc: RuleDoc) -> DeadlineRule | None:
        given = doc.deadline
        if given is None:
            return None
        path = (*path, "deadline")
        people = self._people((*path, "to"), given.to)
        if (given.escalate_at is None) is bool(given.to):
            self._error(path, "'escalate_at' and 'to' belong together.", "Give both or none.")
        if given.escalate_at is not None and given.escalate_at >= given.after:
            self._error((*path, "escalate_at"), "The question expires before that.")
        if given.to and doc.reviewers is None:
            said = "Anybody may decide already: the rule names no reviewers."
            self._error((*path, "to"), said, "Add 'reviewers', or leave it out.")
        return DeadlineRule(given.after, given.escalate_at, tuple(sorted(given.to)), people)

    def _people(self, path: Path, names: list[str]) -> tuple[str, ...]:
        people: set[str] = set()
        for at, name in enumerate(names):
            if name in self.groups:
                people.update(self.groups[name])
            else:
                hint = unlike(name, self.groups) if self.groups else "Define it under 'groups'."
                self._error((*path, at), f"There is no group {name!r:.80}.", hint)
        return tuple(sorted(people))

    def _conditions(self, path: Path, doc: Conditions | None) -> tuple[Part, ...]:
        if doc is None:
            return ()
        parts: list[Part] = list(self._group(path, doc))
        kinds: tuple[tuple[Literal["any", "all"], list[ConditionGroup]], ...] = (
            ("any", doc.any_),
            ("all", doc.all_),
        )
        for kind, members in kinds:
            if members:
                inside = (self._group((*path, kind, at), one) for at, one in enumerate(members))
                parts.append(Group(kind, tuple(inside)))
        if doc.not_ is not None:
            parts.append(Group("not", (self._group((*path, "not"), doc.not_),)))
        return tuple(sorted(parts, key=lambda part: part.cost))

    def _group(self, path: Path, doc: Conditions | ConditionGroup) -> tuple[Condition, ...]:
        conditions = []
        for pointer, operators in doc.__pydantic_extra__.items():
            try:
                steps = parse_pointer(pointer)
            except ValueError as error:
                self._error((*path, pointer), f"This is no JSON pointer: {error}.")
                continue
            conditions += self._one((*path, pointer), pointer, steps, operators)
        return tuple(sorted(conditions, key=lambda condition: condition.cost))

    def _one(
        self, path: Path, pointer: str, steps: tuple[str, ...], doc: OperatorsDoc
    ) -> list[Condition]:
        """Return the conditions on one argument, one for each operator."""
        conditions = []
        for name, wanted in doc.model_dump(by_alias=True, exclude_unset=True).items():
            at = (*path, name)
            key = (pointer, name, repr(wanted))
            try:
                check = self._made.get(key) or self._check(at, name, steps, wanted)
            except ValueError as error:
                self._error(at, f"The value cannot be used: {error}.")
                continue
            self._made[key] = check
            conditions.append(Condition(pointer, name, wanted, self.marked.line(at), check))
        return conditions

    def _check(self, path: Path, name: str, steps: tuple[str, ...], wanted: Json) -> Check:
        if name == "exists":
            return exists(steps, wanted is True)
        if name == "within":
            return self._within(path, steps, wanted)
        return looks_at(steps, OPERATORS[name](wanted))

    def _within(self, path: Path, steps: tuple[str, ...], wanted: Json) -> Check:
        given = wanted if isinstance(wanted, dict) else {"root": wanted}
        name = str(given["root"])
        root = self.roots.get(name)
        if root is None:
            hint = unlike(name, self.roots) if self.roots else "Define it under 'roots'."
            self._error(path, f"There is no root {name!r:.80}.", hint)
            return lambda _: None
        subtree = given.get("subtree") is True
        pattern = given.get("pattern")
        if not isinstance(pattern, str):
            return looks_at(steps, lambda value: within(value, root, subtree=subtree))
        at = parse_pointer(pattern)
        return lambda args: search_within(value_at(args, steps), value_at(args, at), root)
