"""Commands that run an agent: ``run`` starts or goes on with a thread, ``resume`` continues it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from hitl.cli import facts
from hitl.cli.agents import load_agent, needs_loop, on_graph, with_store
from hitl.cli.asking import Asker
from hitl.cli.codes import DONE, WAITS
from hitl.cli.progress import Teller, message_ids, result
from hitl.cli.session import (
    Session,
    decide_commands,
    examples,
    resume_command,
    reviewer_option,
    shared,
    short,
    show_command,
)
from hitl.cli.terminal import Terminal
from hitl.cli.threads import unknown_thread
from hitl.errors import Misuse
from hitl.inbox import Inbox
from hitl.ledger import check_reviewer
from hitl.values import Config, Item, Json, StateSnapshot, plain

if TYPE_CHECKING:
    from hitl.agent import Gate
    from hitl.engine import CompiledStateGraph

__all__ = ["resume", "run_agent"]

_PAGE = 1000
_ASKING = click.option(
    "--no-input", is_flag=True, help="Ask nobody here, even in a terminal; leave items pending."
)
_AGENT = click.argument("agent", metavar="MODULE:AGENT")
_REQUESTER = click.option(
    "--requester", metavar="NAME", help="On whose behalf the agent acts, for rules that ask."
)


@dataclass(frozen=True, slots=True)
class _Run:
    session: Session
    graph: CompiledStateGraph
    desk: Inbox
    agent: str
    thread: str
    by: str | None
    gate: Gate | None = None
    requester: str | None = None

    def config(self) -> Config:
        """Return the config of this thread; the agent's name is kept with a run's input."""
        place: dict[str, object] = {"thread_id": self.thread}
        if self.by is not None:
            place["reviewer"] = self.by
        if self.requester is not None:
            place["requester"] = check_reviewer(self.requester, "--requester")
        return {"configurable": place, "metadata": {"agent": self.agent}}

    def go(self, input: object) -> None:
        """Run until the graph ends or waits, and tell what happens meanwhile."""
        teller = Teller(self.graph.shape.schema.hidden, message_ids(self.state().values))
        if needs_loop(self.graph):
            import asyncio

            asyncio.run(self._go_async(input, teller))
            return
        for part in self.graph.stream(input, self.config(), stream_mode="updates"):
            self._tell(teller, part)

    async def _go_async(self, input: object, teller: Teller) -> None:
        async for part in self.graph.astream(input, self.config(), stream_mode="updates"):
            self._tell(teller, part)

    def _tell(self, teller: Teller, part: object) -> None:
        for who, what in teller.lines(part):
            self.session.screen.say(f"{who}: {what}")

    def state(self) -> StateSnapshot:
        """Return where the thread stands."""
        return self.graph.get_state(self.config())

    def results(self) -> list[dict[str, Json]]:
        """Return the results of a gate's calls, once all are there."""
        found = self.gate.resume(self.thread).results if self.gate is not None else ()
        return [{key: plain(value) for key, value in one.items()} for one in found]

    def pending(self) -> list[Item]:
        """Return all that waits on the thread."""
        found = page = self.desk.pending(thread=self.thread, limit=_PAGE)
        while len(page) == _PAGE:
            page = self.desk.pending(
                thread=self.thread, after=(page[-1].asked_at, page[-1].id), limit=_PAGE
            )
            found = found + page
        return facts.in_order(found)


@click.command(
    "run",
    short_help="Run an agent on a text.",
    help="Run an agent on a text. Where it waits for a human, ask in the terminal; where there "
    "is none, leave the items pending, say how to decide them, and exit with 3.",
    epilog=examples(
        'hitl run shop:agent "delete old orders"',
        'hitl run shop:agent "and the invoices" --thread order-17 --reviewer ann',
        'hitl run shop:agent "delete old orders" --no-input --json',
    ),
)
@_AGENT
@click.argument("text")
@click.option("--thread", metavar="ID", help="Go on with this conversation; else a new one.")
@reviewer_option("--reviewer")
@_REQUESTER
@_ASKING
@shared
def run_agent(
    session: Session,
    agent: str,
    text: str,
    thread: str | None,
    by: str | None,
    requester: str | None,
    no_input: bool,
) -> int:
    """Run an agent on a text."""
    thread = thread if thread is not None else f"run-{secrets.token_hex(6)}"
    run = replace(_prepared(session, agent, thread, by, new=True), requester=requester)
    run.session.screen.say(f"Thread {thread} in {run.session.store or 'the store of the agent'}")
    return _carry(run, {"messages": [{"role": "user", "content": text}]}, no_input)


@click.command(
    "resume",
    short_help="Go on with a thread where it stands.",
    help="Go on with a thread where it stands, with the decisions made meanwhile.",
    epilog=examples(
        "hitl resume shop:agent order-17", "hitl resume shop:agent order-17 --no-input --json"
    ),
)
@_AGENT
@click.argument("thread")
@reviewer_option("--reviewer")
@_REQUESTER
@_ASKING
@shared
def resume(
    session: Session,
    agent: str,
    thread: str,
    by: str | None,
    requester: str | None,
    no_input: bool,
) -> int:
    """Resume a thread."""
    run = replace(_prepared(session, agent, thread, by, new=False), requester=requester)
    if not run.desk.store.entries(thread, limit=1):
        raise unknown_thread(run.desk.store, thread, run.session.store)
    if not run.state().next:
        return _told(run, "Nothing was left to do: the run on this thread has ended.")
    return _carry(run, None, no_input)


def _prepared(session: Session, agent: str, thread: str, by: str | None, *, new: bool) -> _Run:
    """Return a run with its store; a new one makes its file, and needs messages to send."""
    from hitl.engine import CompiledStateGraph

    found = load_agent(agent)
    gate = None if isinstance(found, CompiledStateGraph) else found
    own = found if isinstance(found, CompiledStateGraph) else found.graph
    if new:
        _check_messages(own, agent, is_gate=gate is not None)
    graph, store, path = with_store(own, session.store, chosen=session.chosen, make=new)
    if gate is not None and graph is not own:
        gate = on_graph(gate, graph, store)
    return _Run(replace(session, store=path), graph, Inbox(store), agent, thread, by, gate)


def _check_messages(graph: CompiledStateGraph, agent: str, *, is_gate: bool) -> None:
    """Refuse what cannot be sent a text.

    Raises:
        Misuse: It is a gate, or its state has no messages.
    """
    if is_gate:
        raise Misuse(
            f"{agent!r} is a gate: it has no model to send a text to.",
            hint="Your own loop proposes calls with gate.review(thread, calls); then "
            f"`hitl resume {agent} THREAD` goes on with them.",
        )
    if "messages" not in graph.shape.input.channels:
        raise Misuse(
            f"`hitl run` always sends its text as 'messages', and the state of {agent!r} has no "
            f"such key; it has {', '.join(graph.shape.input.channels)}.",
            hint='Start it from Python: graph.invoke({...}, {"configurable": {"thread_id": ...}}); '
            f"`hitl resume {agent} THREAD` goes on with its threads.",
        )


def _carry(run: _Run, input: object, no_input: bool) -> int:
    """Run and ask by turns, until the run is done or is left waiting."""
    screen = run.session.screen
    terminal = Terminal(screen)
    asks = terminal.is_there() and not no_input and not screen.as_json
    asker = Asker(screen, run.desk, terminal, run.by)
    while True:
        run.go(input)
        items = run.pending()
        if not items or not (asks and asker.ask(items)):
            return _told(run)
        input = None


def _told(run: _Run, done: str = "Done.") -> int:
    """Tell how a run stands, and return the exit code for it."""
    screen = run.session.screen
    items = run.pending()
    state = run.state()
    waits = bool(items or state.next)
    after = resume_command(run.desk, run.thread, run.session.store, run.agent) if waits else ""
    rows: list[Json] = [facts.document(item) for item in items]
    due: list[Json] = [*state.next]
    document: dict[str, Json] = {
        "thread": run.thread,
        "store": run.session.store,
        "status": "waits" if waits else "done",
        "items": rows,
        "next": due,
        "resume": after,
        "result": result(state.values, run.graph.shape.schema.hidden),
    }
    results = [] if waits else run.results()
    if run.gate is not None:
        document["results"] = [*results]
    screen.document(document)
    if not waits:
        for one in results:
            screen.say(f"{one['name']} ({one['status']}): {one['content']}")
        screen.say(done, "bold green")
        return DONE
    _tell_items(run, items)
    screen.say("Then go on with the run:" if items else "Go on with the run:")
    screen.command(after)
    return WAITS


def _tell_items(run: _Run, items: list[Item]) -> None:
    screen = run.session.screen
    screen.say()
    one = len(items) == 1
    if items:
        screen.say(f"{len(items)} item{'' if one else 's'} wait{'s' if one else ''} for a human:")
    for item, id in zip(items, short(run.desk, items), strict=True):
        screen.say()
        screen.say(f"{facts.title(item)}: {facts.effect(item)}", "bold")
        screen.command(show_command(id, run.session.store))
        for line in decide_commands(item, id, run.session.store):
            screen.command(line)
    if items:
        screen.say()
