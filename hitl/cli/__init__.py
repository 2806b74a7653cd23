"""The command line: the verbs of runs and of the inbox, for people and for scripts."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        argv: The words after ``hitl``; those of this process where None.

    Returns:
        One of the codes of ``hitl.cli.codes``.
    """
    # click and rich load here, so that importing the package stays light.
    from hitl.cli.app import run

    return run(argv)
