"""One process that decides items of a store as fast as it can: ``store`` starts several at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple, cast

from benchmarks.pending import item_id
from hitl import Inbox, SqliteSaver
from hitl.checkpoint.sqlite import Synchronous

__all__ = ["Pace", "decide_in"]

_ROOT = Path(__file__).resolve().parent.parent


class Pace(NamedTuple):
    """How long some decisions took: microseconds of CPU, of all processes, and on the clock."""

    cpu: float
    wall: float


def decide(path: str, synchronous: str, first: int, count: int) -> Pace:
    """Decide ``count`` items, once a line on the standard input says so."""
    with SqliteSaver(path, synchronous=cast("Synchronous", synchronous)) as store:
        inbox = Inbox(store)
        inbox.get(item_id(first))
        print("ready", flush=True)
        sys.stdin.readline()
        cpu, wall = time.process_time(), time.perf_counter()
        for number in range(first, first + count):
            inbox.decide(item_id(number), True, by="ana")
        return Pace((time.process_time() - cpu) * 1e6, (time.perf_counter() - wall) * 1e6)


def decide_in(processes: int, path: Path, synchronous: str, count: int) -> Pace:
    """Let processes decide ``count`` items between them, all at the same time."""
    share = count // processes
    words = [sys.executable, "-m", "benchmarks.decider", str(path), synchronous]
    started = [
        subprocess.Popen(
            [*words, str(place * share), str(share)],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for place in range(processes)
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [json.loads(process.communicate()[0].splitlines()[-1]) for process in started]
    paces = [Pace(*each) for each in told]
    return Pace(sum(pace.cpu for pace in paces), max(pace.wall for pace in paces))


if __name__ == "__main__":
    path, synchronous, first, count = sys.argv[1:]
    print(json.dumps(decide(path, synchronous, int(first), int(count))))
