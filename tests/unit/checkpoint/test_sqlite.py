import asyncio
import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing, suppress
from dataclasses import replace

import pytest

from hitl.checkpoint import AsyncSqliteSaver, SqliteSaver, verify
from hitl.errors import Conflict, Damaged, Misuse, NewerStore, Stale, StoreFailed
from hitl.testing.store_case import an_item, approve, step
from hitl.values import Commit, ItemChange

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")
unprivileged = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "threads.db"


def filled(path, entries=1, body="{}"):
    """Make a store with a thread of some entries; return its path."""
    with SqliteSaver(path) as store:
        for _ in range(entries):
            store.append(Commit("t", (step(body),)))
    return path


# -- the file


@posix
def test_the_file_and_those_beside_it_are_private(path):
    before = os.umask(0)
    try:
        with SqliteSaver(path) as store:
            store.append(Commit("t", (step(),)))
            made = list(path.parent.iterdir())
            assert len(made) == 3
            assert {stat.S_IMODE(file.stat().st_mode) for file in made} == {0o600}
    finally:
        os.umask(before)


def test_commits_wait_for_the_disk_by_default(path):
    with SqliteSaver(path) as store:
        assert _pragma(store, "journal_mode") == "wal"
        assert _pragma(store, "synchronous") == 2
    with SqliteSaver(path, synchronous="NORMAL") as store:
        assert _pragma(store, "synchronous") == 1
    with pytest.raises(Misuse):
        SqliteSaver(path, synchronous="OFF")  # type: ignore[arg-type]


def inside(store):
    """Return the connection of a store, to do what nobody should."""
    assert store._connection is not None
    return store._connection


def _pragma(store, name):
    return inside(store).execute(f"PRAGMA {name}").fetchone()[0]


def test_what_was_stored_is_there_for_the_next_one(path):
    filled(path, 3)
    with SqliteSaver(str(path)) as store:
        assert [entry.seq for entry in store.load("t").entries] == [1, 2, 3]
        assert verify(store.entries("t")) is None


def test_an_odd_file_name_is_just_a_name(tmp_path):
    name = tmp_path / "a?mode=memory#b%20 é.db"
    filled(name)
    assert name.exists()
    with SqliteSaver(name) as store:
        assert store.load("t").mark.seq == 1


def test_a_relative_path_stays_where_it_was(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    with SqliteSaver(path.name) as store:
        monkeypatch.chdir("/")
        assert store._path == str(path)


@pytest.mark.parametrize("bad", ["file:x.db", "FILE:x.db?mode=memory", "", "a\0b", b"x.db"])
def test_a_uri_or_no_path_is_refused(bad):
    with pytest.raises(Misuse):
        SqliteSaver(bad)


def test_a_missing_folder_is_told_and_not_made(tmp_path):
    with pytest.raises(StoreFailed, match=r"folder .* does not exist.*Make the folder"):
        SqliteSaver(tmp_path / "none" / "x.db")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(StoreFailed):
        SqliteSaver(tmp_path)


@unprivileged
def test_a_read_only_folder_is_told(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreFailed, match="able to write"):
        SqliteSaver(tmp_path / "x.db")
    tmp_path.chmod(0o700)


# -- other files


@pytest.mark.parametrize("wal", [False, True])
def test_a_newer_file_is_refused_and_not_touched(path, wal):
    filled(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 999")
        other.execute(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}")
    before = path.read_bytes()
    with pytest.raises(NewerStore) as caught:
        SqliteSaver(path)
    assert caught.value.fields["schema"] == 999
    assert path.read_bytes() == before


def test_a_foreign_file_is_refused_and_not_touched(path):
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE mine (a)")
    before = path.read_bytes()
    with pytest.raises(StoreFailed, match="another application"):
        SqliteSaver(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("content", [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_garbage_file_is_refused_in_one_sentence(path, content):
    path.write_bytes(content)
    with pytest.raises(StoreFailed, match=r"threads\.db") as caught:
        SqliteSaver(path)
    assert path.read_bytes() == content
    assert "\n" not in str(caught.value)


def test_a_file_cut_anywhere_opens_whole_or_fails_with_our_error(path):
    whole = filled(path, 40, '"' + "x" * 700 + '"').read_bytes()
    with SqliteSaver(path) as store:
        entries = store.entries("t")
    for size in range(0, len(whole), 1777):
        path.write_bytes(whole[:size])
        try:
            with SqliteSaver(path) as store:
                loaded = store.load("t")
                assert loaded.entries in ((), tuple(entries))
                assert loaded.mark.seq == len(loaded.entries)
        except StoreFailed:
            pass
        for beside in ("-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)


def test_missing_entries_are_told_and_leave_other_threads_alone(path):
    filled(path, 3)
    with SqliteSaver(path) as store:
        store.append(Commit("u", (step(),)))
        inside(store).execute("DELETE FROM entries WHERE thread = 1 AND seq = 2")
        with pytest.raises(Damaged, match="Entry 2 "):
            store.load("t")
        assert store.load("u").mark.seq == 1
        assert [mark.thread for mark in store.threads()] == ["t", "u"]


def test_a_damaged_item_shows_as_damaged_and_the_listing_goes_on(path):
    with SqliteSaver(path) as store:
        items = tuple(ItemChange(an_item(n)) for n in (1, 2))
        store.append(Commit("t", (), items))
        inside(store).execute("UPDATE items SET subject = '{' WHERE asked_at = 1")
        bad, good = store.items(states=["pending"])
        assert "damaged" in str(bad.subject)
        assert bad.allowed == ()
        assert good == an_item(2)
        with pytest.raises(Damaged):
            store.load("t")


def test_a_text_that_is_not_utf8_is_damage(path):
    filled(path)
    with SqliteSaver(path) as store:
        inside(store).execute("UPDATE entries SET body = CAST(x'ff' AS TEXT)")
        with pytest.raises(Damaged):
            store.load("t")


def test_an_edited_body_is_found_by_the_chain(path):
    filled(path, 4)
    with SqliteSaver(path) as store:
        inside(store).execute("UPDATE entries SET body = '[]' WHERE seq = 3")
        assert verify(store.entries("t")) == 3
        with pytest.raises(Damaged, match="Entry 3 "):
            store.load("t")
        assert store.load("t", after=3).mark.seq == 4


def test_a_log_without_its_newest_entry_is_damage(path):
    filled(path, 4)
    with SqliteSaver(path) as store:
        inside(store).execute("DELETE FROM entries WHERE seq = 4")
        for after in (0, 2, 3, 4, 9):
            with pytest.raises(Damaged):
                store.load("t", after=after)


# -- locks and transactions


def test_a_file_locked_for_too_long_is_told_and_nothing_is_stored(path):
    with SqliteSaver(path, timeout=0.05) as store, closing(_raw(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreFailed, match=r"locked.*longer timeout"):
            store.append(Commit("t", (step(),)))
        assert store.threads() == []
        other.execute("ROLLBACK")
        assert store.append(Commit("t", (step(),))).seqs == (1,)


def test_a_failure_in_the_middle_stores_nothing(path):
    with SqliteSaver(path) as store:
        inside(store).execute(
            "CREATE TRIGGER t BEFORE INSERT ON entries WHEN NEW.seq = 2 "
            "BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        with pytest.raises(StoreFailed):
            store.append(Commit("t", (step(), step()), (ItemChange(an_item(1)),)))
        assert (store.threads(), store.items(), store.entries("t")) == ([], [], [])


def test_a_full_disk_is_told_and_nothing_is_stored(path):
    with SqliteSaver(path) as store:
        store.append(Commit("t", (step(),)))
        pages = _pragma(store, "page_count")
        inside(store).execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreFailed, match=r"full.*Make room"):
            store.append(Commit("t", (step('"' + "x" * 100_000 + '"'),)))
        assert store.load("t").mark.seq == 1


def _raw(path):
    return sqlite3.connect(path, isolation_level=None)


def test_a_closed_store_says_so(path):
    store = SqliteSaver(path)
    store.close()
    with pytest.raises(StoreFailed, match="closed"):
        store.load("t")


# -- given connections


def test_a_given_connection_is_used_and_left_open(path):
    with closing(sqlite3.connect(path)) as given:
        with SqliteSaver(given) as store:
            store.append(Commit("t", (step(),)))
        assert given.execute("SELECT count(*) FROM entries").fetchone() == (1,)


def test_a_given_connection_with_an_open_transaction_is_refused(path):
    with closing(sqlite3.connect(path)) as given, SqliteSaver(given) as store:
        given.execute("BEGIN")
        with pytest.raises(Misuse):
            store.append(Commit("t", (step(),)))
        assert given.in_transaction


def test_a_given_connection_of_another_thread_is_told(path):
    caught: list[Misuse] = []

    def use():
        try:
            store.load("t")
        except Misuse as error:
            caught.append(error)

    with closing(sqlite3.connect(path)) as given, SqliteSaver(given) as store:
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
    assert "check_same_thread=False" in caught[0].hint


# -- sync and async


def test_it_works_as_with_and_as_async_with(path):
    async def use():
        async with AsyncSqliteSaver.from_conn_string(str(path)) as store:
            return await asyncio.to_thread(store.append, Commit("t", (step(),)))

    assert asyncio.run(use()).seqs == (1,)
    with SqliteSaver.from_conn_string(":memory:") as store:
        assert store.threads() == []


def test_the_front_door_does_not_load_sqlite():
    code = (
        "import sys, hitl.checkpoint; "
        "assert not {'sqlite3', 'sqlite_utils', 'pydantic', 'asyncio'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_opening_a_store_that_is_up_to_date_does_not_load_sqlite_utils(path):
    filled(path)
    code = (
        "import sys; from hitl.checkpoint import SqliteSaver; "
        f"SqliteSaver({str(path)!r}).close(); assert 'sqlite_utils' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_person_can_read_what_waits(path):
    import sqlite_utils

    with SqliteSaver(path) as store:
        store.append(Commit("t", (), (ItemChange(an_item(1)),)))
        with closing(sqlite_utils.Database(path)) as db:
            (row,) = db["pending"].rows
    assert (row["thread"], row["path"]) == ("t", "agent/tools")


# -- many processes


def _decide_all(path, name, ids, gate, wins):
    with SqliteSaver(path) as store:
        gate.wait()
        won = []
        for item in ids:
            try:
                store.append(Commit("t", (step(kind="decide"),), (approve(an_item(item), name),)))
                won.append(item)
            except Conflict:
                pass
        wins.put(won)


def test_processes_that_race_to_decide_have_one_winner_each(path):
    ids = list(range(1, 201))
    with SqliteSaver(path) as store:
        store.append(Commit("t", (), tuple(ItemChange(an_item(n)) for n in ids)))
    spawn = multiprocessing.get_context("spawn")
    gate, wins = spawn.Barrier(2), spawn.Queue()
    racers = [
        spawn.Process(target=_decide_all, args=(path, f"p{n}", ids[::way], gate, wins))
        for n, way in enumerate((1, -1))
    ]
    for racer in racers:
        racer.start()
    won = [item for _ in racers for item in wins.get(timeout=60)]
    for racer in racers:
        racer.join(timeout=30)
    wins.close()
    wins.join_thread()
    assert sorted(won) == ids
    with SqliteSaver(path) as store:
        assert store.load("t").mark.seq == len(ids)
        assert verify(store.entries("t")) is None
        assert store.items(states=["pending"]) == []


def test_processes_may_make_the_same_store_at_once(path):
    code = (
        "from hitl.checkpoint import SqliteSaver; from hitl.values import Commit, Draft\n"
        f"with SqliteSaver({str(path)!r}) as store:\n"
        "    for n in range(5): store.append(Commit('t', (Draft('decide', '1'),)))"
    )
    makers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [maker.wait(timeout=60) for maker in makers] == [0] * 4
    with SqliteSaver(path) as store:
        assert store.load("t").mark.seq == 20


def test_many_stores_on_one_file_in_one_process_get_along(path):
    stores = [SqliteSaver(path) for _ in range(4)]

    def write(store):
        for _ in range(25):
            store.append(Commit("t", (step(kind="decide"),)))

    threads = [threading.Thread(target=write, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stores[0].load("t").mark.seq == 100
    for store in stores:
        store.close()


# -- what a store remembers of a thread


def _said(store):
    """Return a list to which the first word of every statement of a store is added."""
    said: list[str] = []
    inside(store).set_trace_callback(lambda text: said.append(text.split()[0]))
    return said


def test_the_next_commit_on_a_thread_does_not_look_at_its_row_again(path):
    with SqliteSaver(path) as store:
        store.append(Commit("t", (step(),)))
        said = _said(store)
        store.append(Commit("t", (step(),)))
        assert said == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]


def test_a_commit_after_a_load_does_not_look_at_the_row_again(path):
    filled(path)
    with SqliteSaver(path) as store:
        store.load("t")
        said = _said(store)
        store.append(Commit("t", (step(),)))
        assert said == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]


@pytest.mark.parametrize(
    "column",
    [
        "id='u'",
        "seq=7",
        "head=7",
        "base=7",
        "fence=7",
        "owner='x'",
        "until=7",
        "hash='x'",
        "created_at=7",
        "updated_at=7",
        "deleted=1",
    ],
)
def test_a_row_that_changed_in_any_column_is_looked_at_again(path, column):
    with SqliteSaver(path) as store:
        store.append(Commit("t", (step(),)))
        inside(store).execute(f"UPDATE threads SET {column}")
        said = _said(store)
        with suppress(Stale):
            store.append(Commit("t", (step(),)))
        assert said[:3] == ["BEGIN", "UPDATE", "SELECT"]


def test_what_another_store_did_decides_though_this_one_remembers_otherwise(path):
    with SqliteSaver(path) as mine, SqliteSaver(path) as other:
        held = mine.append(Commit("t", (step(),), lease="acquire", owner="me"))
        mine.append(Commit("t", (step(),), fence=held.fence, lease="release"))
        taken = other.append(Commit("t", (step(),), lease="acquire", owner="you"))
        with pytest.raises(Stale, match="taken over"):
            mine.append(Commit("t", (step(),), fence=held.fence))
        other.append(Commit("t", (), fence=taken.fence, lease="release"))
        assert mine.append(Commit("t", (step(),), expect=3)).seqs == (4,)
        assert other.delete_thread("t")
        with pytest.raises(Stale, match="deleted"):
            mine.append(Commit("t", (step(),)))


def test_a_refusal_from_memory_is_asked_again_of_the_file(path):
    with SqliteSaver(path) as mine, SqliteSaver(path) as other:
        held = mine.append(Commit("t", (step(),), lease="acquire", owner="me"))
        other.append(Commit("t", (step(),), fence=held.fence, lease="release"))
        assert (
            mine.append(Commit("t", (step(),), lease="acquire", owner="you", expect=2)).fence == 2
        )


def test_a_failed_commit_leaves_nothing_in_memory(path):
    with SqliteSaver(path) as store:
        store.append(Commit("t", (step(),)))
        with pytest.raises(Conflict):
            store.append(Commit("t", (step(),), (approve(an_item(1)),)))
        assert store.append(Commit("t", (step(),))).seqs == (2,)
        assert verify(store.entries("t")) is None


def test_only_so_many_threads_are_remembered(path):
    with SqliteSaver(path, synchronous="NORMAL") as store:
        for number in range(300):
            store.append(Commit(f"t{number}", (step(),)))
        assert len(store._known) == 256
        assert store.append(Commit("t0", (step(),))).seqs == (2,)


# -- forks

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


def in_child(work):
    """Run something in a forked child; return its exit code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = work() or 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@fork
def test_a_store_survives_a_fork(path):
    with SqliteSaver(path) as store:
        store.append(Commit("t", (step(),)))
        assert in_child(lambda: store.append(Commit("t", (step(),))) and None) == 0
        assert store.append(Commit("t", (step(),))).seqs == (3,)
        assert verify(store.entries("t")) is None


@fork
def test_a_childs_commits_outlive_the_parents_close(path):
    store = SqliteSaver(path)
    store.append(Commit("t", (step(),)))
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.load("t")
            os.write(ready[1], b"x")
            os.read(go[0], 1)
            store.append(Commit("t", (step(),)))
            code = 0
        finally:
            os._exit(code)
    os.read(ready[0], 1)
    store.close()
    os.write(go[1], b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for end in (*ready, *go):
        os.close(end)
    with SqliteSaver(path) as again:
        assert again.load("t").mark.seq == 2


@fork
def test_a_store_in_memory_is_not_shared_with_a_child():
    with SqliteSaver(":memory:") as store:

        def use():
            with pytest.raises(StoreFailed, match="forked"):
                store.load("t")

        assert in_child(use) == 0
        assert store.threads() == []


# -- size


def test_a_page_of_what_waits_does_not_depend_on_how_much_is_done(path):
    with SqliteSaver(path) as store:
        done = [replace(an_item(n), state="done") for n in range(1, 5001)]
        store.append(Commit("t", (), tuple(map(ItemChange, done))))
        store.append(Commit("t", (), (ItemChange(an_item(9000)),)))
        plan = (
            inside(store)
            .execute(
                "EXPLAIN QUERY PLAN SELECT id FROM items WHERE state = 'pending' "
                "AND (asked_at, id) > (1, 'a') ORDER BY asked_at, id LIMIT 5"
            )
            .fetchall()
        )
        assert "items_pending" in plan[0][3]
        assert [item.id for item in store.items(states=["pending"])] == [an_item(9000).id]


def test_it_closes_itself_when_nobody_needs_it(path):
    import gc

    SqliteSaver(path)
    gc.collect()
    assert not path.with_name(path.name + "-wal").exists()
