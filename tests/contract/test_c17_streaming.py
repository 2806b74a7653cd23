"""C17: ``stream_events``: tokens, state and pauses of a run, and going on in the same way."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from hitl import Command, HumanInTheLoopMiddleware, ScriptedModel, create_agent

SOURCES = (Path(__file__).parent / "sources.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(
    r"^## streaming\n.*?```python\n(.*?)^```$", SOURCES, re.MULTILINE | re.DOTALL
)
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})
GO = {"messages": [{"role": "user", "content": "Delete old records from the database"}]}
SQL = {"name": "execute_sql", "args": {"query": "DELETE FROM records"}}


@pytest.fixture
def ran() -> list:
    return []


@pytest.fixture
def agent(saver, ran):
    def execute_sql(query: str) -> str:
        """Execute SQL."""
        ran.append(query)
        return "3 rows"

    return create_agent(
        model=ScriptedModel(
            [{"content": "I will delete them.", "tool_calls": [SQL]}, "They are gone now."]
        ),
        tools=[execute_sql],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"execute_sql": True})],
        checkpointer=saver,
    )


CONFIG: dict = {"configurable": {"thread_id": "some_id"}}


def test_c17_the_sources_example_runs_with_only_its_import_changed(agent, ran, capsys):
    code = EXAMPLE.replace("from langgraph.types import", "from hitl import")
    exec(compile(code, "sources.md: streaming", "exec"), {"agent": agent})
    before, _, after = capsys.readouterr().out.partition("\n\nInterrupt: ")
    assert before == "I will delete them."
    assert "execute_sql" in after
    assert after.endswith("They are gone now.")
    assert ran == ["DELETE FROM records"]


def test_c17_the_example_runs_in_an_async_run_as_well(agent, ran):
    async def story() -> list:
        told: list = []
        for given in (GO, APPROVE):
            stream = await agent.astream_events(given, config=CONFIG, version="v3")
            told += [[token async for token in one.text] async for one in stream.messages]
            told.append((await stream.interrupted(), len(await stream.interrupts())))
        return told

    assert asyncio.run(story()) == [
        ["I ", "will ", "delete ", "them."],
        (True, 1),
        ["They ", "are ", "gone ", "now."],
        (False, 0),
    ]
    assert ran == ["DELETE FROM records"]


def test_c17_a_message_has_its_calls_and_its_whole(agent):
    stream = agent.stream_events(GO, config=CONFIG, version="v3")
    (message,) = stream.messages
    assert [call["name"] for call in message.tool_calls] == ["execute_sql"]
    assert message.output == stream.output["messages"][-1]
    assert message.id == message.output.id


def test_c17_the_values_show_the_state_and_the_interrupts_are_the_threads(agent):
    stream = agent.stream_events(GO, config=CONFIG, version="v3")
    assert [len(value["messages"]) for value in stream.values] == [1, 2, 2]
    assert stream.interrupted is True
    assert tuple(stream.interrupts) == agent.get_state(CONFIG).interrupts


@pytest.mark.parametrize("mode", ["values", "updates", "checkpoints", "messages", "custom"])
def test_c17_a_stream_in_any_mode_leaves_the_same_pause_as_a_run(agent, mode):
    list(agent.stream(GO, CONFIG, stream_mode=mode))
    waiting = agent.get_state(CONFIG).interrupts
    assert len(waiting) == 1
    again = agent.invoke(None, CONFIG, version="v2")
    assert again.interrupts == waiting
    assert asyncio.run(agent.ainvoke(None, CONFIG, version="v2")).interrupts == waiting


def test_c17_messages_mode_has_tokens_and_results_with_their_nodes(agent):
    def told(given):
        return [
            (about["langgraph_node"], piece.text)
            for piece, about in agent.stream(given, CONFIG, stream_mode="messages")
        ]

    assert told(GO) == [("model", word) for word in ("I ", "will ", "delete ", "them.")]
    assert told(APPROVE) == [
        ("tools", "3 rows"),
        *[("model", word) for word in ("They ", "are ", "gone ", "now.")],
    ]
