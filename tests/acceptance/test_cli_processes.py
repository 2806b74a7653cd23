"""One process proposes, another decides, a third resumes; the file is all they share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import hitl as package

AGENT = '''
import os, signal
from pathlib import Path
from hitl.agent import HumanInTheLoopMiddleware, ScriptedModel, create_agent, tool

@tool
def delete_rows(table: str, where: str) -> str:
    """Delete rows of a table."""
    with Path("ran.txt").open("a") as file:
        file.write(f"{table} {where}\\n")
    if Path("die").exists():
        Path("die").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"deleted from {table}"

SCRIPT = [
    {"tool_calls": [
        {"name": "delete_rows", "args": {"table": "orders", "where": "old"}},
        {"name": "delete_rows", "args": {"table": "users", "where": "all"}},
        {"name": "delete_rows", "args": {"table": "logs", "where": "2019"}}]},
    "All done.",
]
agent = create_agent(ScriptedModel(SCRIPT), tools=[delete_rows],
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"delete_rows": True})])
'''


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def doc(self):
        return json.loads(self.out)


class CommandLine:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "shop.py").write_text(AGENT, encoding="utf-8")

    def __call__(self, *words: str) -> Done:
        root = str(Path(package.__file__).resolve().parents[1])
        done = subprocess.run(
            [sys.executable, "-m", "hitl.cli", *words],
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": root},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def ids(self) -> list[str]:
        return [item["id"] for item in self("inbox", "--json").doc["items"]]

    def ran(self) -> list[str]:
        path = self.folder / "ran.txt"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def hitl(tmp_path):
    return CommandLine(tmp_path)


def test_what_one_process_proposes_another_decides_and_a_third_runs_once(hitl):
    waits = hitl("run", "shop:agent", "clean up", "--thread", "t1")
    assert waits.code == 3, waits.err
    assert hitl.ran() == []
    first, second, third = hitl.ids()
    assert hitl("approve", first, "--by", "ann").code == 0
    assert hitl("resume", "shop:agent", "t1").code == 3
    assert hitl("reject", second, "-m", "never users").code == 0
    edited = json.dumps({"table": "logs", "where": "2018"})
    assert hitl("edit", third, "--args", edited).code == 0
    assert hitl("approve", second).code == 4
    done = hitl("resume", "shop:agent", "t1")
    assert done.code == 0, done.err
    assert "All done." in done.out
    assert sorted(hitl.ran()) == ["logs 2018", "orders old"]
    assert hitl.ids() == []
    assert hitl("approve", first).code in (0, 4)
    again = hitl("resume", "shop:agent", "t1")
    assert len(hitl.ran()) == 2, again
    log = hitl("log", "t1").out
    assert "ann: approve" in log
    assert "the log is whole" in log


def test_a_new_message_closes_what_waited_and_says_so_to_who_decides_late(hitl):
    hitl("run", "shop:agent", "clean up", "--thread", "t1")
    first = hitl.ids()[0]
    hitl("run", "shop:agent", "no, stop", "--thread", "t1")
    late = hitl("approve", first)
    assert late.code == 5
    assert "superseded" in late.err
    assert "orders old" not in hitl.ran()


def test_a_call_that_was_killed_in_its_body_waits_for_a_human_and_runs_again_only_on_retry(hitl):
    hitl("run", "shop:agent", "clean up", "--thread", "t1")
    first, second, third = hitl.ids()
    hitl("approve", first)
    hitl("reject", second)
    hitl("reject", third)
    (hitl.folder / "die").touch()
    assert hitl("resume", "shop:agent", "t1").code == -9
    assert hitl.ran() == ["orders old"]
    inbox = hitl("inbox").out
    assert "thread t1: its process is gone in the middle of a run" in inbox
    assert "  hitl resume shop:agent t1\n" in inbox
    asks = hitl("resume", "shop:agent", "t1")
    assert asks.code == 3, asks.err
    assert hitl.ran() == ["orders old"], "it did not run again by itself"
    (outcome,) = hitl.ids()
    shown = hitl("show", outcome).out
    assert "left no result" in shown
    assert f"hitl retry {outcome[:8]}" in shown
    refused = hitl("approve", outcome)
    assert refused.code == 5
    assert "unknown" in refused.err
    assert "respond (it happened" in refused.err
    assert hitl("retry", outcome, "--by", "ann").code == 0
    done = hitl("resume", "shop:agent", "t1")
    assert done.code == 0, done.err
    assert hitl.ran() == ["orders old", "orders old"]


def test_a_reader_that_goes_away_is_no_error(hitl):
    hitl("run", "shop:agent", "clean up", "--thread", "t1")
    root = str(Path(package.__file__).resolve().parents[1])
    with subprocess.Popen(
        [sys.executable, "-m", "hitl.cli", "log", "t1", "--json"],
        cwd=hitl.folder,
        env={"PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
        assert b"Exception" not in process.stderr.read()
