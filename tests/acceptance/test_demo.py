"""The demo, as a person runs it: real processes, a real database, a real folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hitl import SqliteSaver
from hitl.cli.demo.agent import THREAD
from hitl.cli.demo.world import World


def demo(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hitl.cli", "demo", *options],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_the_scripted_demo_does_what_was_decided_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    told = demo("--scripted", "--keep", str(folder))
    assert told.returncode == 0, told.stderr
    world = World(folder)
    assert [row[0] for row in world.rows()] == [6, 7, 8, 9, 10]  # approved
    ran = world.ran()
    # It died right after the effect: approved once, run once, whatever was resumed after.
    assert [line for line in ran if line.startswith("delete_records")] == [
        "delete_records before=2020-01-01 deleted=5"
    ]
    assert world.files() == ["reports/summary.md"]  # edited: not outside the folder
    assert not any(line.startswith(("send_notice", "ask_user")) for line in ran)
    with SqliteSaver.from_conn_string(str(world.store)) as store:
        items = store.items(thread=THREAD)
        decided = [(i.kind, i.decision.type if i.decision else None, i.state) for i in items]
    assert decided == [
        ("action", "approve", "ran"),
        ("action", "edit", "ran"),
        ("action", "reject", "done"),
        ("action", "respond", "done"),
        ("outcome", "respond", "done"),
    ]
    assert told.stdout.count("--- A new process") >= 3
    assert "died in the middle of a call" in told.stdout


def test_without_a_terminal_the_demo_says_how_to_run_it() -> None:
    told = demo()
    assert told.returncode == 2
    assert "--scripted" in told.stderr


def test_the_demo_leaves_a_folder_alone_that_is_there(tmp_path: Path) -> None:
    told = demo("--scripted", "--keep", str(tmp_path))
    assert told.returncode == 2
    assert "there already" in told.stderr
    assert list(tmp_path.iterdir()) == []
