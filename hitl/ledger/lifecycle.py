"""The states of an item and the moves between them, as one table.

Everything that moves an item goes through ``move``; the documents' picture and the tests are
drawn from ``MOVES``. An item is asked once and decided once; what follows is the run's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hitl.errors import Broken
from hitl.values import Decision, Item, ItemChange, ItemState

__all__ = ["FINAL", "MOVES", "Move", "ask", "move", "then"]


@dataclass(frozen=True, slots=True)
class Move:
    """One kind of move: from which states, to which, and what it means."""

    sources: tuple[ItemState, ...]
    target: ItemState
    meaning: str


MOVES: dict[str, Move] = {
    "vote": Move(("pending",), "pending", "a reviewer voted; more must say the same"),
    "decide": Move(("pending",), "decided", "a reviewer decided; the run has not taken it yet"),
    "clear": Move(("decided",), "cleared", "the run took a yes: exactly this call may start"),
    "close": Move(("decided", "expired"), "done", "the run took the answer; nothing is left to do"),
    "start": Move(("cleared",), "started", "the call's intent is committed, its body starts"),
    "finish": Move(("cleared", "started"), "ran", "the call's result is committed"),
    "lose": Move(("started",), "uncertain", "the call started and left no result"),
    "restart": Move(("uncertain",), "started", "a human said that it did not happen: run it"),
    "settle": Move(("uncertain",), "ran", "a human said that it happened, with this result"),
    "abandon": Move(("uncertain",), "done", "a human gave the call up"),
    "supersede": Move(("pending",), "superseded", "the thread went on without an answer"),
    "withdraw": Move(
        ("decided", "cleared", "expired"), "withdrawn", "decided, never started, given up"
    ),
    "expire": Move(("pending",), "expired", "its deadline passed; the run has not taken that yet"),
    "use": Move(("granted",), "granted", "a call like the approved one went on"),
    "spend": Move(("granted",), "done", "a call went on by the last use"),
    "revoke": Move(("granted",), "withdrawn", "a human took the grant back"),
}

FINAL: frozenset[ItemState] = frozenset({"ran", "done", "superseded", "withdrawn"})
"""States that an item never leaves."""


def ask(item: Item) -> ItemChange:
    """Return the change that puts a new item."""
    return ItemChange(item)


def move(item: Item, name: str, decision: Decision | None = None) -> ItemChange:
    """Return the change that moves an item; its version rises by one.

    Args:
        item: The item as it stands.
        name: A key of ``MOVES``.
        decision: What was decided, with ``decide``.

    Raises:
        Broken: The table has no such move from the item's state.
    """
    rule = MOVES[name]
    if item.state not in rule.sources:
        raise Broken(f"Item {item.id} cannot {name} from state {item.state!r}.", item=item.id)
    moved = replace(
        item,
        state=rule.target,
        version=item.version + 1,
        decision=item.decision if decision is None else decision,
    )
    return ItemChange(moved, (item.version, item.state))


def then(change: ItemChange, name: str) -> ItemChange:
    """Return a change that goes one move further, still compared with the first state.

    Raises:
        Broken: The table has no such move from the changed item's state.
    """
    return change._replace(item=move(change.item, name).item)
