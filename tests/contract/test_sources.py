"""The source documents' own examples run with only their import lines changed.

``sources.md`` has the examples; ``docs/migration.md`` says by what an import line is replaced.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hitl import AIMessage, NotAllowed, ScriptedModel

HERE = Path(__file__).parent
MIGRATION = (HERE.parents[1] / "docs" / "migration.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `from (\S+) import (.+?)` \| `from hitl import (.+?)` \|$", re.MULTILINE)
IMPORT = re.compile(r"^from ((?:langchain|langgraph|deepagents)\S*) import (.+)$", re.MULTILINE)
BLOCK = re.compile(
    r"^## ([^\n]+)\n(?:(?!```|## )[^\n]*\n)*```python\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
BLOCKS = dict(BLOCK.findall((HERE / "sources.md").read_text(encoding="utf-8")))
TABLE = {module: set(names.split(", ")) for module, names, _ in ROW.findall(MIGRATION)}


def moved(line: re.Match[str]) -> str:
    """Return an import line as the table has it."""
    assert set(line[2].split(", ")) <= TABLE[line[1]], f"the table lacks {line[0]!r}"
    return f"from hitl import {line[2]}"


def migrated(name: str) -> str:
    return IMPORT.sub(moved, BLOCKS[name])


class Notebook:
    """Runs examples one after another in one namespace, as a reader of the page would."""

    def __init__(self) -> None:
        self.names: dict = {}
        self.ran: list[tuple[str, str]] = []
        for tool in (self.write_file, self.execute_sql, self.read_data):
            self.names[tool.__name__] = tool

    def write_file(self, path: str = "", file_path: str = "", text: str = "") -> str:
        """Write a file."""
        return self.note("write_file", path or file_path)

    def execute_sql(self, query: str) -> str:
        """Execute SQL."""
        return self.note("execute_sql", query)

    def read_data(self, key: str = "") -> str:
        """Read data."""
        return self.note("read_data", key)

    def note(self, name: str, what: str) -> str:
        self.ran.append((name, what))
        return f"{name}: {what}"

    def run(self, *names: str) -> None:
        for name in names:
            exec(compile(migrated(name), f"sources.md: {name}", "exec"), self.names)

    @property
    def last(self) -> list:
        messages: list = self.names["agent"].get_state(self.names["config"]).values["messages"]
        return messages


@pytest.fixture
def book() -> Notebook:
    return Notebook()


@pytest.fixture
def gpt(chat_server, monkeypatch):
    """Let the model of the first document, ``gpt-5.5``, be the server on loopback."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    return chat_server


SQL = "DELETE FROM records WHERE created_at < NOW() - INTERVAL '30 days';"


@pytest.mark.models
def test_the_configured_agent_pauses_and_is_resumed_as_the_page_does(book, gpt, capsys):
    gpt.calls(("execute_sql", {"query": SQL}))
    gpt.says("The old records are gone.")
    book.run("configure", "respond to an interrupt")
    (interrupt,) = book.names["result"].interrupts
    (request,) = interrupt.value["action_requests"]
    assert {key: request[key] for key in ("name", "args", "description")} == {
        "name": "execute_sql",
        "args": {"query": SQL},
        "description": (
            f"Tool execution pending approval\n\nTool: execute_sql\nArgs: { ({'query': SQL})!r}"
        ),
    }
    assert interrupt.value["review_configs"] == [
        {"action_name": "execute_sql", "allowed_decisions": ["approve", "reject"]}
    ]
    assert "execute_sql" in capsys.readouterr().out
    book.run("resume with an approval")
    assert book.ran == [("execute_sql", SQL)]
    assert book.last[-1].content == "The old records are gone."


@pytest.mark.models
def test_the_configured_agent_lets_safe_operations_run(book, gpt):
    gpt.calls(("read_data", {"key": "k"}))
    gpt.says("Read.")
    book.run("configure", "respond to an interrupt")
    assert book.names["result"].interrupts == ()
    assert book.ran == [("read_data", "k")]


@pytest.mark.models
def test_the_conditional_agent_asks_only_about_what_its_predicates_name(book, gpt):
    inside, outside = {"path": "/workspace/a"}, {"path": "/etc/passwd"}
    select, delete = {"query": "  select 1"}, {"query": SQL}
    gpt.calls(
        ("write_file", inside),
        ("write_file", outside),
        ("execute_sql", select),
        ("execute_sql", delete),
    )
    gpt.says("Done.")
    book.run("conditional", "respond to an interrupt")
    (interrupt,) = book.names["result"].interrupts
    assert [one["args"] for one in interrupt.value["action_requests"]] == [outside, delete]
    book.names["decisions"] = [{"type": "approve"}, {"type": "reject"}]
    book.run("batch")
    assert sorted(book.ran) == [
        ("execute_sql", "  select 1"),
        ("write_file", "/etc/passwd"),
        ("write_file", "/workspace/a"),
    ]


def new_tool_name(key1: str, key2: str) -> str:
    """Do something."""
    return f"{key1} and {key2}"


@pytest.mark.parametrize(
    ("decision", "content", "status"),
    [
        ("approve", "old_value and original_value", "success"),
        ("edit", "new_value and original_value", "success"),
        ("reject", "User rejected this action. Do not retry this tool call.", "error"),
        ("respond", "Blue.", "success"),
    ],
)
def test_each_decision_is_given_as_the_page_gives_it(book, saver, decision, content, status):
    from hitl import HumanInTheLoopMiddleware, create_agent

    args = {"key1": "old_value", "key2": "original_value"}
    book.names["agent"] = create_agent(
        model=ScriptedModel([{"tool_calls": [{"name": "new_tool_name", "args": args}]}, "Done."]),
        tools=[new_tool_name],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"new_tool_name": True})],
        checkpointer=saver,
    )
    book.run("respond to an interrupt", decision)
    message = book.last[-2]
    assert message.content.endswith(content)
    assert message.status == status


def test_multiple_decisions_are_given_in_the_order_of_the_request(book, saver):
    from hitl import Command, HumanInTheLoopMiddleware, create_agent

    ran = []

    def tool_name(param: str) -> str:
        """Do something."""
        ran.append(param)
        return param

    calls = [{"name": "tool_name", "args": {"param": str(n)}} for n in range(3)]
    book.names["agent"] = create_agent(
        model=ScriptedModel([{"tool_calls": calls}, "Done."]),
        tools=[tool_name],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"tool_name": True})],
        checkpointer=saver,
    )
    book.run("respond to an interrupt", "multiple decisions")
    book.names["agent"].invoke(
        Command(resume=book.names["resume"]), config=book.names["config"], version="v2"
    )
    assert sorted(ran) == ["0", "new_value"]
    answers = [m for m in book.last if m.type == "tool"]
    assert [m.status for m in answers] == ["error", "success", "success"]
    assert answers[0].content.endswith("This action is not allowed")


def delete_file(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


def notify_email(to: str, subject: str = "", body: str = "") -> str:
    """Send a mail."""
    return f"mailed {to}: {subject} {body}"


DELETE = {"name": "delete_file", "args": {"path": "temp.txt"}}
NOTIFY = {"name": "notify_email", "args": {"to": "all@corp.com"}}


@pytest.fixture
def article(book: Notebook) -> Notebook:
    book.names |= {"delete_file": delete_file, "notify_email": notify_email}
    return book


def test_the_articles_two_steps_show_and_approve(article, capsys):
    article.names["model"] = ScriptedModel([{"tool_calls": [DELETE]}, "It is gone."])
    article.run("limited decisions", "two steps")
    assert capsys.readouterr().out.splitlines() == [
        "Tool that waits: delete_file",
        "Arguments: {'path': 'temp.txt'}",
        "Decisions allowed: ['approve', 'reject']",
        "It is gone.",
    ]


def test_the_articles_batch_of_two_tools(article):
    article.names["model"] = ScriptedModel([{"tool_calls": [DELETE, NOTIFY]}, "Done."])
    article.run("limited decisions", "respond to an interrupt", "batch")
    rejected, deleted = article.last[-3:-1]
    assert rejected.content.endswith("No mail, please; do not retry")
    assert deleted.content == "deleted temp.txt"


def test_the_articles_limits_hold(article):
    from hitl import Command

    article.names["model"] = ScriptedModel([{"tool_calls": [DELETE]}, "Done."])
    article.run("limited decisions", "respond to an interrupt")
    agent, config = article.names["agent"], article.names["config"]
    edited = {"name": "delete_file", "args": {"path": "b"}}
    edit = {"decisions": [{"type": "edit", "edited_action": edited}]}
    with pytest.raises(NotAllowed):
        agent.invoke(Command(resume=edit), config=config, version="v2")


@pytest.mark.parametrize(
    ("decision", "content", "status"),
    [
        ("approve", "mailed all@corp.com:  ", "success"),
        ("edit", "mailed team@corp.com: ... ...", "success"),
        ("reject", "ask which folder to archive.", "error"),
        ("respond", "The user says: use the test environment first.", "success"),
    ],
)
def test_the_articles_four_decisions(article, decision, content, status):
    from hitl import Command

    article.names["model"] = ScriptedModel([{"tool_calls": [NOTIFY]}, "Done."])
    article.run("limited decisions", "respond to an interrupt", "four decisions")
    agent, config = article.names["agent"], article.names["config"]
    decisions = {"decisions": [article.names[decision]]}
    agent.invoke(Command(resume=decisions), config=config, version="v2")
    assert article.last[-2].content.endswith(content)
    assert article.last[-2].status == status


def test_the_articles_three_settings(article):
    from hitl import HumanInTheLoopMiddleware

    article.run("three settings")
    middleware = HumanInTheLoopMiddleware(article.names["interrupt_on"])
    assert middleware.interrupt_on == article.names["interrupt_on"]


def writes(path: str) -> dict:
    return {"name": "write_file", "args": {"file_path": path, "content": "new"}}


@pytest.mark.parametrize(
    ("example", "path", "waits"),
    [
        ("dangerous paths", "/prod/a", True),
        ("dangerous paths", "/dev/a", False),
        ("outside the workspace", "/etc/a", True),
        ("outside the workspace", "/workspace/a", False),
    ],
)
def test_the_articles_predicates_over_paths(article, example, path, waits):
    article.names["model"] = ScriptedModel([{"tool_calls": [writes(path)]}, "Done."])
    article.run(example, "respond to an interrupt")
    result = article.names["result"]
    assert bool(result.interrupts) == waits
    assert ("files" not in result.value or not result.value["files"]) == waits


@pytest.mark.parametrize(("path", "waits"), [("/secrets/key", True), ("/notes", False)])
def test_the_articles_secret_folder(article, tmp_path, monkeypatch, path, waits):
    from hitl import Command

    monkeypatch.chdir(tmp_path)
    article.names["model"] = ScriptedModel([{"tool_calls": [writes(path)]}, "Done."])
    article.run("secret folder", "respond to an interrupt")
    assert bool(article.names["result"].interrupts) == waits
    assert (tmp_path / path[1:]).exists() != waits
    if waits:
        agent, config = article.names["agent"], article.names["config"]
        yes = Command(resume={"decisions": [{"type": "approve"}]})
        agent.invoke(yes, config=config, version="v2")
    assert (tmp_path / path[1:]).read_text(encoding="utf-8") == "new"


def test_the_articles_sub_agent_asks_where_the_main_agent_does_not(article):
    read: Any = {"name": "read_file", "args": {"file_path": "/a"}, "id": "1"}
    sent = {"description": "read /a", "subagent_type": "file-manager"}
    turn = AIMessage("", tool_calls=[read, {"name": "task", "args": sent, "id": "2"}])

    def model(messages):
        main = not str(messages[0].content).startswith("You manage files.")
        if messages[-1].type == "tool":
            return "Done."
        return turn if main else AIMessage("", tool_calls=[read])

    article.names["model"] = model
    article.run("overriding sub-agent", "respond to an interrupt")
    (interrupt,) = article.names["result"].interrupts
    (request,) = interrupt.value["action_requests"]
    assert request["name"] == "read_file"
    (item,) = article.names["agent"].checkpointer.items()
    assert item.path == "tools/file-manager/HumanInTheLoopMiddleware.after_model"


@pytest.mark.models
@pytest.mark.parametrize(
    ("typed", "read"), [("y", "deleted /tmp/a.txt"), ("n", "The user said no")]
)
def test_the_articles_smallest_program(article, chat_server, monkeypatch, capsys, typed, read):
    chat_server.calls(("delete_file", {"path": "/tmp/a.txt"}))
    chat_server.says("That was it.")
    monkeypatch.setenv("ali_api_key", "secret")
    article.names["input"] = lambda prompt: typed
    # The one line that cannot stay: the endpoint is on loopback here.
    elsewhere = "https://dashscope.aliyuncs.com/compatible-mode/v1"
    code = migrated("minimal")
    assert elsewhere in code
    exec(code.replace(elsewhere, chat_server.url), article.names)
    assert capsys.readouterr().out.splitlines() == [
        "waits: delete_file {'path': '/tmp/a.txt'}",
        "That was it.",
    ]
    assert chat_server.keys == ["Bearer secret"] * 2
    assert read in chat_server.bodies[1]["messages"][-1]["content"]


def test_every_example_is_run():
    run = set(re.findall(r'"([a-z -]+)"', Path(__file__).read_text(encoding="utf-8")))
    assert len(BLOCKS) == 20
    assert not BLOCKS.keys() - run - {"streaming"}  # which C17 runs
