"""One process of the demo: ``python -m hitl.cli.demo.worker FOLDER JOB [MODEL]``.

The jobs are ``start``, ``resume`` and ``resume-and-die``, which is killed in the middle of a call.

It tells what happens as lines of JSON. After ``start`` it stays, like a server that holds a
paused run in memory, until it is killed.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from hitl.cli.demo.agent import THREAD, WISH, build
from hitl.cli.demo.world import World
from hitl.cli.progress import Teller, message_ids
from hitl.errors import HitlError

__all__ = ["main"]

_LONGEST = 600  # seconds; nobody forgets it for ever


def main(folder: str, job: str, model: str | None = None) -> int:
    """Run the agent once and return the exit code."""
    config: dict[str, object] = {"configurable": {"thread_id": THREAD}}
    start = {"messages": [{"role": "user", "content": WISH}]} if job == "start" else None
    try:
        agent = build(World(Path(folder), dies=job == "resume-and-die"), model)
        known = message_ids(agent.get_state(config).values)
        teller = Teller(agent.shape.schema.hidden, known)
        for part in agent.stream(start, config):
            for who, what in teller.lines(part):
                _tell(who=who, what=what)
        waits = len(agent.get_state(config).interrupts)
    except HitlError as error:
        _tell(error=error.message, hint=error.hint)
        return 1
    _tell(waits=waits)
    if job == "start" and waits:
        time.sleep(_LONGEST)
    return 0


def _tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
