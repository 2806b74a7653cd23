"""``hitl demo``: the whole job on a real database and a real folder, in several processes."""

from hitl.cli.demo.story import run

__all__ = ["run"]
