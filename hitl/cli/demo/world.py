"""The demo's world: a real SQLite database and a real folder, and the tools that change them."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path

from hitl.agent import Tool, tool

__all__ = ["World"]


class World:
    """A folder with ``records.db``, ``reports/``, ``outbox.txt`` and ``effects.log``.

    Every tool that changes something also writes a line to ``effects.log``, so that anyone can
    count how often it really ran.

    Args:
        folder: Where the world is; it must exist.
        dies: Whether this process shall be killed right after it has deleted records, as a
            power cut would: the effect is there, its result is not.
    """

    def __init__(self, folder: Path, *, dies: bool = False) -> None:
        self._dies = dies
        self.folder = folder
        self.database = folder / "records.db"
        self.reports = folder / "reports"
        self.outbox = folder / "outbox.txt"
        self.effects = folder / "effects.log"
        self.store = folder / "runs.db"

    def make(self) -> None:
        """Build the database and the folder from the data file that ships with the package."""
        self.reports.mkdir()
        text = files("hitl.cli.demo").joinpath("records.json").read_text(encoding="utf-8")
        with self._open() as records, records:
            records.execute(
                "create table records (id integer primary key, created text, title text, "
                "size_kb integer)"
            )
            records.executemany(
                "insert into records values (:id, :created, :title, :size_kb)",
                json.loads(text)["records"],
            )

    def rows(self) -> list[tuple[int, str, str, int]]:
        """Return what is in the database."""
        with self._open() as records:
            return list(records.execute("select * from records order by id"))

    def files(self) -> list[str]:
        """Return the files that tools have written, by their path in the folder."""
        own = {self.database.name, self.effects.name}
        found = (path for path in self.folder.rglob("*") if path.is_file())
        paths = sorted(str(path.relative_to(self.folder)) for path in found)
        return [path for path in paths if path not in own and not path.startswith("runs.db")]

    def ran(self) -> list[str]:
        """Return the lines that tools wrote when they really ran."""
        return (
            self.effects.read_text(encoding="utf-8").splitlines() if self.effects.exists() else []
        )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.database)) as connection:
            yield connection

    def _note(self, line: str) -> None:
        with self.effects.open("a", encoding="utf-8") as log:
            log.write(line + "\n")

    def inside(self, path: str) -> bool:
        """Return whether a path that the agent gave lies in the reports folder."""
        reports = self.reports.resolve()
        return (self.reports / path).resolve().is_relative_to(reports)

    def tools(self) -> list[Tool]:
        """Return the agent's tools, bound to this world."""

        @tool(effect="pure")
        def count_records(before: str) -> str:
            """Count the records that were created before a date.

            Args:
                before: ISO date, such as 2020-01-01.
            """
            with self._open() as records:
                query = "select count(*), coalesce(sum(size_kb), 0) from records where created < ?"
                count, size = records.execute(query, (before,)).fetchone()
            return f"{count} records, {size} KB"

        @tool
        def delete_records(before: str) -> str:
            """Delete the records that were created before a date.

            Args:
                before: ISO date, such as 2020-01-01.
            """
            with self._open() as records, records:
                count = records.execute("delete from records where created < ?", (before,)).rowcount
            self._note(f"delete_records before={before} deleted={count}")
            if self._dies:
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
            return f"{count} records deleted"

        @tool(effect="idempotent")
        def write_report(path: str, text: str) -> str:
            """Write a report.

            Args:
                path: Where, seen from the reports folder.
                text: What.
            """
            target = self.reports / path
            target.write_text(text + "\n", encoding="utf-8")
            self._note(f"write_report path={path}")
            return f"{len(text)} characters written to {path}"

        @tool
        def send_notice(to: str, text: str) -> str:
            """Send a notice to people outside.

            Args:
                to: The address.
                text: What they read.
            """
            with self.outbox.open("a", encoding="utf-8") as outbox:
                outbox.write(f"to {to}: {text}\n")
            self._note(f"send_notice to={to}")
            return "sent"

        @tool
        def ask_user(question: str) -> str:
            """Ask the user a question and get the answer.

            Args:
                question: What you want to know.
            """
            self._note(f"ask_user ran, though a human answers in its place: {question}")
            return ""

        return [count_records, delete_records, write_report, send_notice, ask_user]
