"""What the rows of the contract share: tools that note what ran, both stores, both hands."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hitl import (
    Checkpointer,
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    ScriptedModel,
    SqliteSaver,
    create_agent,
    tool,
)

Run = Callable[..., Any]


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Checkpointer]:
    if request.param == "memory":
        yield InMemorySaver()
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as sqlite:
            yield sqlite


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a graph as `invoke` does, by either hand."""
    if request.param == "sync":
        return lambda graph, *args, **more: graph.invoke(*args, **more)
    return lambda graph, *args, **more: asyncio.run(graph.ainvoke(*args, **more))


class World:
    """An agent of the source documents' kind: its tools note what ran."""

    def __init__(self, saver: Checkpointer, run: Run) -> None:
        self.saver = saver
        self.run = run
        self.ran: list[tuple[str, dict]] = []
        self.config = {"configurable": {"thread_id": "some_id"}}

        @tool
        def write_file(path: str, text: str = "") -> str:
            """Write a file."""
            return self.note("write_file", path=path, text=text)

        @tool
        def execute_sql(query: str) -> str:
            """Execute SQL."""
            return self.note("execute_sql", query=query)

        @tool
        def read_data(key: str = "") -> str:
            """Read data."""
            return self.note("read_data", key=key)

        @tool
        def ask_user(question: str) -> str:
            """Ask the user."""
            return self.note("ask_user", question=question)

        self.tools = [write_file, execute_sql, read_data, ask_user]

    def note(self, name: str, **args: object) -> str:
        self.ran.append((name, args))
        return f"{name} did {json.dumps(args)}"

    def agent(self, interrupt_on: dict, *turns: list | str, **options: Any) -> Any:
        """Return an agent whose model proposes these turns and then says it is done.

        Args:
            interrupt_on: As of ``HumanInTheLoopMiddleware``.
            turns: Lists of ``(name, args)``, or what the model says.
            options: Of the middleware.
        """
        self.model = ScriptedModel([*map(said, turns), "All done."])
        return create_agent(
            model=self.model,
            tools=self.tools,
            middleware=[HumanInTheLoopMiddleware(interrupt_on=interrupt_on, **options)],
            checkpointer=self.saver,
        )

    def start(self, agent: Any, text: str = "Please.", **more: Any) -> Any:
        messages = {"messages": [{"role": "user", "content": text}]}
        return self.run(agent, messages, config=self.config, version="v2", **more)

    def resume(self, agent: Any, resume: object) -> Any:
        return self.run(agent, Command(resume=resume), config=self.config, version="v2")

    def decide(self, agent: Any, *decisions: dict) -> Any:
        return self.resume(agent, {"decisions": list(decisions)})


def said(turn: list | str) -> dict | str:
    if isinstance(turn, str):
        return turn
    calls = [{"name": name, "args": args} for name, args in turn]
    return {"content": "", "tool_calls": calls}


@pytest.fixture
def world(saver: Checkpointer, run: Run) -> World:
    return World(saver, run)


@pytest.fixture
def told() -> Callable[[Any], list]:
    """Return a function that gives the last turn's tool messages of a result."""

    def tool_messages(output: Any) -> list:
        return [message for message in output.value["messages"] if message.type == "tool"]

    return tool_messages


class ChatServer(ThreadingHTTPServer):
    """Speaks OpenAI's chat protocol on loopback, and says what stands in ``answers``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[dict] = []
        self.bodies: list[dict] = []
        self.keys: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def calls(self, *calls: tuple[str, dict]) -> None:
        self.says(None, *calls)

    def says(self, text: str | None, *calls: tuple[str, dict]) -> None:
        message: dict = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{len(self.answers)}_{number}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(args)},
                }
                for number, (name, args) in enumerate(calls)
            ]
        self.answers.append(message)


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.keys.append(self.headers["Authorization"])
        message = self.server.answers.pop(0)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        answer = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "tiny-1",
            "choices": [{"index": 0, "finish_reason": reason, "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        body = json.dumps(answer).encode()
        self.send_response(200 if self.path == "/v1/chat/completions" else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    pytest.importorskip("pydantic_ai", reason="the extra hitl[models] is not installed")
    pytest.importorskip("openai", reason="the extra hitl[models] is not installed")
    with ChatServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
