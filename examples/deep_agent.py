"""A deep agent over a folder: one sub-agent writes a report, another one tidies up.

    cd examples
    hitl run deep_agent:agent "Report and tidy up." --store runs.db
    hitl inbox --store runs.db
    hitl approve ITEM --store runs.db --by you
    hitl resume deep_agent:agent THREAD --store runs.db

Writing under /published and deleting anything waits for a human; /secrets is not read at all. The
folder ``reports`` is made if it is not there. A script plays the models; HITL_MODEL names a real
one, such as ``openai:gpt-5.5``.
"""

from __future__ import annotations

import os
from pathlib import Path

from hitl import (
    CompiledStateGraph,
    FilesystemBackend,
    FilesystemPermission,
    ScriptedModel,
    create_deep_agent,
)

FOLDER = Path("reports")
RULES = [
    FilesystemPermission(["read", "write"], ["/secrets/**"], mode="deny"),
    FilesystemPermission(["write"], ["/published/**"], mode="interrupt"),
]


def calls(*named: tuple[str, dict[str, str]]) -> dict[str, object]:
    """Return a turn of a scripted model that makes these calls."""
    return {"tool_calls": [{"name": name, "args": args} for name, args in named]}


def task(who: str, what: str) -> tuple[str, dict[str, str]]:
    """Return a call that sends out a sub-agent."""
    return "task", {"subagent_type": who, "description": what}


LEAD = [calls(task("writer", "Report."), task("tidier", "Tidy up.")), "Reported, and tidied up."]
WRITER = [
    calls(("read_file", {"file_path": "/secrets/key"})),
    calls(("write_file", {"file_path": "/published/report.md", "content": "All is well.\n"})),
    "The report is out.",
]
TIDIER = [
    calls(("glob", {"pattern": "*.tmp"})),
    calls(("delete", {"file_path": "/old.tmp"})),
    "It is tidy.",
]


def agent() -> CompiledStateGraph:
    """Return the agent over the folder ``reports``."""
    if not FOLDER.exists():
        (FOLDER / "secrets").mkdir(parents=True)
        (FOLDER / "secrets" / "key").write_text("k3y", encoding="utf-8")
        (FOLDER / "old.tmp").write_text("", encoding="utf-8")
    model = os.environ.get("HITL_MODEL")
    return create_deep_agent(
        model or ScriptedModel(LEAD),
        backend=FilesystemBackend(FOLDER),
        permissions=RULES,
        interrupt_on={"delete": True},
        subagents=[
            {
                "name": "writer",
                "description": "Writes the report.",
                "system_prompt": "You write short reports into /published.",
                "model": model or ScriptedModel(WRITER),
            },
            {
                "name": "tidier",
                "description": "Deletes what is not needed.",
                "system_prompt": "You delete temporary files, and nothing else.",
                "model": model or ScriptedModel(TIDIER),
            },
        ],
    )
