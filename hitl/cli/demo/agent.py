"""The demo's agent: what it wants, and which of its calls wait for a human."""

from __future__ import annotations

from typing import Any

from hitl.agent import HumanInTheLoopMiddleware, ScriptedModel, create_agent
from hitl.checkpoint import SqliteSaver
from hitl.cli.demo.world import World
from hitl.engine import CompiledStateGraph
from hitl.policy import ToolCallRequest

__all__ = ["THREAD", "WISH", "build"]

THREAD = "spring-cleaning"

WISH = (
    "Please tidy the archive. Count the records from before 2020, then delete them, write a "
    "report to ../summary.md, tell tenants@example.org, and ask me which year the next tidy-up "
    "shall cover."
)

_PROMPT = "You look after an archive. Use your tools; several calls in one turn are fine."


def _calls(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "args": args} for name, args in calls]}


SCRIPT: list[Any] = [
    _calls(("count_records", {"before": "2020-01-01"})),
    _calls(
        ("delete_records", {"before": "2020-01-01"}),
        ("write_report", {"path": "../summary.md", "text": "Records before 2020 were removed."}),
        ("send_notice", {"to": "tenants@example.org", "text": "Old records are gone."}),
        ("ask_user", {"question": "Which year shall the next tidy-up cover?"}),
        ("count_records", {"before": "2030-01-01"}),
    ),
    "The archive is tidy. Nobody was told, and the next tidy-up covers 2021.",
]


def build(world: World, model: str | None = None) -> CompiledStateGraph:
    """Return the agent, with its threads kept in the world's own store.

    Args:
        world: What its tools change.
        model: ``"provider:name"`` of a real model; a script plays the model where None.

    Raises:
        Misuse: The model's name cannot be told to a provider.
    """

    def outside(request: ToolCallRequest) -> bool:
        return not world.inside(str(request.tool_call["args"].get("path", "")))

    approval = HumanInTheLoopMiddleware(
        {
            "count_records": False,
            "delete_records": {"allowed_decisions": ["approve", "edit", "reject"]},
            "write_report": {"allowed_decisions": ["approve", "edit", "reject"], "when": outside},
            "send_notice": {"allowed_decisions": ["approve", "reject"]},
            "ask_user": {"allowed_decisions": ["respond"]},
        }
    )
    return create_agent(
        model or ScriptedModel(SCRIPT),
        world.tools(),
        system_prompt=_PROMPT,
        middleware=[approval],
        checkpointer=SqliteSaver(str(world.store)),
    )
