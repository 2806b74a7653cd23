"""Random agents that send out agents: every call is decided, and runs once or never."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hitl import (
    Command,
    InMemorySaver,
    ScriptedModel,
    create_deep_agent,
    tool,
)
from hitl.agent import ModelInput

CONFIG: Any = {"configurable": {"thread_id": "t"}}
GO: Any = {"messages": [{"role": "user", "content": "go"}]}


@dataclass(frozen=True)
class Agent:
    """An agent: in each turn it makes some calls, gated or not, and sends out some agents."""

    turns: tuple[tuple[bool, ...], ...]
    sends: tuple[Any, ...]


turns = st.lists(st.lists(st.booleans(), max_size=2).map(tuple), min_size=1, max_size=2)
agents = st.recursive(
    st.builds(Agent, turns.map(tuple), st.just(())),
    lambda inner: st.builds(Agent, turns.map(tuple), st.lists(inner, max_size=2).map(tuple)),
    max_leaves=4,
)


class World:
    """Builds the agents anew for each run, as another process would, and counts what happened."""

    def __init__(self, spec: Agent) -> None:
        self.spec, self.saver = spec, InMemorySaver()
        self.ran: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.expected: dict[str, bool] = {}

        @tool
        def act(name: str) -> str:
            """Act; a human decides."""
            self.ran[name] += 1
            return name

        @tool
        def free(name: str) -> str:
            """Act freely."""
            self.ran[name] += 1
            return name

        self.tools = [act, free]
        self.note(spec, "r")

    def note(self, spec: Agent, name: str) -> None:
        """Write down which calls there will be, and whether each is gated."""
        for number, turn in enumerate(spec.turns):
            for place, gated in enumerate(turn):
                self.expected[f"{name}.{number}.{place}"] = gated
        for place, inner in enumerate(spec.sends):
            self.note(inner, f"{name}{place}")

    def model(self, spec: Agent, name: str) -> Any:
        lines: list[Any] = []
        for number, turn in enumerate(spec.turns):
            calls: list[Any] = [
                {"name": "act" if gated else "free", "args": {"name": f"{name}.{number}.{place}"}}
                for place, gated in enumerate(turn)
            ]
            if number == 0:
                calls += [
                    {"name": "task", "args": {"description": "go", "subagent_type": f"{name}{n}"}}
                    for n in range(len(spec.sends))
                ]
            if calls:
                lines.append({"tool_calls": calls})
        script = ScriptedModel([*lines, f"{name} is done"])

        def model(messages: list[Any]) -> Any:
            answer = script.generate(
                ModelInput(tuple(m for m in messages if m.type != "system"), (), {})
            )
            self.asked[f"{name} {sum(m.type == 'ai' for m in messages)}"] += 1
            return answer

        return model

    def build(self, spec: Agent, name: str, saver: Any = None) -> Any:
        return create_deep_agent(
            self.model(spec, name),
            self.tools,
            subagents=[
                {
                    "name": f"{name}{place}",
                    "description": "works",
                    "runnable": self.build(inner, f"{name}{place}"),
                }
                for place, inner in enumerate(spec.sends)
            ],
            interrupt_on={"act": True},
            checkpointer=saver,
            name=name,
        )

    def run(self, input: Any, *, awaited: bool) -> Any:
        top = self.build(self.spec, "r", self.saver)
        if awaited:
            return asyncio.run(top.ainvoke(input, CONFIG, version="v2"))
        return top.invoke(input, CONFIG, version="v2")


@given(agents, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_whatever_is_decided_in_whatever_order_each_call_runs_once_or_never(spec, awaited, random):
    world = World(spec)
    output = world.run(GO, awaited=awaited)
    said: dict[str, str] = {}
    for _ in range(60):
        if not output.interrupts:
            break
        assert not any("outcome_unknown" in one.value for one in output.interrupts)
        some = random.sample(output.interrupts, random.randint(1, len(output.interrupts)))
        answers: dict[str, Any] = {}
        for one in some:
            decisions = []
            for request in one.value["action_requests"]:
                kind = random.choice(["approve", "reject"])
                assert request["args"]["name"] not in said, "a question is put once"
                said[request["args"]["name"]] = kind
                decisions.append({"type": kind})
            answers[one.id] = {"decisions": decisions}
        output = world.run(Command(resume=answers), awaited=awaited)
    assert output.interrupts == ()
    assert output.value["messages"][-1].content == "r is done"
    gated = {name for name, is_gated in world.expected.items() if is_gated}
    assert set(said) == gated
    approved = {name for name, kind in said.items() if kind == "approve"}
    free = world.expected.keys() - gated
    assert world.ran == Counter(dict.fromkeys(approved | free, 1))
    assert set(world.asked.values()) == {1}, "no model is asked twice for one turn"
    assert {item.state for item in world.saver.items()} <= {"ran", "done", "rejected"}
