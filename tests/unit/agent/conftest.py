"""A real HTTP server on loopback that speaks the wire forms of four providers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

KEY = "sk-secret-123"
IN, OUT = 11, 7  # tokens of every answer
PATHS = {
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "google": "/v1beta/models/tiny-1:",
}


@dataclass
class Turn:
    """What the server says once: words and calls, or a status with its body, or a hangup."""

    words: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, str], ...] = ()
    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    wait: threading.Event | None = None


class Server(ThreadingHTTPServer):
    """Answers each request with the next turn, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.turns: list[Turn] = []
        self.bodies: list[dict] = []
        self.headers: list[dict[str, str]] = []

    def says(self, *words: str, calls: tuple[tuple[str, str, str], ...] = ()) -> None:
        self.turns.append(Turn(words, calls))

    def fails(self, status: int, body: object, **headers: str) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self.turns.append(Turn(status=status, body=text, headers=headers))

    def url(self, provider: str) -> str:
        return f"http://127.0.0.1:{self.server_port}" + ("/v1" if "openai" in provider else "")


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.server.headers.append({k.lower(): v for k, v in self.headers.items()})
        provider = next((p for p, path in PATHS.items() if self.path.startswith(path)), None)
        turn = self.server.turns.pop(0) if provider else Turn(status=404, body="no such path")
        if turn.wait is not None:
            turn.wait.wait(10)
        streamed = bool(body.get("stream")) or "streamGenerateContent" in self.path
        if turn.body:
            self.send(turn.body, "application/json", turn)
        elif streamed:
            lines = STREAMS[provider or ""](turn)
            text = "".join(lines[: len(lines) // 2] if turn.cut else lines)
            self.send(text, "text/event-stream", turn)
        else:
            self.send(json.dumps(WHOLES[provider or ""](turn)), "application/json", turn)

    def send(self, text: str, kind: str, turn: Turn) -> None:
        data = text.encode()
        self.send_response(turn.status)
        self.send_header("Content-Type", kind)
        # A cut answer promises more than it gives.
        self.send_header("Content-Length", str(len(data) + (1000 if turn.cut else 0)))
        for name, value in turn.headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = turn.cut

    def log_message(self, *_: object) -> None:
        pass


def sse(event: dict, name: str | None = None) -> str:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(event)}\n\n"


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


# --- OpenAI chat ------------------------------------------------------------------------


def chat(turn: Turn, kind: str, choice: dict) -> dict:
    reason = "tool_calls" if turn.calls else "stop"
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 1,
        "model": "tiny-1",
        "choices": [{"index": 0, "finish_reason": reason, **choice}],
        "usage": {"prompt_tokens": IN, "completion_tokens": OUT, "total_tokens": IN + OUT},
    }


def chat_call(id: str, name: str, args: str) -> dict:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": args}}


def chat_whole(turn: Turn) -> dict:
    message: dict = {"role": "assistant", "content": "".join(turn.words) or None}
    if turn.calls:
        message["tool_calls"] = [chat_call(*call) for call in turn.calls]
    return chat(turn, "chat.completion", {"message": message})


def chat_stream(turn: Turn) -> list[str]:
    deltas: list[dict] = [{"role": "assistant", "content": word} for word in turn.words]
    for index, (id, name, args) in enumerate(turn.calls):
        first, rest = halves(args)
        deltas += [
            {"tool_calls": [{"index": index, **chat_call(id, name, first)}]},
            {"tool_calls": [{"index": index, "function": {"arguments": rest}}]},
        ]
    chunks = [
        chat(turn, "chat.completion.chunk", {"delta": delta, "finish_reason": None})
        | {"usage": None}
        for delta in deltas
    ]
    end = chat(turn, "chat.completion.chunk", {"delta": {}})
    return [*map(sse, [*chunks, end]), "data: [DONE]\n\n"]


# --- OpenAI responses -------------------------------------------------------------------


def responses_items(turn: Turn) -> list[dict]:
    items: list[dict] = []
    if turn.words:
        text = {"type": "output_text", "text": "".join(turn.words), "annotations": []}
        items.append(
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        )
    for id, name, args in turn.calls:
        call = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name}
        items.append({**call, "arguments": args, "status": "completed"})
    return items


def responses_whole(turn: Turn, status: str = "completed") -> dict:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "tiny-1",
        "status": status,
        "output": responses_items(turn),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": IN,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUT,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": IN + OUT,
        },
    }


def responses_stream(turn: Turn) -> list[str]:
    events: list[dict] = [
        {"type": "response.created", "response": responses_whole(Turn(), "in_progress")}
    ]
    for index, item in enumerate(responses_items(turn)):
        about = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            empty: dict = {**item, "content": [], "status": "in_progress"}
            parts = [
                {"type": "response.output_text.delta", "content_index": 0, "delta": word}
                for word in turn.words
            ]
        else:
            empty = {**item, "arguments": "", "status": "in_progress"}
            kind = "response.function_call_arguments"
            parts = [{"type": f"{kind}.delta", "delta": half} for half in halves(item["arguments"])]
            parts.append({"type": f"{kind}.done", "arguments": item["arguments"]})
        events.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        events += [{**about, "logprobs": [], **part} for part in parts]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": responses_whole(turn)})
    return [
        sse({**event, "sequence_number": number}, event["type"])
        for number, event in enumerate(events)
    ]


# --- Anthropic --------------------------------------------------------------------------


def anthropic_message(turn: Turn, content: list[dict], reason: str | None) -> dict:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "tiny-1",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": IN, "output_tokens": OUT},
    }


def anthropic_call(id: str, name: str, args: str) -> dict:
    return {"type": "tool_use", "id": id, "name": name, "input": json.loads(args)}


def anthropic_whole(turn: Turn) -> dict:
    content = [{"type": "text", "text": "".join(turn.words)}] if turn.words else []
    content += [anthropic_call(*call) for call in turn.calls]
    return anthropic_message(turn, content, "tool_use" if turn.calls else "end_turn")


def anthropic_stream(turn: Turn) -> list[str]:
    blocks: list[tuple[dict, list[dict]]] = []
    if turn.words:
        deltas = [{"type": "text_delta", "text": word} for word in turn.words]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for id, name, args in turn.calls:
        deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves(args)]
        blocks.append((anthropic_call(id, name, "{}"), deltas))
    events: list[dict] = [{"type": "message_start", "message": anthropic_message(turn, [], None)}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    reason = {"stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": reason, "usage": {"output_tokens": OUT}})
    events.append({"type": "message_stop"})
    return [sse(event, event["type"]) for event in events]


# --- Google -----------------------------------------------------------------------------


def google(parts: list[dict], reason: str | None) -> dict:
    about = {"finishReason": reason} if reason else {}
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **about}],
        "usageMetadata": {
            "promptTokenCount": IN,
            "candidatesTokenCount": OUT,
            "totalTokenCount": IN + OUT,
        },
        "modelVersion": "tiny-1",
        "responseId": "r1",
    }


def google_parts(turn: Turn) -> list[dict]:
    parts: list[dict] = [{"text": word} for word in turn.words]
    parts += [
        {
            "functionCall": {"id": id, "name": name, "args": json.loads(args)},
            "thoughtSignature": "c2lnbmVk",
        }
        for id, name, args in turn.calls
    ]
    return parts


def google_whole(turn: Turn) -> dict:
    return google(google_parts(turn), "STOP")


def google_stream(turn: Turn) -> list[str]:
    parts = google_parts(turn)
    ends = [*[None] * (len(parts) - 1), "STOP"]
    return [sse(google([part], end)) for part, end in zip(parts, ends, strict=True)]


WHOLES: dict[str, Callable[[Turn], dict]] = {
    "openai": chat_whole,
    "openai-responses": responses_whole,
    "anthropic": anthropic_whole,
    "google": google_whole,
}
STREAMS: dict[str, Callable[[Turn], list[str]]] = {
    "openai": chat_stream,
    "openai-responses": responses_stream,
    "anthropic": anthropic_stream,
    "google": google_stream,
}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(params=list(PATHS))
def provider(request: pytest.FixtureRequest) -> str:
    """The name of each provider in turn, where its package is installed."""
    pytest.importorskip("pydantic_ai", reason="the extra hitl[models] is not installed")
    package = {"google": "google.genai"}.get(request.param, request.param.partition("-")[0])
    pytest.importorskip(package, reason=f"the package of {request.param} is not installed")
    return str(request.param)
