"""What the demo tells: propose, wait, kill, decide, resume, and look at what really happened."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hitl.checkpoint import SqliteSaver
from hitl.cli.asking import Asker
from hitl.cli.demo.agent import THREAD, WISH
from hitl.cli.demo.world import World
from hitl.cli.facts import decision_line, effect, state_word, title
from hitl.cli.screen import Screen
from hitl.cli.terminal import Terminal
from hitl.errors import Misuse
from hitl.inbox import Inbox
from hitl.values import Item, Json, iso

__all__ = ["run"]

_ROUNDS = 10
_DIED = -1
_PATIENCE = 300  # seconds that one process may take

DECISIONS: dict[str, dict[str, Json]] = {
    "delete_records": {"type": "approve"},
    "write_report": {
        "type": "edit",
        "edited_action": {
            "name": "write_report",
            "args": {"path": "summary.md", "text": "Records before 2020 were removed."},
        },
    },
    "send_notice": {"type": "reject", "message": "Nobody outside needs to know."},
    "ask_user": {"type": "respond", "message": "2021."},
    "outcome of delete_records": {"type": "respond", "message": "5 records deleted"},
}
"""What the scripted reviewer says of a call of each tool."""


def run(*, scripted: bool, model: str | None, keep: str | None, screen: Screen) -> int:
    """Play the demo and return its exit code: 0 done, 1 failed, 3 something still waits.

    Args:
        scripted: Take the decisions from ``DECISIONS`` in place of asking.
        model: ``"provider:name"`` of a real model in place of the scripted one.
        keep: A folder to make the world in and to leave there; a temporary one where None.
        screen: Where the story is told.

    Raises:
        Misuse: Nobody is there to decide, or the folder is there already.
    """
    if not scripted and not Terminal(screen).is_there():
        raise Misuse(
            "The demo asks you for decisions, and there is no terminal here.",
            hint="hitl demo --scripted",
        )
    with _folder(keep) as folder:
        world = World(folder)
        world.make()
        store = SqliteSaver(str(world.store))
        try:
            code = _Story(screen, world, Inbox(store), scripted, model).tell()
        finally:
            store.close()
        screen.say()
        if keep is None:
            screen.say("The folder is removed now; `hitl demo --keep DIR` leaves it, to look at:")
        else:
            screen.say("It is all still there, to look at:")
        for command in (f"hitl log {THREAD}", "hitl inbox"):
            screen.command(f"{command} --store {keep or 'DIR'}/{world.store.name}")
        return code


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="hitl-demo-") as made:
            yield Path(made).resolve()
        return
    folder = Path(keep).resolve()
    if folder.exists():
        raise Misuse(f"{folder} is there already.", hint="Name a folder that is not.")
    folder.mkdir(parents=True)
    yield folder


class _Story:
    """The chapters of the demo."""

    def __init__(
        self, screen: Screen, world: World, inbox: Inbox, scripted: bool, model: str | None
    ) -> None:
        self.screen = screen
        self.world = world
        self.inbox = inbox
        self.scripted = scripted
        self.model = model

    def tell(self) -> int:
        """Tell all chapters."""
        say = self.screen.say
        say("An agent proposes, a human decides, and exactly that happens, once.", "bold")
        say(f"Everything is real; it lies in {self.world.folder}")
        self._world("Before")
        say()
        say("You ask the agent:", "bold")
        self.screen.block(WISH)
        self._chapter("The first process: the agent works until calls wait for a human")
        waits = self._propose()
        jobs = ["resume-and-die"]
        for _ in range(_ROUNDS):
            if not waits:
                break
            self._chapter("Any process: a human decides")
            if not self._decide():
                say("Something still waits; nothing that waits has run.")
                return 3
            self._chapter("A new process: the run is resumed from the file")
            waits = self._work(jobs.pop() if jobs else "resume")
        if waits is None:
            return 1
        self._world("After")
        self._trail()
        return 0

    def _chapter(self, title: str) -> None:
        self.screen.say()
        self.screen.say(f"--- {title} ---", "bold cyan")

    def _propose(self) -> int | None:
        """Let the first process propose, and kill it while it waits."""
        process = self._start("start")
        try:
            waits = self._listen(process)
            if waits:
                process.send_signal(
                    signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM
                )
                process.wait(_PATIENCE)
                self.screen.say(
                    f"Process {process.pid} was killed (exit {process.returncode}). "
                    f"What waits is in {self.world.store.name}:",
                    "bold",
                )
                self._listed()
        finally:
            _end(process)
        return waits

    def _work(self, job: str) -> int | None:
        """Let a process go on; where it dies in the middle of a call, another one takes over."""
        process = self._start(job)
        try:
            waits = self._listen(process, may_die=job == "resume-and-die")
        finally:
            _end(process)
        if waits != _DIED:
            return waits
        self.screen.say(
            f"Process {process.pid} died in the middle of a call (exit {process.returncode}): the "
            "records are gone from the database, but no result was kept.",
            "bold",
        )
        self._chapter("A new process: it does not delete again, it asks what happened")
        return self._work("resume")

    def _start(self, job: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "hitl.cli.demo.worker", str(self.world.folder), job]
        process = subprocess.Popen(  # noqa: S603 - our own module, our own interpreter
            [*command, *([self.model] if self.model else [])],
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.screen.say(f"(process {process.pid})")
        return process

    def _listen(self, process: subprocess.Popen[str], *, may_die: bool = False) -> int | None:
        """Tell what a process says; return how many questions wait, None where it failed."""
        assert process.stdout is not None
        for line in process.stdout:
            facts = json.loads(line)
            if "waits" in facts:
                return int(facts["waits"])
            if "error" in facts:
                self.screen.error(facts["error"], facts["hint"])
                return None
            self.screen.say(f"{facts['who']}: {facts['what']}", indent=2)
        if may_die and process.wait(_PATIENCE) < 0:
            return _DIED
        self.screen.error("The process ended without a word.")
        return None

    def _pending(self) -> list[Item]:
        return self.inbox.pending(thread=THREAD, limit=1000)

    def _listed(self) -> None:
        rows = [
            (item.id[:8], title(item), effect(item), ", ".join(item.allowed))
            for item in self._pending()
        ]
        columns = {"item": "whole", "tool": "whole", "what it would do": "cut", "allowed": "fold"}
        self.screen.table(columns, rows)

    def _decide(self) -> bool:
        items = self._pending()
        if not self.scripted:
            return Asker(self.screen, self.inbox, Terminal(self.screen), "you").ask(items)
        for item in items:
            decision = DECISIONS.get(title(item), {"type": "reject"})
            if decision["type"] not in item.allowed:
                decision = {"type": item.allowed[-1]}
            decided = self.inbox.decide(item.id, decision, by="demo reviewer")
            assert decided.decision is not None
            self.screen.say(f"{title(item)}: {decision_line(decided.decision)}", indent=2)
        return True

    def _world(self, when: str) -> None:
        self._chapter(f"{when}: the database and the folder")
        rows = [(str(id), created, name) for id, created, name, _ in self.world.rows()]
        self.screen.table({"id": "whole", "created": "whole", "title": "cut"}, rows)
        self.screen.say(f"files: {', '.join(self.world.files()) or 'none'}")
        for line in self.world.ran():
            self.screen.say(f"ran: {line}")
        if self.world.ran():
            self.screen.say("(write_report is declared idempotent, so it may run again.)")

    def _trail(self) -> None:
        self._chapter("The audit trail: who decided what, and what came of it")
        items = self.inbox.store.items(thread=THREAD, limit=1000)
        for item in items:
            self.screen.say(f"{iso(item.asked_at)}  {title(item)}: {effect(item)}", "bold")
            if item.decision is not None:
                self.screen.say(decision_line(item.decision), indent=4)
            self.screen.say(f"now: {state_word(item)}", indent=4)


def _end(process: subprocess.Popen[str]) -> None:
    """End a process that we started, and let go of its pipe."""
    if process.poll() is None and process.stdout is not None:
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait(_PATIENCE)
    if process.stdout is not None:
        process.stdout.close()
