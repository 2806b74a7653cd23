"""Imports point down only, through front doors, and never in a ring.

Every import counts, inside functions and under ``TYPE_CHECKING`` too. The rules are functions
of (module name -> tree), so that planted faults can show that they are found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import pytest

FLOORS = [
    {"errors"},
    {"values"},
    {"codec"},
    {"checkpoint"},
    {"ledger"},
    {"engine", "policy", "inbox"},
    {"agent"},
    {"cli", "web", "worker", "testing"},
]
"""Lowest first; those of one set do not see each other."""

HEIGHT = {floor: height for height, floors in enumerate(FLOORS) for floor in floors}
ABOVE_ALL = {"hitl", "hitl.__main__"}

Trees = Mapping[str, ast.Module]


class Arrow(NamedTuple):
    """One imported thing: ``name`` is None where the module itself is imported."""

    source: str
    line: int
    target: str
    name: str | None = None

    def __str__(self) -> str:
        what = f"{self.target}.{self.name}" if self.name else self.target
        return f"{self.source}:{self.line} imports {what}"


def arrows(trees: Trees) -> Iterator[Arrow]:
    """Yield every import of one of our modules, wherever in a file it stands."""
    for source, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Arrow(source, node.lineno, alias.name)
            elif isinstance(node, ast.ImportFrom):
                yield from _from(source, node, trees)
            elif isinstance(node, ast.Call) and _imports_by_name(node):
                yield Arrow(source, node.lineno, str(node.args[0].value))  # type: ignore[attr-defined]


def _from(source: str, node: ast.ImportFrom, trees: Trees) -> Iterator[Arrow]:
    module = node.module or ""
    for alias in node.names:
        whole = f"{module}.{alias.name}"
        if whole in trees and alias.name not in listed(trees.get(module)):
            yield Arrow(source, node.lineno, whole)
        else:
            yield Arrow(source, node.lineno, module, alias.name)


def _imports_by_name(node: ast.Call) -> bool:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
    called = called.id if isinstance(called, ast.Name) else called
    return (
        called in ("import_module", "__import__")
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
    )


def floor(module: str) -> str:
    """Return the floor that a module belongs to, ``hitl`` for the front door."""
    return "hitl" if module in ABOVE_ALL else module.split(".")[1]


def crossings(trees: Trees) -> Iterator[Arrow]:
    """Yield the arrows of our floors that leave their floor for another one."""
    for arrow in arrows(trees):
        ours = arrow.target == "hitl" or arrow.target.startswith("hitl.")
        if ours and floor(arrow.source) not in ("hitl", floor(arrow.target)):
            yield arrow


def upward(trees: Trees) -> list[str]:
    """Return arrows that do not point down."""
    return [
        str(arrow)
        for arrow in crossings(trees)
        if HEIGHT.get(floor(arrow.target), 99) >= HEIGHT[floor(arrow.source)]
    ]


def past_front_doors(trees: Trees) -> list[str]:
    """Return arrows into a room of another floor, or to a name that its door does not list."""
    return [
        str(arrow)
        for arrow in crossings(trees)
        if arrow.target.count(".") != 1
        or (arrow.name is not None and arrow.name not in listed(trees.get(arrow.target)))
    ]


def listed(tree: ast.Module | None) -> list[str]:
    """Return what a module's ``__all__`` says, [] where it says nothing."""
    for node in tree.body if tree else []:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return list(ast.literal_eval(node.value))  # type: ignore[attr-defined]
    return []


def ring(trees: Trees) -> list[str]:
    """Return the modules of an import cycle, [] where there is none."""
    graph: dict[str, set[str]] = {name: set() for name in trees}
    for arrow in arrows(trees):
        if arrow.target in trees:
            graph[arrow.source].add(arrow.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def trees(sources) -> Trees:
    return {source.name: source.tree for source in sources}


def test_every_module_lives_on_a_floor(trees):
    homeless = {name for name in trees if floor(name) not in HEIGHT} - ABOVE_ALL
    assert not homeless


def test_arrows_point_down_only(trees):
    assert not upward(trees)


def test_floors_are_entered_through_their_front_door(trees):
    assert not past_front_doors(trees)


def test_no_imports_go_in_a_ring(trees):
    assert not ring(trees)


def planted(**files: str) -> Trees:
    names = {name: f"hitl.{name.replace('__', '.')}" for name in files}
    return {names[name]: ast.parse(text) for name, text in files.items()}


@pytest.mark.parametrize(
    "line",
    [
        "from hitl.engine import StateGraph",
        "import hitl.engine",
        "import hitl.engine as engine",
        "from hitl import engine",
        "from hitl import StateGraph",
        "import hitl",
        "def f():\n    from hitl.engine import StateGraph",
        "if TYPE_CHECKING:\n    from hitl.engine.graph import StateGraph",
        "importlib.import_module('hitl.engine')",
        "__import__('hitl.engine')",
        "from hitl.agent import tool",
        "from hitl.testing import conform",
        "from hitl.attic import old",
    ],
)
def test_an_arrow_that_does_not_point_down_is_found(line):
    assert upward(planted(engine="", policy__judge=line))


def test_a_way_past_a_front_door_is_found():
    door = "__all__ = ['Item']"
    for line in ("from hitl.values.ids import derive", "import hitl.values.ids"):
        assert past_front_doors(planted(values=door, values__ids="", codec__pack=line))
    assert past_front_doors(planted(values=door, codec__pack="from hitl.values import hidden"))
    assert past_front_doors(
        planted(values=door, values__ids="", codec="from hitl.values import ids")
    )
    assert not past_front_doors(planted(values=door, codec__pack="from hitl.values import Item"))


def test_a_name_on_a_front_door_may_be_that_of_a_room_behind_it():
    trees = planted(
        codec="__all__ = ['pack']", codec__pack="", ledger="from hitl.codec import pack"
    )
    assert not past_front_doors(trees)


def test_a_ring_is_found_behind_an_import_on_first_use():
    late = "def f():\n    from hitl.values.call import ToolCall"
    early = "from hitl.values.ids import derive"
    assert ring(planted(values__ids=late, values__call=early))
    assert not ring(planted(values__ids="", values__call=early))
