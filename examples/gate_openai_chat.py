"""Approvals in a loop written with the OpenAI SDK, chat completions.

    pip install '.[models]'
    export OPENAI_API_KEY=...                  # OPENAI_BASE_URL for any compatible endpoint
    python examples/gate_openai_chat.py t1 "Pay 200 euros to ann."
    hitl inbox --store gate.db
    hitl approve ITEM --store gate.db --by you
    python examples/gate_openai_chat.py t1     # goes on where it stopped

The conversation is kept in a file of its own, before and after each turn. Whenever the process
dies, the next one proposes the same turn again: what waits is not asked twice, and what is done
does not run twice.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from openai import OpenAI

from hitl import Gate, SqliteSaver, tool

MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.5")


@tool
def pay(to: str, amount: int) -> str:
    """Pay an amount of euros to somebody."""
    with Path("paid.log").open("a", encoding="utf-8") as log:
        log.write(f"{amount} to {to}\n")
    return f"paid {amount} to {to}"


TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": pay.name,
            "description": pay.description,
            "parameters": pay.args_schema,
        },
    }
]


def talk(thread: str, said: str | None) -> str:
    """Return the model's answer, or what waits for a human."""
    file = Path(f"{thread}.json")
    history: list[Any] = json.loads(file.read_text()) if file.exists() else []
    if said:
        history.append({"role": "user", "content": said})
    client = OpenAI()
    gate = Gate([pay], interrupt_on={"pay": True}, store=SqliteSaver("gate.db"))
    while True:
        if history[-1]["role"] != "assistant":
            answer = client.chat.completions.create(model=MODEL, messages=history, tools=TOOLS)
            message = answer.choices[0].message
            history.append({**message.model_dump(exclude_none=True), "id": answer.id})
            file.write_text(json.dumps(history))
        turn = history[-1]
        if not turn.get("tool_calls"):
            return str(turn["content"])
        outcome = gate.review(thread, turn["tool_calls"], turn=turn["id"])
        if not outcome.done:
            return "\n".join(f"waits: {item.subject} {item.id}" for item in outcome.pending)
        history += [
            {"role": "tool", "tool_call_id": one["tool_call_id"], "content": one["content"]}
            for one in outcome.results
        ]
        file.write_text(json.dumps(history))


if __name__ == "__main__":
    print(talk(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
