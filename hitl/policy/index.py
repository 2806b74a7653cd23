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
from hitl.policy.glob import literal_prefix
from hitl.policy.operators import MISSING, fold
from hitl.policy.rule import Rule

__all__ = ["RuleIndex", "Starts"]

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


class _Same:
    """Texts, or numbers, by what they are."""

    __slots__ = ("find",)

    def __init__(self, entries: Iterable[tuple[str | int | float, Rule]]) -> None:
        table: defaultdict[str | int | float, list[Rule]] = defaultdict(list)
        for key, rule in entries:
            table[key].append(rule)
        get = dict(table).get
        self.find: Callable[[str | int | float], Found] = lambda value: get(value, _NONE)


class _Above:
    """Numbers by the bounds that they are over."""

    __slots__ = ("_bounds", "_rules")

    def __init__(self, entries: Iterable[tuple[int | float, Rule]]) -> None:
        ordered = sorted(entries, key=lambda entry: entry[0])
        self._bounds = [bound for bound, _ in ordered]
        self._rules = [rule for _, rule in ordered]

    def find(self, value: int | float) -> Found:
        return self._rules[: bisect_right(self._bounds, value)]


class _Below(_Above):
    """Numbers by the bounds that they are under."""

    __slots__ = ()

    def find(self, value: int | float) -> Found:
        return self._rules[bisect_left(self._bounds, value) :]


class RuleIndex:
    """Rules of one effect that speak of one tool."""

    __slots__ = ("_always", "_hooks", "_scanned")

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._always = [rule for rule in rules if not rule.where and not rule.unless]
        frequency = Counter(_key(c) for rule in rules for c in _plain(rule))
        hooks: defaultdict[tuple[str, str, str], list[tuple[Condition, Rule]]] = defaultdict(list)
        self._scanned: list[Rule] = []
        for rule in rules:
            best = _best(rule, frequency)
            if best is not None:
                hooks[(best.pointer, *_family(best))].append((best, rule))
            elif rule.where or rule.unless:
                self._scanned.append(rule)
        self._hooks = [_hook(key[1], key[2], entries) for key, entries in hooks.items()]

    def matching(self, args: Args) -> list[Rule]:
        """Return the rules that vote on a call with some arguments."""
        found = [rule for rule in self._scanned if rule.matches(args)] if self._scanned else []
        for hook in self._hooks:
            for rule in hook(args):
                if rule.matches(args):
                    found.append(rule)  # noqa: PERF401 - most often there is nothing to extend by
        return self._always + found if self._always else found


Hook = Callable[[Args], Found]

_ORDER = {"same": 0, "starts": 1, "ends": 2, "above": 3, "below": 3, "shared": 4}


def _plain(rule: Rule) -> list[Condition]:
    return [part for part in rule.where if isinstance(part, Condition)]


def _key(condition: Condition) -> tuple[str, str, str]:
    return (condition.pointer, condition.operator, repr(condition.wanted))


def _best(rule: Rule, frequency: Counter[tuple[str, str, str]]) -> Condition | None:
    """Return the condition by which to look a rule up: one that few others share."""
    return min(
        _plain(rule),
        key=lambda c: (frequency[_key(c)], _ORDER[_family(c)[0]], c.cost),
        default=None,
    )


def _family(condition: Condition) -> tuple[str, str]:
    """Return how a condition is looked up, and the kind of value or condition it is for."""
    operator, wanted = condition.operator, condition.wanted
    values = wanted if isinstance(wanted, list) else [wanted]
    if operator in ("eq", "in"):
        if all(type(value) is str for value in values):
            return ("same", "text")
        if all(type(value) in (int, float) for value in values):
            return ("same", "number")
    elif operator == "prefix" or (operator == "glob" and literal_prefix(fold(str(wanted)))):
        return ("starts", "text")
    elif operator == "suffix":
        return ("ends", "text")
    elif operator in ("gt", "ge", "between"):
        return ("above", "number")
    elif operator in ("lt", "le"):
        return ("below", "number")
    return ("shared", f"{operator} {wanted!r}")


def _hook(family: str, kind: str, entries: list[tuple[Condition, Rule]]) -> Hook:
    """Return what finds the candidates among rules that hang on one argument."""
    rules = [rule for _, rule in entries]
    condition = entries[0][0]
    unknown = _NONE if rules[0].effect == "allow" else rules
    if family == "shared":
        check = condition.check
        return lambda args: (
            _NONE if (truth := check(args)) is False else (rules if truth else unknown)
        )
    keys = [(key, rule) for condition, rule in entries for key in _keys(condition)]
    get = _getter(condition.pointer)
    if kind == "number":
        return _by_number(get, _number_table(family, keys), unknown)
    return _by_text(get, _text_table(family, keys), unknown)


def _keys(condition: Condition) -> set[str | int | float]:
    """Return under what a rule is found; texts in the form in which look-alikes are one."""
    wanted = condition.wanted
    if condition.operator == "between" and isinstance(wanted, list):
        wanted = wanted[0]
    values = cast("list[str | int | float]", wanted if isinstance(wanted, list) else [wanted])
    if condition.operator == "glob":
        return {literal_prefix(fold(str(values[0])))}
    return {fold(value) if isinstance(value, str) else value for value in values}


def _getter(pointer: str) -> Callable[[Args], object]:
    steps = parse_pointer(pointer)
    name = steps[0]
    if len(steps) > 1:
        return lambda args: value_at(args, steps)
    return lambda args: args.get(name, MISSING)


Keys = list[tuple[str | int | float, Rule]]


def _text_table(family: str, keys: Keys) -> Callable[[str], Found]:
    texts = cast("list[tuple[str, Rule]]", keys)
    if family == "same":
        return _Same(keys).find
    return (Starts(texts) if family == "starts" else _Ends(texts)).find


def _number_table(family: str, keys: Keys) -> Callable[[int | float], Found]:
    numbers = cast("list[tuple[int | float, Rule]]", keys)
    if family == "same":
        return _Same(keys).find
    return (_Above(numbers) if family == "above" else _Below(numbers)).find


def _by_text(get: Callable[[Args], object], find: Callable[[str], Found], unknown: Found) -> Hook:
    def hook(args: Args) -> Found:
        value = get(args)
        if type(value) is not str:
            return unknown
        return find(value) if value.isascii() else find(fold(value))

    return hook


def _by_number(
    get: Callable[[Args], object], find: Callable[[int | float], Found], unknown: Found
) -> Hook:
    def hook(args: Args) -> Found:
        value = get(args)
        if type(value) is int or (type(value) is float and value - value == 0.0):
            return find(value)
        return unknown

    return hook
