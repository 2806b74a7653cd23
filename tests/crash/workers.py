"""A worker of the test with many processes: it decides and resumes whatever waits."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

from hitl import (
    HumanInTheLoopMiddleware,
    ScriptedModel,
    SqliteSaver,
    ToolRuntime,
    create_agent,
    tool,
)
from hitl.errors import HitlError
from hitl.inbox import Inbox

__all__ = ["config", "payer", "settled", "work"]

CALL = {"name": "pay", "args": {"amount": 5}, "id": "1"}


def config(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


def payer(saver: SqliteSaver, oracle: Path) -> Any:
    """Return an agent whose tool appends a line to a file."""

    @tool
    def pay(amount: int, runtime: ToolRuntime) -> str:
        """Pay."""
        place: Any = runtime.config["configurable"]
        with oracle.open("a") as file:
            file.write(f"{place['thread_id']}\n")
            file.flush()
            os.fsync(file.fileno())
        return f"paid {amount}"

    return create_agent(
        ScriptedModel([{"tool_calls": [CALL]}, "done"]),
        [pay],
        middleware=[HumanInTheLoopMiddleware({"pay": True})],
        checkpointer=saver,
    )


def settled(saver: SqliteSaver, threads: list[str]) -> bool:
    """Return whether nothing waits, and nothing decided is still to be taken up."""
    live = ("pending", "decided", "cleared", "started", "uncertain")
    return not any(saver.items(thread=thread, states=live, limit=1) for thread in threads)


def work(order: dict[str, Any]) -> dict[str, int]:
    """Decide and resume at random until everything is settled.

    Returns:
        How often each error was met.
    """
    chance, met = random.Random(order["seed"]), Counter[str]()
    saver = SqliteSaver(order["store"], lease_seconds=order["lease"])
    app, desk = payer(saver, Path(order["oracle"])), Inbox(saver)
    threads: list[str] = order["threads"]
    while not settled(saver, threads):
        thread = chance.choice(threads)
        try:
            for item in desk.pending(thread=thread):
                # Of a lost call nobody can say that it did not happen: a process that was
                # stopped may still wake up. So it is given up, and never run again.
                kind = "reject" if item.kind == "outcome" else chance.choice(["approve", "reject"])
                desk.decide(item.id, {"type": kind}, by=str(os.getpid()))
            app.invoke(None, config(thread))
        except HitlError as error:
            met[type(error).__name__] += 1
    return dict(met)
