"""Floor 3: the items that wait for a human, their states and moves. Pure: no I/O."""

from hitl.ledger.ask import Ask, answer, answered, items_of, public
from hitl.ledger.deadlines import has_expired, overdue
from hitl.ledger.decide import check_reviewer, decide, decisions, read_decision, taken
from hitl.ledger.entries import entries_of
from hitl.ledger.grants import grant_keys, read_grant, revoke, spend
from hitl.ledger.lifecycle import FINAL, MOVES, Move, ask, move, then
from hitl.ledger.resolve import bind, groups, is_map, resolve
from hitl.ledger.schema import problems
from hitl.ledger.schema_check import schema_faults
from hitl.ledger.votes import needs_votes, progress
from hitl.ledger.wording import closest, near

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
    "decisions",
    "entries_of",
    "grant_keys",
    "groups",
    "has_expired",
    "is_map",
    "items_of",
    "move",
    "near",
    "needs_votes",
    "overdue",
    "problems",
    "progress",
    "public",
    "read_decision",
    "read_grant",
    "resolve",
    "revoke",
    "schema_faults",
    "spend",
    "taken",
    "then",
]
