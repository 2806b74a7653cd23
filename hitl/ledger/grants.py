"""Answers that are remembered: what a reviewer may wish for, and what becomes of it.

``rules["grants"]`` is ``{"scope", "ttl", "uses"}``, the most that a grant may be; what it stands
and falls with are ``rules["policy"]`` (``{"id", "rules"}``), ``rules["schema"]`` and
``rules["tool_version"]``. A grant is
kept as an item of kind ``grant`` on the thread where it was given, in the very commit that
decides the call, so that neither is there without the other. Its ``interrupt`` is a key made of
all that must be the same for it to count: policy, rules, the tool's schema and version, and the
tool or the whole call. One that was given under other rules has another key: it is void.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import cast

from hitl.errors import Broken, NotAllowed, WrongAnswer
from hitl.ledger.ask import Ask
from hitl.ledger.deadlines import in_time
from hitl.ledger.lifecycle import ask, move
from hitl.ledger.wording import near
from hitl.values import Grant, GrantScope, Item, ItemChange, Json, derive, fingerprint

__all__ = ["grant_keys", "granted", "read_grant", "read_wish", "revoke", "spend"]

_SCOPES: tuple[GrantScope, ...] = ("same_args", "same_tool")
_FACTS = ("policy", "schema", "tool_version")


def read_wish(item: Item, given: object) -> dict[str, Json]:
    """Return what a reviewer wants to be remembered, with what they left out filled in.

    Left out, the scope is ``same_args``, and time and uses are all that the rules permit.

    Raises:
        WrongAnswer: It has not the form ``{"scope"?, "ttl"?, "uses"?}``.
        NotAllowed: The rules of the item permit no grant, or less than this.
    """
    limit = item.rules.get("grants")
    if not isinstance(limit, dict):
        raise NotAllowed(
            f"The answer to item {item.id} cannot be remembered.",
            hint="No rule of its policy permits grants; approve this call alone.",
            item=item.id,
        )
    if not isinstance(given, Mapping):
        raise _wrong(item, f"not {type(given).__name__}")
    for key in given:
        if key not in ("scope", "ttl", "uses"):
            raise _wrong(item, f"without {key!r}.{near(key, ('scope', 'ttl', 'uses'))}")
    wish = {"scope": "same_args", "ttl": limit["ttl"], "uses": limit["uses"], **given}
    _check_form(item, wish)
    if wish["scope"] == "same_tool" and limit["scope"] != "same_tool":
        raise _too_much(item, "scope", wish, limit)
    for key in ("ttl", "uses"):
        if wish[key] > cast(float, limit[key]):
            raise _too_much(item, key, wish, limit)
    return wish


def _check_form(item: Item, wish: Mapping[str, object]) -> None:
    scope, ttl, uses = wish["scope"], wish["ttl"], wish["uses"]
    if scope not in _SCOPES:
        raise _wrong(item, f"with the scope 'same_args' or 'same_tool', not {scope!r}")
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 0 < ttl < inf:
        raise _wrong(item, "with 'ttl' as seconds, more than 0")
    if type(uses) is not int or uses < 1:
        raise _wrong(item, "with 'uses' as an integer, 1 or more")


def _wrong(item: Item, what: str) -> WrongAnswer:
    return WrongAnswer(
        f"The grant with the approval of item {item.id} must be a dict, {what}.",
        hint='Example: {"type": "approve", "grant": {"ttl": 3600, "uses": 5}}.',
        item=item.id,
    )


def _too_much(
    item: Item, key: str, wish: Mapping[str, object], limit: Mapping[str, Json]
) -> NotAllowed:
    return NotAllowed(
        f"The grant with the approval of item {item.id} is for more than its rules permit: "
        f"{key} {wish[key]!r}, at the most {limit[key]!r}.",
        hint="Ask for less, or approve this call alone.",
        item=item.id,
    )


def grant_keys(asked: Ask | Item) -> dict[GrantScope, str]:
    """Return the keys of the grants that would let a call go on, by scope."""
    name = asked.subject.get("name") if isinstance(asked.subject, dict) else None
    policy, rules = _policy(asked.rules)
    facts: list[Json] = [policy, [*sorted(rules)]]
    facts += [asked.rules.get(key) for key in ("schema", "tool_version")]
    given = asked.rules.get("reviewers")
    if any(isinstance(one, dict) and one.get("not_requester") for one in _listed(given)):
        # Whoever agreed was not this requester; of another one nobody knows.
        facts.append(["requester", asked.rules.get("requester")])
    return {
        "same_args": fingerprint("grant", ["same_args", asked.fingerprint, *facts]),
        "same_tool": fingerprint("grant", ["same_tool", name, *facts]),
    }


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _policy(rules: Mapping[str, Json]) -> tuple[str, list[str]]:
    """Return the id of the policy that asked, and those of its rules."""
    said = rules.get("policy")
    if not isinstance(said, dict):
        return "", []
    ids = said.get("rules")
    return str(said.get("id") or ""), [str(id) for id in ids] if isinstance(ids, list) else []


def granted(item: Item) -> ItemChange | None:
    """Return the grant that comes with an item's decision, None where none does."""
    decision = item.decision
    wish = decision.payload.get("grant") if decision is not None else None
    if decision is None or item.state != "decided" or not isinstance(wish, dict):
        return None
    scope = cast(GrantScope, wish["scope"])
    subject = item.subject if isinstance(item.subject, dict) else {}
    shown: dict[str, Json] = {
        "name": subject.get("name"),
        "args": subject.get("args"),
        "scope": scope,
        "uses": wish["uses"],
        "left": wish["uses"],
        "by": decision.by,
    }
    return ask(
        Item(
            id=derive(item.id, "grant"),
            thread=item.thread,
            interrupt=grant_keys(item)[scope],
            kind="grant",
            fingerprint=item.fingerprint,
            subject=shown,
            allowed=(),
            state="granted",
            rules={key: item.rules[key] for key in _FACTS if key in item.rules},
            asked_at=decision.at,
            deadline=decision.at + cast(float, wish["ttl"]),
        )
    )


def read_grant(item: Item) -> Grant:
    """Return the grant that an item keeps.

    Raises:
        Broken: It keeps none.
    """
    shown, rules = item.subject, item.rules
    if item.kind != "grant" or not isinstance(shown, dict) or item.deadline is None:
        raise Broken(f"Item {item.id} is no grant.", item=item.id)
    policy, ids = _policy(rules)
    return Grant(
        id=item.id,
        thread=item.thread,
        tool=str(shown["name"]),
        args=shown["args"],
        scope=cast(GrantScope, shown["scope"]),
        uses=cast(int, shown["uses"]),
        left=cast(int, shown["left"]),
        given_at=item.asked_at,
        until=item.deadline,
        by=str(shown["by"]),
        fingerprint=item.fingerprint,
        policy_id=policy,
        rule_ids=tuple(ids),
        schema_hash=str(rules.get("schema") or ""),
        tool_version=str(rules.get("tool_version") or ""),
        revoked=item.state == "withdrawn",
    )


def spend(item: Item) -> ItemChange:
    """Return the change that takes one use from a grant, before its end.

    Raises:
        Broken: It has none left.
    """
    shown = item.subject
    assert isinstance(shown, dict)
    left = cast(int, shown["left"]) - 1
    used = replace(item, subject={**shown, "left": left})
    return in_time(move(used, "use" if left else "spend"))


def revoke(item: Item) -> ItemChange:
    """Return the change that takes a grant back.

    Raises:
        Broken: It has ended already.
    """
    return move(item, "revoke")
