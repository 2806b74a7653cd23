"""Workers that decide and resume the same threads, and are stopped, continued and killed.

What happened is read from the file that the tool appends to. Each round is bounded by a number
of signals, not by time; a process that is stopped is always continued or killed in the end.
"""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hitl import SqliteSaver
from hitl.checkpoint import verify
from tests.crash.conftest import Place
from tests.crash.workers import config, payer, settled

THREADS = [f"t{n}" for n in range(40)]
WORKERS, SIGNALS = 4, 80


class Crowd:
    """Workers on one store, by number."""

    def __init__(self, place: Place, seed: int) -> None:
        self.place, self.chance = place, random.Random(seed)
        self.pids: list[Path] = []
        self.ears = ThreadPoolExecutor(max_workers=WORKERS + SIGNALS)
        self.heard: list[Future[dict[str, Any]]] = []

    def start(self) -> None:
        """Start one more."""
        number = len(self.pids) + 1
        pid = self.place.folder / f"pid-{number}"
        order = {"work": True, "threads": THREADS, "seed": number, "lease": 0.3, "pid": str(pid)}
        self.pids.append(pid)
        self.heard.append(self.ears.submit(self.place.child(order).heard))

    def send(self, place: int, number: signal.Signals) -> bool:
        """Send a signal; return whether there was a process to take it."""
        pid = self.pids[place]
        if not (pid.exists() and pid.read_text()):
            return False
        try:
            os.kill(int(pid.read_text()), number)
        except ProcessLookupError:
            return False
        return True

    def trouble(self) -> None:
        """Stop, continue or kill someone; who was killed is replaced."""
        place = self.chance.randrange(len(self.pids))
        kind = self.chance.choice([signal.SIGSTOP, signal.SIGCONT, signal.SIGCONT, signal.SIGKILL])
        if self.send(place, kind) and kind is signal.SIGKILL:
            self.start()

    def end(self) -> list[dict[str, Any]]:
        """Let everybody go on and come to an end; return what they met."""
        for place in range(len(self.pids)):
            self.send(place, signal.SIGCONT)
        said = [heard.result(timeout=60) for heard in self.heard]
        self.ears.shutdown()
        return said


@pytest.mark.parametrize("seed", range(2))
def test_workers_that_are_stopped_continued_and_killed_pay_nobody_twice(place, seed):
    with SqliteSaver(place.store) as saver:
        app = payer(saver, place.oracle)
        for thread in THREADS:
            app.invoke({"messages": "go"}, config(thread))
        crowd = Crowd(place, seed)
        for _ in range(WORKERS):
            crowd.start()
        while not all(pid.exists() for pid in crowd.pids):
            pass  # until everybody is there
        for _ in range(SIGNALS):
            crowd.trouble()
            if settled(saver, THREADS):  # a look at the store: time in which the others work
                break
        met = Counter[str]()
        for said in crowd.end():
            met.update(name for name in said if name != "died")
    assert set(met) <= {"Busy", "AlreadyDecided", "UnknownId", "Stale", "Conflict"}
    ran = Counter(place.ran())
    with SqliteSaver(place.store) as saver:
        assert settled(saver, THREADS)
        for thread in THREADS:
            assert verify(saver.entries(thread)) is None
            told = payer(saver, place.oracle).invoke(None, config(thread))["messages"]
            assert [m.type for m in told] == ["human", "ai", "tool", "ai"]
            action = next(i for i in saver.items(thread=thread) if i.kind == "action")
            assert action.decision is not None
            if action.decision.type == "reject":
                assert ran[thread] == 0
            elif told[2].status == "error":  # it was lost, and given up
                assert ran[thread] <= 1
            else:
                assert (told[2].content, ran[thread]) == ("paid 5", 1)
