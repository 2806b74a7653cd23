"""A command line run in this process, on an agent of the working folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from hitl.cli import main

AGENT = '''
import operator
from pathlib import Path
from typing import Annotated, TypedDict
from hitl.agent import Gate, HumanInTheLoopMiddleware, ScriptedModel, create_agent, tool
from hitl.checkpoint import InMemorySaver, SqliteSaver
from hitl.engine import StateGraph, interrupt
from hitl.values import START

@tool
def delete_rows(table: str, where: str) -> str:
    """Delete rows of a table."""
    with Path("ran.txt").open("a") as file:
        file.write(f"{table} {where}\\n")
    return f"deleted from {table}"

@tool
def ask_user(question: str) -> str:
    """Ask the user."""
    return f"the answer is {interrupt(question)!r}"

SCRIPT = [
    {"content": "I will delete.", "tool_calls": [
        {"name": "delete_rows", "args": {"table": "orders", "where": "old"}},
        {"name": "delete_rows", "args": {"table": "users", "where": "all"}}]},
    {"tool_calls": [{"name": "ask_user", "args": {"question": "Which colour?"}}]},
    "All done.",
]

def agent(saver=None):
    return create_agent(ScriptedModel(SCRIPT), tools=[delete_rows, ask_user], checkpointer=saver,
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"delete_rows": True})])

def remembering():
    return agent(InMemorySaver())

def keeping():
    return agent(SqliteSaver("own.db"))

def plain():
    return create_agent(ScriptedModel(["Hello."]), tools=[])

class Numbers(TypedDict):
    n: int
    messages: Annotated[list, operator.add]

async def asking(state):
    return {"n": interrupt("How many?")}

waiting = StateGraph(Numbers).add_node(asking).add_edge(START, "asking").compile()

class Bare(TypedDict):
    n: int

bare = StateGraph(Bare).add_node("two", lambda state: {"n": 2}).add_edge(START, "two").compile()

def gate():
    return Gate([delete_rows], interrupt_on={"delete_rows": True}, store=SqliteSaver("hitl.db"))

def broken():
    raise RuntimeError("no key")

def failing():
    return create_agent(ScriptedModel([]), tools=[])

number = 5
'''


class Shown(NamedTuple):
    """What one command came to."""

    code: int
    out: str
    err: str

    @property
    def doc(self):
        return json.loads(self.out)


class CommandLine:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> Shown:
        self._capsys.readouterr()
        code = main(words)
        return Shown(code, *self._capsys.readouterr())

    def ids(self) -> list[str]:
        return [item["id"] for item in self("inbox", "--json").doc["items"]]

    def start(self) -> list[str]:
        """Run the agent until it waits, and return the ids of its two calls."""
        assert self("run", "shop:agent", "clean up", "--thread", "t1").code == 3
        return self.ids()


@pytest.fixture
def hitl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[CommandLine]:
    (tmp_path / "shop.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("HITL_STORE", "HITL_REVIEWER", "HITL_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    yield CommandLine(capsys)
    sys.modules.pop("shop", None)
