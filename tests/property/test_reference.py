"""Memory and SQLite agree with the reference model, whatever is done to a thread."""

from __future__ import annotations

import os

from hypothesis import settings

from hitl import InMemorySaver, SqliteSaver
from hitl.testing.stateful import beside

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"

TestThreads = beside(
    lambda clock, folder: InMemorySaver(clock=clock),
    lambda clock, folder: SqliteSaver(folder / "runs.db", clock=clock, synchronous="NORMAL"),
)
TestThreads.settings = settings(
    max_examples=1000 if LONG else 30, stateful_step_count=40 if LONG else 20, deadline=None
)
