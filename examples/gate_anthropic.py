"""Approvals in a loop written with the Anthropic SDK.

pip install '.[models]'
export ANTHROPIC_API_KEY=...
python examples/gate_anthropic.py t1 "Pay 200 euros to ann."
hitl inbox --store gate.db
hitl approve ITEM --store gate.db --by you
python examples/gate_anthropic.py t1
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from anthropic import Anthropic

from hitl import Gate, SqliteSaver, tool

MODEL = os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5")


@tool
def pay(to: str, amount: int) -> str:
    """Pay an amount of euros to somebody."""
    with Path("paid.log").open("a", encoding="utf-8") as log:
        log.write(f"{amount} to {to}\n")
    return f"paid {amount} to {to}"


TOOLS: Any = [{"name": pay.name, "description": pay.description, "input_schema": pay.args_schema}]


def talk(thread: str, said: str | None) -> str:
    """Return the model's answer, or what waits for a human."""
    file = Path(f"{thread}.json")
    kept: Any = json.loads(file.read_text()) if file.exists() else {"messages": [], "turn": ""}
    if said:
        kept["messages"].append({"role": "user", "content": said})
    client = Anthropic()
    gate = Gate([pay], interrupt_on={"pay": True}, store=SqliteSaver("gate.db"))
    while True:
        if kept["messages"][-1]["role"] != "assistant":
            answer = client.messages.create(
                model=MODEL, max_tokens=1000, messages=kept["messages"], tools=TOOLS
            )
            blocks = [block.model_dump(exclude_none=True) for block in answer.content]
            kept["messages"].append({"role": "assistant", "content": blocks})
            kept["turn"] = answer.id
            file.write_text(json.dumps(kept))
        blocks = kept["messages"][-1]["content"]
        calls = [
            {"id": block["id"], "name": block["name"], "args": block["input"]}
            for block in blocks
            if block["type"] == "tool_use"
        ]
        if not calls:
            return "".join(block["text"] for block in blocks if block["type"] == "text")
        outcome = gate.review(thread, calls, turn=kept["turn"])
        if not outcome.done:
            return "\n".join(f"waits: {item.subject} {item.id}" for item in outcome.pending)
        results = [
            {
                "type": "tool_result",
                "tool_use_id": one["tool_call_id"],
                "content": one["content"],
                "is_error": one["status"] == "error",
            }
            for one in outcome.results
        ]
        kept["messages"].append({"role": "user", "content": results})
        file.write_text(json.dumps(kept))


if __name__ == "__main__":
    print(talk(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
