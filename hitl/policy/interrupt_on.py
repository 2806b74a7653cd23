"""``interrupt_on``: the map from tool names to how their calls wait for a human.

Owns the map's meaning: a listed tool asks, ``False`` frees, ``"*"`` speaks for tools without
an entry, and without it those run. The map is checked and compiled once; a judgement is one
look-up. Code that users put in (``when``, ``description``) can never open the gate by failing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass

from hitl.errors import Misuse
from hitl.policy.config import (
    Describe,
    InterruptOnConfig,
    ToolConfig,
    When,
    read_config,
)
from hitl.policy.request import ReviewConfig, ToolCallRequest
from hitl.policy.verdict import DECISIONS, Verdict
from hitl.values import Json, ToolCall

__all__ = ["DECISIONS", "DESCRIPTION_PREFIX", "InterruptOn"]

DESCRIPTION_PREFIX = "Tool execution requires approval"

_EVERY_OTHER = "*"

Request = Callable[[], ToolCallRequest]


@dataclass(frozen=True, slots=True)
class _Rule:
    """One compiled entry. ``verdict`` holds always, or where ``when`` does not say False."""

    verdict: Verdict
    freed: Verdict
    when: When | None = None
    description: str | Describe | None = None
    args_schema: str | None = None
    stops: bool = False


_FREE = Verdict("allow", why="No rule names this tool.")
_NO_RULE = _Rule(_FREE, _FREE)


@dataclass(frozen=True, slots=True)
class InterruptOn:
    """A compiled map; make one with :meth:`compile`. It never changes."""

    description_prefix: str
    _rules: dict[str, _Rule]
    _other: _Rule

    @classmethod
    def compile(
        cls,
        interrupt_on: Mapping[str, bool | InterruptOnConfig],
        *,
        description_prefix: str = DESCRIPTION_PREFIX,
    ) -> InterruptOn:
        """Return the map in the form that judges.

        Args:
            interrupt_on: For each tool ``True`` (every call waits, all decisions), ``False``
                (never waits) or a config; ``"*"`` stands for all tools without an entry.
            description_prefix: First line of descriptions that are not given.

        Raises:
            Misuse: Something in the map is wrong; the message names the tool and the place.
        """
        if not isinstance(interrupt_on, Mapping):
            raise Misuse(
                f"interrupt_on is of type {type(interrupt_on).__name__}.",
                hint="Give a map from tool names to True, False or a config.",
            )
        if not isinstance(description_prefix, str):
            raise Misuse(
                f"description_prefix is of type {type(description_prefix).__name__}.",
                hint="Give a text.",
            )
        rules = {_name(name): _compile(name, entry) for name, entry in interrupt_on.items()}
        return cls(description_prefix, rules, rules.pop(_EVERY_OTHER, _NO_RULE))

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that have an entry of their own, in the map's order."""
        return tuple(self._rules)

    def judge(self, call: ToolCall, request: Request) -> Verdict:
        """Return what is to happen with a call.

        Only a ``when`` that returns exactly ``False`` frees a call. One that raises, returns
        anything but a bool, or is a coroutine function asks, and ``why`` says so.

        Args:
            call: The call as the model proposed it.
            request: Makes what ``when`` is given; called only where there is a ``when``.
        """
        rule = self._rules.get(call["name"], self._other)
        if rule.when is None:
            return rule.verdict
        try:
            answer: object = rule.when(request())
        except Exception as error:  # noqa: BLE001 - whatever a `when` raises, the gate stays shut
            return _closed(rule.verdict, f"raised {type(error).__name__}")
        if answer is True:
            return rule.verdict
        return rule.freed if answer is False else _odd(rule.verdict, answer)

    def describe(self, call: ToolCall, request: Request) -> str:
        """Return what the reviewer reads about a call.

        A description that raises or is not a text never hides the call: the reviewer reads
        its raw facts and a note.

        Args:
            call: The call as the model proposed it.
            request: Makes what a description function is given; called only where there is
                one.
        """
        description = self._rule(call["name"]).description
        facts = f"{self.description_prefix}\n\nTool: {call['name']}\nArgs: {call['args']!r}"
        if description is None:
            return facts
        if isinstance(description, str):
            return description
        try:
            asked = request()
            text: object = description(asked.tool_call, asked.state, asked.runtime)
        except Exception as error:  # noqa: BLE001 - a broken description must not hide the call
            return f"{facts}\n\n(Its description failed: {type(error).__name__}.)"
        if isinstance(text, str):
            return str.__str__(text)  # exactly str: nothing else can be stored
        _drop(text)
        return f"{facts}\n\n(Its description failed: it returned {_named(text)}, not a text.)"

    def review_config(self, name: str, verdict: Verdict) -> ReviewConfig:
        """Return what can be decided about a call of a tool, as it is shown."""
        return {"action_name": name, "allowed_decisions": list(verdict.allowed)}

    def args_schema(self, name: str) -> dict[str, Json] | None:
        """Return a copy of the JSON Schema that edits of a tool's calls must fit, if given."""
        text = self._rule(name).args_schema
        if text is None:
            return None
        schema: dict[str, Json] = json.loads(text)
        return schema

    @property
    def asks(self) -> bool:
        """Whether any rule of the map makes a call wait."""
        rules = (*self._rules.values(), self._other)
        return any(rule.verdict.effect != "allow" for rule in rules)

    @property
    def stops(self) -> bool:
        """Whether a rejection may end the run, by any rule of the map."""
        return any(rule.stops for rule in (*self._rules.values(), self._other))

    def stops_at(self, name: str) -> bool:
        """Return whether a rejection of a tool's call ends the run."""
        return self._rule(name).stops

    def allowed(self, name: str) -> tuple[str, ...] | None:
        """Return the decisions that a tool's rule takes, None where its calls never wait."""
        verdict = self._rule(name).verdict
        return None if verdict.effect == "allow" else verdict.allowed

    def _rule(self, name: str) -> _Rule:
        return self._rules.get(name, self._other)


def _name(name: object) -> str:
    """Return a key of the map if calls can match it: an entry that never does is a hole."""
    if not isinstance(name, str):
        raise Misuse(f"interrupt_on has the key {name!r}.", hint="Tool names are strings.")
    if not name or name != name.strip():
        raise Misuse(
            f"interrupt_on has the key {name!r}, which no tool is named.",
            hint="Remove the blanks.",
        )
    if "*" in name and name != _EVERY_OTHER:
        raise Misuse(
            f"interrupt_on has the key {name!r}; patterns are not read here.",
            hint="Name each tool, or give '*' alone for all tools without an entry.",
        )
    return name


def _compile(name: str, entry: object) -> _Rule:
    place = f"interrupt_on[{json.dumps(name)}]"
    if entry is False:
        free = Verdict("allow", why="The tool is listed as free.", rule=place)
        return _Rule(free, free)
    config: ToolConfig = read_config(entry, place)
    freed = Verdict("allow", why="Its `when` let this call run.", rule=place)
    return _Rule(
        Verdict("ask", config.allowed, _why(name, config), place),
        freed,
        config.when,
        config.description,
        config.args_schema,
        config.on_reject == "stop",
    )


def _why(name: str, config: ToolConfig) -> str:
    if config.when is not None:
        return "Its `when` said that this call waits."
    if name == _EVERY_OTHER:
        return "Every call of a tool without an entry waits."
    return "Every call of this tool waits."


def _odd(asks: Verdict, answer: object) -> Verdict:
    """Return the verdict for a ``when`` that did not return a bool."""
    if not isinstance(answer, Coroutine):
        return _closed(asks, f"returned {_named(answer)}, not True or False")
    _drop(answer)
    return _closed(asks, "is async and was not awaited")


def _drop(value: object) -> None:
    """Close a coroutine: it will never be awaited, and Python would warn about that."""
    if isinstance(value, Coroutine):
        value.close()


def _closed(asks: Verdict, what: str) -> Verdict:
    return Verdict("ask", asks.allowed, f"Its `when` {what}, so the call waits.", asks.rule)


def _named(value: object) -> str:
    """Return what a value is, without asking it: its own repr is code of the user."""
    if value is None:
        return "None"
    kind = type(value)
    name = (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
    return f"a value of type {name}"
