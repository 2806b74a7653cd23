"""A person at a real terminal: only an explicit word approves."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hitl as package

pty = pytest.importorskip("pty")

AGENT = '''
from pathlib import Path
from hitl.agent import HumanInTheLoopMiddleware, ScriptedModel, create_agent, tool

@tool
def delete_rows(table: str) -> str:
    """Delete all rows of a table."""
    with Path("ran.txt").open("a") as file:
        file.write(f"{table}\\n")
    return f"deleted from {table}"

CALL = {"name": "delete_rows", "args": {"table": "orders\\x1b[2K"}}
SCRIPT = [{"tool_calls": [CALL]}, "All done."]
agent = create_agent(ScriptedModel(SCRIPT), tools=[delete_rows],
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"delete_rows": True})])
'''
# Loads until it is told to go on.
LATE = """
import time
Path("loaded").touch()
while not Path("go").exists():
    time.sleep(0.01)
"""
# Makes the terminal the child's own, so that Ctrl-C reaches it, then becomes the command. A shell
# that starts the tests in the background has them ignore Ctrl-C, which children inherit.
OWN = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.executable, [sys.executable, '-m', 'hitl.cli', *sys.argv[1:]])"
)
PROMPT = "Enter to leave it open:"
ROOT = str(Path(package.__file__).resolve().parents[1])


class Terminal:
    """A command at a pseudo terminal, and what has appeared on it."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        self.shown = self._last = ""
        self._here, there = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", OWN, *words],
            cwd=folder,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": ROOT, "TERM": "xterm",
                 "COLUMNS": "100", **environment},
            stdin=there, stdout=there, stderr=there,
            start_new_session=True,
        )  # fmt: skip
        os.close(there)

    def until(self, text: str, seconds: float = 30) -> None:
        """Read until a text has appeared since the last call."""
        seen = len(self.shown)
        end = time.monotonic() + seconds
        while text not in self.shown[seen:]:
            assert time.monotonic() < end, self.shown
            assert self._read(), self.shown

    def type(self, keys: str) -> None:
        self._last = keys
        os.write(self._here, keys.encode())

    def end(self, seconds: float = 60) -> int:
        """Read to the end, and return the exit code."""
        end = time.monotonic() + seconds
        while self._read():
            assert time.monotonic() < end, self.shown
        return self._process.wait(30)

    def close(self) -> None:
        self._process.kill()
        self._process.wait(30)
        os.close(self._here)

    def _read(self) -> bool:
        for _ in range(6):
            ready, _, _ = select.select([self._here], [], [], 5)
            if ready:
                break
            if self._last == "\x03":  # came in the instant before the wait for a key began
                self.type(self._last)
        assert ready, self.shown
        try:
            data = os.read(self._here, 65536)
        except OSError:  # the other side is closed
            return False
        self.shown += data.decode("utf-8", "replace")
        return bool(data)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shop.py").write_text(AGENT, encoding="utf-8")
    return tmp_path


@pytest.fixture
def start(folder):
    """Return a function that runs the agent at a terminal, up to its first prompt."""
    opened: list[Terminal] = []

    def run(*words: str, until: str = PROMPT, **environment: str) -> Terminal:
        opened.append(Terminal(folder, "run", "shop:agent", "clean up", *words, **environment))
        if until:
            opened[-1].until(until)
        return opened[-1]

    yield run
    for terminal in opened:
        terminal.close()


def waiting(folder: Path):
    done = subprocess.run(
        [sys.executable, "-m", "hitl.cli", "inbox", "--json"],
        cwd=folder, env={"PYTHONPATH": ROOT}, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    return json.loads(done.stdout)["items"]


@pytest.mark.parametrize(
    "keys",
    ["\n", "\x04", "\x03", "approve\x04\x04", "approve\x03", "appr", "yes\n\n", "approve it\n\x04"],
    ids=[
        "enter",
        "end",
        "ctrl-c",
        "word cut by end",
        "word cut by ctrl-c",
        "half",
        "garbage",
        "more",
    ],
)
def test_nothing_but_the_word_and_enter_approves(folder, start, keys):
    terminal = start()
    for line in re.findall(r"[^\n]*\n|[^\n]+", keys):
        terminal.type(line)
        if line.endswith("\n") and line != "\n":
            terminal.until(PROMPT)
    if keys == "appr":
        terminal.type("\x03")
    assert terminal.end() == 3
    assert "hitl approve" in terminal.shown, "it says how to decide later"
    assert not (folder / "ran.txt").exists()
    assert len(waiting(folder)) == 1


@pytest.mark.parametrize("keys", ["approve\n", "a\n"])
def test_the_word_approves_and_the_run_goes_on(folder, start, keys):
    terminal = start(HITL_REVIEWER="ann")
    assert not (folder / "ran.txt").exists()
    terminal.type(keys)
    assert terminal.end() == 0
    assert "approve by ann" in terminal.shown
    assert "All done." in terminal.shown
    assert (folder / "ran.txt").read_text().count("orders") == 1
    assert waiting(folder) == []


def test_the_facts_stand_before_the_prompt_and_do_not_act(start):
    terminal = start(NO_COLOR="1")
    assert terminal.shown.index("delete_rows") < terminal.shown.index(PROMPT)
    assert "\\u001b[2K" in terminal.shown
    assert "\x1b[2K" not in terminal.shown
    terminal.type("\x03")
    assert terminal.end() == 3


def test_an_edit_opens_the_editor_and_is_confirmed(folder, start):
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\nprintf \'{"table": "logs"}\' > "$1"\n')
    editor.chmod(0o755)
    terminal = start(EDITOR=str(editor))
    terminal.type("edit\n")
    terminal.until("Enter goes back:")
    assert '-> "logs"' in terminal.shown
    terminal.type("edit\n")
    assert terminal.end() == 0
    assert (folder / "ran.txt").read_text() == "logs\n"


def test_nobody_is_asked_with_no_input(folder, start):
    terminal = start("--no-input", until="")
    assert terminal.end() == 3
    assert PROMPT not in terminal.shown
    assert len(waiting(folder)) == 1


def test_what_was_typed_before_the_prompt_does_not_count(folder, start):
    (folder / "shop.py").write_text(AGENT + LATE, encoding="utf-8")
    terminal = start(until="")
    end = time.monotonic() + 30
    while not (folder / "loaded").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    terminal.type("approve\n")
    terminal.until("approve")  # the terminal has taken it
    (folder / "go").touch()
    terminal.until(PROMPT)
    terminal.type("\x04")
    assert terminal.end() == 3
    assert not (folder / "ran.txt").exists()
