"""A layer: one set of rules that is judged by itself. A file's rules, or an ``interrupt_on``.

Owns how a layer comes to its verdict: the rules that speak of the tool vote, deny before ask
before allow; without a vote the default counts, and for a tool that the agent does not have
``unknown_tool`` votes too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from hitl.policy.condition import Args
from hitl.policy.index import Hook, Starts, index_rules
from hitl.policy.interrupt_on import InterruptOn
from hitl.policy.paths import Root
from hitl.policy.rule import Rule
from hitl.policy.strictest import RANK, strictest
from hitl.policy.verdict import DECISIONS, Verdict, VerdictEffect

__all__ = ["FileLayer", "InterruptOnLayer", "Layer"]

_STRICT_FIRST: tuple[VerdictEffect, ...] = ("deny", "ask", "allow")
_KEPT = 4096
"""How many names of tools, and combinations of rules, are remembered; models can invent names."""


@dataclass(frozen=True, slots=True, eq=False)
class InterruptOnLayer:
    """An ``interrupt_on``; it is judged as its own law says."""

    interrupt_on: InterruptOn
    name: str = "interrupt_on"
    policy_id: str = ""


_Table = list[tuple[int, Hook]]
"""The rules of a file that speak of one tool, by rank of effect, strictest first."""


@dataclass(frozen=True, slots=True, eq=False)
class FileLayer:
    """The rules of one policy file.

    Attributes:
        name: The file's name.
        policy_id: The hash of what it says.
        rules: Its rules, in its order.
        default: What holds for a tool of the agent if no rule votes.
        unknown_tool: What is said about a tool that the agent does not have.
        roots: The folders that its rules name.
    """

    name: str
    policy_id: str
    rules: tuple[Rule, ...]
    default: VerdictEffect
    unknown_tool: VerdictEffect
    roots: tuple[Root, ...] = ()
    _exact: dict[str, list[Rule]] = field(init=False, repr=False)
    _globs: Starts = field(init=False, repr=False)
    _tables: dict[str, _Table] = field(init=False, repr=False, default_factory=dict)
    _merged: dict[tuple[Rule | None, ...], Verdict] = field(
        init=False, repr=False, default_factory=dict
    )
    _silent: Verdict = field(init=False, repr=False)
    _stranger: Verdict = field(init=False, repr=False)

    def __post_init__(self) -> None:
        exact: defaultdict[str, list[Rule]] = defaultdict(list)
        globs: list[tuple[str, Rule]] = []
        for rule in self.rules:
            for pattern in rule.tools:
                if pattern.fits is None:
                    exact[pattern.start].append(rule)
                else:
                    globs.append((pattern.start, rule))
        silent = f"No rule matched, so the default holds: {self.default}."
        stranger = f"The agent has no such tool; for those the policy says: {self.unknown_tool}."
        for name, value in (
            ("_exact", dict(exact)),
            ("_globs", Starts(globs)),
            ("_silent", self._own(self.default, silent)),
            ("_stranger", self._own(self.unknown_tool, stranger)),
        ):
            object.__setattr__(self, name, value)

    def judge(self, name: str, args: Args, known: bool = True) -> Verdict:
        """Return what the file says about a call.

        Args:
            name: The tool's name.
            args: The arguments, or ``NO_ARGS`` where they are no map.
            known: Whether the agent has the tool.
        """
        table = self._tables.get(name)
        if table is None:
            table = self._table(name)
        least = 0 if known else RANK[self._stranger.effect]
        for rank, matching in table:
            if rank < least:
                break
            found = matching(args)
            if found:
                if known and len(found) == 1:
                    return found[0].verdict
                return self._together(found, stranger=rank == least and not known)
        return self._silent if known else self._stranger

    def rules_for(self, name: str) -> list[Rule]:
        """Return the rules that speak of a tool."""
        globs = (rule for rule in self._globs.find(name) if rule.speaks_of(name))
        return list(dict.fromkeys([*self._exact.get(name, ()), *globs]))

    def _own(self, effect: VerdictEffect, why: str) -> Verdict:
        allowed = DECISIONS if effect == "ask" else ()
        return Verdict(effect, allowed, why, policy_id=self.policy_id)

    def _table(self, name: str) -> _Table:
        if len(self._tables) > _KEPT + len(self._exact):
            self._tables.clear()
        rules = self.rules_for(name)
        by_effect = ([rule for rule in rules if rule.effect == effect] for effect in _STRICT_FIRST)
        table = [(RANK[some[0].effect], index_rules(some)) for some in by_effect if some]
        self._tables[name] = table
        return table

    def _together(self, found: Sequence[Rule], *, stranger: bool) -> Verdict:
        """Return what several rules say; remembered, as the same rules match again and again."""
        key = (None, *found) if stranger else tuple(found)
        merged = self._merged.get(key)
        if merged is None:
            said = [rule.verdict for rule in found]
            merged = strictest([*said, self._stranger] if stranger else said)
            if len(self._merged) > _KEPT:
                self._merged.clear()
            self._merged[key] = merged
        return merged


Layer = FileLayer | InterruptOnLayer
