"""No byte of foreign text acts on the terminal: every command, with and without colour."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from hitl.cli import main
from hitl.cli.app import hitl as group

PAYLOADS = [
    "rm -rf /\r\x1b[2K  ls -la",
    "\x1b]0;t\x07",
    "\x1b]8;;http://evil\x07click",
    "\x1b]52;c;aGk=\x07",
    "\x9b2J",
    "\x08" * 20,
    "\x1b[?1049h",
    "a\u202egnp.exe\u2066b\u200bc\ufeffd\U000e0041\u2028e\ud800",
    "one\nallowed      approve\n\x7f",
    "[bold red]markup[/bold red] :boom:",
]
EVIL = "|".join(PAYLOADS)
# What a command line can carry: no lone surrogates, and a thread id has no control characters.
TYPED = EVIL.replace("\ud800", "")
THREAD = "t\u202e1\u200b[red]"

AGENT = f"""
import operator
from typing import Annotated, TypedDict
from hitl.engine import StateGraph, current_task, interrupt
from hitl.ledger import Ask
from hitl.values import END, START, fingerprint

EVIL = {EVIL!r}
ARGS = {{EVIL: EVIL, "list": [EVIL, {{EVIL: EVIL}}], "long": EVIL * 50}}

class State(TypedDict):
    messages: Annotated[list, operator.add]
    note: str

def model(state):
    return {{"note": EVIL, "messages": [{{"role": "assistant", "content": EVIL,
             "tool_calls": [{{"name": EVIL, "args": ARGS}}]}}]}}

def tools(state):
    rules = {{"args_schema": {{"type": "object"}}, "tools": {{EVIL: ["approve"]}}}}
    subject = {{"name": EVIL, "args": ARGS, "description": EVIL}}
    words = ("approve", "edit", "reject", "respond")
    ask = Ask("action", fingerprint(EVIL, ARGS), subject, words, rules, call_id=EVIL)
    answer = current_task("test").ask([ask] * 5, lambda ids: list(ids))
    return {{"messages": [{{"role": "tool", "name": EVIL, "content": EVIL}}]}}

def question(state):
    answer = interrupt({{EVIL: EVIL, "args": EVIL, "name": EVIL}})
    raise RuntimeError(EVIL)

agent = (StateGraph(State).add_node(model).add_node(tools).add_node(question)
    .add_edge(START, "model").add_edge("model", "tools").add_edge("tools", "question")
    .add_edge("question", END).compile())

def broken():
    raise RuntimeError(EVIL)
"""

STYLING = re.compile(r"\x1b\[[0-9;]*m")  # the tool's own: colours, and nothing else


class CommandLine:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.used: set[str] = set()
        self.styled = False

    def __call__(self, code: int, *words: str) -> str:
        """Run a command, look at every character that it printed, and return its output."""
        self._capsys.readouterr()
        came = main(words)
        out, err = self._capsys.readouterr()
        self.used.add(words[0])
        if "--json" in words:
            assert out.isascii()
            assert "\x1b" not in out
        for text in (out, err):
            plain = STYLING.sub("", text)
            self.styled = self.styled or plain != text
            assert all(char.isprintable() or char == "\n" for char in plain), (words, plain)
            assert not any(line.startswith("allowed ") for line in plain.splitlines())
        assert came == code, (words, out, err)
        return out

    def ids(self) -> list[str]:
        return [item["id"] for item in json.loads(self(0, "inbox", "--json"))["items"]]


def story(hitl: CommandLine) -> None:
    """Use every command on hostile text, in people's form and in JSON."""
    hitl(3, "run", "hostile:agent", TYPED, "--thread", THREAD)
    ids = hitl.ids()
    hitl(0, "inbox")
    for id in ids:
        hitl(0, "show", id)
        hitl(0, "show", id, "--json")
    by = ("--by", "[bold red]ann[/bold red] :boom:")  # a name has no control characters
    hitl(2, "approve", ids[0], "--by", TYPED[:300])
    hitl(5, "edit", ids[0], "--args", "{}", "--name", TYPED)
    hitl(2, "edit", ids[0], "--args", TYPED)
    hitl(0, "approve", ids[0], *by)
    hitl(4, "reject", ids[0])
    hitl(0, "edit", ids[1], "--args", json.dumps({EVIL: EVIL}), *by)
    hitl(0, "reject", ids[2], "-m", TYPED, *by)
    hitl(0, "respond", ids[3], "-m", TYPED, *by, "--json")
    hitl(0, "approve", ids[4])
    hitl(5, "retry", ids[4])
    hitl(3, "resume", "hostile:agent", THREAD)
    (question,) = hitl.ids()
    hitl(0, "show", question)
    hitl(5, "approve", question)
    hitl(0, "answer", question, TYPED, *by)
    hitl(1, "resume", "hostile:agent", THREAD)
    hitl(1, "resume", "hostile:agent", THREAD, "--json")
    hitl(0, "log", THREAD)
    hitl(0, "log", THREAD, "--json")
    hitl(0, "sweep")
    hitl(0, "grants", "list")
    hitl(2, "grants", "revoke", TYPED)
    policies(hitl)
    hitl(0, "store", "info")
    hitl(0, "store", "verify", "--json")  # without its progress bar
    hitl(1, "run", "hostile:broken", "x")
    for words in (
        ("show", TYPED),
        ("approve", TYPED),
        ("log", TYPED),
        ("resume", TYPED, TYPED),
        ("run", f"hostile:{TYPED}", "x"),
        ("run", "hostile:agent", "x", "--thread", TYPED),
        ("inbox", "--thread", TYPED),
        ("inbox", f"--{TYPED}"),
    ):
        hitl(2, *words)
    hitl(6, "inbox", "--store", TYPED.replace("/", ""))


def policies(hitl: CommandLine) -> None:
    """Use ``hitl policy`` on files, tools and arguments that hold hostile text."""
    text = EVIL.replace("\ud800", "")  # a policy file is UTF-8
    good: dict[str, object] = {"id": "r", "tools": ["pay"], "effect": "ask", "why": text}
    good["where"] = {"to": {"eq": text}}
    files: dict[str, object] = {"good.json": good, "bad.json": {**good, text: text}}
    for name, rule in files.items():
        document = {"hitl_policy": 1, "default": "allow", "rules": [rule]}
        Path(name).write_text(json.dumps(document), encoding="utf-8")
    args = json.dumps({"to": EVIL})
    call = {"name": "pay", "args": {"to": text}}
    Path("calls.jsonl").write_text(json.dumps(call) + "\n", encoding="utf-8")
    for more in ((), ("--json",)):
        hitl(0, "policy", "check", "good.json", *more)
        hitl(1, "policy", "check", "bad.json", *more)
        hitl(0, "policy", "explain", "good.json", "--tool", "pay", "--args", args, *more)
        hitl(0, "policy", "test", "good.json", *more)
        hitl(0, "policy", "diff", "good.json", "good.json", "--calls", "calls.jsonl", *more)
    hitl(2, "policy", "explain", "good.json", "--tool", TYPED, "--args", TYPED)
    hitl(2, "policy", "init", f"hostile:{TYPED}")


COLOURS = {
    "plain": {},
    "no colour": {"NO_COLOR": "1"},
    "forced colour": {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "80"},
    "debugging": {"HITL_DEBUG": "1"},
}


@pytest.mark.parametrize("colour", COLOURS)
def test_no_control_character_of_foreign_text_reaches_the_terminal(
    tmp_path, monkeypatch, capsys, colour
):
    (tmp_path / "hostile.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("NO_COLOR", "FORCE_COLOR", "HITL_DEBUG", "HITL_STORE", "HITL_REVIEWER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in COLOURS[colour].items():
        monkeypatch.setenv(name, value)
    hitl = CommandLine(capsys)
    try:
        story(hitl)
    finally:
        sys.modules.pop("hostile", None)
    assert hitl.styled == (colour == "forced colour")
    assert hitl.used >= set(group.commands) - {"demo"}
