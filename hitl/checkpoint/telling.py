"""What the logger ``hitl`` is told of items: that one waits, who decided, what became of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from hitl.values import Item, ItemChange

__all__ = ["log_moves"]

_log = logging.getLogger("hitl")


def log_moves(changes: Sequence[ItemChange]) -> None:
    """Log changes of items that have been committed, at level ``INFO``.

    Ids, names and states only: no argument, no question, no answer.
    """
    if not _log.isEnabledFor(logging.INFO):
        return
    for change in changes:
        item = change.item
        what = f"item {item.id} ({_name(item)}) of thread {item.thread!r}"
        if change.expect is None:
            _log.info("%s waits", what)
            continue
        decision, before = item.decision, change.expect[1]
        if decision is not None and before == "pending":
            who = decision.by or "an unnamed reviewer"
            _log.info("%s was decided: %s by %s", what, decision.type, who)
        if item.state not in (before, "decided"):
            _log.info("%s is %s", what, item.state)


def _name(item: Item) -> str:
    name = item.subject.get("name") if isinstance(item.subject, dict) else None
    return f"tool {name!r}" if item.kind != "question" and name else item.kind
