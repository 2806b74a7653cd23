"""Which arguments an edit may change."""

from __future__ import annotations

import pytest

from hitl.errors import NotAllowed
from hitl.ledger import decide
from hitl.values import Item, Json

ARGS: dict[str, Json] = {"payee": "x", "amount": 1, "memo": "m"}


def decided(rule: Json, args: dict[str, Json], name: str = "pay"):
    item = Item(
        "1" * 32, "t", "2" * 32, "action", "f" * 32, {"name": "pay", "args": ARGS}, ("edit",),
        rules={"args_schema": {"type": "object"}, "tools": {"log": None}, "edit": rule},
    )  # fmt: skip
    raw = {"type": "edit", "edited_action": {"name": name, "args": args}}
    change = decide(item, raw, by=None, at=0.0)
    assert change is not None
    return change.item.decision


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        (None, {"payee": "y"}),
        ({"fields": None, "keep": []}, {"payee": "y", "new": 1}),
        ({"fields": ["memo", "amount"], "keep": []}, {"memo": "n", "amount": 2}),
        ({"fields": None, "keep": ["payee"]}, {"memo": "n", "amount": 2}),
        ({"fields": ["memo"], "keep": []}, {}),
    ],
)
def test_an_edit_may_change_what_the_rules_leave_open(rule, changes):
    assert decided(rule, {**ARGS, **changes}).payload["edited_action"]["args"] == ARGS | changes


@pytest.mark.parametrize(
    ("rule", "args", "named"),
    [
        ({"fields": ["memo"], "keep": []}, {**ARGS, "payee": "y"}, "'payee'"),
        ({"fields": ["memo", "payee"], "keep": ["payee"]}, {**ARGS, "payee": "y"}, "'payee'"),
        ({"fields": None, "keep": ["payee"]}, {"amount": 1, "memo": "m"}, "'payee'"),
        ({"fields": ["memo"], "keep": []}, {**ARGS, "new": 1}, "'new'"),
        ({"fields": [], "keep": []}, {**ARGS, "amount": True}, "'amount'"),
        ({"fields": [], "keep": []}, {"payee": "y", "amount": 2}, "'payee', 'amount', 'memo'"),
    ],
)
def test_an_edit_of_anything_else_is_refused_and_names_it(rule, args, named):
    with pytest.raises(NotAllowed, match=f"changes {named}, which must stay"):
        decided(rule, args)


def test_another_tool_is_no_way_around_the_rules():
    assert decided({"fields": None, "keep": []}, {"text": "x"}, "log")
    rules: list[Json] = [{"fields": ["memo"], "keep": []}, {"fields": None, "keep": ["payee"]}]
    for rule in rules:
        with pytest.raises(NotAllowed, match="changes the tool"):
            decided(rule, ARGS, "log")
