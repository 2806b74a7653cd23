"""Many runs at once on one compiled graph, runs that are cancelled, an unblocked event loop."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

import pytest

from hitl.checkpoint import InMemorySaver, SqliteSaver
from hitl.engine import StateGraph, astep, get_stream_writer, interrupt, step
from hitl.values import END, START, Command, Config, Send

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


class State(TypedDict, total=False):
    me: str
    log: Annotated[list, operator.add]


def place(name: str) -> Config:
    return {"configurable": {"thread_id": name}}


def _seen(state, what):
    return {"log": [(what, state["me"], WHO.get())]}


def sync_graph(store):
    inner = StateGraph(State).add_node("deep", lambda s: _seen(s, f"deep {interrupt(s['me'])}"))
    graph = StateGraph(State).add_node("a", lambda s: _seen(s, step(str.upper, s["me"])))
    graph.add_node("b", lambda s: _seen(s, f"b {interrupt(s['me'])}"))
    graph.add_node("in", inner.add_edge(START, "deep").compile())
    graph.add_node("end", lambda s: None)
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("a", "in").add_edge(["b", "in"], "end")
    return graph.compile(store)


def async_graph(store):
    async def a(state):
        await asyncio.sleep(0)
        return _seen(state, await astep(str.upper, state["me"]))

    async def b(state):
        await asyncio.sleep(0)
        return _seen(state, f"b {interrupt(state['me'])}")

    async def deep(state):
        return _seen(state, f"deep {interrupt(state['me'])}")

    async def end(state):
        get_stream_writer()(state["me"])

    inner = StateGraph(State).add_node("deep", deep).add_edge(START, "deep").compile()
    graph = StateGraph(State).add_node("a", a).add_node("b", b).add_node("in", inner)
    graph.add_node("end", end)
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("a", "in").add_edge(["b", "in"], "end")
    return graph.compile(store)


def expected(me):
    deep = ("a", "b yes", "deep yes")
    seen = [(what if what != "a" else me.upper(), me, me) for what in deep]
    return {"me": me, "log": [seen[0], seen[1], seen[0], seen[2]]}


def answers(paused, me):
    assert [one.value for one in paused.interrupts] == [me, me]
    return Command(resume={one.id: "yes" for one in paused.interrupts})


def test_fifty_runs_in_threads_pause_and_go_on_by_themselves(store):
    app = sync_graph(store)

    def run(me):
        WHO.set(me)
        paused = app.invoke({"me": me, "log": []}, place(me), wait=30)
        return app.invoke(answers(paused, me), place(me), wait=30)

    names = [f"n{n}" for n in range(50)]
    with ThreadPoolExecutor(50) as pool:
        todo = [pool.submit(contextvars.Context().run, run, name) for name in names]
    assert [one.result() for one in todo] == [expected(name) for name in names]


@pytest.mark.parametrize("build", [sync_graph, async_graph])
async def test_fifty_runs_on_one_loop_pause_and_go_on_by_themselves(store, build):
    app = build(store)

    async def run(me):
        WHO.set(me)
        paused = await app.ainvoke({"me": me, "log": []}, place(me))
        return await app.ainvoke(answers(paused, me), place(me))

    names = [f"n{n}" for n in range(50)]
    found = await asyncio.gather(*(asyncio.create_task(run(name)) for name in names))
    assert found == [expected(name) for name in names]


# The event loop -------------------------------------------------------------------------------


class OffLoop(SqliteSaver):
    """A store that must not be called on an event loop."""

    calls = 0

    def _check(self):
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        self.calls += 1

    def append(self, commit):
        self._check()
        return super().append(commit)

    def load(self, *args, **more):
        self._check()
        return super().load(*args, **more)

    def items(self, *args, **more):
        self._check()
        return super().items(*args, **more)


@pytest.mark.parametrize("build", [sync_graph, async_graph])
async def test_a_store_that_blocks_is_never_called_on_the_loop(tmp_path, build, caplog):
    store = await asyncio.to_thread(OffLoop, tmp_path / "runs.db")
    app = build(store)
    asyncio.get_running_loop().set_debug(True)
    asyncio.get_running_loop().slow_callback_duration = 0.5
    with caplog.at_level(logging.WARNING, "asyncio"):
        paused = await app.ainvoke({"me": "x", "log": []}, place("x"))
        await app.aget_state(place("x"), subgraphs=True)
        modes = ["values", "updates", "messages", "custom", "checkpoints"]
        answer = answers(paused, "x")
        async for _ in app.astream(answer, place("x"), stream_mode=modes, subgraphs=True):
            pass
        run = await app.astream_events({"me": "y", "log": []}, place("y"), version="v3")
        async for inner in run.subgraphs:
            await inner.output()
        assert await run.interrupted()
        await app.aupdate_state(place("y"), {"me": "z"}, as_node="a")
        assert len([one async for one in app.aget_state_history(place("y"))]) == 3
        await app.abatch([{"me": n, "log": []} for n in "ab"], [place("a"), place("b")])
    assert store.calls > 20
    assert [one.getMessage() for one in caplog.records] == []
    await asyncio.to_thread(store.close)


# Cancelling -----------------------------------------------------------------------------------


def cut_graph(store):
    """Return a graph whose nodes wait a few turns of the loop."""

    def node(name, send=None):
        async def waits(state):
            for _ in range(3):
                await asyncio.sleep(0)
            return {"log": [name if send is None else f"{name}{state}"]}

        return waits

    graph = StateGraph(State).add_node("a", node("a")).add_node("s", node("s", send=True))
    graph.add_node("z", node("z")).add_edge(START, "a").add_edge("s", "z").add_edge("z", END)
    graph.add_conditional_edges("a", lambda _: [Send("s", 1), Send("s", 2)], ["s"])
    return graph.compile(store)


LOG = ["in", "a", "s1", "s2", "z"]
WHOLE: list[Any] = [{}, *({"log": LOG[:end]} for end in (1, 2, 4, 5))]


async def _cut(app, turns):
    """Cancel a run after some turns of the loop; return whether it had ended before."""
    running = asyncio.create_task(app.ainvoke({"log": ["in"]}, place("t")))
    for _ in range(turns):
        await asyncio.sleep(0)
    ended = running.done()
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled() or running.result()
    return ended


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_cancelled_run_leaves_the_old_state_or_the_new_one(kind, tmp_path):
    reached = set()
    for turns in range(0, 60, 1 if kind == "memory" else 4):
        path = tmp_path / f"{turns}.db"
        store = InMemorySaver() if kind == "memory" else SqliteSaver(path)
        app = cut_graph(store)
        ended = await _cut(app, turns)
        point = next(iter([one async for one in app.aget_state_history(place("t"))]), None)
        values = {} if point is None else point.values
        assert values in WHOLE
        reached.add(len(values.get("log", ())))
        if point is not None:  # and what it left is good to go on with, here and elsewhere
            assert await app.ainvoke(None, place("t")) == WHOLE[-1]
            assert (await cut_graph(store).aget_state(place("t"))).values == WHOLE[-1]
        store.close()
        if ended:
            break
    if kind == "memory":
        assert reached == {0, 1, 2, 4, 5}
