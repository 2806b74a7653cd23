"""C23: rules over paths, for the built-in file tools; ``interrupt`` asks, ``deny`` refuses."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from hitl import (
    Command,
    FilesystemBackend,
    FilesystemPermission,
    Misuse,
    ScriptedModel,
    StateBackend,
    create_deep_agent,
)

CONFIG = {"configurable": {"thread_id": "t"}}
GO = {"messages": [{"role": "user", "content": "go"}]}
SECRETS = FilesystemPermission(operations=["write"], paths=["/secrets/**"], mode="interrupt")
READS = FilesystemPermission(operations=["read"], paths=["/secrets/**"], mode="interrupt")


def agent(saver, permissions, *calls, backend=None, **more):
    turn = {"tool_calls": [{"name": name, "args": args} for name, args in calls]}
    return create_deep_agent(
        ScriptedModel([turn, "Done."]),
        permissions=permissions,
        backend=backend,
        checkpointer=saver,
        **more,
    )


def write(path):
    return ("write_file", {"file_path": path, "content": "new"})


def results(output):
    return [(m.content, m.status) for m in output.value["messages"] if m.type == "tool"]


@pytest.fixture
def asked(saver, run):
    """Run an agent; return the names of the tools whose calls wait."""

    def names(permissions, *calls, **more):
        config = {"configurable": {"thread_id": str(uuid4())}}
        output = run(agent(saver, permissions, *calls, **more), GO, config, version="v2")
        return [
            request["name"]
            for interrupt in output.interrupts
            for request in interrupt.value["action_requests"]
        ]

    return names


@pytest.fixture(params=["state", "folder"])
def backend(request, tmp_path):
    if request.param == "state":
        return StateBackend()
    (tmp_path / "root").mkdir()
    return FilesystemBackend(root_dir=tmp_path / "root", virtual_mode=True)


def test_c23_a_write_that_a_rule_names_waits_and_then_runs(saver, run, backend):
    app = agent(saver, [SECRETS], write("/secrets/key"), write("/notes"), backend=backend)
    output = run(app, GO, CONFIG, version="v2")
    (interrupt,) = output.interrupts
    (request,) = interrupt.value["action_requests"]
    assert request["args"]["file_path"] == "/secrets/key"
    assert interrupt.value["review_configs"] == [
        {
            "action_name": "write_file",
            "allowed_decisions": ["approve", "edit", "reject", "respond"],
        }
    ]
    answer = Command(resume={"decisions": [{"type": "approve"}]})
    output = run(app, answer, CONFIG, version="v2")
    assert results(output) == [("Wrote /secrets/key", "success"), ("Wrote /notes", "success")]


@pytest.mark.parametrize(
    "path",
    [
        "/secrets/.env",
        "/secrets/a/.b/c",
        "//secrets/key",
        "/secrets//key",
        "/./secrets/./key",
        "secrets/key",
        "/notes/../secrets/key",
        "..",
        "~/key",
        "C:/secrets/key",
        "\\secrets\\key",
        "/secrets\u200b/key",
        "/a\nb",
        "x" * 5_000,
        5,
        None,
        ["/notes"],
    ],
    ids=str,
)
def test_c23_whatever_leads_there_or_cannot_be_read_asks(asked, path):
    assert asked([SECRETS], write(path)) == ["write_file"]


@pytest.mark.parametrize("path", ["/secrets", "/secretsx/a", "/a/secrets/b", "/Secrets/a", "notes"])
def test_c23_other_paths_do_not_ask(asked, path):
    assert asked([SECRETS], write(path)) == []


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("edit_file", {"file_path": "/secrets/a", "old_string": "a", "new_string": "b"}),
        ("delete", {"file_path": "/secrets/a"}),
        ("delete", {"file_path": "/secrets"}),
        ("delete", {"file_path": "/"}),
        ("delete", {"file_path": "//secrets"}),
    ],
)
def test_c23_every_tool_that_writes_is_covered(asked, name, args):
    assert asked([SECRETS], (name, args)) == [name]


@pytest.mark.parametrize(
    ("name", "args", "waits"),
    [
        ("read_file", {"file_path": "/secrets/a"}, True),
        ("ls", {"path": "/secrets"}, True),
        ("ls", {"path": "//secrets"}, True),
        ("ls", {"path": "/"}, True),
        ("ls", {"path": "/secrets/deep"}, True),
        ("ls", {"path": "/notes"}, False),
        ("ls", {"path": "/notes/.."}, True),
        ("ls", {}, True),
        ("ls", {"path": 5}, True),
        ("grep", {"pattern": "x"}, True),
        ("grep", {"pattern": "x", "path": "."}, True),
        ("grep", {"pattern": "x", "path": "/notes"}, False),
        ("glob", {"pattern": "*.md", "path": "/notes"}, False),
        ("glob", {"pattern": "*.md"}, True),
        ("glob", {"pattern": "/secrets/*", "path": "/notes"}, True),
        ("glob", {"pattern": "//secrets/*", "path": "/notes"}, True),
        ("glob", {"pattern": "/{notes,secrets}/*", "path": "/notes"}, True),
        ("glob", {"pattern": "/notes/*", "path": "/notes"}, False),
        ("glob", {"pattern": "/**", "path": "/notes"}, True),
        ("glob", {"pattern": "../secrets/*", "path": "/notes"}, True),
        ("glob", {"pattern": 5, "path": "/notes"}, True),
    ],
)
def test_c23_tools_that_look_below_a_folder_ask_where_it_may_hold_such_a_path(
    asked, name, args, waits
):
    assert asked([READS], (name, args)) == ([name] if waits else [])


def test_c23_the_first_rule_that_matches_decides(asked):
    open_, shut = (
        FilesystemPermission(["write"], ["/secrets/open/**"], mode)  # type: ignore[arg-type]
        for mode in ("allow", "deny")
    )
    assert asked([open_, SECRETS], write("/secrets/open/a")) == []
    assert asked([SECRETS, open_], write("/secrets/open/a")) == ["write_file"]
    assert asked([shut, SECRETS], write("/secrets/open/a")) == []  # refused, so nobody is asked


def test_c23_the_users_entry_wins_tool_by_tool(asked):
    calls = [write("/secrets/a"), ("delete", {"file_path": "/secrets/b"})]
    assert asked([SECRETS], *calls) == ["write_file", "delete"]
    assert asked([SECRETS], *calls, interrupt_on={"write_file": False}) == ["delete"]
    loose = {"write_file": {"allowed_decisions": ["approve", "reject"]}}
    assert asked([SECRETS], write("/notes"), interrupt_on=loose) == ["write_file"]


@pytest.mark.parametrize("interrupt_on", [None, {"write_file": False}, {"write_file": True}])
def test_c23_what_is_denied_is_refused_whatever_is_said_of_asking(
    saver, run, backend, interrupt_on
):
    deny = FilesystemPermission(["read", "write"], ["/secrets/**"], "deny")
    app = agent(saver, [deny], write("/secrets/a"), backend=backend, interrupt_on=interrupt_on)
    output = run(app, GO, CONFIG, version="v2")
    if output.interrupts:
        output = run(
            app, Command(resume={"decisions": [{"type": "approve"}]}), CONFIG, version="v2"
        )
    refused = "Error: permission denied for write on /secrets/a"
    assert results(output) == [(refused, "error")]


def test_c23_an_edit_into_a_denied_path_is_refused_too(saver, run):
    deny = FilesystemPermission(["write"], ["/vault/**"], "deny")
    app = agent(saver, [deny, SECRETS], write("/secrets/a"))
    run(app, GO, CONFIG, version="v2")
    other = {"name": "write_file", "args": {"file_path": "/vault/a", "content": "x"}}
    answer = {"decisions": [{"type": "edit", "edited_action": other}]}
    output = run(app, Command(resume=answer), CONFIG, version="v2")
    ((text, status),) = results(output)
    assert "permission denied for write on /vault/a" in text
    assert status == "error"


def test_c23_listings_leave_out_what_is_denied_and_keep_what_asks(saver, run):
    deny = FilesystemPermission(["read"], ["/secrets/**"], "deny")
    asks = FilesystemPermission(["read"], ["/asked/**"], "interrupt")
    calls = [
        ("ls", {"path": "/"}),
        ("glob", {"pattern": "**"}),
        ("grep", {"pattern": "x"}),
        ("ls", {"path": "/secrets"}),
    ]
    free = dict.fromkeys(["ls", "glob", "grep"], False)
    app = agent(saver, [deny, asks], *calls, interrupt_on=free)
    files = {path: {"content": "x"} for path in ["/secrets/a", "/asked/b", "/c"]}
    output = run(app, {**GO, "files": files}, CONFIG, version="v2")
    told = [text for text, _ in results(output)]
    assert told == [
        '["/asked/","/c","/secrets/"]',
        '["/asked/b","/c"]',
        "/asked/b\n/c",
        "No files found",
    ]


def test_c23_a_folder_is_not_deleted_where_something_in_it_may_not_be(saver, run, backend):
    deny = FilesystemPermission(["write"], ["/area/keep/**"], "deny")
    calls = [("delete", {"file_path": "/area"}), ("glob", {"pattern": "/**"})]
    app = agent(saver, [deny], *calls, backend=backend)
    given: dict = {"/area/keep/a": {"content": ""}, "/area/b": {"content": ""}}
    if isinstance(backend, FilesystemBackend):
        for path in given:
            backend.files({}).write(tuple(path.split("/")[1:]), "", lambda _: None)
        given = {}
    output = run(app, {**GO, "files": given} if given else GO, CONFIG, version="v2")
    assert results(output) == [
        ("Error: permission denied for write on /area/keep/a", "error"),
        ('["/area/b","/area/keep/a"]', "success"),
    ]


@pytest.fixture
def linked(tmp_path):
    """A folder with links to a secret, to the folder of secrets, and out of the root."""
    root = tmp_path / "root"
    (root / "secrets").mkdir(parents=True)
    (root / "secrets" / "key").write_text("k3y")
    (root / "area").mkdir()
    (root / "area" / "plain").write_text("k3y in the open")
    (tmp_path / "outside").write_text("k3y outside")
    (root / "area" / "key").symlink_to("../secrets/key")
    (root / "area" / "all").symlink_to(root / "secrets")
    (root / "area" / "out").symlink_to("../../outside")
    (root / "area" / "chain").symlink_to("key")
    return root


@pytest.mark.parametrize(
    "call",
    [
        ("read_file", {"file_path": "/area/key"}),
        ("read_file", {"file_path": "/area/chain"}),
        ("read_file", {"file_path": "/area/all/key"}),
        ("ls", {"path": "/area/all"}),
        ("grep", {"pattern": "k", "path": "/area/all"}),
        ("grep", {"pattern": "k", "path": "/area/key"}),
        ("glob", {"pattern": "*", "path": "/area/all"}),
    ],
    ids=str,
)
def test_c23_a_link_is_judged_by_where_it_leads(asked, saver, run, linked, call):
    backend = FilesystemBackend(linked)
    assert asked([READS], call, backend=backend) == [call[0]]
    config = {"configurable": {"thread_id": "denied"}}
    deny = FilesystemPermission(["read"], ["/secrets", "/secrets/**"], "deny")
    output = run(agent(saver, [deny], call, backend=backend), GO, config, version="v2")
    ((text, status),) = results(output)
    assert "k3y" not in text
    assert status == "error"


def test_c23_searching_does_not_follow_links(saver, run, linked):
    calls = [("grep", {"pattern": "k3y", "path": "/area"}), ("ls", {"path": "/area"})]
    app = agent(saver, [READS], *calls, backend=FilesystemBackend(linked))
    output = run(app, GO, CONFIG, version="v2")
    assert output.interrupts == ()
    assert [text for text, _ in results(output)] == [
        "/area/plain",
        '["/area/all","/area/chain","/area/key","/area/out","/area/plain"]',
    ]


def test_c23_a_link_that_is_written_through_is_judged_by_where_it_leads(saver, run, linked):
    deny = FilesystemPermission(["write"], ["/secrets/**"], "deny")
    app = agent(saver, [deny], write("/area/all/new"), backend=FilesystemBackend(linked))
    output = run(app, GO, CONFIG, version="v2")
    assert results(output) == [("Error: permission denied for write on /secrets/new", "error")]
    assert [one.name for one in (linked / "secrets").iterdir()] == ["key"]


@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ({"paths": ["secrets/**"]}, ValueError, "does not begin with a slash"),
        ({"paths": ["/a/../b"]}, ValueError, "'..'"),
        ({"paths": ["/a\\..\\b"]}, ValueError, "'..'"),
        ({"paths": ["/~/b"]}, NotImplementedError, "not expanded"),
        ({"paths": []}, Misuse, "paths"),
        ({"paths": "/secrets/**"}, Misuse, "paths"),
        ({"paths": [Path("/a")]}, Misuse, "paths"),
        ({"paths": ["/{1..100000}"]}, Misuse, "more than"),
        ({"paths": ["/{a}/b"]}, Misuse, "braces"),
        ({"operations": []}, Misuse, "operations"),
        ({"operations": ["raed"]}, Misuse, "Did you mean 'read'"),
        ({"mode": "interupt"}, Misuse, "Did you mean 'interrupt'"),
    ],
    ids=str,
)
def test_c23_a_rule_that_would_not_do_what_it_says_is_refused(fields, error, said):
    whole = {"operations": ["read"], "paths": ["/a"], "mode": "deny", **fields}
    with pytest.raises(error, match=said):
        FilesystemPermission(**whole)


def test_c23_a_rule_allows_by_default():
    assert FilesystemPermission(operations=["read"], paths=["/a"]).mode == "allow"
