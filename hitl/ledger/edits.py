"""What a reviewer may make of a call: read, and checked against what was frozen with it."""

from __future__ import annotations

from collections.abc import Mapping

from hitl.errors import NotAllowed, WrongAnswer
from hitl.ledger.schema import problems
from hitl.ledger.wording import near
from hitl.values import Item, Json, canonical, plain

__all__ = ["read_edit"]


def read_edit(item: Item, action: object) -> dict[str, Json]:
    """Return the edited call, ``{"name", "args"}``.

    Raises:
        WrongAnswer: It has not the form of a call.
        NotAllowed: It does not fit the tool, or changes what may not be changed.
    """
    if not isinstance(action, Mapping) or set(action) != {"name", "args"}:
        got = sorted(map(str, action)) if isinstance(action, Mapping) else type(action).__name__
        raise WrongAnswer(
            f"An edit of item {item.id} needs 'edited_action' with exactly 'name' and 'args'; "
            f"got {got}.",
            hint='Example: {"type": "edit", "edited_action": {"name": "tool", "args": {...}}}.',
            item=item.id,
        )
    name, args = action["name"], action["args"]
    if not isinstance(name, str) or not isinstance(args, Mapping):
        raise WrongAnswer(
            f"An edit of item {item.id} needs 'name' as text and 'args' as a dict.", item=item.id
        )
    try:
        copy = plain(dict(args))
    except ValueError as error:
        raise WrongAnswer(
            f"The edited arguments of item {item.id} are not plain JSON: {error}.", item=item.id
        ) from error
    assert isinstance(copy, dict)
    _check(item, name, copy)
    return {"name": name, "args": copy}


def _check(item: Item, name: str, args: dict[str, Json]) -> None:
    subject = item.subject if isinstance(item.subject, dict) else {}
    own, before = subject.get("name"), subject.get("args")
    faults = problems(item.rules.get("args_schema"), args) if name == own else _renamed(item, name)
    if faults:
        raise NotAllowed(
            f"The edit of item {item.id} does not fit {name!r}: {'; '.join(faults)}.",
            hint="The item is still open; send a corrected edit.",
            item=item.id,
            problems=tuple(faults),
        )
    _check_fields(item, name, before if isinstance(before, dict) else {}, args)


def _renamed(item: Item, name: str) -> list[str]:
    """Judge an edit into another tool by the verdicts that were frozen with the question."""
    tools = item.rules.get("tools")
    if not isinstance(tools, dict) or name not in tools:
        known = tools if isinstance(tools, dict) else {}
        return [f"there is no tool {name!r} here.{near(name, known)}"]
    allowed = tools[name]
    if allowed is None or (isinstance(allowed, list) and "approve" in allowed):
        return []
    return [f"tool {name!r} does not let a reviewer approve it"]


def _check_fields(
    item: Item, name: str, before: Mapping[str, Json], after: Mapping[str, Json]
) -> None:
    """Refuse an edit of what the rules say must stay; another tool changes all of it."""
    rule = item.rules.get("edit")
    if not isinstance(rule, dict):
        return
    fields, keep = rule.get("fields"), rule.get("keep") or []
    if fields is None and not keep:
        return
    assert isinstance(keep, list)
    subject = item.subject if isinstance(item.subject, dict) else {}
    changed = [] if subject.get("name") == name else ["the tool"]
    for arg in dict.fromkeys([*before, *after]):
        same = arg in before and arg in after and canonical(before[arg]) == canonical(after[arg])
        if not same and (arg in keep or (isinstance(fields, list) and arg not in fields)):
            changed.append(repr(arg))
    if changed:
        may = ", ".join(map(str, fields)) if isinstance(fields, list) else "the other arguments"
        raise NotAllowed(
            f"The edit of item {item.id} changes {', '.join(changed)}, which must stay.",
            hint=f"An edit may change {may or 'nothing'} here; the item is still open.",
            item=item.id,
            changed=tuple(changed),
        )
