"""The named crash points of an approved call, and what each recovers to: data for test and page.

``python tests/crash/points.py > docs/crash-points.md`` writes the page; a test compares them.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["POINTS", "Point", "page"]


class Point(NamedTuple):
    """A place at which a process may die while it resumes an approved call.

    Attributes:
        name: Where it is, in words.
        place: The same for the child process: kind of entry, which one, before or after its
            commit; or a place in the tool's body.
        happened: Whether the tool's effect has taken place.
        unknown: Whether the log cannot tell.
    """

    name: str
    place: str
    happened: bool = False
    unknown: bool = False

    @property
    def recovers(self) -> str:
        """What the next process finds and does."""
        if self.unknown:
            return "started, no result: asks the tool's probe, then a human; never runs by itself"
        if self.place == "decide:1:before":
            return "the question still waits; the decision is given again"
        if self.happened:
            return "the result is kept; the run goes on behind it"
        return "the decision is kept; the call runs, once"


POINTS = (
    Point("before the decision is stored", "decide:1:before"),
    Point("after the decision is stored", "decide:1:after"),
    Point("before the review is stored", "step:1:before"),
    Point("after the review is stored", "step:1:after"),
    Point("before the intent is stored", "intent:1:before"),
    Point("after the intent, before the effect", "intent:1:after", unknown=True),
    Point("in the body, before the effect", "body:before", unknown=True),
    Point("in the body, after the effect", "body:after", happened=True, unknown=True),
    Point("before the result is stored", "step:2:before", happened=True, unknown=True),
    Point("after the result is stored", "step:2:after", happened=True),
)

_HEAD = """# Crash points

A process is killed with SIGKILL at each of these points while it resumes an approved call of a
tool with `effect="effect"`, the default. Another process then opens the same file and goes on
(`invoke(None, config)`). `tests/crash/test_sigkill_executor.py` does so for every row; this table
is made from its list (`python tests/crash/points.py`).

| killed | effect took place | what the next process does |
|---|---|---|
"""

_TAIL = """
A tool that is `pure` or `idempotent` runs again in the rows where nothing is known, under the same
`runtime.idempotency_key`. Nodes, and calls that need no approval, follow the same rows from the
review on. A store that is busy, loses the acknowledgement of a commit, or has no room left comes to
the same rows without a kill: `tests/crash/test_faulty_store.py`.
"""


def page() -> str:
    """Return the page of the docs."""
    rows = [
        f"| {point.name} | {'yes' if point.happened else 'no'} | {point.recovers} |\n"
        for point in POINTS
    ]
    return f"{_HEAD}{''.join(rows)}{_TAIL}"


if __name__ == "__main__":
    print(page(), end="")
