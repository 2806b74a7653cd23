"""What the house asks of every file."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
from types import ModuleType

import pytest

FILE_LINES = 450
FUNCTION_LINES = 70
FLOORS_WITHOUT_ANY = (
    "errors", "values", "codec", "checkpoint", "ledger", "engine", "policy", "inbox",
)  # fmt: skip
MAY_SAY_ANY = {
    "hitl.engine.ask": "`interrupt` returns whatever a human answers",
    "hitl.engine.invoking": "results of graphs whose types only their users know",
    "hitl.engine.streams": "parts of graphs whose types only their users know",
    "hitl.values.call": "arguments that a model proposes",
    "hitl.values.snapshot": "a result whose type only the graph's user knows",
}
FOREIGN = re.compile(
    "|".join(
        (
            "pypi" + r"\.org",
            "python" + r"hosted\.org",
            "registry" + r"\.npmjs",
            "/" + r"work/(main|shared|\.library)\b",
            "/root/" + r"\.(pyenv|cache|config|local)",
            "/opt/" + "(pypi|wheels)",
        )
    )
)
"""Hosts of package registries, and paths of one machine."""


def is_public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def test_every_module_opens_with_what_it_owns(sources):
    assert not [source.where for source in sources if not ast.get_docstring(source.tree)]


@pytest.fixture(scope="module")
def modules(sources) -> list[ModuleType]:
    return [importlib.import_module(source.name) for source in sources if is_public(source.name)]


def test_every_public_module_lists_its_names_and_each_exists(modules):
    wrong = [module.__name__ for module in modules if not hasattr(module, "__all__")]
    for module in modules:
        names = getattr(module, "__all__", ())
        wrong += [f"{module.__name__}.{name}" for name in names if not hasattr(module, name)]
    assert not wrong


def test_no_listed_name_is_hidden_by_a_module_of_the_same_name(modules):
    # Importing `door.room` sets the attribute `room` of `door`, over what a lazy door gives.
    hidden = [
        f"{module.__name__}.{name}"
        for module in modules
        for name in getattr(module, "__all__", ())
        if isinstance(getattr(module, name, None), ModuleType)
    ]
    assert not hidden


def test_a_file_is_a_room_you_can_see_across(sources):
    lengths = {source.where: len(source.text.splitlines()) for source in sources}
    assert not {where: lines for where, lines in lengths.items() if lines > FILE_LINES}


def test_a_function_is_a_sentence_or_two(sources):
    long = []
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    long.append(f"{source.where}:{node.lineno} {node.name}: {lines} lines")
    assert not long


def test_no_any_below_the_agent(sources):
    found = []
    for source in sources:
        floor = source.name.partition(".")[2].split(".")[0]
        if floor in FLOORS_WITHOUT_ANY and source.name not in MAY_SAY_ANY:
            for node in ast.walk(source.tree):
                named = getattr(node, "id", None) == "Any" or getattr(node, "attr", None) == "Any"
                if named or (isinstance(node, ast.alias) and node.name == "Any"):
                    found.append(f"{source.where}:{getattr(node, 'lineno', '?')}")
    assert not found


def test_nothing_is_left_to_do_in_the_code(sources):
    mark = re.compile(r"\b(TODO|FIXME|XXX)\b")
    assert not [source.where for source in sources if mark.search(source.text)]


def test_no_file_names_a_registry_or_somebodys_machine(root):
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        pytest.skip("not a git clone")
    words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run([git, *words], cwd=root, capture_output=True, text=True, check=True)
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        path = root / name
        text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
        found += [f"{name}: {match[0]}" for match in FOREIGN.finditer(text)]
    assert not found
