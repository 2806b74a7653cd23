"""Who holds a lease: the owner as a text, and whether its process is known to be gone.

The text is JSON: the host, the process and its start, and a random token of one run. Being
wrong about "gone" would let two writers in, so everything that is not certain means "not gone";
such a lease ends when its time is up.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from hitl.values import Json

__all__ = ["activate", "describe", "is_gone", "new_owner", "retire"]

_ENDED = frozenset("ZXx")


class _Place(NamedTuple):
    """This process, as the start of all its owner texts, and the facts about its host."""

    pid: int
    host: tuple[str, str, str]
    prefix: str


_places: dict[int, _Place] = {}
_active: set[str] = set()


def new_owner() -> str:
    """Return the text that names a new run of this process as the owner of a lease."""
    return f'{_here().prefix}{os.urandom(8).hex()}"}}'


def activate(owner: str) -> None:
    """Note that a run of this process is in progress; do it before the lease is taken."""
    _active.add(owner)


def retire(owner: str) -> None:
    """Note that a run of this process has ended, however it did."""
    _active.discard(owner)


def is_gone(owner: str) -> bool:
    """Return True only where it is certain that an owner does not run any more.

    That is: a run of this very process that is not active, or a process of this very host
    (same boot, same process namespace) that has ended.
    """
    here = _here()
    if owner.startswith(here.prefix):
        return owner not in _active
    facts = _parse(owner)
    host, pid, started = _host_of(facts), facts.get("pid"), facts.get("started")
    if host != here.host or not host[1] or type(pid) is not int or type(started) is not str:
        return False
    return pid == here.pid or _has_ended(pid, started)


def describe(owner: str) -> dict[str, Json]:
    """Return who an owner is, for a message: its facts without the token."""
    facts = _parse(owner)
    return {name: facts[name] for name in ("host", "pid") if name in facts}


def _parse(owner: str) -> dict[str, Json]:
    try:
        facts = json.loads(owner)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _host_of(facts: dict[str, Json]) -> tuple[Json, Json, Json]:
    return facts.get("host"), facts.get("boot"), facts.get("space")


def _here() -> _Place:
    """Return the facts about this process, read anew after a fork."""
    pid = os.getpid()
    return _places.get(pid) or _places.setdefault(pid, _look(pid))


def _look(pid: int) -> _Place:
    boot, space, started = _proc_facts(pid)
    host = (_hostname(), boot, space)
    # Without a start time the process is told apart from a later one by chance alone.
    facts = {
        "host": host[0],
        "boot": boot,
        "space": space,
        "pid": pid,
        "started": started or os.urandom(8).hex(),
        "token": "",
    }
    return _Place(pid, host, json.dumps(facts)[: -len('"}')])


def _hostname() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import socket  # only Windows needs it, and its import takes a while

    return socket.gethostname()


def _proc_facts(pid: int) -> tuple[str, str, str]:
    """Return boot id, namespaces and start time; empty texts where the OS does not tell them.

    A /proc that counts processes otherwise than we do belongs to another namespace.
    """
    from pathlib import Path  # here and below: its import takes as long as this whole floor's

    try:
        if str(Path("/proc/self").readlink()) != str(pid):
            return "", "", ""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        space = str(Path("/proc/self/ns/pid").readlink())
        stat = _stat(pid)
    except (OSError, ValueError, IndexError):
        return "", "", ""
    return boot, space, stat[19]


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the command's name, which may hold anything."""
    from pathlib import Path

    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode("ascii").split()


def _has_ended(pid: int, started: str) -> bool:
    try:
        stat = _stat(pid)
        # A dead leader of living threads is a zombie as well, so the threads are counted.
        return stat[19] != started or (stat[0] in _ENDED and int(stat[17]) <= 1)
    except FileNotFoundError:
        return _is_no_process(pid)
    except (OSError, ValueError, IndexError):
        return False


def _is_no_process(pid: int) -> bool:
    """Ask the kernel as well, since /proc may hide the processes of other users.

    Reached only where /proc told facts before, so never on Windows, where signal 0 kills.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
