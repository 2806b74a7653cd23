"""The same rules in the peers: agent frameworks' own, and engines of rules and policies.

Prints each peer's figures as ``title | peer``, and for each piece of work the fastest of them
under the title alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import metadata

from benchmarks.measure import Figure, Scale, measure
from benchmarks.policy_rules import CASES, KINDS, Call, Rule, call_for, rules_for, sizes, title
from benchmarks.rivals.tell import tell

__all__ = ["PEERS"]

Judge = Callable[[Call], object]
"""Says whether a call waits, truthy or not."""

Prepare = Callable[[Sequence[Rule]], Judge | None]
"""Sets a peer up with rules; None where it cannot have such."""

_TOO_SLOW = 30_000
"""Microseconds a call: ten times as many rules are then not tried."""

_TOO_LONG = 20
"""Seconds of preparation: the same."""


def langchain(rules: Sequence[Rule]) -> Judge | None:
    """The middleware: a map of names, a ``when`` where a path decides.

    Misses only, since a hit pauses; it has no globs, so of mixed rules it holds two thirds.
    """
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langchain_core.messages import AIMessage
    from langgraph.runtime import Runtime

    if all(rule.tool.endswith("*") for rule in rules):
        return None
    under: dict[str, list[str]] = {}
    for rule in rules:
        under.setdefault(rule.tool, []).extend([rule.under] if rule.under else [])

    def when(prefixes: tuple[str, ...]) -> object:
        return lambda request: request.tool_call["args"]["path"].startswith(prefixes)

    middleware = HumanInTheLoopMiddleware(
        {
            tool: {"allowed_decisions": ["approve"], "when": when(tuple(prefixes))}
            if prefixes
            else True
            for tool, prefixes in under.items()
            if not tool.endswith("*")
        }
    )
    runtime = Runtime()

    def judge(call: Call) -> object:
        tool_call = {"name": call.tool, "args": {"path": call.path}, "id": "1", "type": "tool_call"}
        state = states.setdefault(
            call, {"messages": [AIMessage(content="", tool_calls=[tool_call])]}
        )
        return middleware.after_model(state, runtime)

    states: dict[Call, object] = {}
    return judge


def deepagents(rules: Sequence[Rule]) -> Judge | None:
    """The path permissions of the file tools."""
    from deepagents.middleware.filesystem import FilesystemPermission, _check_fs_permission

    if not all(rule.under for rule in rules):
        return None
    permissions = [
        FilesystemPermission(operations=["read"], paths=[f"{rule.under}**"], mode="interrupt")
        for rule in rules
    ]
    return lambda call: _check_fs_permission(permissions, "read", call.path) == "interrupt"


def cedar(rules: Sequence[Rule]) -> Judge:
    """Cedar (Rust), the policies parsed once."""
    import cedarpy

    texts = []
    for rule in rules:
        tool = json.dumps(rule.tool)
        exact = "action" if rule.tool.endswith("*") else f"action == Action::{tool}"
        when = [f"context.tool like {tool}"] if rule.tool.endswith("*") else []
        when += [f"context.path like {json.dumps(rule.under + '*')}"] if rule.under else []
        body = f" when {{ {' && '.join(when)} }}" if when else ""
        texts.append(f"permit(principal, {exact}, resource){body};")
    policies = cedarpy.PolicySet.from_str("\n".join(texts))

    def judge(call: Call) -> object:
        request = {
            "principal": 'User::"agent"',
            "action": f"Action::{json.dumps(call.tool)}",
            "resource": 'Host::"here"',
            "context": {"tool": call.tool, "path": call.path},
        }
        return cedarpy.is_authorized(request, policies, []).allowed

    return judge


def casbin(rules: Sequence[Rule]) -> Judge:
    """Casbin: one matcher, a line of the policy for each rule."""
    import logging

    import casbin as library

    logging.disable(logging.CRITICAL)
    model = library.Model()
    model.load_model_from_text(
        "[request_definition]\nr = tool, path\n[policy_definition]\np = tool, path\n"
        "[policy_effect]\ne = some(where (p.eft == allow))\n"
        "[matchers]\nm = keyMatch(r.tool, p.tool) && keyMatch(r.path, p.path)\n"
    )
    enforcer = library.Enforcer(model)
    enforcer.add_policies([[rule.tool, f"{rule.under}*"] for rule in rules])
    return lambda call: enforcer.enforce(call.tool, call.path)


def _cel_text(rules: Sequence[Rule]) -> str:
    """Return one expression that is balanced, so that no parser must go deep."""
    names = [rule.tool for rule in rules if not rule.under and not rule.tool.endswith("*")]
    parts = [f"tool in {json.dumps(names)}"] if names else []
    for rule in rules:
        if rule.under:
            path = f"path.startsWith({json.dumps(rule.under)})"
            parts.append(f"(tool == {json.dumps(rule.tool)} && {path})")
        elif rule.tool.endswith("*"):
            parts.append(f"tool.startsWith({json.dumps(rule.tool[:-1])})")
    while len(parts) > 1:
        pairs = zip(parts[::2], [*parts[1::2], ""], strict=False)
        parts = [f"({one} || {other})" if other else one for one, other in pairs]
    return parts[0]


def cel_rust(rules: Sequence[Rule]) -> Judge:
    """CEL, the binding of the Rust implementation: one compiled expression."""
    import cel

    program = cel.compile(_cel_text(rules))
    return lambda call: program.execute({"tool": call.tool, "path": call.path})


def cel_python(rules: Sequence[Rule]) -> Judge:
    """CEL in Python: one compiled expression."""
    import celpy

    environment = celpy.Environment()
    program = environment.program(environment.compile(_cel_text(rules)))
    text = celpy.celtypes.StringType
    return lambda call: program.evaluate({"tool": text(call.tool), "path": text(call.path)})


def rule_engine(rules: Sequence[Rule]) -> Judge:
    """rule-engine: a rule for each rule, asked in turn."""
    import rule_engine as library

    made = []
    for rule in rules:
        tool = rule.tool.removesuffix("*")
        text = f'tool.starts_with("{tool}")' if tool != rule.tool else f'tool == "{tool}"'
        text += f' and path.starts_with("{rule.under}")' if rule.under else ""
        made.append(library.Rule(text))

    def judge(call: Call) -> object:
        thing = {"tool": call.tool, "path": call.path}
        return any(rule.matches(thing) for rule in made)

    return judge


PEERS: dict[str, tuple[Prepare, str]] = {
    "langchain": (langchain, "langchain"),
    "deepagents": (deepagents, "deepagents"),
    "Cedar": (cedar, "cedarpy"),
    "Casbin": (casbin, "casbin"),
    "CEL (Rust)": (cel_rust, "common-expression-language"),
    "CEL (Python)": (cel_python, "cel-python"),
    "rule-engine": (rule_engine, "rule-engine"),
}
"""How each peer is prepared, and the distribution that it comes in."""


def figures(scale: Scale) -> list[Figure]:
    """Measure the peers that are installed."""
    found: list[Figure] = []
    for name, (prepare, _) in present().items():
        for kind in KINDS:
            for size in sizes(quick=scale.quick):
                some = list(_of(name, prepare, kind, size, scale))
                found += some
                if not some or max(figure.cpu for figure in some) > _TOO_SLOW:
                    break
    return [*found, *_fastest(found)]


def present() -> dict[str, tuple[Prepare, str]]:
    """Return the peers that are installed."""
    installed = {}
    for name, peer in PEERS.items():
        try:
            metadata.version(peer[1])
        except metadata.PackageNotFoundError:
            print(f"{name} is not installed", file=sys.stderr)
        else:
            installed[name] = peer
    return installed


def _of(name: str, prepare: Prepare, kind: str, size: int, scale: Scale) -> Sequence[Figure]:
    began = time.perf_counter()
    try:
        judge = prepare(rules_for(kind, size))
    except (Exception, RecursionError) as error:  # noqa: BLE001 - it cannot hold so many
        print(f"{name}, {kind}, {size}: {type(error).__name__}", file=sys.stderr)
        return []
    if judge is None or time.perf_counter() - began > _TOO_LONG:
        return []
    some = []
    for case in CASES:
        if name == "langchain" and case == "hit":
            continue
        call = call_for(kind, size, case)
        if bool(judge(call)) is not (case == "hit"):
            raise AssertionError(f"{name}, {kind}, {size}, {case}")
        run = lambda call=call: judge(call)  # noqa: E731
        some.append(measure(f"{title(kind, size, case)} | {name}", run, scale))
    return some


def _fastest(found: Sequence[Figure]) -> list[Figure]:
    best: dict[str, Figure] = {}
    for figure in found:
        work = figure.name.partition(" | ")[0]
        if work not in best or figure.cpu < best[work].cpu:
            best[work] = figure
    return [replace(figure, name=work) for work, figure in best.items()]


if __name__ == "__main__":
    tell(figures, *(package for _, package in present().values()))
