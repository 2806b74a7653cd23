"""Commands over what comes with decisions: ``grants`` (remembered answers) and ``sweep``."""

from __future__ import annotations

import click

from hitl.cli import facts
from hitl.cli.session import Session, examples, reviewer_option, shared
from hitl.values import Grant, Json, iso

__all__ = ["grants", "sweep"]


@click.group(
    "grants",
    short_help="List and revoke remembered answers.",
    help="List and revoke remembered answers: grants, by which calls go on without asking.",
    epilog=examples("hitl grants list", "hitl grants revoke 1f2e3d4c --by ann"),
)
def grants() -> None:
    """Hold the commands."""


@grants.command(
    "list",
    help="List the grants that count, oldest first.",
    epilog=examples("hitl grants list", "hitl grants list --all --json"),
)
@click.option("--all", "ended", is_flag=True, help="Used up, past and revoked ones, too.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many.")
@shared
def list_grants(session: Session, ended: bool, limit: int) -> int:
    """List grants."""
    with session.opened() as desk:
        now = desk.store.clock.now()
        found = desk.grants.list(ended=ended, limit=limit + 1)
    more, shown = len(found) > limit, found[:limit]
    rows: list[Json] = [_document(grant, now) for grant in shown]
    session.screen.document({"grants": rows, "more": more})
    if not shown:
        session.screen.say(f"No grant counts in {session.store}.")
        return 0
    headers = {
        "id": "whole", "tool": "fold", "which calls": "cut", "left": "whole", "ends in": "whole",
        "by": "fold", "thread": "whole",
    }  # fmt: skip
    session.screen.table(headers, [_row(grant, now) for grant in shown])
    if more:
        session.screen.say(f"There are more: --limit {limit * 2} lists them.")
    return 0


def _row(grant: Grant, now: float) -> tuple[str, ...]:
    args = grant.args if isinstance(grant.args, dict) else {}
    which = facts.call(args.items()) if grant.scope == "same_args" else "any that its rules ask"
    ends = "revoked" if grant.revoked else facts.age(grant.until - now)
    if not grant.revoked and grant.until <= now:
        ends = "passed"
    left = f"{grant.left} of {grant.uses}"
    return grant.id[:8], grant.tool, which, left, ends, grant.by, grant.thread


def _document(grant: Grant, now: float) -> dict[str, Json]:
    return {
        "id": grant.id,
        "thread": grant.thread,
        "tool": grant.tool,
        "args": grant.args,
        "scope": grant.scope,
        "uses": grant.uses,
        "left": grant.left,
        "given_at": iso(grant.given_at),
        "until": iso(grant.until),
        "by": grant.by,
        "policy_id": grant.policy_id,
        "rules": [*grant.rule_ids],
        "revoked": grant.revoked,
        "counts": grant.counts(now),
    }


@grants.command(
    "revoke",
    help="Take a grant back: calls like the approved one are asked about again.",
    epilog=examples("hitl grants revoke 1f2e3d4c --by ann"),
)
@click.argument("grant")
@reviewer_option("--by")
@shared
def revoke_grant(session: Session, grant: str, by: str | None) -> int:
    """Revoke a grant."""
    with session.opened() as desk:
        revoked = desk.grants.revoke(grant.strip().lower(), by=by)
        now = desk.store.clock.now()
    session.screen.document({"grant": _document(revoked, now)})
    how = "is revoked" if revoked.revoked else "had been used up"
    session.screen.say(f"The grant {revoked.id[:8]} for {revoked.tool} {how}.")
    return 0


@click.command(
    "sweep",
    short_help="Expire what nobody decided in time.",
    help="Expire what nobody decided in time, so that it shows at once; for cron. Nothing "
    "depends on it: late decisions are refused anyway, and a run that goes on expires what it "
    "meets.",
    epilog=examples("hitl sweep", "hitl sweep --json"),
)
@shared
def sweep(session: Session) -> int:
    """Expire items."""
    with session.opened() as desk:
        expired = desk.sweep()
    rows: list[Json] = [facts.document(item) for item in expired]
    session.screen.document({"expired": rows})
    for item in expired:
        session.screen.say(f"{facts.title(item)}({facts.effect(item)}) of thread {item.thread}")
    session.screen.say(f"{len(expired)} expired.")
    return 0
