"""Commands that run an agent: ``run`` starts or goes on with a thread, ``resume`` continues it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from hitl.cli import facts
from hitl.cli.agents import load_agent, with_store
from hitl.cli.asking import Asker
from hitl.cli.codes import DONE, WAITS
from hitl.cli.progress import Teller, result
from hitl.cli.session import (
    Session,
    decide_commands,
    examples,
    resume_command,
    reviewer_option,
    shared,
    show_command,
)
from hitl.cli.terminal import Terminal
from hitl.errors import UnknownId
from hitl.inbox import Inbox
from hitl.values import Config, Item, Json

if TYPE_CHECKING:
    from hitl.engine import CompiledStateGraph

__all__ = ["resume", "run_agent"]

_PAGE = 1000
_ASKING = click.option(
    "--no-input", is_flag=True, help="Ask nobody here, even in a terminal; leave items pending."
)
_AGENT = click.argument("agent", metavar="MODULE:AGENT")


@dataclass(frozen=True, slots=True)
class _Run:
    session: Session
    graph: CompiledStateGraph
    desk: Inbox
    agent: str
    thread: str
    by: str | None

    def config(self) -> Config:
        """Return the config of this thread; the agent's name is kept with a run's input."""
        place: dict[str, object] = {"thread_id": self.thread}
        if self.by is not None:
            place["reviewer"] = self.by
        return {"configurable": place, "metadata": {"agent": self.agent}}

    def go(self, input: object) -> None:
        """Run until the graph ends or waits, and tell what happens meanwhile."""
        screen, teller = self.session.screen, Teller(self.graph.shape.schema.hidden)
        for part in self.graph.stream(input, self.config(), stream_mode="updates"):
            for who, what in teller.lines(part):
                screen.say(f"{who}: {what}")

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
@_ASKING
@shared
def run_agent(
    session: Session, agent: str, text: str, thread: str | None, by: str | None, no_input: bool
) -> int:
    """Run an agent on a text."""
    thread = thread if thread is not None else f"run-{secrets.token_hex(6)}"
    run = _prepared(session, agent, thread, by, make=True)
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
@_ASKING
@shared
def resume(session: Session, agent: str, thread: str, by: str | None, no_input: bool) -> int:
    """Resume a thread."""
    run = _prepared(session, agent, thread, by, make=False)
    if not run.desk.store.entries(thread, limit=1):
        raise UnknownId(
            f"There is no thread {thread!r} in {run.session.store!r}.",
            hint="`hitl inbox` shows the threads on which something waits.",
        )
    return _carry(run, None, no_input)


def _prepared(session: Session, agent: str, thread: str, by: str | None, *, make: bool) -> _Run:
    graph = load_agent(agent)
    graph, store, path = with_store(graph, session.store, chosen=session.chosen, make=make)
    return _Run(replace(session, store=path), graph, Inbox(store), agent, thread, by)


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


def _told(run: _Run) -> int:
    """Tell how a run stands, and return the exit code for it."""
    screen = run.session.screen
    items = run.pending()
    state = run.graph.get_state(run.config())
    waits = bool(items or state.next)
    after = resume_command(run.desk, run.thread, run.session.store, run.agent) if waits else ""
    rows: list[Json] = [facts.document(item) for item in items]
    due: list[Json] = [*state.next]
    screen.document(
        {
            "thread": run.thread,
            "store": run.session.store,
            "status": "waits" if waits else "done",
            "items": rows,
            "next": due,
            "resume": after,
            "result": result(state.values, run.graph.shape.schema.hidden),
        }
    )
    if not waits:
        screen.say("Done.", "bold green")
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
    for item in items:
        screen.say()
        screen.say(f"{facts.title(item)}: {facts.effect(item)}", "bold")
        screen.command(show_command(item, run.session.store))
        for line in decide_commands(item, run.session.store):
            screen.command(line)
    if items:
        screen.say()
