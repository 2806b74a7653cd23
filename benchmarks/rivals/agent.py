"""langchain: a turn of an agent, with an approval and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from benchmarks.measure import Figure, Scale, Trace, measure
from benchmarks.rivals.steps import thread
from benchmarks.rivals.tell import tell

CALL = {"name": "delete", "args": {"path": "a"}, "id": "c1"}


class Scripted(BaseChatModel):
    """A model that calls the tool, and says that it is done once there is a result."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        done = messages[-1].type == "tool"
        answer = AIMessage("done") if done else AIMessage("", tool_calls=[CALL])
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """Return the model as it is: the script knows the tool."""
        return self


@tool
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


def make(saver: Any, *, asks: bool) -> Any:
    """Return an agent with one tool."""
    gate = [HumanInTheLoopMiddleware(interrupt_on={"delete": True})] if asks else []
    return create_agent(Scripted(), [delete], middleware=gate, checkpointer=saver)


def approved(app: Any) -> Callable[[], object]:
    """Return a turn on a new thread whose one call is approved."""
    given = {"messages": [{"role": "user", "content": "delete a"}]}
    answer: Any = Command(resume={"decisions": [{"type": "approve"}]})

    def run() -> object:
        config = thread()
        app.invoke(given, config)
        return app.invoke(answer, config)

    return run


def figures(scale: Scale) -> list[Figure]:
    """Measure the peer."""
    given = {"messages": [{"role": "user", "content": "delete a"}]}
    free = make(None, asks=False)
    run = approved(make(InMemorySaver(), asks=True))
    found = [
        measure("agent turn, no store", lambda: free.invoke(given), scale),
        measure("agent turn with approval, memory", run, scale),
    ]
    for where, disk in (("RAM", False), ("disk", True)):
        trace = Trace(scale.file(disk=disk))
        run = approved(make(SqliteSaver(trace.connection), asks=True))
        title = f"agent turn with approval, SQLite ({where})"
        found.append(measure(title, run, scale, trace=trace))
    return found


if __name__ == "__main__":
    tell(figures, "langchain", "langgraph", "langgraph-checkpoint-sqlite")
