"""A file of an earlier schema is brought up to date by opening it, and goes on."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from hitl import HumanInTheLoopMiddleware, ScriptedModel, create_agent, tool
from hitl.checkpoint import (
    InMemorySaver,
    SqliteSaver,
    export_thread,
    import_threads,
    verify,
)
from hitl.checkpoint.tables import VERSION
from hitl.inbox import Inbox

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.db"
    shutil.copy(GOLDEN / "schema-001.db", path)
    return path


def test_items_of_the_first_schema_have_no_votes_and_no_deadline(old):
    assert sqlite3.connect(old).execute("PRAGMA user_version").fetchone() == (1,)
    with SqliteSaver(old) as store:
        items = store.items()
        assert [item.state for item in items] == ["pending", "pending", "ran", "done"]
        assert all(item.votes == () and item.deadline is None for item in items)
        assert [verify(store.entries(mark.thread)) for mark in store.threads()] == [None, None]
    with sqlite3.connect(old) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert db.execute("SELECT count(*) FROM pending").fetchone() == (2,)


def test_a_thread_that_waited_under_the_first_schema_goes_on(old):
    ran = []

    @tool(description="Pays.")
    def pay(amount: int) -> str:
        ran.append(amount)
        return f"paid {amount}"

    with SqliteSaver(old) as store:
        agent = create_agent(
            ScriptedModel(["never said again", "done"]),
            [pay],
            middleware=[HumanInTheLoopMiddleware({"pay": True})],
            checkpointer=store,
        )
        desk = Inbox(store)
        one, two = desk.pending(thread="paused")
        desk.decide(one.id, {"type": "approve"}, by="ann")
        desk.decide(two.id, {"type": "reject"}, by="ann")
        output = agent.invoke(None, {"configurable": {"thread_id": "paused"}}, version="v2")
    assert not output.interrupts
    assert ran == [1]


def test_lines_that_an_earlier_version_exported_are_taken_in(old):
    with SqliteSaver(old) as store:
        lines = [json.loads(line) for line in export_thread(store, "paused")]
        for line in lines:
            if "format" in line:
                line["format"] = 1
            if "item" in line:
                del line["item"]["deadline"], line["item"]["votes"]
        other = InMemorySaver()
        assert [mark.thread for mark in import_threads(other, map(json.dumps, lines))] == ["paused"]
        assert other.items() == store.items(thread="paused")
