"""The demo's agent, to be run by hand and decided from other shells.

    cd examples
    hitl run archive:agent "Tidy the archive." --store archive/runs.db
    hitl inbox --store archive/runs.db
    hitl approve ITEM --store archive/runs.db --by you
    hitl resume archive:agent THREAD --store archive/runs.db

The first call makes the folder ``archive`` with a database and a place for reports, from the
data file that ships with the package. A script plays the model; HITL_MODEL names a real one,
such as ``openai:gpt-5.5``.
"""

from __future__ import annotations

import os
from pathlib import Path

from hitl import CompiledStateGraph
from hitl.cli.demo.agent import build
from hitl.cli.demo.world import World

FOLDER = Path("archive")


def agent() -> CompiledStateGraph:
    """Return the agent over the folder ``archive``, which is made if it is not there."""
    world = World(FOLDER.resolve())
    if not FOLDER.exists():
        FOLDER.mkdir()
        world.make()
    return build(world, os.environ.get("HITL_MODEL"))
