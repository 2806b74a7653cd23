"""Set up and run: ``python3 run.py demo`` or ``python3 run.py check``.

Needs Python 3.11+ and nothing else: makes ``.venv`` beside this file, installs the project there
once (again when ``pyproject.toml`` or ``constraints.txt`` change), then runs the job in it.
Arguments after the job's name go to the job. Keep the syntax plain, so that an older Python
gets as far as the message that it is too old.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "installed.json"
WINDOWS = os.name == "nt"
BIN = VENV / ("Scripts" if WINDOWS else "bin")
PYTHON = BIN / ("python.exe" if WINDOWS else "python")
OLDEST = (3, 11)
USAGE = "usage: python3 run.py check|demo [arguments of the job]   (check --help, demo --help)"


def main(argv: list[str]) -> int:
    """Return the exit code of the job, or 2 where it could not be started."""
    if not argv or argv[0] not in ("check", "demo"):
        print(USAGE)
        return 0 if argv in (["-h"], ["--help"]) else 2
    if sys.version_info < OLDEST:
        return restart_with_newer(argv)
    job, args = argv[0], argv[1:]
    if not (make_venv() and install(extras_for(job, args))):
        return 2
    return run(command(job, args))


def say(text: str) -> None:
    """Print one line at once, to stderr: stdout belongs to the job."""
    print("run.py: " + text, file=sys.stderr, flush=True)


def restart_with_newer(argv: list[str]) -> int:
    """Run this file again with a newer Python found on PATH, or say that there is none."""
    for name in ("python3.13", "python3.12", "python3.11", "python3.14", "python"):
        found = shutil.which(name)
        if found and version_of(found) >= OLDEST:
            say(f"python3 is {sys.version.split()[0]}; going on with {found}")
            return run([found, str(ROOT / "run.py"), *argv])
    say(f"needs Python 3.11 or newer, this is {sys.version.split()[0]} and PATH has no other.")
    return 2


def version_of(python: str | Path) -> tuple[int, ...]:
    """Return (major, minor) of an interpreter, or () where it does not start."""
    show = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([str(python), "-c", show], stdout=-1, stderr=-1, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ()
    return tuple(int(part) for part in done.stdout.split())


def make_venv() -> bool:
    """Make ``.venv`` where there is none of this Python version; return whether it is there."""
    found = version_of(PYTHON)
    ours = STAMP.exists() or not VENV.exists() or not found
    if found == sys.version_info[:2] or (found >= OLDEST and not ours):
        return True
    say(f"making {VENV.name} with Python {sys.version.split()[0]}")
    done = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=False)
    if done.returncode:
        say("python3 -m venv failed; on Debian and Ubuntu: apt-get install python3-venv")
    return done.returncode == 0


def extras_for(job: str, args: list[str]) -> set[str]:
    """Return the extras that a job needs; a demo without a real model needs none."""
    if job == "check":
        return {"dev"}
    return {"models"} if any(arg.startswith("--model") for arg in args) else set()


def install(extras: set[str]) -> bool:
    """Install the project with its extras unless the stamp says so; return whether it is."""
    files = [ROOT / "pyproject.toml", ROOT / "constraints.txt"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    stamp = json.loads(STAMP.read_text()) if STAMP.exists() else {"extras": []}
    present = set(stamp["extras"])
    if stamp.get("digest") == digest and extras <= present:
        return True
    wanted = sorted(extras | present)
    target = ".[{}]".format(",".join(wanted)) if wanted else "."
    say(f"installing {target} (once; a minute or two)")
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "-c", "constraints.txt", "-e", target], cwd=ROOT, check=False)
    if done.returncode:
        say("the installation failed; pip's own words are above")
        return False
    STAMP.write_text(json.dumps({"digest": digest, "extras": wanted}))
    return True


def command(job: str, args: list[str]) -> list[str]:
    """Return the command line of a job; without a person at the keyboard the demo is scripted."""
    if job == "check":
        return [str(PYTHON), str(ROOT / "scripts" / "check.py"), *args]
    alone = sys.stdin is None or not sys.stdin.isatty()
    scripted = ["--scripted"] if alone and "--scripted" not in args else []
    return [str(BIN / "hitl"), "demo", *scripted, *args]


def run(words: list[str]) -> int:
    """Become the command (signals and terminal are then its own), or wait for it on Windows."""
    sys.stdout.flush()
    if not WINDOWS:
        os.execv(words[0], words)  # noqa: S606 - no shell wanted
    return subprocess.run(words, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
