"""Both hands and both stores, so that one scenario speaks for all of them."""

from __future__ import annotations

import asyncio

import pytest

from hitl.checkpoint import InMemorySaver, SqliteSaver


class SyncHand:
    """Runs a graph with its sync methods."""

    name = "sync"

    def invoke(self, graph, input, config=None, **more):
        return graph.invoke(input, config, **more)

    def stream(self, graph, input, config=None, **more):
        return list(graph.stream(input, config, **more))

    def state(self, graph, config):
        return graph.get_state(config)

    def history(self, graph, config, **more):
        return list(graph.get_state_history(config, **more))


class AsyncHand:
    """Runs a graph with its async methods."""

    name = "async"

    def invoke(self, graph, input, config=None, **more):
        return asyncio.run(graph.ainvoke(input, config, **more))

    def stream(self, graph, input, config=None, **more):
        async def collect():
            return [part async for part in graph.astream(input, config, **more)]

        return asyncio.run(collect())

    def state(self, graph, config):
        return asyncio.run(graph.aget_state(config))

    def history(self, graph, config, **more):
        async def collect():
            return [one async for one in graph.aget_state_history(config, **more)]

        return asyncio.run(collect())


@pytest.fixture(params=[SyncHand(), AsyncHand()], ids=lambda hand: hand.name)
def hand(request):
    return request.param


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    saver = InMemorySaver() if request.param == "memory" else SqliteSaver(tmp_path / "runs.db")
    yield saver
    saver.close()


@pytest.fixture
def config():
    return {"configurable": {"thread_id": "t"}}
