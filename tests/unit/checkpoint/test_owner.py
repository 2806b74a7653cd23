import json
import os
import subprocess
import sys

import pytest

from hitl.checkpoint import activate, is_gone, new_owner, retire
from hitl.checkpoint.owner import describe

linux = pytest.mark.skipif(sys.platform != "linux", reason="the OS must tell about processes")


def changed(owner, **facts):
    return json.dumps(json.loads(owner) | facts)


def of_a_child(then="import os; os._exit(0)"):
    """Start a process that tells its owner text; return the process and the text."""
    code = f"from hitl.checkpoint import new_owner; print(new_owner(), flush=True)\n{then}"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    return child, child.stdout.readline().strip()


def end(child):
    child.communicate()
    return child.wait()


def test_each_run_has_an_owner_of_its_own():
    assert len({new_owner() for _ in range(100)}) == 100


def test_a_run_of_this_process_is_gone_unless_it_is_active():
    owner = new_owner()
    activate(owner)
    assert not is_gone(owner)
    retire(owner)
    retire(owner)
    assert is_gone(owner)


@linux
def test_a_process_that_has_ended_is_gone():
    child, owner = of_a_child("input()")
    assert not is_gone(owner)
    end(child)
    assert is_gone(owner)


@linux
def test_a_killed_process_is_gone_before_its_parent_has_noticed():
    child, owner = of_a_child("input()")
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_gone(owner)
    end(child)


@linux
def test_a_pid_that_was_given_out_again_does_not_keep_a_lease():
    child, owner = of_a_child("input()")
    assert is_gone(changed(owner, started="1"))
    end(child)
    assert is_gone(changed(new_owner(), started="1"))


@pytest.mark.parametrize(
    "facts",
    [
        {"host": "elsewhere"},
        {"boot": "another"},
        {"boot": ""},
        {"space": "pid:[1]"},
        {"pid": "7"},
        {"pid": None},
        {"started": 7},
    ],
    ids=str,
)
def test_what_is_not_certain_is_not_gone(facts):
    child, owner = of_a_child()
    end(child)
    assert not is_gone(changed(owner, **facts))


@pytest.mark.parametrize("text", ["", "worker-1", "{", "[]", "7", "null", '{"pid": 1}'])
def test_an_owner_of_another_form_is_not_gone(text):
    assert not is_gone(text)


def test_an_owner_is_described_without_its_token():
    owner = new_owner()
    assert set(describe(owner)) == {"host", "pid"}
    assert json.loads(owner)["token"] not in str(describe(owner))
    assert describe("worker-1") == {}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_is_a_process_of_its_own():
    mine = new_owner()
    activate(mine)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        facts = json.loads(new_owner())
        os.write(write, json.dumps([facts["pid"], os.getpid(), is_gone(mine)]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    pid, real, gone = json.loads(os.read(read, 1000))
    os.close(read)
    os.close(write)
    retire(mine)
    assert pid == real == child
    assert gone is False
