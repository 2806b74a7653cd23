"""A database that was cut or changed at any byte tells the truth, or says that it cannot."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from hitl import SqliteSaver
from hitl.checkpoint import verify
from hitl.errors import StoreFailed
from hitl.testing.store_case import an_item, approve, step
from hitl.values import Commit, Entry, ItemChange

FILES = ["runs.db", "runs.db-wal"]


@cache
def whole() -> tuple[dict[str, bytes], dict[str, list[Entry]]]:
    """Return the files of a store whose process was killed, and what they hold."""
    with TemporaryDirectory() as name, SqliteSaver(Path(name) / "runs.db") as store:
        for n in range(1, 15):
            for thread in "ab":
                body = f'"{thread} {n} {"x" * 400}"'
                item = an_item(n + (100 if thread == "b" else 0), thread)
                store.append(Commit(thread, (step(body),), (ItemChange(item),)))
            if n == 9:  # a part is in the file, and a part beside it
                store._select("PRAGMA wal_checkpoint(TRUNCATE)", (), lambda *row: row)
        store.append(Commit("a", (step(kind="decide"),), (approve(an_item(3, "a")),)))
        files = {file: (Path(name) / file).read_bytes() for file in FILES}
        entries = {thread: store.entries(thread) for thread in "ab"}
    return files, entries


def told(files: dict[str, bytes], entries: dict[str, list[Entry]]) -> None:
    """Open what is left of a store, and hold all that it says against what was written."""
    with TemporaryDirectory() as name, suppress(StoreFailed):
        for file, content in files.items():
            (Path(name) / file).write_bytes(content)
        with SqliteSaver(Path(name) / "runs.db", timeout=0.1) as store:
            for thread in "ab":
                _checked(store, thread, entries[thread])
            store.items(states=["pending"])
            store.threads()


def _checked(store: SqliteSaver, thread: str, entries: list[Entry]) -> None:
    try:
        loaded = store.load(thread)
    except StoreFailed:
        pass  # this thread; the others are looked at nevertheless
    else:
        assert list(loaded.entries) == entries[: len(loaded.entries)]
    found = store.entries(thread)
    if verify(found) is None:
        assert found == entries[: len(found)]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_store_that_was_cut_at_any_byte_says_nothing_wrong(data):
    files, entries = whole()
    name = data.draw(st.sampled_from(FILES))
    size = data.draw(st.integers(0, len(files[name])))
    told({**files, name: files[name][:size]}, entries)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_store_that_was_changed_at_any_byte_says_nothing_wrong(data):
    files, entries = whole()
    name = data.draw(st.sampled_from(FILES))
    content = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    told({**files, name: bytes(content)}, entries)
