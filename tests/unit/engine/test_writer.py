"""The run's writer, its journal, and the renewing of leases."""

from __future__ import annotations

import asyncio
import threading

import pytest

from hitl.checkpoint import InMemorySaver, SqliteSaver
from hitl.engine import keeper
from hitl.engine.effects import Append
from hitl.engine.standing import Intent
from hitl.engine.writer import NoJournal, Writer
from hitl.errors import NoCheckpointer, Stale, StoreFailed
from hitl.values import Draft, ManualClock

INTENT = Intent(1, False, {"name": "x", "args": {}})


def opened(store):
    writer = Writer(store, "t")
    writer.append(Append((Draft("input", "{}"),), (), "acquire"))
    return writer


def test_the_journal_writes_intents_and_notes_in_order(store):
    writer = opened(store)
    writer.intent(0, "k", INTENT, ())
    writer.note(0, "k", {"done": True})

    async def later():
        await writer.aintent(1, "k", INTENT, ())
        await writer.anote(1, "k", 1)

    asyncio.run(later())
    writer.release()
    kinds = [entry.kind for entry in store.entries("t")]
    assert kinds == ["input", "intent", "note", "intent", "note"]
    assert [entry.parent for entry in store.entries("t")] == [0, 1, 2, 3, 4]


def test_a_blocking_store_is_written_off_the_event_loop():
    where = []

    class Watched(InMemorySaver):
        blocking = True

        def append(self, commit):
            where.append(threading.current_thread() is threading.main_thread())
            return super().append(commit)

    writer = opened(Watched())
    where.clear()

    async def both():
        await writer.anote(0, "a", 1)
        await writer.aintent(0, "b", INTENT, ())

    asyncio.run(both())
    assert where == [False, False]


def test_after_the_runs_end_nothing_is_written(store):
    writer = opened(store)
    writer.release()
    for write in (lambda: writer.note(0, "k", 1), lambda: writer.intent(0, "k", INTENT, ())):
        with pytest.raises(Stale, match="is over"):
            write()
    assert len(store.entries("t")) == 1
    writer.release()


def test_taking_the_lease_compares_what_was_read_with_what_is_there(store):
    late = Writer(store, "t")
    opened(store).release()
    with pytest.raises(Stale):
        late.append(Append((), (), "acquire"))
    assert store.load("t").mark.owner == ""


def test_a_run_without_store_writes_nothing():
    journal = NoJournal()
    journal.note(0, "k", 1)
    journal.intent(0, "k", INTENT, ())
    asyncio.run(journal.anote(0, "k", 1))
    asyncio.run(journal.aintent(0, "k", INTENT, ()))
    journal.release()
    with pytest.raises(NoCheckpointer):
        journal.append(Append())


def test_a_lease_is_renewed_while_it_is_held_and_left_alone_after():
    clock = ManualClock()
    store = InMemorySaver(clock=clock, lease_seconds=60)
    writer = opened(store)
    clock.advance(50)
    writer.renew()
    assert store.load("t").mark.until == clock.now() + 60
    writer.release()
    writer.renew()
    assert store.load("t").mark.owner == ""


def test_the_keeper_renews_what_it_holds_and_survives_a_failing_store(monkeypatch, caplog):
    monkeypatch.setattr(keeper, "EVERY", 0.01)
    renewed, failed = threading.Event(), threading.Event()

    class Good:
        def renew(self):
            renewed.set()

    class Bad:
        def renew(self):
            failed.set()
            raise StoreFailed("gone")

    own = keeper._Keeper()
    monkeypatch.setattr(keeper, "_keeper", own)
    good, bad = Good(), Bad()
    keeper.keep(bad)
    assert failed.wait(30)
    keeper.keep(good)
    assert renewed.wait(30)
    keeper.let_go(bad)
    keeper.let_go(good)
    assert not own.held
    assert "could not be renewed" in caplog.text


def test_notes_of_parallel_tasks_do_not_compete(tmp_path):
    store = SqliteSaver(tmp_path / "runs.db")
    writer = opened(store)
    threads = [threading.Thread(target=writer.note, args=(place, "k", place)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.release()
    assert [entry.parent for entry in store.entries("t")] == list(range(9))
    store.close()
