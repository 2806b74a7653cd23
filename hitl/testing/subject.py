"""One store under test: the agent that pays on it, and what its tool has truly done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hitl.agent import AIMessage, HumanInTheLoopMiddleware, ScriptedModel, create_agent, tool
from hitl.checkpoint import Checkpointer, verify
from hitl.engine import prune
from hitl.errors import HitlError
from hitl.inbox import Inbox
from hitl.testing.reference import NOT_RUN
from hitl.values import Clock, Commit, Item, ManualClock

__all__ = ["CONFIG", "Maker", "Subject"]

CONFIG: dict[str, object] = {"configurable": {"thread_id": "t"}, "max_concurrency": 1}

Maker = Callable[[Clock, Path], Checkpointer]
"""Opens the store of a folder, new or as it was left; leases last no longer than an hour."""


class Killed(BaseException):
    """The process dies here, as far as the library can tell."""


class Subject:
    """A store, opened as often as its process dies.

    Args:
        make: Opens the store.
        folder: Where it may keep its files.
        asynchronous: Whether the agent is run on event loops.
    """

    def __init__(self, make: Maker, folder: Path, *, asynchronous: bool) -> None:
        self.make, self.folder, self.asynchronous = make, folder, asynchronous
        self.clock = ManualClock()
        self.store = make(self.clock, folder)
        self.ran: list[str] = []
        self.starts: list[str] = []
        self.fence = 0
        self._dies = ""

    def reopen(self) -> None:
        """Open the store anew, as the next process does; one in memory only stays."""
        if getattr(self.store, "blocking", False):
            self.store.close()
            self.store = self.make(self.clock, self.folder)

    def app(self) -> Any:
        """Return the agent as a new process would build it."""

        @tool
        def pay(to: str) -> str:
            """Pay someone."""
            if self._dies == "before":
                raise Killed
            self.ran.append(to)
            if self._dies == "after":
                raise Killed
            return f"paid {to}"

        return create_agent(
            ScriptedModel([_turn], loop=True),
            [pay],
            middleware=[HumanInTheLoopMiddleware({"pay": True}, edit_notice=None)],
            checkpointer=self.store,
        )

    def invoke(self, given: object, config: Any = CONFIG, dies: str = "", **more: Any) -> str:
        """Run; return ``ok``, ``killed`` or the error's name."""
        self._dies = dies
        app = self.app()
        try:
            if self.asynchronous:
                asyncio.run(app.ainvoke(given, config, **more))
            else:
                app.invoke(given, config, **more)
        except Killed:
            self.reopen()
            return "killed"
        except HitlError as error:
            return type(error).__name__
        return "ok"

    def decide(self, place: int, decision: object) -> str:
        """Decide an item from an inbox, which runs nothing."""
        return _said(lambda: Inbox(self.store).decide(self.items()[place].id, decision, by="ann"))

    def write(self, config: Any, wants: str) -> str:
        """Write a state by hand."""
        values = {"messages": [{"role": "user", "content": wants}]}
        return _said(lambda: self.app().update_state(config, values, as_node="__input__"))

    def back_to(self, place: int) -> dict[str, object]:
        """Return the config of the beginning of a turn."""
        return {"configurable": {"thread_id": "t", "checkpoint_id": self.starts[place]}}

    def note_start(self) -> None:
        """Keep where the newest turn began."""
        history = self.app().get_state_history(CONFIG, filter={"source": "input"}, limit=1)
        self.starts += [shown.config["configurable"]["checkpoint_id"] for shown in history]

    def hold(self) -> None:
        """Let a run elsewhere take the thread."""
        receipt = self.store.append(Commit("t", lease="acquire", owner="elsewhere"))
        self.fence = receipt.fence or 0

    def prune(self) -> None:
        """Forget all but the newest checkpoint."""
        prune(self.store, "t")

    def items(self) -> list[Item]:
        """Return all items in the order in which they were asked.

        Within one action a lost payment is asked about before the new turn asks.
        """
        found = self.store.items(thread="t", limit=1000)
        return sorted(
            found, key=lambda item: (round(item.asked_at, 3), item.kind == "action", item.index)
        )

    def seen(self) -> dict[str, object]:
        """Return all that the reference speaks of, read back from the store."""
        values = self.app().get_state(CONFIG).values
        tools = [m for m in values.get("messages", []) if m.type == "tool"]
        return {
            "items": [_shown(item) for item in self.items()],
            "results": {
                m.tool_call_id: "not run" if m.status == "error" else m.content for m in tools
            },
            "answers": len(tools),
            "ran": self.ran,
            "accepted": self._decisions(),
            "damage": verify(self.store.entries("t")),
        }

    def _decisions(self) -> int:
        """Return how many decisions the log holds, those of pruned entries too."""
        count = 0
        for entry in self.store.entries("t"):
            body = json.loads(entry.body)
            rows: Sequence[Any] = [body] if entry.kind == "decide" else body.get("decisions", [])
            count += sum(len(row.get("items", ())) for row in rows)
        return count


def _turn(messages: list[Any]) -> Any:
    """Say what the model says: payments to whom the newest message names, then done."""
    if messages[-1].type == "tool":
        return "done"
    turn = sum(message.type == "human" for message in messages)
    wants = messages[-1].content
    return AIMessage(
        "", tool_calls=[{"name": "pay", "args": {"to": to}, "id": f"{turn}{to}"} for to in wants]
    )


def _shown(item: Item) -> tuple[str, str, str, str]:
    subject: Any = item.subject
    state = item.state if item.state in ("pending", "superseded", "withdrawn") else "taken"
    said = item.decision.type if item.decision is not None else ""
    return item.kind, item.call_id or subject["call_id"], state, said


def _told(message: Any) -> str:
    """Return what the model was told, all that is no result being the same."""
    return NOT_RUN if message.status == "error" else str(message.content)


def _said(action: Callable[[], object]) -> str:
    try:
        action()
    except HitlError as error:
        return type(error).__name__
    return "ok"
