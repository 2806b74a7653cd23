"""Which rules can match some arguments, found without asking each of them.

Owns speed and nothing else: a rule hangs on its most selective condition, and a call looks up
that condition's argument. What is found is still asked whole. A value for which the condition
cannot be told finds every rule that asks or denies, and none that allows: just as asking each.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from hitl.policy.condition import Args, Condition, parse_pointer, value_at
from hitl.policy.operators import MISSING, fold
from hitl.policy.rule import Rule

__all__ = ["Hook", "Starts", "index_rules"]

Found = Sequence[Rule]

_NONE: Found = ()


class Starts:
    """Texts by what they start with: all entries whose key begins a text.

    Keys are sorted, each knows the longest other key that begins it. The last key at or before
    a text begins it, or one of those that begin that key does: none lies between.
    """

    __slots__ = ("_above", "_keys", "_rules")

    def __init__(self, entries: Iterable[tuple[str, Rule]]) -> None:
        table: defaultdict[str, list[Rule]] = defaultdict(list)
        for key, rule in entries:
            table[key].append(rule)
        self._keys = sorted(table)
        self._rules = [table[key] for key in self._keys]
        self._above: list[int] = []
        open_keys: list[int] = []
        for at, key in enumerate(self._keys):
            while open_keys and not key.startswith(self._keys[open_keys[-1]]):
                open_keys.pop()
            self._above.append(open_keys[-1] if open_keys else -1)
            open_keys.append(at)

    def find(self, text: str) -> Found:
        """Return the entries whose key begins a text."""
        keys = self._keys
        at = bisect_right(keys, text) - 1
        while at >= 0 and not text.startswith(keys[at]):
            at = self._above[at]
        if at < 0:
            return _NONE
        if self._above[at] < 0:
            return self._rules[at]
        found: list[Rule] = []
        while at >= 0:  # whatever begins a beginning begins the text
            found += self._rules[at]
            at = self._above[at]
        return found


class _Ends:
    """Texts by what they end with."""

    __slots__ = ("_starts",)

    def __init__(self, entries: Iterable[tuple[str, Rule]]) -> None:
        self._starts = Starts((key[::-1], rule) for key, rule in entries)

    def find(self, text: str) -> Found:
        return self._starts.find(text[::-1])


class _Bounds:
    """Numbers by bounds: which bounds a number is over, or under, or equal to and beyond."""

    __slots__ = ("find",)

    def __init__(self, entries: Iterable[tuple[int | float, Rule]], operator: str) -> None:
        ordered = sorted(entries, key=lambda entry: entry[0])
        bounds = [bound for bound, _ in ordered]
        rules = [rule for _, rule in ordered]
        cut = bisect_left if operator in ("gt", "le") else bisect_right
        self.find: Callable[[int | float], Found] = (
            (lambda value: rules[: cut(bounds, value)])
            if operator in ("gt", "ge")
            else (lambda value: rules[cut(bounds, value) :])
        )


class _Spans:
    """Numbers by the spans that they lie in: sorted by where a span begins.

    Above the spans stands a tree of the farthest end in each half, so that only halves with a
    span that reaches the number are looked into.
    """

    __slots__ = ("_far", "_lows", "_rules", "_size")

    def __init__(self, entries: Iterable[tuple[int | float, int | float, Rule]]) -> None:
        ordered = sorted(entries, key=lambda entry: entry[0])
        self._lows = [low for low, _, _ in ordered]
        self._rules = [rule for _, _, rule in ordered]
        self._size = 1 << max(0, len(ordered) - 1).bit_length()
        below_all = ordered[0][0] - 1
        highs = [high for _, high, _ in ordered]
        self._far = [below_all] * self._size + highs + [below_all] * (self._size - len(highs))
        for at in range(self._size - 1, 0, -1):
            self._far[at] = max(self._far[2 * at], self._far[2 * at + 1])

    def find(self, value: int | float) -> Found:
        """Return the spans around a number, their ends included."""
        begun = bisect_right(self._lows, value)
        found: list[Rule] = []
        halves = [(1, 0, self._size)] if begun else []
        while halves:
            at, first, width = halves.pop()
            if first >= begun or self._far[at] < value:
                continue
            if width == 1:
                found.append(self._rules[first])
            else:
                half = width // 2
                halves += ((2 * at, first, half), (2 * at + 1, first + half, half))
        return found


Hook = Callable[[Args], Found]
"""Finds rules by one argument."""


def index_rules(rules: Sequence[Rule]) -> Hook:
    """Return what finds, among rules of one effect and one tool, those that vote on a call."""
    always = [rule for rule in rules if not rule.where and not rule.unless]
    scanned: list[Rule] = []
    frequency = Counter(_key(condition) for rule in rules for condition in _plain(rule))
    entries: defaultdict[tuple[str, str, str, bool], list[_Entry]] = defaultdict(list)
    for rule in rules:
        best = _best(rule, frequency)
        if best is not None:
            sure = len(rule.where) == 1 and not rule.unless and _exact(best)
            entries[(best.pointer, *_family(best), sure)].append((best, rule))
        elif rule.where or rule.unless:
            scanned.append(rule)
    hooks = [_hook(key[1], key[2], some, key[3]) for key, some in entries.items() if not key[3]]
    hooks += [lambda _: scanned] if scanned else []
    sure_hooks = [_hook(key[1], key[2], some, key[3]) for key, some in entries.items() if key[3]]
    if len(sure_hooks) == 1 and not (always or hooks):
        return sure_hooks[0]
    return _all_of(always, sure_hooks, hooks)


def _all_of(always: list[Rule], sure_hooks: list[Hook], hooks: list[Hook]) -> Hook:
    """Return what finds by all hooks; what those of the last kind find is asked whole."""

    def matching(args: Args) -> Found:
        found = [*always]
        for hook in sure_hooks:
            found += hook(args)
        for hook in hooks:
            for rule in hook(args):
                if rule.matches(args):
                    found.append(rule)
        return found

    return matching


_Entry = tuple[Condition, Rule]

_ORDER = {
    "same": 0,
    "starts": 1,
    "ends": 2,
    "gt": 3,
    "ge": 3,
    "lt": 3,
    "le": 3,
    "between": 2,
    "shared": 4,
}


def _plain(rule: Rule) -> list[Condition]:
    return [part for part in rule.where if isinstance(part, Condition)]


def _exact(condition: Condition) -> bool:
    """Return whether a look-up finds just what the condition matches, among ASCII texts."""
    wanted = condition.wanted
    if condition.operator == "glob" and isinstance(wanted, str):
        return wanted.isascii() and wanted == f"{_start(wanted)}**"
    return repr(wanted).isascii()


def _start(pattern: str) -> str:
    """Return what stands before a glob's first wildcard: whatever matches begins with it."""
    return pattern[: next((at for at, char in enumerate(pattern) if char in "*?[{"), None)]


def _key(condition: Condition) -> tuple[str, str, str]:
    return (condition.pointer, condition.operator, repr(condition.wanted))


def _best(rule: Rule, frequency: Counter[tuple[str, str, str]]) -> Condition | None:
    """Return the condition by which to look a rule up: one that few others share."""
    plain = _plain(rule)
    if len(plain) < 2:
        return plain[0] if plain else None
    return min(plain, key=lambda c: (frequency[_key(c)], _ORDER[_family(c)[0]], c.cost))


def _family(condition: Condition) -> tuple[str, str]:
    """Return how a condition is looked up, and the kind of value or condition it is for."""
    operator, wanted = condition.operator, condition.wanted
    values = wanted if isinstance(wanted, list) else [wanted]
    if operator in ("eq", "in"):
        if all(type(value) is str for value in values):
            return ("same", "text")
        if all(type(value) in (int, float) for value in values):
            return ("same", "number")
    elif operator == "prefix" or (operator == "glob" and _start(fold(str(wanted)))):
        return ("starts", "text")
    elif operator == "suffix":
        return ("ends", "text")
    elif operator in ("gt", "ge", "lt", "le", "between"):
        return (operator, "number")
    return ("shared", f"{operator} {wanted!r}")


def _hook(family: str, kind: str, entries: list[_Entry], sure: bool) -> Hook:
    """Return what finds the rules that hang on one argument; just those that match if ``sure``."""
    rules = [rule for _, rule in entries]
    condition = entries[0][0]
    unknown = _NONE if rules[0].effect == "allow" else rules
    if family == "shared":
        answers = {True: rules, False: _NONE, None: unknown}
        check = condition.check
        return lambda args: answers[check(args)]
    steps = parse_pointer(condition.pointer)
    name = steps[0] if len(steps) == 1 else ""
    find = _table(family, entries)
    hook = (
        _by_number(name, find, unknown) if kind == "number" else _by_text(name, find, unknown, sure)
    )
    return hook if len(steps) == 1 else lambda args: hook({"": value_at(args, steps)})


Key = str | int | float


def _keys(condition: Condition) -> set[Key]:
    """Return under what a rule is found; texts in the form in which look-alikes are one."""
    wanted = condition.wanted
    values = cast("list[Key]", wanted if isinstance(wanted, list) else [wanted])
    if condition.operator == "glob":
        return {_start(fold(str(values[0])))}
    return {fold(value) if isinstance(value, str) else value for value in values}


def _table(family: str, entries: list[_Entry]) -> Callable[[Key], Found]:
    """Return the look-up of one family; what it is given is of the family's kind."""
    if family == "between":
        pairs = ((cast("list[int | float]", condition.wanted), rule) for condition, rule in entries)
        spans = _Spans((wanted[0], wanted[1], rule) for wanted, rule in pairs)
        return cast("Callable[[Key], Found]", spans.find)
    keys = [(key, rule) for condition, rule in entries for key in _keys(condition)]
    texts = cast("list[tuple[str, Rule]]", keys)
    if family == "same":
        table: defaultdict[Key, list[Rule]] = defaultdict(list)
        for key, rule in keys:
            table[key].append(rule)
        get = dict(table).get
        return lambda value: get(value, _NONE)
    if family in ("starts", "ends"):
        find = Starts(texts).find if family == "starts" else _Ends(texts).find
        return cast("Callable[[Key], Found]", find)
    numbers = cast("list[tuple[int | float, Rule]]", keys)
    return cast("Callable[[Key], Found]", _Bounds(numbers, family).find)


def _by_text(name: str, find: Callable[[Key], Found], unknown: Found, sure: bool) -> Hook:
    def hook(args: Args) -> Found:
        value = args.get(name, MISSING)
        if type(value) is not str:
            return unknown
        if value.isascii():
            return find(value)
        found = find(fold(value))
        return [rule for rule in found if rule.matches(args)] if sure else found

    return hook


def _by_number(name: str, find: Callable[[Key], Found], unknown: Found) -> Hook:
    def hook(args: Args) -> Found:
        value = args.get(name, MISSING)
        if type(value) is int or (type(value) is float and value - value == 0.0):
            return find(value)
        return unknown

    return hook
