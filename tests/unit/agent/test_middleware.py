"""Middleware in sync and async runs."""

from __future__ import annotations

import pytest

from hitl import AgentMiddleware, ScriptedModel, create_agent, tool
from hitl.agent.middleware import overrides
from hitl.errors import Misuse


@tool
def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


def agent(middleware):
    calls = [{"name": "look", "args": {"n": 1}, "id": "1"}]
    return create_agent(
        ScriptedModel([{"tool_calls": calls}, "done"]), [look], middleware=[middleware]
    )


def types(output):
    return [m.type for m in output["messages"]]


class SyncHook(AgentMiddleware):
    def before_model(self, state, runtime):
        return {"messages": [{"role": "system", "content": "x", "id": "s"}]}


class AsyncHook(AgentMiddleware):
    async def abefore_model(self, state, runtime):
        return {"messages": [{"role": "system", "content": "x", "id": "s"}]}


class SyncWrap(AgentMiddleware):
    def wrap_tool_call(self, request, handler):
        return handler(request)


class AsyncWrap(AgentMiddleware):
    async def awrap_tool_call(self, request, handler):
        return await handler(request)

    async def awrap_model_call(self, request, handler):
        return await handler(request)


async def test_a_sync_hook_serves_async_runs_too():
    expected = ["human", "system", "ai", "tool", "ai"]
    assert types(agent(SyncHook()).invoke({"messages": "go"})) == expected
    assert types(await agent(SyncHook()).ainvoke({"messages": "go"})) == expected


async def test_an_async_hook_serves_async_runs_and_a_sync_run_says_so():
    assert "system" in types(await agent(AsyncHook()).ainvoke({"messages": "go"}))
    with pytest.raises(Misuse, match="ainvoke"):
        agent(AsyncHook()).invoke({"messages": "go"})


async def test_a_wrapper_that_an_async_run_cannot_use_is_told_before_the_call_runs():
    with pytest.raises(Misuse, match="awrap_tool_call"):
        await agent(SyncWrap()).ainvoke({"messages": "go"})
    assert types(await agent(AsyncWrap()).ainvoke({"messages": "go"}))[-1] == "ai"


def test_which_hooks_a_middleware_has_is_read_from_its_class():
    assert overrides(SyncHook(), "before_model")
    assert not overrides(SyncHook(), "abefore_model")
    assert AgentMiddleware().name == "AgentMiddleware"
