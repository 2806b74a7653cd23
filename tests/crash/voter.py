"""What the race of voters runs in processes of their own: each speaks when it is told to.

The arguments are a store's file, who it is and what the clock shows; each line that is read is
an item's id. ``sweep`` as the name expires what is overdue in place of voting.
"""

from __future__ import annotations

import sys

from hitl.checkpoint import SqliteSaver
from hitl.errors import HitlError
from hitl.inbox import Inbox
from hitl.values import ManualClock


def main(path: str, name: str, now: float) -> None:
    with SqliteSaver(path, clock=ManualClock(now)) as store:
        desk = Inbox(store)
        print("ready", flush=True)
        for line in sys.stdin:
            try:
                if name == "sweep":
                    said = f"swept {len(desk.sweep())}"
                else:
                    said = desk.decide(line.strip(), {"type": "approve"}, by=name).state
            except HitlError as error:
                said = type(error).__name__
            print(said, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
