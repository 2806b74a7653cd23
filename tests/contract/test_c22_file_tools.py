"""C22: the built-in file tools over the state or a real folder, which is not left."""

from __future__ import annotations

import pytest

from hitl import FilesystemBackend, ScriptedModel, StateBackend, create_deep_agent

CONFIG = {"configurable": {"thread_id": "t"}}
GO = {"messages": [{"role": "user", "content": "go"}]}


def work(run, backend, saver, *turns):
    """Run one call after the other; return what each came to, and the state."""
    answers = [{"tool_calls": [{"name": name, "args": args}]} for name, args in turns]
    agent = create_deep_agent(
        ScriptedModel([*answers, "Done."]), backend=backend, checkpointer=saver
    )
    output = run(agent, GO, CONFIG)
    return [m.content for m in output["messages"] if m.type == "tool"], output


@pytest.fixture(params=["state", "folder", "default"])
def backend(request, tmp_path):
    if request.param == "folder":
        (tmp_path / "root").mkdir()
        return FilesystemBackend(root_dir=str(tmp_path / "root"), virtual_mode=True)
    return StateBackend() if request.param == "state" else None


def test_c22_all_seven_tools_do_their_work(run, saver, backend):
    told, output = work(
        run,
        backend,
        saver,
        ("write_file", {"file_path": "/notes/a.md", "content": "one\ntwo\n"}),
        ("edit_file", {"file_path": "/notes/a.md", "old_string": "two", "new_string": "2"}),
        ("read_file", {"file_path": "/notes/a.md"}),
        ("ls", {"path": "/"}),
        ("glob", {"pattern": "**/*.md"}),
        ("grep", {"pattern": "one"}),
        ("delete", {"file_path": "/notes/a.md"}),
        ("read_file", {"file_path": "/notes/a.md"}),
    )
    assert told == [
        "Wrote /notes/a.md",
        "Replaced 1 in /notes/a.md",
        "     1\tone\n     2\t2",
        '["/notes/"]',
        '["/notes/a.md"]',
        "/notes/a.md",
        "Deleted /notes/a.md",
        "Error: '/notes/a.md' was not found",
    ]
    assert output.get("files", {}) == {}


def test_c22_files_of_the_state_are_given_and_returned_with_it(run, saver):
    agent = create_deep_agent(
        ScriptedModel(
            [
                {"tool_calls": [{"name": "read_file", "args": {"file_path": "/a.txt"}}]},
                {
                    "tool_calls": [
                        {"name": "write_file", "args": {"file_path": "/b", "content": ""}}
                    ]
                },
                "Done.",
            ]
        ),
        checkpointer=saver,
    )
    output = run(agent, {**GO, "files": {"/a.txt": {"content": "hello"}}}, CONFIG)
    assert output["files"] == {"/a.txt": {"content": "hello"}, "/b": {"content": ""}}
    assert output["messages"][2].content == "     1\thello"


@pytest.mark.parametrize("virtual_mode", [True, False])
def test_c22_nothing_outside_the_folder_is_reached(run, saver, tmp_path, virtual_mode):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("s3cret")
    (root / "link").symlink_to("../secret")
    (root / "away").symlink_to(tmp_path)
    base = "" if virtual_mode else str(root)
    told, _ = work(
        run,
        FilesystemBackend(root, virtual_mode=virtual_mode),
        saver,
        ("read_file", {"file_path": f"{base}/../secret"}),
        ("read_file", {"file_path": "../secret"}),
        ("read_file", {"file_path": str(tmp_path / "secret")}),
        ("read_file", {"file_path": f"{base}/link"}),
        ("read_file", {"file_path": f"{base}/away/secret"}),
        ("write_file", {"file_path": f"{base}/link", "content": "mine"}),
        ("write_file", {"file_path": f"{base}/away/new", "content": "mine"}),
        ("edit_file", {"file_path": f"{base}/link", "old_string": "s", "new_string": "m"}),
        ("delete", {"file_path": f"{base}/away/secret"}),
        ("ls", {"path": f"{base}/away"}),
        ("glob", {"pattern": "*", "path": f"{base}/away"}),
        ("grep", {"pattern": "s3cret", "path": f"{base or '/'}"}),
    )
    assert all(text.startswith("Error: ") for text in told[:-1])
    assert told[-1] == "No matches found"
    assert (tmp_path / "secret").read_text() == "s3cret"
    assert not (tmp_path / "new").exists()
