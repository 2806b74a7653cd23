"""The examples, run as their docstrings say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def hitl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hitl.cli", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(EXAMPLES), *sys.path])},
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_the_archive_is_tidied_from_three_shells(tmp_path: Path) -> None:
    store = ("--store", "archive/runs.db")
    first = hitl(tmp_path, "run", "archive:agent", "Tidy.", "--thread", "t", *store)
    assert first.returncode == 3, first.stderr
    listed = hitl(tmp_path, "inbox", *store, "--json")
    items = json.loads(listed.stdout)["items"]
    decisions = {
        "delete_records": ("approve",),
        "write_report": ("reject", "-m", "not now"),
        "send_notice": ("reject",),
        "ask_user": ("respond", "-m", "2021"),
    }
    for item in items:
        verb, *more = decisions[item["subject"]["name"]]
        decided = hitl(tmp_path, verb, item["id"], *more, *store)
        assert decided.returncode == 0, decided.stderr
    last = hitl(tmp_path, "resume", "archive:agent", "t", *store)
    assert last.returncode == 0, last.stderr
    ran = (tmp_path / "archive" / "effects.log").read_text(encoding="utf-8").splitlines()
    assert ran == ["delete_records before=2020-01-01 deleted=5"]


def test_the_deep_agents_sub_agents_are_decided_one_by_one(tmp_path: Path) -> None:
    store = ("--store", "runs.db")
    first = hitl(tmp_path, "run", "deep_agent:agent", "Go.", "--thread", "t", *store)
    assert first.returncode == 3, first.stderr
    items = json.loads(hitl(tmp_path, "inbox", *store, "--json").stdout)["items"]
    by_tool = {item["subject"]["name"]: item["id"] for item in items}
    published = tmp_path / "reports" / "published" / "report.md"
    rejected = hitl(tmp_path, "reject", by_tool["delete"], "-m", "keep it", *store)
    assert rejected.returncode == 0, rejected.stderr
    assert hitl(tmp_path, "resume", "deep_agent:agent", "t", *store).returncode == 3
    assert not published.exists()
    assert hitl(tmp_path, "approve", by_tool["write_file"], *store).returncode == 0
    last = hitl(tmp_path, "resume", "deep_agent:agent", "t", *store)
    assert last.returncode == 0, last.stderr
    assert published.read_text(encoding="utf-8") == "All is well.\n"
    assert (tmp_path / "reports" / "old.tmp").exists()
    assert "k3y" not in hitl(tmp_path, "log", "t", *store).stdout
