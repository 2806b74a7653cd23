"""Whatever order decisions come in, and whatever dies on the way, the same things happen.

A person answers in any order and grouping; processes die at any commit, before or after it;
the next one opens the file and goes on. What the tools did is read from a list they append to.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl import (
    AIMessage,
    Command,
    HumanInTheLoopMiddleware,
    ScriptedModel,
    SqliteSaver,
    ToolRuntime,
    create_agent,
    tool,
)
from hitl.errors import HitlError

CONFIG = {"configurable": {"thread_id": "t"}}
EFFECTS = {"pay": "effect", "put": "idempotent", "look": "pure"}
RULES: list[Any] = [
    None,
    False,
    True,
    {"allowed_decisions": ["approve", "reject"]},
    {"allowed_decisions": ["reject", "respond"]},
    {"allowed_decisions": ["edit", "approve"]},
]


class Crash(BaseException):
    """The process dies here."""


class DyingSaver(SqliteSaver):
    """A store whose process dies at its n-th commit, before or after it is on the disk."""

    def __init__(self, path: Path, left: int, after: bool) -> None:
        super().__init__(path, synchronous="NORMAL")
        self.left, self.after, self.dead = left, after, False

    def append(self, commit):
        if self.dead:
            raise Crash
        self.left -= 1
        if self.left == 0:
            self.dead = True
            if self.after:
                super().append(commit)
            raise Crash
        return super().append(commit)


@dataclass
class Plan:
    """One turn, its rules, and what a person says of each call that waits."""

    mode: str
    calls: list[dict[str, Any]]
    rules: dict[str, Any]
    decisions: dict[int, dict[str, Any]]
    groups: list[list[int]]
    positional: bool
    refused: list[int]
    deaths: list[tuple[int, bool]] = field(default_factory=list)


def allowed(rule: Any) -> list[str]:
    if rule is True:
        return ["approve", "edit", "reject", "respond"]
    return rule["allowed_decisions"] if rule else []


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    names = draw(st.lists(st.sampled_from(list(EFFECTS)), min_size=1, max_size=5))
    calls: list[dict[str, Any]] = [
        {"name": name, "args": {"x": index}, "id": draw(st.sampled_from(["a", "b", f"c{index}"]))}
        for index, name in enumerate(names)
    ]
    rules = {name: rule for name in EFFECTS if (rule := draw(st.sampled_from(RULES))) is not None}
    decisions = {}
    for index, call in enumerate(calls):
        options = allowed(rules.get(call["name"]))
        if options:
            decisions[index] = draw(decision(index, call["name"], options, rules))
    mode = draw(st.sampled_from(["batched", "per_call"]))
    order = draw(st.permutations(list(decisions)))
    groups = [[index] for index in order]
    if draw(st.booleans()) and len(order) > 1:
        cut = draw(st.integers(1, len(order) - 1))
        groups = [list(order[:cut]), list(order[cut:])]
    positional = mode == "batched" and draw(st.booleans())
    refused = draw(st.lists(st.integers(0, 3), max_size=2))
    deaths = draw(st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=5))
    return Plan(mode, calls, rules, decisions, groups, positional, refused, deaths)


@st.composite
def decision(draw: st.DrawFn, index: int, name: str, options: list[str], rules: Any) -> Any:
    kind = draw(st.sampled_from(options))
    if kind == "edit":
        others = [o for o in EFFECTS if "approve" in (allowed(rules.get(o)) or ["approve"])]
        target = draw(st.sampled_from([name, *others]))
        return {"type": "edit", "edited_action": {"name": target, "args": {"x": 100 + index}}}
    if kind == "respond":
        return {"type": "respond", "message": f"answer {index}"}
    return {"type": kind}


class World:
    """The file, the tools' list, and processes that come and go."""

    def __init__(self, plan: Plan, path: Path) -> None:
        self.plan, self.path = plan, path
        self.ran: list[tuple[str, int, str]] = []
        self.deaths: Iterator[tuple[int, bool]] = iter(plan.deaths)

    def agent(self, saver: SqliteSaver) -> Any:
        def made(name: str, effect: Any) -> Any:
            def body(x: int, runtime: ToolRuntime) -> str:
                self.ran.append((name, x, runtime.idempotency_key))
                return f"{name} {x}"

            return tool(name, description="Does it.", effect=effect)(body)

        gate = HumanInTheLoopMiddleware(
            self.plan.rules,
            interrupt_mode=self.plan.mode,  # type: ignore[arg-type]
        )
        model = ScriptedModel([{"tool_calls": self.plan.calls}, "done"])
        tools = [made(*one) for one in EFFECTS.items()]
        return create_agent(model, tools, middleware=[gate], checkpointer=saver)

    def store(self) -> SqliteSaver:
        return SqliteSaver(self.path, synchronous="NORMAL")

    def go(self, given: Any, taken: Any) -> Any:
        """Run until the run rests, process after process."""
        while True:
            saver = DyingSaver(self.path, *next(self.deaths, (0, False)))
            try:
                output = self.agent(saver).invoke(None if taken() else given, CONFIG, version="v2")
            except Crash:
                continue
            finally:
                saver.close()
            lost = [
                i.value["outcome_unknown"]
                for i in output.interrupts
                if "outcome_unknown" in i.value
            ]
            if not lost:
                return output
            given, taken = Command(resume={one["id"]: self.tell(one) for one in lost}), bool

    def tell(self, lost: dict[str, Any]) -> dict[str, Any]:
        """A person looks whether it happened."""
        name, x = lost["name"], lost["args"]["x"]
        assert EFFECTS[name] == "effect"
        if any(ran[:2] == (name, x) for ran in self.ran):
            return {"type": "respond", "message": f"{name} {x}"}
        return {"type": "retry"}

    def items(self) -> dict[int, Any]:
        with self.store() as store:
            found = store.items(thread="t", limit=100)
        return {int(str(item.rules["call"])): item for item in found if item.kind == "action"}

    def refuse(self, number: int) -> None:
        """Give an answer that cannot be taken; nothing may change."""
        answers: list[dict[str, Any]] = [
            {"0" * 32: {"type": "approve"}},
            {"decisions": [{"type": "approve"}] * 9},
            {item.id: {"type": "aprove"} for item in self.items().values()},
            {
                item.id: {"type": "edit", "edited_action": {"name": "x", "args": {}}}
                for item in self.items().values()
            },
        ]
        before = self.items()
        with self.store() as store, pytest.raises(HitlError):
            self.agent(store).invoke(Command(resume=answers[number]), CONFIG)
        assert self.items() == before


def live(world: World, plan: Plan) -> Any:
    def begun() -> bool:
        with world.store() as store:
            return bool(store.entries("t"))

    output = world.go({"messages": [{"role": "user", "content": "go"}]}, begun)
    for number in plan.refused:
        if output.interrupts:
            world.refuse(number)
    if plan.positional and plan.decisions:
        answer = {"decisions": [plan.decisions[index] for index in sorted(plan.decisions)]}
        taken = lambda: all(item.decision for item in world.items().values())  # noqa: E731
        return world.go(Command(resume=answer), taken)
    for group in plan.groups:
        assert output.interrupts
        ids = {index: item.id for index, item in world.items().items()}
        by_id = {ids[index]: plan.decisions[index] for index in group}
        output = world.go(Command(resume=by_id), bool)  # by id, so that a repeat is harmless
    return output


def expected(plan: Plan) -> tuple[list[tuple[str, str, str]], Counter[tuple[str, int]]]:
    """What must stand in the conversation (id, status, text), and what must have run."""
    made: list[tuple[str, str, str]] = []
    real: list[tuple[str, str, str]] = []
    ran: Counter[tuple[str, int]] = Counter()
    for index, call in enumerate(plan.calls):
        said = plan.decisions.get(index, {"type": "approve"})
        into = made if plan.mode == "batched" else real
        if said["type"] == "reject":
            into.append((call["id"], "error", "rejected"))
        elif said["type"] == "respond":
            into.append((call["id"], "success", said["message"]))
        else:
            action = said.get("edited_action", call)
            ran[action["name"], action["args"]["x"]] += 1
            real.append((call["id"], "success", f"{action['name']} {action['args']['x']}"))
    return made + real, ran


@settings(max_examples=80)
@given(plans())
def test_every_order_of_decisions_and_every_crash_comes_to_the_same(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(plan, Path(folder) / "t.db")
        output = live(world, plan)
        messages, should = expected(plan)
        results = [m for m in output.value["messages"] if m.type == "tool"]
        assert not output.interrupts
        assert [m.type for m in output.value["messages"]] == (
            ["human", "ai"] + ["tool"] * len(plan.calls) + ["ai"]
        )
        for message, (id, status, text) in zip(results, messages, strict=True):
            assert (message.tool_call_id, message.status) == (id, status)
            assert text in message.content
        did = Counter(one[:2] for one in world.ran)
        assert set(did) == set(should), "only what was allowed ran, and all of it"
        for (name, x), times in did.items():
            keys = {key for n, at, key in world.ran if (n, at) == (name, x)}
            assert len(keys) == 1, "a call keeps its idempotency key"
            assert times == 1 or EFFECTS[name] != "effect"
        if not plan.deaths:
            assert did == should
        states = {item.state for item in world.items().values()}
        assert states <= {"ran", "done"}


@settings(max_examples=60)
@given(plans(), st.data())
def test_a_call_replaced_while_its_turn_waits_never_runs_unasked(
    plan: Plan, data: st.DataObject
) -> None:
    plan.deaths = []
    with tempfile.TemporaryDirectory() as folder:
        world = World(plan, Path(folder) / "t.db")
        output = world.go({"messages": [{"role": "user", "content": "go"}]}, lambda: False)
        if not output.interrupts:
            return
        at = data.draw(st.integers(0, len(plan.calls) - 1))
        name = data.draw(st.sampled_from(list(EFFECTS)))
        turn = next(m for m in output.value["messages"] if m.type == "ai")
        calls = [*turn.tool_calls]
        calls[at] = {**calls[at], "name": name, "args": {"x": 500}}
        update = {"messages": [AIMessage("", id=turn.id, tool_calls=calls)]}
        ids = {index: item.id for index, item in world.items().items()}
        by_id = {ids[index]: plan.decisions[index] for index in ids}
        output = world.go(Command(resume=by_id, update=update), lambda: False)
        replaced = [one for one in world.ran if one[1] == 500]
        assert not replaced or not allowed(plan.rules.get(name)), "a gated one is asked about"
        said = plan.decisions.get(at, {}).get("type")
        if said in ("reject", "respond"):
            assert not replaced, "its place in the turn is closed"
        for index in ids:
            if plan.decisions[index]["type"] in ("reject", "respond"):
                assert all(one[1] != index for one in world.ran)
