"""A file of an earlier schema is brought up to date by opening it, and goes on."""

from __future__ import annotations

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from hitl import HumanInTheLoopMiddleware, ScriptedModel, create_agent, tool
from hitl.checkpoint import (
    InMemorySaver,
    SqliteSaver,
    export_thread,
    import_threads,
    tables,
    verify,
)
from hitl.checkpoint.tables import VERSION
from hitl.errors import StoreFailed
from hitl.inbox import Inbox

GOLDEN = Path(__file__).parents[2] / "golden"


RELEASED = range(1, VERSION + 1)


@pytest.fixture(params=RELEASED, ids=[f"schema {version}" for version in RELEASED])
def old(tmp_path, request):
    """A file that each released schema has left, as ``scripts/golden.py`` wrote it then."""
    path = tmp_path / "old.db"
    shutil.copy(GOLDEN / f"schema-{request.param:03}.db", path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (request.param,)
    return path


def test_a_file_of_each_released_schema_is_read_and_verified(old):
    with SqliteSaver(old) as store:
        items = store.items()
        assert sorted(item.state for item in items) == ["done", "pending", "pending", "ran"]
        assert all(item.votes == () and item.deadline is None for item in items)
        assert [mark.thread for mark in store.threads()] == ["ended", "paused"]
        assert [verify(store.entries(mark.thread)) for mark in store.threads()] == [None, None]
        assert [item.decision.by for item in items if item.decision] == ["ann", "ann"]
    with closing(sqlite3.connect(old)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert db.execute("SELECT count(*) FROM pending").fetchone() == (2,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_several_may_bring_one_file_up_to_date_at_once(old):
    with ThreadPoolExecutor() as pool:
        stores = list(pool.map(lambda _: SqliteSaver(old), range(4)))
    assert [len(store.items()) for store in stores] == [4] * 4
    for store in stores:
        store.close()


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "old.db"
    shutil.copy(GOLDEN / "schema-001.db", path)
    steps = (*tables.STEPS, ("999_bad", ("CREATE TABLE new (a)", "no SQL at all")))
    monkeypatch.setattr(tables, "STEPS", steps)
    with pytest.raises(StoreFailed):
        SqliteSaver(path)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        columns = [row[1] for row in db.execute("PRAGMA table_info(items)")]
    assert "votes" not in columns
    monkeypatch.undo()
    with SqliteSaver(path) as store:
        assert len(store.items()) == 4


def test_a_thread_that_waited_under_an_earlier_schema_goes_on(old):
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
