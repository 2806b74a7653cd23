"""What the crash tests run in processes of their own: one agent with one gated tool.

The program reads orders, one line of JSON each, and forks a process for each of them, so that
the imports are paid once. That process writes one line of JSON to the file that its order
names: what waits, or which error it got. Nothing is written where it was killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from hitl import (
    Command,
    HumanInTheLoopMiddleware,
    ScriptedModel,
    SqliteSaver,
    ToolRuntime,
    create_agent,
    create_deep_agent,
    tool,
)
from hitl.agent import ModelInput
from hitl.errors import HitlError
from tests.crash.workers import work

CONFIG = {"configurable": {"thread_id": "t"}}


def die() -> None:
    """End this process as a power cut would: nothing is tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()


class DyingSaver(SqliteSaver):
    """A store that kills its process at the n-th commit of a kind, before or after it."""

    def __init__(self, path: str, point: str) -> None:
        super().__init__(path)
        self.kind, self.left, self.when = "", 0, ""
        if point.count(":") == 2:
            self.kind, number, self.when = point.split(":")
            self.left = int(number)

    def append(self, commit):
        hit = any(draft.kind == self.kind for draft in commit.entries)
        self.left -= hit
        last = hit and self.left == 0
        if last and self.when == "before":
            die()
        receipt = super().append(commit)
        if last:
            die()
        return receipt


def pay_tool(oracle: Path, order: dict[str, Any]) -> Any:
    @tool(effect=order.get("effect", "effect"))
    def pay(amount: int, runtime: ToolRuntime) -> str:
        """Pay."""
        if order.get("point") == "body:before":
            die()
        with oracle.open("a") as file:
            file.write(f"{amount} {runtime.idempotency_key}\n")
            file.flush()
            os.fsync(file.fileno())
        if order.get("point") == "body:after":
            die()
        if "lock" in order:  # the test lets it go on
            with Path(order["lock"]).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
        return f"paid {amount}"

    return pay


def paying(amount: int) -> dict[str, Any]:
    return {"tool_calls": [{"name": "pay", "args": {"amount": amount}, "id": "1"}]}


def agent(saver: SqliteSaver, oracle: Path, order: dict[str, Any]) -> Any:
    pay = pay_tool(oracle, order)
    if order.get("deep"):
        return deep_agent(saver, oracle, pay)
    gate = HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=order.get("mode", "batched"))
    model = ScriptedModel([paying(5), "done"])
    return create_agent(model, [pay], middleware=[gate], checkpointer=saver)


def deep_agent(saver: SqliteSaver, oracle: Path, pay: Any) -> Any:
    """Return an agent that sends out two sub-agents; each turn of theirs is written down."""

    def worker(name: str, amount: int) -> Any:
        script = ScriptedModel([paying(amount), f"{name} paid"])

        def model(messages: list[Any]) -> Any:
            with oracle.with_name("asked.txt").open("a") as file:
                file.write(f"{name} {len(messages)}\n")
                file.flush()
                os.fsync(file.fileno())
            return script.generate(ModelInput(tuple(messages), (), {}))

        about = {"name": name, "description": name, "system_prompt": name}
        return {**about, "model": model}

    tasks = [
        {"name": "task", "args": {"description": "pay", "subagent_type": name}} for name in "ab"
    ]
    return create_deep_agent(
        ScriptedModel([{"tool_calls": tasks}, "done"]),
        [pay],
        subagents=[worker("a", 5), worker("b", 6)],
        interrupt_on={"pay": True},
        checkpointer=saver,
    )


def answer(store: str, oracle: Path, order: dict[str, Any]) -> dict[str, Any]:
    if "work" in order:
        return work(order)
    if "room" in order:  # no file may grow beyond this: as on a disk that is full
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["room"], resource.RLIM_INFINITY))
    saver = DyingSaver(store, order.get("point", ""))
    given = order["input"]
    if isinstance(given, dict) and "resume" in given:
        given = Command(resume=given["resume"])
    try:
        output = agent(saver, oracle, order).invoke(given, CONFIG, version="v2")
    except HitlError as error:
        return {"error": type(error).__name__, "kept": error.fields.get("kept", False)}
    return {
        "waits": [interrupt.value for interrupt in output.interrupts],
        "ids": [interrupt.id for interrupt in output.interrupts],
        "last": output.value["messages"][-1].content,
        "results": [m.content for m in output.value["messages"] if m.type == "tool"],
    }


def main() -> None:
    # Loads what is loaded on first use.
    deep_agent(SqliteSaver(":memory:"), Path(), pay_tool(Path(), {}))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forked ones
    for line in sys.stdin:
        order = json.loads(line)
        if os.fork() == 0:
            with Path(order["say"]).open("w") as say:
                if "pid" in order:  # from here on it may be sent signals: somebody listens
                    Path(order["pid"]).write_text(str(os.getpid()))
                said = answer(order["store"], Path(order["oracle"]), order)
                say.write(json.dumps(said))
            os._exit(0)


if __name__ == "__main__":
    main()
