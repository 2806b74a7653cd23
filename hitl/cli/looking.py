"""Commands that only look: ``inbox``, ``show``, ``log``."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import click

from hitl.checkpoint import head_hash
from hitl.cli import facts
from hitl.cli.history import short_names, story, told
from hitl.cli.screen import Screen
from hitl.cli.session import (
    Session,
    decide_commands,
    examples,
    find,
    resume_command,
    shared,
    short,
)
from hitl.cli.threads import stopped, unknown_thread
from hitl.inbox import Inbox
from hitl.ledger import progress
from hitl.values import Item, Json, iso

__all__ = ["inbox", "log", "show"]

_PAGE = 200
_HISTORY = 10


@click.command(
    "inbox",
    help="List what waits for a human: by deadline, then oldest first.",
    epilog=examples("hitl inbox", "hitl inbox --thread order-17", "hitl inbox --all --json"),
)
@click.option("--thread", metavar="ID", help="Only this thread's items.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many.")
@click.option("--all", "whole", is_flag=True, help="All of them, however many.")
@shared
def inbox(session: Session, thread: str | None, limit: int, whole: bool) -> int:
    """List what waits."""
    with session.opened() as desk:
        items: list[Item] = []
        for item in _waiting(desk, thread):
            if not whole and len(items) > limit:
                break
            items.append(item)
        now = desk.store.clock.now()
        more = not whole and len(items) > limit
        items = facts.in_order(items if whole else items[:limit])
        ids = short(desk, items)
        cut_off = {
            name: resume_command(desk, name, session.store) for name in stopped(desk.store, thread)
        }
    rows: list[Json] = [facts.document(item) for item in items]
    lost: list[Json] = [{"thread": name, "resume": after} for name, after in cut_off.items()]
    session.screen.document({"items": rows, "more": more, "stopped": lost})
    _table(session.screen, items, ids, now)
    if not items:
        where = f"of thread {thread} " if thread else ""
        session.screen.say(f"Nothing {where}waits in {session.store}.")
    else:
        session.screen.say(f"{len(items)} shown. `hitl show ID` shows one whole.")
    if more:
        session.screen.say("More wait: `hitl inbox --all` lists them.")
    for name, after in cut_off.items():
        session.screen.say()
        session.screen.say(
            f"thread {name}: its process is gone in the middle of a run. This goes on with it, "
            "or asks what happened:",
            "bold yellow",
        )
        session.screen.command(after)
    return 0


def _waiting(desk: Inbox, thread: str | None) -> Iterator[Item]:
    """Yield what has a deadline, the nearest first, then all the rest, oldest first."""
    yield from facts.in_order(list(_pages(desk, thread, inf)))
    yield from (item for item in _pages(desk, thread, None) if item.deadline is None)


def _pages(desk: Inbox, thread: str | None, due: float | None) -> Iterator[Item]:
    page = desk.pending(thread=thread, due=due, limit=_PAGE)
    while page:
        yield from page
        after = (page[-1].asked_at, page[-1].id)
        page = desk.pending(thread=thread, due=due, after=after, limit=_PAGE)


def _table(screen: Screen, items: list[Item], ids: list[str], now: float) -> None:
    if not items:
        return
    headers = {
        "id": "whole",
        "what": "fold",
        "what it would do": "cut",
        "age": "whole",
        "ends in": "whole",
        "votes": "fold",
        "decisions": "fold",
        "thread": "whole",
    }
    cells = [(facts.remaining(item, now), progress(item)) for item in items]
    left_out = {
        name for at, name in enumerate(("ends in", "votes")) if not any(one[at] for one in cells)
    }
    rows = [
        (
            id,
            facts.title(item),
            facts.effect(item),
            facts.age(now - item.asked_at),
            *cell,
            " ".join(item.allowed),
            item.thread,
        )
        for id, item, cell in zip(ids, items, cells, strict=True)
    ]
    kept = [at for at, name in enumerate(headers) if name not in left_out]
    screen.table(
        {name: way for name, way in headers.items() if name not in left_out},
        [[row[at] for at in kept] for row in rows],
    )


@click.command(
    "show",
    short_help="Show one item whole.",
    help="Show one item whole: the facts, what was decided before, and how to decide it.",
    epilog=examples("hitl show 1f2e3d4c", "hitl show 1f2e3d4c --json"),
)
@click.argument("item")
@shared
def show(session: Session, item: str) -> int:
    """Show an item."""
    screen = session.screen
    with session.opened() as desk:
        found = find(desk, item)
        earlier = _decided(desk, found)
        after = resume_command(desk, found.thread, session.store)
        now = desk.store.clock.now()
        # Programs may keep a command; people type it now.
        id = found.id if screen.as_json else short(desk, [found])[0]
    history: list[Json] = [facts.document(one) for one in earlier]
    sentence, step = facts.next_step(found)
    commands = decide_commands(found, id, session.store) if found.state == "pending" else []
    shown: list[Json] = [*commands]
    screen.document(
        {
            "item": facts.document(found),
            "state": sentence,
            "next": step,
            "commands": shown,
            "resume": after,
            "earlier": history,
        }
    )
    print_item(screen, found, now)
    screen.say(f"{sentence} {step}")
    for line in commands:
        screen.command(line)
    if found.state in ("pending", "decided", "cleared", "started", "uncertain"):
        screen.say("Then go on with the run:" if commands else "Go on with the run:")
        screen.command(after)
    if earlier:
        screen.say("Other decisions on this thread, the newest last:", "bold")
        for one in earlier:
            line = f"{facts.title(one)}({facts.effect(one)}): "
            screen.say(line + facts.decision_line(one.decision) if one.decision else line, indent=2)
    return 0


def print_item(screen: Screen, item: Item, now: float, *, limit: int | None = None) -> None:
    """Print an item: facts of the stored call first, the setup's own words last.

    Args:
        screen: Where.
        item: What.
        now: The store's time.
        limit: The most characters of one value; None for all.
    """
    screen.say(f"{facts.title(item)} ({item.kind}, {facts.state_word(item)})", "bold")
    rows = [(name, facts.pretty(value)) for name, value in facts.arguments(item)]
    if limit is not None:
        rows = [(name, facts.collapsed(text, limit, "`v`")) for name, text in rows]
    if rows:
        screen.say("question:" if item.kind == "question" else "arguments:", indent=2)
        screen.facts(rows, indent=4)
    elif item.kind != "question":
        screen.say("no arguments", indent=2)
    decided = [("decided", facts.decision_line(item.decision))] if item.decision else []
    screen.facts(
        [
            ("why it asks", facts.why(item)),
            ("allowed", ", ".join(item.allowed) or "nothing: the item is damaged"),
            *_votes(item, now),
            *decided,
            ("thread", item.thread),
            ("asked", f"{facts.age(now - item.asked_at)} ago, {iso(item.asked_at)}"),
            ("by node", item.path),
            ("item", f"{item.id}, version {item.version}"),
            ("fingerprint", item.fingerprint),
        ]
    )
    words = facts.description(item)
    if words:
        known = item.kind == "outcome"
        screen.say(
            "what happened:" if known else "written by the agent's setup, not verified:", indent=2
        )
        screen.block(words if limit is None else facts.collapsed(words, limit, "`v`"), indent=4)


def _votes(item: Item, now: float) -> Iterator[tuple[str, str]]:
    """Yield until when an item can be decided, and who has said what of it so far."""
    if item.deadline is not None:
        left = facts.remaining(item, now) if item.state == "pending" else ""
        yield "deadline", f"{iso(item.deadline)}{f', {left}' if left else ''}"
    if progress(item):
        said = [facts.decision_line(vote) for vote in item.votes]
        yield "votes", "; ".join([progress(item), *said])


def _decided(desk: Inbox, item: Item) -> list[Item]:
    """Return the thread's last decided items beside this one, in the order of decision."""
    found: list[Item] = []
    page = desk.store.items(thread=item.thread, limit=1000)
    while page:
        found += [one for one in page if one.decision is not None and one.id != item.id]
        page = desk.store.items(
            thread=item.thread, after=(page[-1].asked_at, page[-1].id), limit=1000
        )
    found.sort(key=lambda one: one.decision.at if one.decision else 0.0)
    return found[-_HISTORY:]


@click.command(
    "log",
    short_help="Tell what happened on a thread.",
    help="Tell what happened on a thread, entry by entry, and check that its log is whole. "
    "With --json, one document a line.",
    epilog=examples("hitl log order-17", "hitl log order-17 --json", "hitl log order-17 --head"),
)
@click.argument("thread")
@click.option("--head", is_flag=True, help="Only the newest entry's number and hash, to keep.")
@shared
def log(session: Session, thread: str, head: bool) -> int:
    """Tell the audit trail of a thread."""
    screen = session.screen
    with session.opened() as desk:
        entries = story(desk.store, thread)
        if not entries:
            raise unknown_thread(desk.store, thread, session.store)
        items = {} if head else {one.id: one for one in _items(desk, thread)}
    if head and not any(fault for _, fault in entries):
        last = entries[-1][0]
        kept: dict[str, Json] = {"thread": thread, "seq": last.seq, "hash": head_hash(last)}
        screen.document(kept, indent=None)
        screen.say(f"{last.seq} {head_hash(last)}")
        return 0
    names = short_names(entry for entry, _ in entries)
    day = ""
    for entry, fault in entries:
        lines = told(entry, items, names)
        screen.document(lines.document | {"whole": not fault}, indent=None)
        date, _, time = iso(entry.at)[:19].partition("T")
        if date != day:
            screen.say(f"{date}, UTC", "bold")
        day = date
        for line in lines.text:
            screen.say(f"{entry.seq:>4}  {time}  {line}")
        if fault:
            screen.say(f"entry {entry.seq} is not what was written: log damaged.", "bold red")
    if not any(fault for _, fault in entries):
        screen.say(f"{len(entries)} entries; the log is whole.")
    return 0


def _items(desk: Inbox, thread: str) -> Iterator[Item]:
    page = desk.store.items(thread=thread, limit=1000)
    while page:
        yield from page
        page = desk.store.items(thread=thread, after=(page[-1].asked_at, page[-1].id), limit=1000)
