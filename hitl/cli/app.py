"""The command ``hitl``: its verbs, and how every error ends: a message, a hint, an exit code."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence

import click

from hitl.cli.agents import AgentFailed
from hitl.cli.codes import DONE, INTERRUPTED, MEANINGS, MISUSE, code_of
from hitl.cli.deciding import answer, approve, edit, reject, respond, retry
from hitl.cli.granting import grants, sweep
from hitl.cli.looking import inbox, log, show
from hitl.cli.policy import policy
from hitl.cli.running import resume, run_agent
from hitl.cli.safe import GUTTER
from hitl.cli.screen import Screen
from hitl.cli.session import examples
from hitl.cli.store import store
from hitl.errors import HitlError
from hitl.values import Json

__all__ = ["hitl", "run"]

_CODES = "\n".join(["\b", "Exit codes:", *(f"  {code}  {text}" for code, text in MEANINGS.items())])


def _version() -> str:
    """Return the package's version; the front door is above this floor, and loaded already."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)


@click.group(
    help="An agent proposes, a human decides, and exactly what was approved happens, once.",
    epilog=examples(
        'hitl run shop:agent "delete old orders"',
        "hitl inbox",
        "hitl approve 1f2e3d4c",
        "hitl resume shop:agent order-17",
    )
    + "\n\n"
    + _CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(_version(), prog_name="hitl", message="%(prog)s %(version)s")
def hitl() -> None:
    """Hold the commands."""


@hitl.command(
    "demo",
    short_help="Show the whole story: propose, decide, crash, resume.",
    help="Show the whole story on a real database and folder: propose, decide, crash, resume.",
    epilog=examples("hitl demo", "hitl demo --scripted", "hitl demo --keep /tmp/hitl-demo"),
)
@click.option("--scripted", is_flag=True, help="Decide as written beforehand; ask nobody.")
@click.option("--model", metavar="NAME", help="A real model, provider:name.")
@click.option("--keep", metavar="DIR", help="Work in this folder and leave it there.")
def demo(scripted: bool, model: str | None, keep: str | None) -> int:
    """Run the demo."""
    from hitl.cli.demo import run as run_demo

    return run_demo(scripted=scripted, model=model, keep=keep, screen=Screen())


for _command in (
    run_agent, inbox, show, approve, edit, reject, respond, answer, retry, resume, log, grants,
    sweep, store, policy,
):  # fmt: skip
    hitl.add_command(_command)


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; no error leaves this function."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its escape, never an error.
            stream.reconfigure(errors="backslashreplace")
    screen = Screen(as_json="--json" in words)
    try:
        code = hitl.main(words, prog_name="hitl", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        return _wrong_use(screen, error)
    except BrokenPipeError:
        # The reader of our output has gone; nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - told, with an exit code
        return _failed(screen, error)
    return code if isinstance(code, int) else DONE


def _wrong_use(screen: Screen, error: click.ClickException) -> int:
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context is not None else "hitl"
    message = error.format_message()
    hint = f"`{path} --help` shows the options and examples."
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and context is not None:
        screen.err.file.write(context.get_help() + "\n")
        return MISUSE
    _tell(screen, "misuse", message, hint)
    return MISUSE


def _failed(screen: Screen, error: BaseException) -> int:
    if isinstance(error, HitlError):
        _tell(screen, error.code, error.message, error.hint)
    elif isinstance(error, KeyboardInterrupt):
        _tell(screen, "interrupted", "Stopped by Ctrl-C.", "What was committed is kept.")
    else:
        message, hint = f"{type(error).__name__}: {error}", "HITL_DEBUG=1 shows where."
        if isinstance(error, AgentFailed):  # before anything ran
            message = str(error)
        else:
            hint += " What was committed is kept; `hitl resume` tries again."
        _tell(screen, "failed", message, hint)
    if os.environ.get("HITL_DEBUG") == "1":
        for line in "".join(traceback.format_exception(error)).rstrip().split("\n"):
            screen.note(GUTTER + line)  # a message of several lines is in it
    return code_of(error)


def _tell(screen: Screen, code: str, message: str, hint: str) -> None:
    failure: dict[str, Json] = {"code": code, "message": message, "hint": hint}
    screen.document({"error": failure})
    screen.error(message, hint)
