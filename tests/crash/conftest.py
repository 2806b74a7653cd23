"""Starts the processes of the crash tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hitl

CHILD = Path(__file__).with_name("child_process.py")
START = {"input": {"messages": [{"role": "user", "content": "go"}]}}


class Child:
    """One process that has been let go."""

    def __init__(self, say: Path) -> None:
        self.say = say

    def heard(self) -> dict[str, Any]:
        """Return what it said; ``{"died": True}`` where it was killed before it could."""
        with self.say.open() as file:  # until it has closed its end, or is no more
            text = file.read()
        said: dict[str, Any] = json.loads(text) if text else {"died": True}
        return said


class Place:
    """A store, and the file that tools append to."""

    def __init__(self, folder: Path, server: subprocess.Popen[str]) -> None:
        self.folder, self.server = folder, server
        self.store, self.oracle = folder / "runs.db", folder / "ran.txt"
        self.number = 0

    def child(self, order: dict[str, Any]) -> Child:
        """Let a process go."""
        self.number += 1
        say = self.folder / f"say-{self.number}"
        os.mkfifo(say)
        paths = {"store": str(self.store), "oracle": str(self.oracle), "say": str(say)}
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps({**order, **paths}) + "\n")
        self.server.stdin.flush()
        return Child(say)

    def run(self, order: dict[str, Any]) -> dict[str, Any]:
        """Run a process to its end; return what it said."""
        return self.child(order).heard()

    def ran(self) -> list[str]:
        """Return what the tool has done, over all processes."""
        return self.oracle.read_text().splitlines() if self.oracle.exists() else []


@pytest.fixture(scope="session")
def server() -> Iterator[subprocess.Popen[str]]:
    """The process that forks the others."""
    path = {"PYTHONPATH": str(Path(hitl.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, str(CHILD)], stdin=subprocess.PIPE, text=True, env={**os.environ, **path}
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def place(tmp_path: Path, server: subprocess.Popen[str]) -> Place:
    return Place(tmp_path, server)


@pytest.fixture
def waiting(place: Place) -> Callable[[dict[str, Any]], str]:
    """Brings the thread to its pause; returns the id of the item that waits."""

    def wait(order: dict[str, Any]) -> str:
        said = place.run({**order, **START})
        id: str = said["waits"][0]["action_requests"][0]["id"]
        return id

    return wait
