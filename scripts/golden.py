"""Writes the store that the tests keep of each released schema: ``python scripts/golden.py``.

Run it once when a step is added to ``hitl/checkpoint/tables.py``, and commit the new file. One
that is there is never written again: it stands for the files that people have.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hitl import (
    Command,
    HumanInTheLoopMiddleware,
    ScriptedModel,
    SqliteSaver,
    create_agent,
    tool,
)
from hitl.checkpoint.tables import VERSION
from hitl.values import Config, ManualClock

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden"


def config(thread: str) -> Config:
    """Return the config of a thread, with a reviewer."""
    return {"configurable": {"thread_id": thread, "reviewer": "ann"}}


def write(path: Path) -> None:
    """Write a store with a thread that waits for two decisions, and one that has ended."""

    @tool(description="Pays.")
    def pay(amount: int) -> str:
        return f"paid {amount}"

    calls = [{"name": "pay", "args": {"amount": n}, "id": f"c{n}"} for n in (1, 2)]
    with SqliteSaver(path, clock=ManualClock()) as store:
        agent = create_agent(
            ScriptedModel([{"tool_calls": calls}, "done"]),
            [pay],
            middleware=[HumanInTheLoopMiddleware({"pay": True})],
            checkpointer=store,
        )
        for thread in ("paused", "ended"):
            agent.invoke({"messages": "go"}, config(thread))
        answer = {"decisions": [{"type": "approve"}, {"type": "reject", "message": "no"}]}
        agent.invoke(Command(resume=answer), config("ended"))
        store.vacuum()


if __name__ == "__main__":
    path = FOLDER / f"schema-{VERSION:03}.db"
    if path.exists():
        sys.exit(f"{path.name} is there, and stays as it is.")
    write(path)
    print(f"{path.name}: {path.stat().st_size} bytes")
