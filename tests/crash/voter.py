"""What the race of voters runs in processes of their own: each speaks when it is told to.

The arguments are a store's file, who it is, what the clock shows, and where the process dies, if
anywhere: ``before`` or ``after`` its first commit. Each line that is read is an item's id. The
name ``sweep`` expires what is overdue, ``use`` takes a use from the oldest grant.
"""

from __future__ import annotations

import os
import signal
import sys

from hitl.checkpoint import SqliteSaver
from hitl.errors import HitlError
from hitl.inbox import Inbox
from hitl.values import ManualClock


class DyingSaver(SqliteSaver):
    """A store that kills its process beside its first commit."""

    when = ""

    def append(self, commit):
        if self.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        receipt = super().append(commit)
        if self.when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return receipt


def said(desk: Inbox, name: str, id: str) -> str:
    if name == "sweep":
        return f"swept {len(desk.sweep())}"
    if name == "use":
        return str(desk.grants.use(desk.grants.list()[0]))
    return desk.decide(id, {"type": "approve"}, by=name).state


def main(path: str, name: str, now: float, when: str = "") -> None:
    with DyingSaver(path, clock=ManualClock(now)) as store:
        store.when = when
        print("ready", flush=True)
        for line in sys.stdin:
            try:
                print(said(Inbox(store), name, line.strip()), flush=True)
            except HitlError as error:
                print(type(error).__name__, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), *sys.argv[4:])
