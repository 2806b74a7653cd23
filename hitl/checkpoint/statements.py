"""The SQL of the SQLite store: constant texts, so that SQLite prepares each of them once."""

from __future__ import annotations

from hitl.values import LIVE

__all__ = [
    "ADD_ENTRY",
    "ADD_ITEM",
    "ADD_THREAD",
    "CHANGE_ITEM",
    "CUT",
    "ENTRIES",
    "HASH",
    "ITEM",
    "ITEM_NOW",
    "LIVE_ITEMS",
    "MOVE_KNOWN",
    "MOVE_THREAD",
    "PAGE_OF_ENTRIES",
    "THREAD",
    "THREADS",
    "page_of_items",
]

THREAD = """
SELECT num, id, seq, head, base, fence, owner, until, hash, created_at, updated_at, deleted
FROM threads WHERE id = ?"""

THREADS = """
SELECT id, seq, head, base, fence, owner, until, hash, created_at, updated_at, deleted
FROM threads WHERE id > ? AND deleted = 0 ORDER BY id LIMIT ?"""

ADD_THREAD = """
INSERT INTO threads
(id, seq, head, base, fence, owner, until, hash, created_at, updated_at, deleted)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

MOVE_THREAD = """
UPDATE threads SET seq = ?, head = ?, base = ?, fence = ?, owner = ?, until = ?, hash = ?,
created_at = ?, updated_at = ?, deleted = ? WHERE num = ?"""

MOVE_KNOWN = f"""{MOVE_THREAD} AND id = ?
AND seq = ? AND head = ? AND base = ? AND fence = ? AND owner = ? AND until = ? AND hash = ?
AND created_at = ? AND updated_at = ? AND deleted = ?"""

ADD_ENTRY = """
INSERT INTO entries (thread, seq, kind, parent, at, body, hash, base)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""

ENTRIES = """
SELECT seq, kind, parent, at, body, hash FROM entries
WHERE thread = ? AND seq > ? ORDER BY seq"""

PAGE_OF_ENTRIES = """
SELECT seq, kind, parent, at, body, hash FROM entries
WHERE thread = (SELECT num FROM threads WHERE id = ?) AND seq > ? ORDER BY seq LIMIT ?"""

HASH = "SELECT hash FROM entries WHERE thread = ? AND seq = ?"

CUT = "DELETE FROM entries WHERE thread = ? AND seq <= ?"

ADD_ITEM = """
INSERT INTO items (thread, interrupt, idx, kind, state, version, fingerprint, asked_at, path,
call_id, subject, allowed, rules, decision, deadline, votes, id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"""

CHANGE_ITEM = """
UPDATE items SET thread = ?, interrupt = ?, idx = ?, kind = ?, state = ?, version = ?,
fingerprint = ?, asked_at = ?, path = ?, call_id = ?, subject = ?, allowed = ?, rules = ?,
decision = ?, deadline = ?, votes = ? WHERE id = ?
AND thread = ? AND version = ? AND state = ? AND (fingerprint = ? OR version < ?)"""

ITEM_NOW = """
SELECT threads.id, items.version, items.state, items.fingerprint
FROM items JOIN threads ON threads.num = items.thread WHERE items.id = ?"""

_ITEMS = """
SELECT id, (SELECT id FROM threads WHERE num = items.thread), interrupt, idx, kind, state,
version, fingerprint, asked_at, path, call_id, subject, allowed, rules, decision, deadline, votes
FROM items"""

ITEM = f"{_ITEMS} WHERE id = ?"

_STATES = ", ".join(f"'{state}'" for state in sorted(LIVE))
LIVE_ITEMS = f"{_ITEMS} WHERE thread = ? AND state IN ({_STATES}) ORDER BY asked_at, id"

_BY_IDS = """
(id IN (SELECT value FROM json_each(:ids)) OR interrupt IN (SELECT value FROM json_each(:ids)))"""


def page_of_items(*, ids: bool, thread: bool, states: str, due: bool, after: bool) -> str:
    """Return the query for a page of items with the named parameters that it is to have.

    Args:
        ids: Whether it takes ``:ids``, a JSON list.
        thread: Whether it takes ``:thread``, an id.
        states: ``all``, ``pending``, ``granted``, or ``some`` where it takes ``:states``, a
            JSON list.
        due: Whether it takes ``:due``, a time.
        after: Whether it takes ``:asked_at`` and ``:id``.
    """
    # A partial index is only used where its condition stands in the query as it is.
    by_state = {
        "pending": "state = 'pending'",
        "granted": "state = 'granted'",
        "some": "state IN (SELECT value FROM json_each(:states))",
    }
    terms = [
        _BY_IDS if ids else "",
        "thread = (SELECT num FROM threads WHERE id = :thread)" if thread else "",
        by_state.get(states, ""),
        "deadline <= :due" if due else "",
        "(asked_at, id) > (:asked_at, :id)" if after else "",
    ]
    where = " AND ".join(filter(None, terms))
    return f"{_ITEMS} {'WHERE ' if where else ''}{where} ORDER BY asked_at, id LIMIT :limit"
