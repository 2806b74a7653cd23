"""The same work written by hand, without any library: the limit that a design can come near.

A plain loop, ``json.dumps``, and one INSERT and COMMIT a step.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from itertools import count

from benchmarks.measure import Figure, Scale, Trace, measure, timed

__all__ = ["Log", "chain", "decisions", "fan_out", "memory_log", "pause", "sqlite_log", "turn"]

Log = Callable[[str, dict[str, object]], None]
State = dict[str, int]

_DECIDE = "UPDATE items SET decision = ? WHERE id = ? AND decision IS NULL"
_TABLE = "CREATE TABLE entries (thread TEXT, seq INTEGER, body TEXT, PRIMARY KEY (thread, seq))"


def no_log(_thread: str, _body: dict[str, object]) -> None:
    """Keep nothing."""


def memory_log() -> Log:
    """Return a log that keeps texts in a list."""
    texts: list[str] = []
    return lambda _thread, body: texts.append(json.dumps(body))


def sqlite_log(trace: Trace) -> Log:
    """Return a log that makes one row and one commit of each body."""
    connection = trace.connection
    connection.isolation_level = None
    connection.execute(_TABLE)
    numbers = count()

    def write(thread: str, body: dict[str, object]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        row = (thread, next(numbers), json.dumps(body))
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", row)
        connection.execute("COMMIT")

    return write


def logs(scale: Scale) -> Iterable[tuple[str, Log, Trace | None]]:
    """Yield each kind of log with its name."""
    yield "no store", no_log, None
    yield "memory", memory_log(), None
    for where, disk in (("RAM", False), ("disk", True)):
        trace = Trace(scale.file(disk=disk))
        yield f"SQLite ({where})", sqlite_log(trace), trace


def chain(scale: Scale, length: int) -> list[Figure]:
    """Measure a chain of trivial functions."""

    def node(state: State) -> State:
        return {"n": state["n"] + 1}

    nodes = [node] * length

    def run(log: Log, saved: bool) -> State:
        state = {"n": 0}
        for node in nodes:
            state |= node(dict(state))
            if saved:
                log("t", {"changed": state})
        return state

    return [
        measure(
            f"step, {name}",
            lambda log=log: run(log, log is not no_log),  # type: ignore[misc]
            scale,
            units=length,
            trace=trace,
        )
        for name, log, trace in logs(scale)
    ]


def fan_out(scale: Scale, width: int) -> list[Figure]:
    """Measure a loop over the tasks of a fan-out."""

    def task(i: int) -> list[int]:
        return [i]

    def run() -> list[int]:
        seen: list[int] = []
        for i in range(width):
            seen += task(i)
        return seen

    return [measure("fan-out task, no store", run, scale, units=width)]


def pause(scale: Scale) -> list[Figure]:
    """Measure a question, its answer and the end, each kept as one entry."""

    def run(log: Log) -> None:
        log("t", {"input": {"n": 0}})
        log("t", {"ask": "go on?", "id": "1"})
        log("t", {"decision": {"id": "1", "value": True}})
        log("t", {"changed": {"n": 1}, "done": True})

    return [
        measure(f"pause and resume, {name}", lambda log=log: run(log), scale, trace=trace)  # type: ignore[misc]
        for name, log, trace in logs(scale)
        if log is not no_log
    ]


def turn(scale: Scale) -> list[Figure]:
    """Measure a turn of an agent: call, approval, tool, answer; and one without approval."""
    tools = {"delete": lambda path: f"deleted {path}"}

    def run(log: Log, asks: bool) -> list[dict[str, object]]:
        call = {"name": "delete", "args": {"path": "a"}, "id": "c1"}
        messages: list[dict[str, object]] = [{"role": "user", "content": "delete a"}]
        log("t", {"messages": messages[-1:]})
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        log("t", {"messages": messages[-1:]})
        if asks:
            log("t", {"ask": call})
            log("t", {"decision": "approve"})
            log("t", {"intent": "c1"})
        result = tools["delete"](path="a")
        messages.append({"role": "tool", "content": result, "tool_call_id": "c1"})
        log("t", {"messages": messages[-1:]})
        messages.append({"role": "assistant", "content": "done"})
        log("t", {"messages": messages[-1:]})
        return messages

    found = [measure("agent turn, no store", lambda: run(no_log, False), scale)]
    for name, log, trace in logs(scale):
        if log is not no_log:
            title = f"agent turn with approval, {name}"
            found.append(measure(title, lambda log=log: run(log, True), scale, trace=trace))  # type: ignore[misc]
    return found


def decisions(scale: Scale) -> list[Figure]:
    """Measure decisions: a row compared and set, and an entry, in one commit each."""
    found = []
    count = 40 if scale.quick else 2000
    for synchronous in ("FULL", "NORMAL"):
        connection = Trace(scale.file(disk=True)).connection
        connection.isolation_level = None
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(_TABLE)
        connection.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, decision TEXT)")
        rows = [(number,) for number in range(count)]
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO items (id) VALUES (?)", rows)
        connection.execute("COMMIT")

        def run(connection: sqlite3.Connection = connection) -> None:
            for number in range(count):
                text = json.dumps({"decide": number, "value": True})
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_DECIDE, (text, number))
                connection.execute("INSERT INTO entries VALUES (?, 1, ?)", (str(number), text))
                connection.execute("COMMIT")

        figure = timed(f"decision, {synchronous} (disk), one process", run, units=count)
        figure.counts["a second"] = 1e6 / figure.wall
        found.append(figure)
    return found
