"""Approvals in a loop written with the OpenAI SDK, Responses API.

pip install '.[models]'
export OPENAI_API_KEY=...
python examples/gate_openai_responses.py t1 "Pay 200 euros to ann."
hitl inbox --store gate.db
hitl approve ITEM --store gate.db --by you
python examples/gate_openai_responses.py t1
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
        "name": pay.name,
        "description": pay.description,
        "parameters": pay.args_schema,
        "strict": False,
    }
]


def talk(thread: str, said: str | None) -> str:
    """Return the model's answer, or what waits for a human."""
    file = Path(f"{thread}.json")
    kept: Any = json.loads(file.read_text()) if file.exists() else {"input": [], "turn": None}
    if said:
        kept["input"].append({"role": "user", "content": said})
    client = OpenAI()
    gate = Gate([pay], interrupt_on={"pay": True}, store=SqliteSaver("gate.db"))
    while True:
        if kept["turn"] is None:
            answer = client.responses.create(model=MODEL, input=kept["input"], tools=TOOLS)
            output = [item.model_dump(mode="json", exclude_none=True) for item in answer.output]
            kept = {"input": kept["input"] + output, "turn": answer.id, "text": answer.output_text}
            file.write_text(json.dumps(kept))
        calls = [
            {"id": item["call_id"], "name": item["name"], "args": json.loads(item["arguments"])}
            for item in open_calls(kept["input"])
        ]
        if not calls:
            file.write_text(json.dumps({**kept, "turn": None}))
            return str(kept["text"])
        outcome = gate.review(thread, calls, turn=kept["turn"])
        if not outcome.done:
            return "\n".join(f"waits: {item.subject} {item.id}" for item in outcome.pending)
        kept["input"] += [
            {
                "type": "function_call_output",
                "call_id": one["tool_call_id"],
                "output": one["content"],
            }
            for one in outcome.results
        ]
        kept["turn"] = None
        file.write_text(json.dumps(kept))


def open_calls(items: list[Any]) -> list[Any]:
    """Return the calls that have no output yet."""
    done = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    return [
        item
        for item in items
        if item.get("type") == "function_call" and item["call_id"] not in done
    ]


if __name__ == "__main__":
    print(talk(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
