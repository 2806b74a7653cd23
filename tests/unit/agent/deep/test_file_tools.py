"""The file tools, over both backends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hitl import FilesystemBackend, Misuse, NotSupported, StateBackend, ToolRuntime
from hitl.agent.deep.backend import merge_files
from hitl.agent.deep.file_tools import FileTools
from hitl.agent.deep.jail import Jail
from hitl.agent.deep.path_rules import PathRules
from hitl.agent.messages import AIMessage
from hitl.agent.tool import ToolException
from hitl.values import Command


class Desk:
    """Calls file tools one after the other, as an agent would."""

    def __init__(self, backend):
        self.tools = {tool.name: tool for tool in FileTools(backend, PathRules()).tools()}
        self.state: dict = {}

    def __call__(self, name, *, turn=None, id="c", attempt=1, **args):
        state = self.state if turn is None else {**self.state, "messages": [turn]}
        runtime = ToolRuntime(state=state, tool_call_id=id, attempt=attempt)
        made = self.tools[name]
        result = made.run(made.validate(args), runtime)
        if not isinstance(result, Command):
            return result
        assert isinstance(result.update, dict)
        update = dict(result.update)
        (message,) = update.pop("messages")
        if "files" in update:
            self.state["files"] = merge_files(self.state.get("files"), update["files"])
        return message.content

    def fails(self, name, **args):
        with pytest.raises(ToolException) as caught:
            self(name, **args)
        return caught.value.message


@pytest.fixture(params=["state", "folder"])
def desk(request, tmp_path):
    if request.param == "state":
        return Desk(StateBackend())
    return Desk(FilesystemBackend(tmp_path))


@pytest.fixture
def folder(tmp_path):
    return Desk(FilesystemBackend(tmp_path))


def test_a_file_is_written_read_edited_and_deleted(desk):
    assert desk("write_file", file_path="/d/a.txt", content="one\ntwo\nthree\n") == "Wrote /d/a.txt"
    assert desk("read_file", file_path="d/a.txt") == "     1\tone\n     2\ttwo\n     3\tthree"
    edited = desk("edit_file", file_path="/d/a.txt", old_string="two", new_string="2")
    assert edited == "Replaced 1 in /d/a.txt"
    assert desk("read_file", file_path="/d/a.txt", offset=1, limit=1) == (
        "     2\t2\n(Lines 2 to 2 of 3. Go on with offset=2.)"
    )
    assert desk("write_file", file_path="/d/a.txt", content="anew") == "Wrote /d/a.txt"
    assert desk("read_file", file_path="/d/a.txt") == "     1\tanew"
    assert desk("delete", file_path="/d") == "Deleted /d"
    assert desk.fails("read_file", file_path="/d/a.txt") == "Error: '/d/a.txt' was not found"


def test_an_edit_says_why_it_did_nothing(desk):
    desk("write_file", file_path="/a", content="x y x")
    again = desk.fails("edit_file", file_path="/a", old_string="x", new_string="z")
    assert "stands 2 times" in again
    none = desk.fails("edit_file", file_path="/a", old_string="q", new_string="z")
    assert "does not stand" in none
    empty = desk.fails("edit_file", file_path="/a", old_string="", new_string="z")
    assert "does not stand" in empty
    every = {"old_string": "x", "new_string": "z", "replace_all": True}
    assert desk("edit_file", file_path="/a", **every) == "Replaced 2 in /a"
    assert desk("read_file", file_path="/a") == "     1\tz y z"


def test_reading_behind_the_end_and_nothing(desk):
    desk("write_file", file_path="/a", content="x\n")
    desk("write_file", file_path="/b", content="")
    assert "behind the end (1 lines)" in desk.fails("read_file", file_path="/a", offset=5)
    assert desk("read_file", file_path="/b") == "(The file is empty.)"


def test_listings_and_searches(desk):
    for path in ["/a.py", "/d/b.py", "/d/e/c.md", "/d/.hidden"]:
        desk("write_file", file_path=path, content=f"x\nthis is {path}\n")
    assert desk("ls", path="/") == ["/a.py", "/d/"]
    assert desk("ls", path="/d") == ["/d/.hidden", "/d/b.py", "/d/e/"]
    assert desk("glob", pattern="*.py") == ["/a.py", "/d/b.py"]
    assert desk("glob", pattern="e/*.md", path="/d") == ["/d/e/c.md"]
    assert desk("glob", pattern="*/*.py") == ["/d/b.py"]
    assert desk("glob", pattern="/d/**") == ["/d/.hidden", "/d/b.py", "/d/e/c.md"]
    assert desk("glob", pattern="/d/**", path="/d/e") == ["/d/.hidden", "/d/b.py", "/d/e/c.md"]
    assert desk("glob", pattern="*.{md,txt}") == ["/d/e/c.md"]
    assert desk("glob", pattern="*.txt") == "No files found"
    assert desk("grep", pattern="this") == "/a.py\n/d/.hidden\n/d/b.py\n/d/e/c.md"
    assert desk("grep", pattern="this", glob="*.py", output_mode="content") == (
        "/a.py:\n  2: this is /a.py\n/d/b.py:\n  2: this is /d/b.py"
    )
    assert desk("grep", pattern="s", path="/d/e", output_mode="count") == "/d/e/c.md: 1"
    assert desk("grep", pattern="x", path="/a.py") == "/a.py"
    assert desk("grep", pattern="x", max_count=2) == "/a.py\n/d/.hidden\n(There may be more.)"
    assert desk("grep", pattern="th.s") == "No matches found"
    assert "'..'" in desk.fails("glob", pattern="../*")
    assert "braces" in desk.fails("glob", pattern="{a}")


@pytest.mark.parametrize("path", ["..", "/a/../b", "~/a", "C:/a", "a\\b", "/a\x00", "/a\u202eb"])
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("read_file", {}),
        ("write_file", {"content": ""}),
        ("edit_file", {"old_string": "a", "new_string": "b"}),
        ("delete", {}),
    ],
)
def test_a_path_that_could_be_read_in_two_ways_is_refused(desk, name, more, path):
    assert "is not a path here" in desk.fails(name, file_path=path, **more)


def test_the_root_is_neither_written_nor_deleted(desk):
    desk("write_file", file_path="/a", content="")
    assert "cannot be deleted" in desk.fails("delete", file_path="/.")
    desk.fails("write_file", file_path="/", content="x")
    assert desk("ls", path="/") == ["/a"]


def test_a_file_is_no_folder_and_a_folder_no_file(desk):
    desk("write_file", file_path="/d/a", content="")
    desk.fails("write_file", file_path="/d", content="x")
    desk.fails("write_file", file_path="/d/a/b", content="x")
    desk.fails("read_file", file_path="/d")
    assert desk("read_file", file_path="/d/a") == "(The file is empty.)"


def test_the_second_call_of_a_turn_that_writes_the_same_place_does_nothing(desk):
    desk("write_file", file_path="/d/a", content="x")
    calls = [("1", "/d/a"), ("2", "//d/./a"), ("3", "/d"), ("4", "/d2"), ("5", "/d/b")]
    turn = AIMessage(
        "",
        tool_calls=[
            {"name": "delete", "args": {"file_path": path}, "id": id}  # type: ignore[list-item]
            for id, path in calls
        ],
    )
    for id in ["2", "3"]:
        told = desk.fails("delete", turn=turn, id=id, file_path=dict(calls)[id])
        assert "another call of the same turn writes /d/a" in told
    assert "writes /d" in desk.fails("delete", turn=turn, id="5", file_path="/d/b")
    assert "not found" in desk.fails("delete", turn=turn, id="4", file_path="/d2")
    assert desk("delete", turn=turn, id="1", file_path="/d/a") == "Deleted /d/a"


def test_a_state_may_spell_its_paths_otherwise():
    desk = Desk(StateBackend())
    desk.state["files"] = {"a.txt": {"content": "x"}, "/../odd": {"content": "y"}}
    assert desk("glob", pattern="**") == ["/a.txt"]
    assert desk("edit_file", file_path="/a.txt", old_string="x", new_string="z")
    assert desk.state["files"]["a.txt"] == {"content": "z"}
    assert desk("delete", file_path="/a.txt") == "Deleted /a.txt"
    assert desk.state["files"] == {"/../odd": {"content": "y"}}


def test_files_are_merged_path_by_path():
    old = {"/a": {"content": "1"}, "/b": {"content": "2"}}
    merged = merge_files(old, {"/a": None, "/c": "3", "/none": None})  # type: ignore[arg-type]
    assert merged == {"/b": {"content": "2"}, "/c": {"content": "3"}}
    assert old == {"/a": {"content": "1"}, "/b": {"content": "2"}}
    assert merge_files(None, {}) == {}


# --- a real folder ----------------------------------------------------------------------


def test_only_plain_text_files_of_some_size_are_read(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(11 * 1024 * 1024)
    assert "no plain file" in folder.fails("read_file", file_path="/pipe")
    assert "too large" in folder.fails("read_file", file_path="/large")
    assert "not UTF-8" in folder.fails("read_file", file_path="/binary")
    assert "no plain file" in folder.fails("write_file", file_path="/pipe", content="")
    assert folder("grep", pattern="") == "No matches found"


def test_a_file_keeps_its_mode_and_is_replaced_as_a_whole(folder, tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    twin = tmp_path / "twin"
    os.link(script, twin)
    folder("write_file", file_path="/run.sh", content="new")
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("new", 0o750)
    assert twin.read_text() == "old"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.sh", "twin"]


def test_a_link_is_deleted_and_not_what_it_leads_to(folder, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").write_text("a")
    (tmp_path / "link").symlink_to("d")
    folder("delete", file_path="/link")
    assert (tmp_path / "d" / "a").read_text() == "a"


def test_a_loop_of_links_leads_nowhere(folder, tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "too many links" in folder.fails("read_file", file_path="/a")


def test_a_delete_that_was_cut_off_may_find_its_work_done(folder):
    assert folder("delete", file_path="/gone", attempt=2) == "Deleted /gone"
    assert "not found" in folder.fails("delete", file_path="/gone")


def test_with_real_paths_only_those_inside_are_opened(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").write_text("x")
    desk = Desk(FilesystemBackend(root, virtual_mode=False))
    assert desk("write_file", file_path=f"{root}/a", content="x") == f"Wrote {root}/a"
    assert desk("read_file", file_path="a") == "     1\tx"
    assert desk("ls", path=str(root)) == [f"{root}/a"]
    assert desk("glob", pattern=f"{root}/*") == [f"{root}/a"]
    assert desk("glob", pattern="*") == [f"{root}/a"]
    for path in [f"{tmp_path}/outside", "/etc/passwd", f"{root}-x/a", "/"]:
        assert "outside the agent's files" in desk.fails("read_file", file_path=path)
    assert "cannot be deleted" in desk.fails("delete", file_path=str(root))


def test_the_root_itself_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for virtual, path in [(True, "/a"), (False, f"{tmp_path}/link/a")]:
        desk = Desk(FilesystemBackend(tmp_path / "link", virtual_mode=virtual))
        assert desk("write_file", file_path=path, content="x")
        assert desk("read_file", file_path=path) == "     1\tx"


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(Misuse, match="There is no folder"):
        FilesystemBackend(tmp_path / "none")


def test_a_system_without_openat_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "supports_dir_fd", set())
    with pytest.raises(NotSupported, match="StateBackend"):
        Jail(str(tmp_path))


def test_what_may_run_again_by_itself_follows_from_where_files_are(tmp_path):
    def effects(backend):
        return {tool.name: tool.effect for tool in FileTools(backend, PathRules()).tools()}

    reads = dict.fromkeys(["ls", "read_file", "glob", "grep"], "pure")
    writes = {"write_file": "idempotent", "delete": "idempotent"}
    inside, outside = effects(StateBackend()), effects(FilesystemBackend(Path(tmp_path)))
    assert inside == reads | writes | {"edit_file": "idempotent"}
    assert outside == reads | writes | {"edit_file": "effect"}
