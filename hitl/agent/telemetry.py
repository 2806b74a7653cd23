"""OpenTelemetry spans of runs, nodes, models, tools and of the time a human took.

Off until ``instrument()`` is called. Names and attributes follow OpenTelemetry's semantic
conventions for generative AI where they have some (source: open-telemetry/
semantic-conventions-genai); the rest begins with ``hitl.``. No argument of a call, no message
and no answer is in a span unless ``capture_arguments=True``, and then only tools' arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hitl.engine import RunTrace, Span, trace_runs
from hitl.errors import Misuse
from hitl.values import Interrupt, Item, ItemChange, canonical

if TYPE_CHECKING:
    from opentelemetry import trace

__all__ = ["instrument", "uninstrument"]

_OPERATIONS = {"model": "chat", "tool": "execute_tool"}
_NAMES = {"model": "gen_ai.request.model", "tool": "gen_ai.tool.name", "node": "hitl.node"}
_FACTS = {
    "call_id": "gen_ai.tool.call.id",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
}
_ARGUMENTS = "gen_ai.tool.call.arguments"


def instrument(
    tracer_provider: trace.TracerProvider | None = None, *, capture_arguments: bool = False
) -> None:
    """Trace every run of this process that begins from now on.

    Args:
        tracer_provider: Where spans go; None for the provider that the process has set.
        capture_arguments: Whether spans of tools hold the call's arguments, as JSON text.

    Raises:
        Misuse: OpenTelemetry's API is not installed.
    """
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise Misuse(
            "instrument() needs OpenTelemetry's API, which is not installed.",
            hint="pip install 'hitl[otel]', and an exporter of your choice.",
        ) from error
    trace_runs(
        _Tracer(trace.get_tracer("hitl", tracer_provider=tracer_provider), capture_arguments)
    )


def uninstrument() -> None:
    """Trace no run that begins from now on."""
    trace_runs(None)


class _Tracer:
    def __init__(self, tracer: trace.Tracer, arguments: bool) -> None:
        self.tracer, self.arguments = tracer, arguments

    def run(self, name: str, thread: str, path: str) -> RunTrace:
        return _RunTrace(self, name, thread, path)


class _RunTrace:
    """The span of one run; those inside it are its children, wherever they run."""

    def __init__(self, tracer: _Tracer, name: str, thread: str, path: str) -> None:
        self._tracer = tracer
        self._name = name
        self._facts = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        if thread:
            self._facts["gen_ai.conversation.id"] = thread
        if path:
            self._facts["hitl.path"] = path
        self._span: trace.Span | None = None

    def begin(self) -> None:
        self._span = self._tracer.tracer.start_span(
            f"invoke_agent {self._name}", attributes=self._facts
        )

    def inside(self, kind: str, name: str, facts: Mapping[str, object]) -> Span:
        operation = _OPERATIONS.get(kind, kind)
        attributes: dict[str, Any] = {_NAMES[kind]: name}
        if kind in _OPERATIONS:
            attributes["gen_ai.operation.name"] = operation
        for key, value in facts.items():
            if key != "arguments":
                attributes[_FACTS.get(key, f"hitl.{key}")] = value
            elif self._tracer.arguments:
                attributes[_ARGUMENTS] = canonical(value).decode()  # type: ignore[arg-type]
        # A node stands right below its run; what runs in a node, below that node.
        around = self._context() if kind == "node" else None
        return _Span(
            self._tracer.tracer.start_span(f"{operation} {name}", around, attributes=attributes)
        )

    def _context(self) -> Any:
        from opentelemetry import trace

        assert self._span is not None
        return trace.set_span_in_context(self._span)

    def moved(self, changes: Sequence[ItemChange]) -> None:
        for change in changes:
            waited = change.expect is not None and change.expect[1] in ("pending", "decided")
            if waited and change.item.decision is not None and change.item.state != "decided":
                self._waited(change.item)

    def _waited(self, item: Item) -> None:
        """Tell how long a human took, once the run has taken what they decided."""
        assert item.decision is not None
        attributes: dict[str, Any] = {
            "hitl.item": item.id,
            "hitl.kind": item.kind,
            "hitl.decision": item.decision.type,
            "hitl.state": item.state,
            "hitl.waited_seconds": max(0.0, item.decision.at - item.asked_at),
        }
        name = item.subject.get("name") if isinstance(item.subject, dict) else None
        if item.kind == "action" and isinstance(name, str):
            attributes["gen_ai.tool.name"] = name
        span = self._tracer.tracer.start_span(
            "wait_for_human", self._context(), attributes=attributes, start_time=_ns(item.asked_at)
        )
        span.end(_ns(max(item.asked_at, item.decision.at)))

    def end(self, waits: Sequence[Interrupt] | None, error: BaseException | None) -> None:
        span = self._span
        assert span is not None
        for interrupt in waits or ():
            span.add_event("hitl.interrupt", {"hitl.interrupt": interrupt.id})
        paused = bool(waits)
        span.set_attribute("hitl.paused", paused)
        if waits is None and error is None:
            span.set_attribute("hitl.left", True)
        _end(span, error)


class _Span:
    """A span that is the current one of its context until it ends."""

    def __init__(self, span: trace.Span) -> None:
        from opentelemetry import context, trace

        self._span = span
        self._token = context.attach(trace.set_span_in_context(span))

    def note(self, facts: Mapping[str, object]) -> None:
        for key, value in facts.items():
            self._span.set_attribute(_FACTS.get(key, f"hitl.{key}"), value)  # type: ignore[arg-type]

    def end(self, error: BaseException | None = None, *, paused: bool = False) -> None:
        from opentelemetry import context

        context.detach(self._token)
        if paused:
            self._span.set_attribute("hitl.paused", True)
        _end(self._span, None if paused else error)


def _end(span: trace.Span, error: BaseException | None) -> None:
    """End a span; of an error it holds the type, and no text, which may quote an argument."""
    if error is not None:
        from opentelemetry.trace import StatusCode

        span.set_status(StatusCode.ERROR, type(error).__name__)
        span.set_attribute("error.type", type(error).__qualname__)
    span.end()


def _ns(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
