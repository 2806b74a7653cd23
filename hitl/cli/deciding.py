"""Commands that decide one item, each by an explicit word: ``approve`` to ``retry``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from hitl.cli import facts
from hitl.cli.session import (
    UNNAMED,
    Session,
    examples,
    find,
    resume_command,
    reviewer_option,
    seconds,
    shared,
)
from hitl.cli.terminal import Terminal
from hitl.errors import Misuse, NotAllowed, Stale
from hitl.inbox import Inbox
from hitl.values import Item, Json

__all__ = [
    "answer",
    "approve",
    "decide",
    "edit",
    "edited",
    "read_answer",
    "read_arguments",
    "reject",
    "respond",
    "retry",
]


_MORE = {"edit": "edited_action", "approve": "grant"}


def decide(desk: Inbox, item: Item, word: str, more: Json = None, *, by: str | None) -> Item:
    """Decide an item with one of its words, on exactly what was shown.

    Args:
        desk: The inbox.
        item: The item as the reviewer saw it.
        word: ``approve``, ``edit``, ``reject``, ``respond``, ``retry`` or ``answer``.
        more: What belongs to it: the answer, the edited action, the message, the grant.
        by: Who decides.

    Raises:
        NotAllowed: The item does not take this word.
        HitlError: See ``Inbox.decide``.
    """
    if (word == "answer") != (item.kind == "question"):
        raise NotAllowed(
            f"Item {item.id} is {'a question' if item.kind == 'question' else 'a call'}; "
            f"{word!r} does not decide it.",
            hint=f"Allowed here: {', '.join(item.allowed)}.",
            item=item.id,
        )
    if item.kind == "outcome" and word not in item.allowed:
        raise NotAllowed(
            f"Item {item.id} is the {facts.title(item)}, which is unknown: the call was started "
            f"and left no result, so there is nothing to {word}.",
            hint="Find out what happened, then: respond (it happened, this is the result), "
            "retry (it did not happen, run it again) or reject (give it up).",
            item=item.id,
        )
    if word == "answer":
        return desk.decide(item.id, more, by=by)
    sent: dict[str, object] = {"type": word, "fingerprint": item.fingerprint}
    if more is not None:
        sent[_MORE.get(word, "message")] = more
    return desk.decide(item.id, sent, by=by)


def edited(item: Item, args: dict[str, Json], name: str | None = None) -> Json:
    """Return the action that replaces an item's call."""
    own = item.subject.get("name") if isinstance(item.subject, dict) else None
    return {"name": name or own, "args": args}


def read_arguments(text: str) -> dict[str, Json]:
    """Return arguments written as JSON.

    Raises:
        Misuse: It is not a JSON object, or names a key twice.
    """
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise Misuse(
            f"The arguments are not JSON: {error}.", hint='Example: --args \'{"path": "a.txt"}\'.'
        ) from error
    if not isinstance(found, dict):
        raise Misuse("The arguments are not a JSON object.", hint="Write {...}.")
    return found


def read_answer(text: str) -> Json:
    """Return an answer: the JSON value that it writes, else the text itself."""
    try:
        value: Json = json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    except (ValueError, RecursionError):
        return text
    return value


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# The commands ------------------------------------------------------------------------------

_Decider = Callable[..., int]
_message = click.option("-m", "--message", metavar="TEXT", help="What the agent is told.")


def _deciding(function: _Decider) -> _Decider:
    """Return a command's function with what all deciding commands take."""
    seen = click.option(
        "--fingerprint", metavar="HEX", help="Decide only if the item still has this fingerprint."
    )
    return click.argument("item")(shared(reviewer_option("--by")(seen(function))))


def _settle(
    session: Session,
    id: str,
    word: str,
    make: Callable[[Item], Json] = lambda _: None,
    *,
    by: str | None,
    fingerprint: str | None,
) -> int:
    """Find an item, decide it, and tell what was decided and what comes next."""
    with session.opened() as desk:
        item = find(desk, id)
        if fingerprint is not None and fingerprint.strip().lower() != item.fingerprint:
            raise Stale(
                f"Item {item.id} has another fingerprint: {item.fingerprint}.",
                hint=f"Look at it again: hitl show {item.id}.",
                item=item.id,
            )
        settled = decide(desk, item, word, make(item), by=by)
        rest = len(desk.pending(thread=item.thread, limit=1000))
        after = resume_command(desk, item.thread, session.store)
    session.screen.document({"item": facts.document(settled), "waiting": rest, "resume": after})
    _tell(session, settled, rest, after)
    return 0


def _tell(session: Session, item: Item, rest: int, after: str) -> None:
    screen = session.screen
    decision = item.decision
    if decision is None:
        screen.say(f"voted: {facts.decision_line(item.votes[-1])}", "bold")
        screen.say(facts.next_step(item)[0])
        return
    screen.say(facts.decision_line(decision), "bold")
    if decision.type == "edit":
        screen.facts(facts.edit_rows(item, decision.payload.get("edited_action")))
    else:
        screen.say(f"{facts.title(item)}: {facts.effect(item)}", indent=2)
    if decision.by is None:
        screen.say(UNNAMED.format("--by"))
    if item.state != "decided":
        screen.say(facts.next_step(item)[0])
        return
    if rest:
        screen.say(f"{rest} more on this thread: `hitl inbox` lists what waits.")
    screen.say("Go on with the run:")
    screen.command(after)


@click.command(
    "approve",
    help="Let a call run exactly as it was shown.",
    epilog=examples(
        "hitl approve 1f2e3d4c",
        "hitl approve 1f2e3d4c --by ann --grant same_args --for 1h --uses 5",
    ),
)
@click.option(
    "--grant",
    type=click.Choice(["same_args", "same_tool"]),
    help="Let calls like this one go on without asking, where its rules permit that.",
)
@click.option("--for", "ttl", metavar="AGE", help="How long the grant counts: 45s, 90m, 12h, 30d.")
@click.option("--uses", type=click.IntRange(1), help="How often it counts.")
@_deciding
def approve(
    session: Session,
    item: str,
    grant: str | None,
    ttl: str | None,
    uses: int | None,
    by: str | None,
    fingerprint: str | None,
) -> int:
    """Approve an item."""
    if grant is None and (ttl is not None or uses is not None):
        raise Misuse("--for and --uses belong to a grant.", hint="Give --grant same_args, too.")
    wish: dict[str, Json] = {"scope": grant}
    if ttl is not None:
        wish["ttl"] = seconds("--for", ttl)
    if uses is not None:
        wish["uses"] = uses
    more = None if grant is None else wish
    return _settle(session, item, "approve", lambda _: more, by=by, fingerprint=fingerprint)


@click.command(
    "edit",
    short_help="Let a call run with other arguments.",
    help="Let a call run with other arguments, or another tool in its place. Without --args "
    "the arguments open in your editor.",
    epilog=examples(
        """hitl edit 1f2e3d4c --args '{"path": "reports/a.txt"}'""",
        "hitl edit 1f2e3d4c --args @args.json",
        "hitl edit 1f2e3d4c --args - < args.json",
    ),
)
@click.option("--args", metavar="JSON|@FILE|-", help="All arguments, as one JSON object.")
@click.option("--name", metavar="TOOL", help="The tool to run in its place.")
@_deciding
def edit(
    session: Session,
    item: str,
    args: str | None,
    name: str | None,
    by: str | None,
    fingerprint: str | None,
) -> int:
    """Edit an item."""

    def make(found: Item) -> Json:
        if found.kind == "question":
            return None
        text = _given(args) if args is not None else _from_editor(session, found)
        return edited(found, read_arguments(text), name)

    return _settle(session, item, "edit", make, by=by, fingerprint=fingerprint)


def _from_editor(session: Session, item: Item) -> str:
    terminal = Terminal(session.screen)
    if session.screen.as_json or not terminal.is_there():
        raise Misuse("An edit needs --args.", hint="Give the arguments as JSON, @FILE or -.")
    text = terminal.edit(json.dumps(dict(facts.arguments(item)), indent=2))
    if text is None:
        raise Misuse("Nothing was changed; the item still waits.", hint="Save to decide.")
    return text


def _given(word: str) -> str:
    """Return what ``--args`` stands for: itself, a file's text, or standard input."""
    try:
        if word == "-":
            return sys.stdin.read()
        return Path(word[1:]).read_text(encoding="utf-8") if word.startswith("@") else word
    except (OSError, ValueError) as error:
        raise Misuse(f"The arguments cannot be read: {error}.", hint="Check the file.") from error


@click.command(
    "reject",
    help="Do not run a call; the message tells the agent why.",
    epilog=examples("hitl reject 1f2e3d4c", "hitl reject 1f2e3d4c -m 'Only orders before 2020.'"),
)
@_message
@_deciding
def reject(
    session: Session, item: str, message: str | None, by: str | None, fingerprint: str | None
) -> int:
    """Reject an item."""
    return _settle(session, item, "reject", lambda _: message, by=by, fingerprint=fingerprint)


@click.command(
    "respond",
    help="Do not run a call; the message is its result.",
    epilog=examples("hitl respond 1f2e3d4c -m 'The invoice was paid on 3 May.'"),
)
@click.option("-m", "--message", required=True, metavar="TEXT", help="The call's result.")
@_deciding
def respond(
    session: Session, item: str, message: str, by: str | None, fingerprint: str | None
) -> int:
    """Respond in a call's place."""
    return _settle(session, item, "respond", lambda _: message, by=by, fingerprint=fingerprint)


@click.command(
    "answer",
    short_help="Answer a question of interrupt().",
    help="Answer a question of interrupt(): with a JSON value, or with text.",
    epilog=examples(
        "hitl answer 1f2e3d4c true",
        """hitl answer 1f2e3d4c '{"colour": "blue"}'""",
        "hitl answer 1f2e3d4c 'as you like'",
        "hitl answer 1f2e3d4c --text 42",
    ),
)
@_deciding
@click.argument("value", metavar="JSON-OR-TEXT")
@click.option("--text", is_flag=True, help="Take it as text, even where it is JSON.")
def answer(
    session: Session, item: str, value: str, text: bool, by: str | None, fingerprint: str | None
) -> int:
    """Answer a question."""
    given = value if text else read_answer(value)
    return _settle(session, item, "answer", lambda _: given, by=by, fingerprint=fingerprint)


@click.command(
    "retry",
    short_help="Settle a lost call: run it again.",
    help="Settle a call of unknown outcome: it did not happen, run it again.",
    epilog=examples("hitl retry 1f2e3d4c"),
)
@_deciding
def retry(session: Session, item: str, by: str | None, fingerprint: str | None) -> int:
    """Run a lost call again."""
    return _settle(session, item, "retry", by=by, fingerprint=fingerprint)
