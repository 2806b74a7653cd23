"""Looking after a store: ``hitl store info|verify|prune|delete|export|import|vacuum``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TextIO, TypeVar

import click

from hitl.checkpoint import Checkpointer, export_thread, head_hash, import_threads, verify
from hitl.cli.codes import DONE, MISUSE, STORE_FAILED
from hitl.cli.screen import Screen
from hitl.cli.session import Session, examples, seconds, shared
from hitl.engine import prune as prune_thread
from hitl.errors import Busy, Damaged, HitlError, Misuse, Stale, StoreFailed, UnknownId
from hitl.values import Json

__all__ = ["store"]

_PAGE = 500

T = TypeVar("T")


@click.group(
    "store",
    short_help="Look after the store: check, prune, copy.",
    help="Look after the store: what it holds, whether it is whole, and how long it keeps things.",
    epilog=examples(
        "hitl store verify",
        "hitl store prune --older-than 30d",
        "hitl store export order-17 > order-17.jsonl",
    ),
)
def store() -> None:
    """Hold the commands."""


@store.command("info", help="Tell what the store holds.", epilog=examples("hitl store info"))
@shared
def info(session: Session) -> int:
    """Tell what the store holds."""
    from hitl.checkpoint import census

    with session.opened():
        found = census(session.store)
    facts = asdict(found)
    items = facts.pop("items")
    session.screen.document({"path": session.store, **facts, "items": items})
    session.screen.facts(
        [
            ("file", session.store),
            *((name, f"{count:,}") for name, count in facts.items()),
            *((f"items {state}", f"{count:,}") for state, count in sorted(items.items())),
        ],
        indent=0,
    )
    return DONE


@store.command(
    "verify",
    short_help="Check every thread's log.",
    help="Check that every thread's log is what was written, and name the first bad entry of "
    "each that is not. Heads that were kept elsewhere (`hitl log THREAD --head --json`, one a "
    "line) also show a log that was written anew.",
    epilog=examples("hitl store verify", "hitl store verify order-17 --heads heads.jsonl"),
)
@click.argument("threads", nargs=-1)
@click.option("--heads", type=click.Path(exists=True, dir_okay=False), help="Heads kept elsewhere.")
@shared
def verify_command(session: Session, threads: tuple[str, ...], heads: str | None) -> int:
    """Check logs."""
    known = _heads(heads) if heads else {}
    bad: list[Json] = []
    count = 0
    with session.opened() as desk:
        for thread in _each(session, desk.store, threads or None, {*known}, "checking"):
            count += 1
            fault = _fault(desk.store, thread, known.get(thread))
            if fault:
                bad.append({"thread": thread, "problem": fault})
                session.screen.say(f"{thread}: {fault}", "bold red")
    session.screen.document({"threads": count, "damaged": bad})
    session.screen.say(f"{count} threads checked, {len(bad)} damaged.")
    return STORE_FAILED if bad else DONE


def _heads(path: str) -> dict[str, tuple[int, str]]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
        return {str(row["thread"]): (int(row["seq"]), str(row["hash"])) for row in rows}
    except (KeyError, TypeError, ValueError) as error:
        raise Misuse(
            f"{path!r} holds no heads: {error!r}.",
            hint="`hitl log THREAD --head --json` prints one; one a line.",
        ) from error


def _fault(store: Checkpointer, thread: str, head: tuple[int, str] | None) -> str:
    """Return what is wrong with a thread, "" for nothing."""
    try:
        previous, first, seen = None, 0, ""
        page = store.entries(thread, limit=_PAGE)
        while page:
            bad = verify(page, previous)
            if bad:
                return f"entry {bad} is not what was written"
            first = first or page[0].seq
            seen = next((head_hash(e) for e in page if head and e.seq == head[0]), seen)
            previous = page[-1]
            page = store.entries(thread, after=previous.seq, limit=_PAGE)
        store.load(thread, after=previous.seq if previous else 0)  # its row and its live items
    except Damaged as error:
        return error.message
    if head and seen != head[1]:
        if first > head[0]:
            return f"entry {head[0]}, of which a head was kept, has been pruned"
        return f"entry {head[0]} is not the one of which a head was kept"
    return ""


@store.command(
    "prune",
    short_help="Forget how threads came to their state.",
    help="Remove old entries of threads, or of some threads. What stays: the state, the newest "
    "checkpoint, what waits, and every decision. Threads that run are left alone.",
    epilog=examples(
        "hitl store prune --older-than 30d", "hitl store prune order-17 --keep-last 10"
    ),
)
@click.argument("threads", nargs=-1)
@click.option("--older-than", metavar="AGE", help="Only entries of this age: 45s, 90m, 12h, 30d.")
@click.option("--keep-last", type=click.IntRange(1), metavar="N", help="Checkpoints that stay.")
@shared
def prune(
    session: Session, threads: tuple[str, ...], older_than: str | None, keep_last: int | None
) -> int:
    """Prune threads."""
    if older_than is None and keep_last is None:
        raise Misuse(
            "It is not said what may go.", hint="Give --older-than 30d, --keep-last 10, or both."
        )
    age = None if older_than is None else seconds("--older-than", older_than)
    removed, pruned, busy, damaged = 0, 0, 0, 0
    with session.opened() as desk:
        before = None if age is None else desk.store.clock.now() - age
        for thread in _each(session, desk.store, threads or None, set(), "pruning"):
            try:
                gone = prune_thread(desk.store, thread, keep_last=keep_last or 1, before=before)
            except (Busy, Stale):
                busy += 1
            except Damaged as error:
                damaged += 1
                session.screen.error(error.message, error.hint)
            else:
                removed, pruned = removed + gone, pruned + bool(gone)
    session.screen.document(
        {"pruned": pruned, "removed": removed, "running": busy, "damaged": damaged}
    )
    session.screen.say(f"{removed:,} entries of {pruned:,} threads removed.")
    if busy:
        session.screen.say(f"{busy} threads run and were left alone.")
    if removed:
        session.screen.say("`hitl store vacuum` gives the room back to the disk.")
    return STORE_FAILED if damaged else DONE


@store.command(
    "delete",
    short_help="Delete threads with all they have.",
    help="Delete threads: their logs, their state, their items and decisions. A run in progress "
    "cannot bring one back.",
    epilog=examples("hitl store delete order-17 --yes"),
)
@click.argument("threads", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do it; nothing can be undone.")
@shared
def delete(session: Session, threads: tuple[str, ...], yes: bool) -> int:
    """Delete threads."""
    with session.opened() as desk:
        if not yes:
            raise Misuse(
                f"{len(threads)} threads would be gone, with every decision on them.",
                hint="Add --yes. `hitl store export` makes a copy first.",
            )
        gone = [thread for thread in threads if desk.store.delete_thread(thread)]
    missing = [thread for thread in threads if thread not in gone]
    session.screen.document({"deleted": [*gone], "missing": [*missing]})
    session.screen.say(f"{len(gone)} threads deleted.")
    for thread in missing:
        session.screen.error(f"There is no thread {thread!r} in {session.store!r}.")
    return MISUSE if missing else DONE


@store.command(
    "export",
    short_help="Write threads as JSON lines.",
    help="Write threads as JSON lines, all of them or some. A damaged one is left out and told.",
    epilog=examples(
        "hitl store export > all.jsonl", "hitl store export order-17 -o order-17.jsonl"
    ),
)
@click.argument("threads", nargs=-1)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="A file; else the output.")
@shared
def export(session: Session, threads: tuple[str, ...], output: str | None) -> int:
    """Export threads."""
    count, failed = 0, 0
    with session.opened() as desk, ExitStack() as stack:
        file: TextIO = sys.stdout
        if output is not None:
            Path(output).touch(0o600)  # what it holds is as private as the store
            file = stack.enter_context(Path(output).open("w", encoding="ascii"))
        for thread in _each(session, desk.store, threads or None, set(), "exporting"):
            try:
                for line in export_thread(desk.store, thread):
                    file.write(line + "\n")
            except (Damaged, Busy) as error:
                failed += 1
                session.screen.error(error.message, error.hint)
            else:
                count += 1
    session.screen.note(f"{count} threads exported" + (f", {failed} left out." if failed else "."))
    return STORE_FAILED if failed else DONE


@store.command(
    "import",
    short_help="Take in threads that were exported.",
    help="Take in threads that were exported, from a file or (-) standard input; a missing store "
    "is made. Each is checked first; one that is there already is refused.",
    epilog=examples("hitl store import all.jsonl --store copy.db"),
)
@click.argument("file", type=click.File("r", encoding="utf-8"))
@shared
def import_command(session: Session, file: TextIO) -> int:
    """Import threads."""
    from hitl.checkpoint import SqliteSaver

    taken: list[Json] = []
    with SqliteSaver(session.store) as saver:
        try:
            marks = _watched(session.screen, import_threads(saver, file), None, "importing")
            taken.extend(mark.thread for mark in marks)
        except (HitlError, UnicodeDecodeError) as error:
            session.screen.note(f"{len(taken)} threads were taken in before.")
            if isinstance(error, UnicodeDecodeError):
                raise StoreFailed(f"{file.name!r} is no text: {error}.") from error
            raise
    session.screen.document({"imported": taken})
    session.screen.say(f"{len(taken)} threads imported into {session.store}.")
    return DONE


@store.command(
    "vacuum",
    help="Give back to the disk what was deleted and pruned. Nobody can write meanwhile.",
    epilog=examples("hitl store vacuum"),
)
@shared
def vacuum(session: Session) -> int:
    """Give room back."""
    from hitl.checkpoint import SqliteSaver, census

    with session.opened() as desk:
        before = census(session.store).size
        if isinstance(desk.store, SqliteSaver):
            desk.store.vacuum()
        after = census(session.store).size
    session.screen.document({"before": before, "after": after})
    session.screen.say(f"{before:,} bytes before, {after:,} now.")
    return DONE


def _each(
    session: Session,
    store: Checkpointer,
    named: tuple[str, ...] | None,
    more: set[str],
    what: str,
) -> Iterator[str]:
    """Yield the threads that are named, or all there are, and some more; show how far it is."""
    if named is not None:
        for thread in named:
            if not store.entries(thread, limit=1):
                raise UnknownId(f"There is no thread {thread!r} in {session.store!r}.")
        yield from _watched(session.screen, named, len(named), what)
        return
    from hitl.checkpoint import census

    total = census(session.store).threads
    yield from _watched(session.screen, _all(store, more), total, what)


def _all(store: Checkpointer, more: set[str]) -> Iterator[str]:
    page = store.threads(limit=_PAGE)
    while page:
        for mark in page:
            more.discard(mark.thread)
            yield mark.thread
        page = store.threads(after=page[-1].thread, limit=_PAGE)
    yield from sorted(more)  # those of which a head was kept, and nothing else is left


def _watched(screen: Screen, things: Iterable[T], total: int | None, what: str) -> Iterator[T]:
    """Yield things, with a bar on standard error where a person may see it."""
    if screen.as_json or not screen.err.file.isatty():
        yield from things
        return
    from rich.progress import Progress

    with Progress(console=screen.err, transient=True) as progress:
        yield from progress.track(things, total=total, description=what)
