"""What every command shares: its options, the store it opens, the item it finds, its guidance."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec

import click

from hitl.checkpoint import BASE, Checkpointer
from hitl.cli import facts
from hitl.cli.safe import safe
from hitl.cli.screen import Screen
from hitl.codec import loads
from hitl.errors import HitlError, Misuse, StoreFailed, UnknownId
from hitl.inbox import Inbox
from hitl.ledger import check_reviewer
from hitl.values import Item

__all__ = [
    "UNNAMED",
    "Session",
    "check_there",
    "decide_commands",
    "examples",
    "find",
    "resume_command",
    "reviewer_option",
    "seconds",
    "shared",
    "short",
    "show_command",
]

DEFAULT_STORE = "hitl.db"
UNNAMED = "No name is kept with this decision; {} NAME, or HITL_REVIEWER, gives one."
"""Says once how a reviewer is named, by the command's own option."""

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_AGENT = re.compile(r"[\w.]+:[\w.]+", re.ASCII)
_ANSWER_WORDS = {
    "edit": " --args '{...}'",
    "reject": " -m 'why not'",
    "respond": " -m 'the result'",
    "answer": " 'the answer'",
}

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Session:
    """One call of one command.

    Attributes:
        screen: Where it prints.
        store: Path of the store's file.
        chosen: Whether the path was given, by option or environment.
    """

    screen: Screen
    store: str
    chosen: bool

    @contextmanager
    def opened(self) -> Iterator[Inbox]:
        """Give the inbox of a store that is there already.

        Raises:
            StoreFailed: There is no such file, or it cannot be opened.
        """
        check_there(self.store)
        from hitl.checkpoint import SqliteSaver

        with SqliteSaver(self.store) as saver:
            yield Inbox(saver)


def check_there(store: str) -> None:
    """Raise where a store's file is missing: only `hitl run` makes one.

    Raises:
        StoreFailed: There is no such file.
    """
    if not Path(store).is_file():
        raise StoreFailed(
            f"There is no store at {store!r}.",
            hint="Name its file with --store FILE or HITL_STORE; `hitl run` makes one.",
            path=store,
        )


def shared(function: Callable[Concatenate[Session, P], int]) -> Callable[..., int]:
    """Return a command's function with the options that all commands have."""

    @click.option(
        "--store",
        envvar="HITL_STORE",
        default=DEFAULT_STORE,
        show_default=True,
        metavar="FILE",
        help="The file that keeps threads and items; also HITL_STORE.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
    @wraps(function)
    def command(store: str, as_json: bool, *args: P.args, **kwargs: P.kwargs) -> int:
        source = click.get_current_context().get_parameter_source("store")
        chosen = source is not click.core.ParameterSource.DEFAULT
        return function(Session(Screen(as_json=as_json), store, chosen), *args, **kwargs)

    return command


def reviewer_option(name: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return the option that says who decides, under one of its names."""
    return click.option(
        name,
        "by",
        envvar="HITL_REVIEWER",
        metavar="NAME",
        callback=lambda _context, option, value: check_reviewer(value or None, option.opts[0]),
        help="Who decides, kept with the decision; also HITL_REVIEWER.",
    )


def seconds(option: str, text: str) -> float:
    """Return a span of time as people type it, in seconds.

    Args:
        option: Where it was typed, for the error.
        text: A number and a unit.

    Raises:
        Misuse: It is no span of time.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip(), re.ASCII)
    if found is None:
        raise Misuse(
            f"{option} {text!r} is no age.", hint="A number and a unit: 45s, 90m, 12h, 30d, 4w."
        )
    return float(found[1]) * _UNITS[found[2]]


def examples(*lines: str) -> str:
    """Return examples as the end of a command's help."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def find(inbox: Inbox, id: str) -> Item:
    """Return the item that an id, or its first digits, stand for; decided ones too.

    Raises:
        UnknownId: There is none, or there are several.
    """
    id = id.strip().lower()
    try:
        return inbox.get(id)
    except UnknownId as error:
        items = [] if len(id) < 4 or len(id) >= 32 else list(_starting(inbox.store, id))
        if len(items) == 1:
            return items[0]
        if not items and error.hint == "List what waits.":
            error.hint = "`hitl inbox` lists what waits; an id needs at least 4 digits."
        raise


def _starting(store: Checkpointer, start: str) -> Iterator[Item]:
    page = store.items(limit=1000)
    while page:
        yield from (item for item in page if item.id.startswith(start) and item.kind != "grant")
        page = store.items(after=(page[-1].asked_at, page[-1].id), limit=1000)


def short(inbox: Inbox, items: list[Item]) -> list[str]:
    """Return ids to type: the first digits that stand for each item and no other that waits.

    Among many thousands that wait only the oldest are compared; an id that stands for two is
    refused where it is used.
    """
    return facts.short_ids(items, inbox.pending(limit=1000)) if items else []


def decide_commands(item: Item, id: str, store: str) -> list[str]:
    """Return the exact commands that decide an item, which goes by an id."""
    return [
        f"hitl {word} {id}{_ANSWER_WORDS.get(word, '')}{_store_words(store)}"
        for word in item.allowed
    ]


def show_command(id: str, store: str) -> str:
    """Return the exact command that shows an item whole."""
    return f"hitl show {id}{_store_words(store)}"


def resume_command(inbox: Inbox, thread: str, store: str, agent: str = "") -> str:
    """Return the exact command that resumes a thread."""
    agent = agent or _agent_of(inbox.store, thread)
    return f"hitl resume {agent or 'MODULE:AGENT'} {_quoted(thread)}{_store_words(store)}"


def _store_words(store: str) -> str:
    return "" if store == DEFAULT_STORE else f" --store {_quoted(store)}"


def _quoted(word: str) -> str:
    """Return a word for a shell; one with hidden characters in the ``$'...'`` form."""
    if safe(word) == word:
        return shlex.quote(word)
    return "$'" + safe(word.replace("\\", "\\\\").replace("'", "\\'")) + "'"


def _agent_of(store: Checkpointer, thread: str) -> str:
    """Return the ``module:agent`` that `hitl run` noted with a thread, if it did."""
    try:
        entries = store.load(thread).entries
        for entry in reversed(entries):
            body = loads(entry.body) if entry.kind in ("input", "step", BASE) else None
            meta = body.get("meta") if isinstance(body, dict) else None
            agent = meta.get("agent") if isinstance(meta, dict) else None
            if isinstance(agent, str):
                # It is shown as a command to type: nothing but the form of a name may pass.
                return agent if _AGENT.fullmatch(agent) else ""
    except HitlError:
        pass  # a damaged thread can still be decided
    return ""
