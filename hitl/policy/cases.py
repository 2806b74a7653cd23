"""Cases: calls and the verdicts that a policy must give them, kept in a file beside it.

    cases:
      - {tool: pay, args: {amount: 101}, verdict: ask, rules: [big-payment]}

Owns the form of that file (YAML or JSON) and the comparison. Examples inside a rule say whether
that rule matches; a case says what the whole policy comes to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hitl.policy.finding import Finding, refuse
from hitl.policy.marked import Marked, Path
from hitl.policy.policy import Policy
from hitl.policy.reading import read_text
from hitl.values import Json, ToolCall

__all__ = ["Case", "failing_cases", "read_cases"]

_KEYS = ("tool", "args", "verdict", "rules")
_VERDICTS = ("allow", "ask", "deny")


@dataclass(frozen=True, slots=True)
class Case:
    """A call and what must be said about it.

    Attributes:
        tool: The tool's name.
        args: The arguments.
        verdict: ``allow``, ``ask`` or ``deny``.
        rules: The ids of the rules that must decide, None where that is left open.
        file: The file that it stands in.
        line: Its line.
    """

    tool: str
    args: dict[str, Json]
    verdict: str
    rules: tuple[str, ...] | None = None
    file: str = ""
    line: int = 0

    @property
    def call(self) -> ToolCall:
        """The call, as a policy judges it."""
        return {"name": self.tool, "args": self.args, "id": None, "type": "tool_call"}


def read_cases(text: str, name: str = "cases") -> list[Case]:
    """Return the cases of a file.

    Args:
        text: Its text, YAML or JSON.
        name: Its name, for findings.

    Raises:
        BadPolicy: It is no file of cases; everything that is wrong is listed.
        Misuse: It is YAML, and the library for that is not installed.
    """
    marked = read_text(text, name)
    data = marked.data
    given = data.get("cases") if isinstance(data, dict) and set(data) == {"cases"} else None
    if not isinstance(given, list):
        refuse(name, [marked.error((), "The file is not a map with the one key 'cases', a list.")])
        return []
    found = [problem for problem in marked.problems if problem.level == "error"]
    for number, case in enumerate(given):
        found += _problems(case, ("cases", number), marked)
    refuse(name, found)
    return [_case(case, marked.line(("cases", n)), name) for n, case in enumerate(given)]


def _problems(case: Json, path: Path, marked: Marked) -> Iterator[Finding]:
    if not isinstance(case, dict):
        yield marked.error(path, "A case is a map.")
        return
    for key in case:
        if key not in _KEYS:
            yield marked.error((*path, key), f"There is no key {key!r}.", f"Known: {_KEYS}.")
    if not isinstance(case.get("tool"), str):
        yield marked.error(path, "A case names its tool.", "Add `tool: name`.")
    if not isinstance(case.get("args", {}), dict):
        yield marked.error((*path, "args"), "The arguments are a map.")
    if case.get("verdict") not in _VERDICTS:
        yield marked.error(path, "A case says its verdict.", "Add `verdict: allow`, ask or deny.")
    rules = case.get("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        yield marked.error((*path, "rules"), "The rules are a list of ids.")


def _case(given: Json, line: int, name: str) -> Case:
    assert isinstance(given, dict)
    tool, args, rules = given["tool"], given.get("args", {}), given.get("rules")
    assert isinstance(tool, str)
    assert isinstance(args, dict)
    ids = tuple(str(rule) for rule in rules) if isinstance(rules, list) else None
    return Case(tool, args, str(given["verdict"]), ids, name, line)


def failing_cases(policy: Policy, cases: Iterable[Case]) -> list[Finding]:
    """Return a finding for every case in which a policy says something else.

    Args:
        policy: The policy.
        cases: The cases.
    """
    findings = []
    for case in cases:
        verdict = policy.judge(case.call)
        shown = f"{case.tool}({', '.join(f'{k}={v!r:.60}' for k, v in case.args.items())})"
        if verdict.effect != case.verdict:
            message = f"{shown} is {_word(verdict.effect)}, wanted {case.verdict}: {verdict.why}"
        elif case.rules is not None and set(case.rules) != set(verdict.rules):
            said, wanted = (", ".join(sorted(ids)) or "none" for ids in (verdict.rules, case.rules))
            message = f"{shown} is decided by other rules: {said}; wanted {wanted}."
        else:
            continue
        findings.append(Finding("error", message, case.file, case.line))
    return findings


def _word(effect: str) -> str:
    return {"allow": "allowed", "ask": "asked about", "deny": "denied"}[effect]
