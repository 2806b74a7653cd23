"""Processes that die at a commit, and processes that answer one pause at once.

A child kills itself just before or just after its n-th append; whatever it had committed is
there for the next process: no decision and no committed result is lost, no finished node runs
again.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hitl.checkpoint import SqliteSaver, verify

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import json, operator, os, signal, sys, time
from pathlib import Path
from typing import Annotated, TypedDict
from hitl.checkpoint import SqliteSaver
from hitl.engine import StateGraph, interrupt, step
from hitl.values import START, Command

folder = Path(sys.argv[1])
CONFIG = {"configurable": {"thread_id": "t", "reviewer": f"process {os.getpid()}"}}


class State(TypedDict, total=False):
    log: Annotated[list, operator.add]


def told(name):
    with open(folder / "ran", "a") as file:
        file.write(name + "\\n")
    return "did " + name


def first(state):
    return {"log": [told("first")]}


def ask(state):
    kept = step(told, "kept")
    return {"log": [kept, interrupt("ok?"), told("ask")]}


def beside(state):
    return {"log": [told("beside")]}


def last(state):
    return {"log": [told("last")]}


class Dying(SqliteSaver):
    when, number = "never", 0

    def append(self, commit):
        self.number -= 1
        if self.number == 0 and self.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        receipt = super().append(commit)
        if self.number == 0 and self.when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return receipt


def graph(store):
    built = StateGraph(State)
    for node in (first, ask, beside, last):
        built.add_node(node)
    built.add_edge(START, "first").add_edge("first", "ask").add_edge("first", "beside")
    return built.add_edge(["ask", "beside"], "last").compile(store)


store = Dying(folder / "runs.db")
app = graph(store)
"""

RUN = """
store.when, store.number = sys.argv[2], int(sys.argv[3])
app.invoke({"log": ["in"]}, CONFIG)
app.invoke(Command(resume="yes"), CONFIG)
"""

RACE = """
print("ready", flush=True)
sys.stdin.readline()
try:
    result = app.invoke(Command(resume=json.loads(sys.argv[2])), CONFIG)
    print(json.dumps(["done", result["log"]]))
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""


def start(folder, body, *args):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM + body, str(folder), *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def load(folder):
    """Return the program, loaded into this process."""
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("sys.argv[1]", repr(str(folder))))
    spec = importlib.util.spec_from_file_location(f"program_{folder.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, 9))
def test_a_process_killed_at_a_commit_loses_nothing_that_it_had_committed(tmp_path, when, number):
    child = start(tmp_path, RUN, when, str(number))
    _, told = child.communicate(timeout=30)
    assert child.returncode in (0, -signal.SIGKILL), told
    here = load(tmp_path)
    app, store, config = here.app, here.store, here.CONFIG
    ran = tmp_path / "ran"
    before = store.entries("t")
    state = app.get_state(config)
    finished = ran.read_text().split() if ran.exists() else []
    committed = "".join(entry.body for entry in before)
    kept = [name for name in ("first", "kept", "beside") if f'"did {name}"' in committed]
    decided = [one for one in store.items(thread="t") if one.decision is not None]
    result = app.invoke(None if before else {"log": ["in"]}, config)
    if result.interrupts:
        assert not decided
        result = app.invoke(here.Command(resume="yes"), config)
    assert sorted(result["log"]) == [
        "did ask", "did beside", "did first", "did kept", "did last", "in", "yes",
    ]  # fmt: skip
    again = ran.read_text().split()[len(finished) :]
    assert not set(kept) & set(again), "a committed result was made again"
    assert store.entries("t")[: len(before)] == before
    assert verify(store.entries("t")) is None
    assert store.load("t").mark.owner == ""
    assert state.config["configurable"]["thread_id"] == "t"
    store.close()


@pytest.mark.parametrize("same", [True, False])
def test_of_two_processes_that_answer_one_pause_at_once_one_wins(tmp_path, same):
    here = load(tmp_path)
    paused = here.app.invoke({"log": []}, here.CONFIG)
    here.store.close()
    answers = ["yes", "yes" if same else "no"]
    id = paused.interrupts[0].id
    children = [start(tmp_path, RACE, json.dumps({id: answer})) for answer in answers]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [json.loads(child.communicate(timeout=30)[0]) for child in children]
    kinds = sorted(kind for kind, _ in said)
    # Who comes while the winner still runs is told so; the decision stands either way.
    assert "done" in kinds
    assert set(kinds) <= ({"done", "Busy"} if same else {"done", "AlreadyDecided"})
    with SqliteSaver(tmp_path / "runs.db") as store:
        (item,) = store.items(thread="t")
        assert item.state == "done"
        assert [entry.kind for entry in store.entries("t")].count("decide") == 1
        assert verify(store.entries("t")) is None
    if not same:
        told = next(text for kind, text in said if kind == "AlreadyDecided")
        assert "process" in told
        winner = answers[[kind for kind, _ in said].index("done")]
        assert item.decision is not None
        assert item.decision.payload["value"] == winner
    assert (tmp_path / "ran").read_text().split().count("ask") == 1
