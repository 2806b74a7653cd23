"""Floor 3: the items that wait for a human, their states and moves. Pure: no I/O."""

from hitl.ledger.ask import Ask, answer, answered, items_of, public
from hitl.ledger.decide import (
    check_reviewer,
    decide,
    decision_entry,
    near,
    read_decision,
    taken,
)
from hitl.ledger.lifecycle import FINAL, MOVES, Move, ask, move, then
from hitl.ledger.resolve import bind, groups, is_map, resolve
from hitl.ledger.schema import problems
from hitl.ledger.wording import closest

__all__ = [
    "FINAL",
    "MOVES",
    "Ask",
    "Move",
    "answer",
    "answered",
    "ask",
    "bind",
    "check_reviewer",
    "closest",
    "decide",
    "decision_entry",
    "groups",
    "is_map",
    "items_of",
    "move",
    "near",
    "problems",
    "public",
    "read_decision",
    "resolve",
    "taken",
    "then",
]
