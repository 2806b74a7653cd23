"""Working on a policy file: ``hitl policy check|explain|test|diff|init``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec

import click

from hitl.cli.agents import load_tools
from hitl.cli.calls import past_calls
from hitl.cli.codes import DONE, FAILED
from hitl.cli.policy_screen import show_changes, show_explanation, show_findings
from hitl.cli.screen import Screen
from hitl.cli.session import examples
from hitl.errors import BadPolicy, Misuse
from hitl.policy import (
    Case,
    Finding,
    Policy,
    diff,
    failing_cases,
    read_cases,
    starter,
)
from hitl.values import ToolCall

__all__ = ["policy"]

P = ParamSpec("P")


@click.group(
    "policy",
    short_help="Work on a policy file: check, explain, test, compare.",
    help="Work on a policy file. Nothing here runs a tool, a model or a thread.",
    epilog=examples(
        "hitl policy init shop:agent > policy.yaml",
        "hitl policy check policy.yaml --tools shop:agent",
        """hitl policy explain policy.yaml --tool pay --args '{"amount": 101}'""",
    ),
)
def policy() -> None:
    """Hold the commands."""


def _screened(function: Callable[Concatenate[Screen, P], int]) -> Callable[..., int]:
    """Return a command's function with ``--json``."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
    @wraps(function)
    def command(as_json: bool, *args: P.args, **kwargs: P.kwargs) -> int:
        return function(Screen(as_json=as_json), *args, **kwargs)

    return command


_tools = click.option(
    "--tools",
    metavar="MODULE:NAME",
    help="An agent, a gate, or a list of tools; or a .json file of names and argument schemas.",
)


@policy.command(
    "check",
    short_help="Find what is wrong with a policy, and what is odd.",
    help="Find what is wrong with a policy, and what is odd. Exit code 1 if there is an error.",
    epilog=examples(
        "hitl policy check policy.yaml",
        "hitl policy check policy.yaml --tools shop:agent --strict",
    ),
)
@click.argument("file")
@_tools
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@_screened
def check(screen: Screen, file: str, tools: str | None, strict: bool) -> int:
    """Check a policy file."""
    known = None if tools is None else load_tools(tools)
    try:
        findings = Policy.load(file).check(known)
    except BadPolicy as error:
        findings = _findings(error)
    bad = [one for one in findings if strict or one.level == "error"]
    show_findings(screen, findings, {"ok": not bad})
    if not findings:
        screen.say(f"{file}: nothing is wrong.", "green")
    return FAILED if bad else DONE


def _findings(error: BadPolicy) -> list[Finding]:
    """Return what an error about a policy lists; the error itself where it lists nothing."""
    found = error.fields.get("findings")
    if isinstance(found, list | tuple) and found:
        return list(found)
    raise error


@policy.command(
    "explain",
    short_help="Tell why a call gets its verdict.",
    help="Tell why a call gets its verdict: what decided, and which rules nearly did.",
    epilog=examples(
        """hitl policy explain policy.yaml --tool pay --args '{"amount": 101}'""",
        "hitl policy explain policy.yaml --tool pay --args @call.json --tools shop:agent",
    ),
)
@click.argument("file")
@click.option("--tool", required=True, metavar="NAME", help="The tool that is called.")
@click.option("--args", "text", default="{}", metavar="JSON", help="Its arguments; @FILE too.")
@_tools
@_screened
def explain(screen: Screen, file: str, tool: str, text: str, tools: str | None) -> int:
    """Explain a verdict."""
    call: ToolCall = {"name": tool, "args": _args(text), "id": None, "type": "tool_call"}
    with _usable():
        told = _loaded(file, tools).explain(call)
    show_explanation(screen, told)
    return DONE


def _loaded(file: str, tools: str | None) -> Policy:
    """Return the policy of a file, for an agent's tools where they are named."""
    loaded = Policy.load(file)
    return loaded if tools is None else loaded.bind(load_tools(tools))


@contextmanager
def _usable() -> Iterator[None]:
    """Say of a policy that cannot be used where its errors are listed."""
    try:
        yield
    except BadPolicy as error:
        first = error.message.partition("\n")[0].rstrip(":")
        raise BadPolicy(
            f"{first}.", hint="`hitl policy check FILE` lists them.", **error.fields
        ) from error


def _args(text: str) -> dict[str, object]:
    try:
        source = Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text
        args: object = json.loads(source)
    except (OSError, ValueError) as error:
        raise Misuse(
            f"--args cannot be read: {error}.", hint="""Write JSON: --args '{"path": "a.txt"}'."""
        ) from error
    if not isinstance(args, dict):
        raise Misuse("--args is no map.", hint="""Write JSON: --args '{"path": "a.txt"}'.""")
    return args


@policy.command(
    "test",
    short_help="Run the examples in a policy's rules, and a file of cases.",
    help="Run the examples in a policy's rules, and a file of cases: calls with the verdict that "
    "they must get. Exit code 1 if one fails.",
    epilog=examples(
        "hitl policy test policy.yaml",
        "hitl policy test policy.yaml --cases cases.yaml --tools shop:agent",
    ),
)
@click.argument("file")
@click.option("--cases", "cases_file", metavar="FILE", help="Cases, YAML or JSON.")
@_tools
@_screened
def test(screen: Screen, file: str, cases_file: str | None, tools: str | None) -> int:
    """Run examples and cases."""
    cases: list[Case] = []
    try:
        loaded = _loaded(file, tools)
        findings = loaded.test()
        if cases_file is not None:
            cases = read_cases(_read(cases_file), cases_file)
            findings += failing_cases(loaded, cases)
    except BadPolicy as error:
        findings = _findings(error)
    show_findings(screen, findings, {"ok": not findings, "cases": len(cases)})
    if not findings:
        screen.say(f"{file}: its examples and {len(cases)} cases pass.", "green")
    return FAILED if findings else DONE


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"{path} cannot be read: {error}.") from error


@policy.command(
    "diff",
    short_help="Tell which past calls a changed policy judges differently.",
    help="Tell which past calls a changed policy judges differently. Exit code 1 if some are.",
    epilog=examples(
        "hitl policy diff old.yaml new.yaml --calls hitl.db",
        "hitl policy diff old.yaml new.yaml --calls calls.jsonl --only looser",
    ),
)
@click.argument("old")
@click.argument("new")
@click.option("--calls", required=True, metavar="FILE", help="A store, or a call a line as JSON.")
@click.option(
    "--only",
    type=click.Choice(["looser", "stricter", "other"]),
    help="Only such changes count; `other` still asks, but otherwise.",
)
@_tools
@_screened
def compare(
    screen: Screen, old: str, new: str, calls: str, only: str | None, tools: str | None
) -> int:
    """Compare two policies on past calls."""
    logged = past_calls(calls)
    with _usable():
        before, after = _loaded(old, tools), _loaded(new, tools)
    changes = diff(before, after, logged)
    if only is not None:
        changes = [change for change in changes if change.direction == only]
    show_changes(screen, changes, len(logged))
    return FAILED if changes else DONE


@policy.command(
    "init",
    short_help="Print the first policy of an agent.",
    help="Print the first policy of an agent: tools that only read run, all others ask.",
    epilog=examples("hitl policy init shop:agent > policy.yaml", "hitl policy init tools.json"),
)
@click.argument("tools")
@_screened
def init(screen: Screen, tools: str) -> int:
    """Print a starter file."""
    text = starter(load_tools(tools))
    screen.document({"policy": text})
    if not screen.as_json:
        # Printed as it is, to be read back; foreign words in it are written as JSON escapes.
        click.echo(text, nl=False)
    return DONE
