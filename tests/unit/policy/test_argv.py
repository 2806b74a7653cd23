"""What counts as one simple command, and when it begins as a rule says."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.policy.argv import argv_matches, argv_of, compile_argv

READ = {
    "git status": ("git", "status"),
    "  ls   -la  /tmp ": ("ls", "-la", "/tmp"),
    "git commit -m 'fix the door'": ("git", "commit", "-m", "fix the door"),
    'git commit -m "fix it"': ("git", "commit", "-m", "fix it"),
    "pip install a==1.2": ("pip", "install", "a==1.2"),
    "git show HEAD:a.txt": ("git", "show", "HEAD:a.txt"),
}
UNREAD = [
    "",
    " ",
    "ls; rm x",
    "ls\nrm x",
    "ls\rrm x",
    "ls && rm x",
    "ls || rm x",
    "ls | sh",
    "ls & rm x",
    "ls > /etc/passwd",
    "ls < x",
    "ls 2>&1",
    "cat <<EOF",
    "echo $(rm x)",
    "echo `rm x`",
    "echo $HOME",
    "echo ${IFS}",
    'echo "$(rm x)"',
    'echo "`rm x`"',
    "diff <(ls) x",
    "ls *.py",
    "ls ?",
    "ls [ab]",
    "ls {a,b}",
    "ls ~",
    "ls ~root",
    "FOO=bar ls",
    "PATH=. ls",
    "(ls)",
    "{ ls; }",
    "! ls",
    "ls #x",
    "ls \\; x",
    "l\\s",
    "'ls' x",
    "''ls",
    "ls 'a'b",
    "ls 'a",
    "ls 'a\nb'",
    "ls\tx",
    "ls\u00a0x",
    "ls\u2028rm",
    "\uff4cs",
    "l\u0455",
    "ls\u200b",
    "ls \x00",
    "%COMSPEC% /c x",
    "ls =x",
    "ls !x",
    "ls ^x",
    "a" * 10_001,
    None,
    7,
    True,
    b"ls",
    {"cmd": "ls"},
    [],
    ["ls", 1],
    ["ls", None],
    [""],
    ["l s"],
    ["A=b", "ls"],
    ["ls", "a\0b"],
    ["ls;rm"],
    ["x"] * 1001,
]
SPEC = [["git", "status"], ["git", "push", "--force"], ["ls"], ["find", "."], ["sudo", "ls"]]
TRUE = ["git status", "git status -s", ["git", "status", "a b;c"], "ls -la /", "find . -name x"]
FALSE = ["git commit", "cat x", "git", ["lsx"], "git push", "find / -name x", "rm -rf x"]
UNKNOWN = [
    "./git status",
    "/usr/bin/git status",
    "GIT status",
    "git.exe status",
    "git -C /x status",
    "git -c a=b status",
    "git --no-pager status",
    "git push origin --force",
    "find . -delete",
    "find . -exec rm x",
    "find . -execdir rm x",
    "find . -fprintf x y",
    "git status --output=x",
    "git status --outp=x",
    "env ls",
    "sudo git status",
    "timeout 5 ls",
    "xargs ls",
    "sh -c ls",
    "bash -c ls",
    ["/bin/bash", "-c", "ls"],
    "python3.11 -c x",
    "nice ls",
    "eval ls",
    "exec ls",
    "command ls",
    "ssh host ls",
    "busybox ls",
    "git status; rm x",
    "git status $(x)",
]


@pytest.mark.parametrize("text", READ)
def test_a_simple_command_is_read(text):
    assert argv_of(text) == READ[text]


@pytest.mark.parametrize("value", UNREAD, ids=lambda value: repr(value)[:30])
def test_what_is_not_one_simple_command_of_plain_words_is_not_read(value):
    assert argv_of(value) is None
    assert argv_matches(value, SPEC) is None


def test_a_list_of_words_is_taken_as_it_is():
    assert argv_of(["git", "commit", "-m", "a; b $(c)\n"]) == ("git", "commit", "-m", "a; b $(c)\n")


@pytest.mark.parametrize(
    ("value", "answer"),
    [*((v, True) for v in TRUE), *((v, False) for v in FALSE), *((v, None) for v in UNKNOWN)],
    ids=repr,
)
def test_a_command_begins_as_a_rule_says(value, answer):
    assert argv_matches(value, SPEC) is answer


def test_a_row_may_name_what_a_runner_runs():
    assert argv_matches("sudo ls /", SPEC) is True
    assert argv_matches("python -m pytest -q", [["python", "-m", "pytest"]]) is True


def test_a_row_may_name_the_option_that_acts():
    assert argv_matches("find . -delete", [["find", ".", "-delete"]]) is True


@pytest.mark.parametrize(
    "spec",
    [[], "ls", ["ls"], [[]], [["sh", "-c"]], [["sudo"]], [["env", "-i"]], [["l s"]], [[1]], None],
)
def test_a_row_that_cannot_be_read_or_frees_anything_is_refused(spec):
    with pytest.raises(ValueError, match=r"list|would match"):
        compile_argv(spec)


@given(st.text(alphabet="ab -='\";|&$`\\\n*~{}()<>#%!,.:/@+", max_size=12) | st.text(max_size=12))
def test_what_is_read_is_read_alike_by_a_posix_shell(text):
    words = argv_of(text)
    if words is not None:
        assert list(words) == shlex.split(text, comments=True)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_any_value_gets_an_answer(value):
    assert argv_matches(value, SPEC) in (True, False, None)
