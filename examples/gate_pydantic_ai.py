"""Approvals in an agent written with Pydantic AI: its deferred tools, run by the gate.

    pip install '.[models]'
    export OPENAI_API_KEY=...
    python examples/gate_pydantic_ai.py t1 "Pay 200 euros to ann."
    hitl inbox --store gate.db
    hitl approve ITEM --store gate.db --by you
    python examples/gate_pydantic_ai.py t1

The tools are external ones for Pydantic AI: its run ends with the calls, the gate asks about them
and runs what was approved, once, and the next run is given the results.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolDefinition
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.toolsets import ExternalToolset

from hitl import Gate, SqliteSaver, tool

MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.5")


@tool
def pay(to: str, amount: int) -> str:
    """Pay an amount of euros to somebody."""
    with Path("paid.log").open("a", encoding="utf-8") as log:
        log.write(f"{amount} to {to}\n")
    return f"paid {amount} to {to}"


PAY = ToolDefinition(
    name=pay.name, description=pay.description, parameters_json_schema=pay.args_schema
)
AGENT = Agent(
    f"openai-chat:{MODEL}",
    output_type=[str, DeferredToolRequests],
    toolsets=[ExternalToolset([PAY])],
    defer_model_check=True,
)


async def talk(thread: str, said: str | None) -> str:
    """Return the model's answer, or what waits for a human."""
    file = Path(f"{thread}.json")
    gate = Gate([pay], interrupt_on={"pay": True}, store=SqliteSaver("gate.db"))
    history = ModelMessagesTypeAdapter.validate_json(file.read_bytes()) if file.exists() else []
    results: DeferredToolResults | None = None
    while True:
        last = history[-1] if history else None
        if isinstance(last, ModelResponse) and last.tool_calls:
            calls = [
                {"id": call.tool_call_id, "name": call.tool_name, "args": call.args_as_dict()}
                for call in last.tool_calls
            ]
            outcome = await gate.areview(thread, calls, turn=last.provider_response_id)
            if not outcome.done:
                return "\n".join(f"waits: {item.subject} {item.id}" for item in outcome.pending)
            results = DeferredToolResults(
                calls={one["tool_call_id"]: one["content"] for one in outcome.results}
            )
        run = await AGENT.run(said, message_history=history, deferred_tool_results=results)
        said, results, history = None, None, run.all_messages()
        file.write_bytes(ModelMessagesTypeAdapter.dump_json(history))
        if isinstance(run.output, str):
            return run.output


if __name__ == "__main__":
    print(asyncio.run(talk(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)))
