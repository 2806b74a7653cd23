"""An agent's whole life: random turns, rules, people and deaths of its process.

A person decides some of what waits, or says something new and leaves it; processes die at any
commit. Whatever comes of it: what was rejected, answered, left or not decided never runs; what
was approved or is free runs exactly once, as it was approved; and the history is valid.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hitl import (
    Command,
    HumanInTheLoopMiddleware,
    ScriptedModel,
    SqliteSaver,
    create_agent,
    tool,
)

CONFIG: Any = {"configurable": {"thread_id": "t"}}
NAMES = ("pay", "mail", "look")
RULES: list[Any] = [
    False,
    True,
    {"allowed_decisions": ["approve", "reject"]},
    {"allowed_decisions": ["approve", "edit", "reject"], "on_reject": "stop"},
    {"allowed_decisions": ["approve", "reject"], "when": lambda r: r.tool_call["args"]["x"] % 2},
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
class Life:
    """What the model proposes in each turn, what a person says, and when a process dies."""

    turns: list[list[str]]
    rules: dict[str, Any]
    mode: str
    hand: str
    says: list[str]
    leaves: list[bool]
    one_by_one: bool
    deaths: list[tuple[int, bool]]


lives = st.builds(
    Life,
    turns=st.lists(
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), min_size=1, max_size=3
    ),
    rules=st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, st.sampled_from(RULES))),
    mode=st.sampled_from(["batched", "per_call"]),
    hand=st.sampled_from(["sync", "sync", "async"]),
    says=st.lists(
        st.sampled_from(["approve", "approve", "edit", "reject", "respond"]),
        min_size=9,
        max_size=9,
    ),
    leaves=st.lists(st.booleans(), min_size=3, max_size=3),
    one_by_one=st.booleans(),
    deaths=st.lists(st.tuples(st.integers(1, 7), st.booleans()), max_size=4),
)


class World:
    """The file, what the tools did, and processes that come and go."""

    def __init__(self, life: Life, path: Path) -> None:
        self.life, self.path = life, path
        self.ran: list[tuple[str, int]] = []
        self.deaths: Iterator[tuple[int, bool]] = iter(life.deaths)
        self.humans = 0
        self.may_run: set[tuple[str, int]] = set()
        self.must_not: set[int] = set()

    def agent(self, saver: SqliteSaver) -> Any:
        def made(name: str) -> Any:
            def body(x: int) -> str:
                self.ran.append((name, x))
                return f"{name} {x}"

            return tool(name, description="Does it.")(body)

        gate = HumanInTheLoopMiddleware(
            self.life.rules,
            interrupt_mode=self.life.mode,  # type: ignore[arg-type]
        )
        script: list[Any] = [
            {"tool_calls": [{"name": n, "args": {"x": at * 10 + i}} for i, n in enumerate(names)]}
            for at, names in enumerate(self.life.turns)
        ]
        model = ScriptedModel([*script, *["done"] * 9])
        return create_agent(
            model, [made(name) for name in NAMES], middleware=[gate], checkpointer=saver
        )

    def run(self, agent: Any, given: Any) -> Any:
        if self.life.hand == "sync":
            return agent.invoke(given, CONFIG, version="v2")
        return asyncio.run(agent.ainvoke(given, CONFIG, version="v2"))

    def go(self, given: Any, taken: Callable[[], bool]) -> Any:
        """Run until the run rests, process after process; settle what a death left unknown."""
        while True:
            # A loop of asyncio would outlive a death that is only raised: those die sync.
            death = next(self.deaths, (0, False)) if self.life.hand == "sync" else (0, False)
            saver = DyingSaver(self.path, *death)
            try:
                output = self.run(self.agent(saver), None if taken() else given)
            except Crash:
                continue
            finally:
                saver.close()
            lost = [i.value["outcome_unknown"] for i in output.interrupts if _is_lost(i)]
            if not lost:
                return output
            given, taken = Command(resume={one["id"]: self.tell(one) for one in lost}), bool

    def tell(self, lost: dict[str, Any]) -> dict[str, Any]:
        """A person looks whether it happened."""
        name, x = lost["name"], lost["args"]["x"]
        happened = (name, x) in self.ran
        return {"type": "respond", "message": "it did"} if happened else {"type": "retry"}

    def say(self) -> Any:
        """The user says something new."""
        self.humans += 1
        wanted = self.humans

        def heard() -> bool:
            with SqliteSaver(self.path) as saver:
                values: Any = self.agent(saver).get_state(CONFIG).values
            return bool(sum(m.type == "human" for m in values.get("messages", [])) >= wanted)

        return self.go({"messages": [{"role": "user", "content": f"{wanted}"}]}, heard)

    def decide(self, actions: list[tuple[str, dict[str, Any], list[str]]]) -> Any:
        """A person decides what waits, all at once or one by one; answers by id may repeat."""
        answers = {}
        for id, call, allowed in actions:
            x, name = call["x"], call["name"]
            kind = self.life.says[x % 9]
            kind = kind if kind in allowed else "reject"
            answers[id] = {"type": kind}
            if kind == "edit":
                answers[id]["edited_action"] = {"name": name, "args": {"x": x + 1000}}
            elif kind == "respond":
                answers[id]["message"] = "mine"
            if kind in ("approve", "edit"):
                self.may_run.add((name, x if kind == "approve" else x + 1000))
            if kind != "approve":
                self.must_not.add(x)
        groups = [{id: one} for id, one in answers.items()] if self.life.one_by_one else [answers]
        for group in groups:
            output = self.go(Command(resume=group), bool)
        return output


def _is_lost(interrupt: Any) -> bool:
    return "outcome_unknown" in interrupt.value


def waiting(output: Any) -> list[tuple[str, dict[str, Any], list[str]]]:
    """Return what waits: id, name and x of the call, allowed decisions."""
    return [
        (action["id"], {"name": action["name"], **action["args"]}, config["allowed_decisions"])
        for interrupt in output.interrupts
        for action, config in zip(
            interrupt.value["action_requests"], interrupt.value["review_configs"], strict=True
        )
    ]


def live(world: World) -> Any:
    output = world.say()
    while output.interrupts:
        actions = waiting(output)
        turn = actions[0][1]["x"] // 10
        # A call waits untouched until somebody has decided it, whatever has died.
        assert not {x for _, x in world.ran} & {call["x"] for _, call, _ in actions}
        if world.life.leaves[turn]:
            world.life.leaves[turn] = False
            world.must_not |= {call["x"] for _, call, _ in actions}
            output = world.say()
        else:
            output = world.decide(actions)
    return output


def gated(life: Life, name: str, x: int) -> bool:
    rule = life.rules.get(name, False)
    if not isinstance(rule, dict):
        return bool(rule)
    return bool(rule["when"](_Request(x))) if "when" in rule else True


class _Request:
    def __init__(self, x: int) -> None:
        self.tool_call: Any = {"args": {"x": x}}


def check_history(messages: list[Any]) -> None:
    """Every call has exactly one answer, behind its turn and before anything else."""
    place = 0
    while place < len(messages):
        message = messages[place]
        assert message.type != "tool", "an answer stands behind its turn"
        place += 1
        if message.type != "ai" or not message.tool_calls:
            continue
        size = len(message.tool_calls)
        answers = messages[place : place + size]
        assert [m.type for m in answers] == ["tool"] * size
        wanted = Counter(call["id"] for call in message.tool_calls)
        assert Counter(m.tool_call_id for m in answers) == wanted
        place += size


@settings(max_examples=60, deadline=None)
@given(lives)
def test_what_a_human_did_not_allow_never_runs_and_what_they_did_runs_once(life: Life) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(life, Path(folder) / "t.db")
        output = live(world)
        check_history(output.value["messages"])
        did = Counter(world.ran)
        assert all(times == 1 for times in did.values()), "nothing runs twice"
        for name, x in did:
            free = x < 1000 and not gated(life, name, x)
            assert free or (name, x) in world.may_run, "only what is free or approved runs"
            assert x not in world.must_not
        for name, x in world.may_run:
            turn = x % 1000 // 10
            left = {x % 10 for x in world.must_not if x // 10 == turn}
            assert (name, x) in did or left, "what was approved runs"
        with SqliteSaver(world.path) as saver:
            assert not saver.items(thread="t", states=["pending"])
