"""Gates in loops of other SDKs, run as their docstrings say, against a server on loopback."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, cast

import pytest

from hitl import Inbox, SqliteSaver

pytestmark = pytest.mark.models

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ARGS = {"to": "ann", "amount": 200}
Answer = Callable[[dict[str, Any]], dict[str, Any]]


def chat(body: dict[str, Any]) -> dict[str, Any]:
    """Answer as the chat protocol does: a call first, a sentence when its result is there."""
    last = body["messages"][-1]
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if last["role"] == "tool":
        message["content"] = f"The tool said: {last['content']}"
    else:
        function = {"name": "pay", "arguments": json.dumps(ARGS)}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    about = {"object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return {"id": f"chat_{len(body['messages'])}", **about}


def responses(body: dict[str, Any]) -> dict[str, Any]:
    last = body["input"][-1]
    if last.get("type") == "function_call_output":
        text: dict[str, Any] = {"type": "output_text", "text": f"The tool said: {last['output']}"}
        item: dict[str, Any] = {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "status": "completed",
        }
        output: dict[str, Any] = {**item, "content": [{**text, "annotations": []}]}
    else:
        output = {"type": "function_call", "call_id": "call_1", "name": "pay", "id": "fc_1"}
        output |= {"arguments": json.dumps(ARGS), "status": "completed"}
    about: dict[str, Any] = {
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
    }
    more = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {"id": f"resp_{len(body['input'])}", **about, **more, "output": [output]}


def messages(body: dict[str, Any]) -> dict[str, Any]:
    last = body["messages"][-1]["content"]
    if isinstance(last, list):
        block: dict[str, Any] = {"type": "text", "text": f"The tool said: {last[0]['content']}"}
    else:
        block = {"type": "tool_use", "id": "call_1", "name": "pay", "input": ARGS}
    about: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "end_turn",
    }
    usage: dict[str, Any] = {"input_tokens": 1, "output_tokens": 1}
    return {"id": f"msg_{len(body['messages'])}", **about, "content": [block], "usage": usage}


ANSWERS: dict[str, Answer] = {
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
    "/v1/messages": messages,
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(ANSWERS[self.path](body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of one's own, where the SDKs find the server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    return tmp_path


@pytest.fixture(params=["openai_chat", "openai_responses", "anthropic", "pydantic_ai"])
def talk(request: pytest.FixtureRequest, folder: Path) -> Iterator[Callable[..., str]]:
    """Return the loop of an example, if its SDK is installed."""
    pytest.importorskip(request.param.partition("_c")[0].partition("_r")[0])
    spec = spec_from_file_location(request.param, EXAMPLES / f"gate_{request.param}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)

    def talk(said: str | None = None) -> str:
        answer = module.talk("t1", said)
        return str(asyncio.run(answer) if inspect.iscoroutine(answer) else answer)

    yield talk
    gc.collect()  # the SDKs' clients and the store are closed with the objects that hold them


def decide(decision: dict[str, Any]) -> None:
    """Decide what waits, knowing only the store's file."""
    with SqliteSaver("gate.db") as store:
        inbox = Inbox(store)
        (item,) = inbox.pending()
        assert cast(Any, item.subject)["args"] == ARGS
        inbox.decide(item.id, decision, by="ann")


def paid(folder: Path) -> str:
    log = folder / "paid.log"
    return log.read_text(encoding="utf-8") if log.exists() else ""


def test_what_a_human_approved_elsewhere_runs_once(talk, folder):
    assert "waits" in talk("Pay ann.")
    assert "waits" in talk(), "a loop that begins anew asks nobody twice"
    decide({"type": "approve"})
    assert talk() == "The tool said: paid 200 to ann"
    assert paid(folder) == "200 to ann\n"


def test_what_a_human_rejected_never_runs_and_the_model_is_told(talk, folder):
    talk("Pay ann.")
    decide({"type": "reject", "message": "not this month"})
    assert "not this month" in talk()
    assert not paid(folder)


def test_a_loop_that_lost_the_results_gets_them_again_and_nothing_runs_twice(talk, folder):
    talk("Pay ann.")
    before = (folder / "t1.json").read_bytes()
    decide({"type": "approve"})
    talk()
    (folder / "t1.json").write_bytes(before)  # as if it had died before it kept them
    assert talk() == "The tool said: paid 200 to ann"
    assert paid(folder) == "200 to ann\n"


def test_an_example_is_run_from_a_shell_as_it_says(folder):
    pytest.importorskip("openai")
    words = [sys.executable, str(EXAMPLES / "gate_openai_chat.py"), "t1", "Pay ann."]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("waits: {'name': 'pay'"), done.stderr
