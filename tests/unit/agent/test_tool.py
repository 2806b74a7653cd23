from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import sys
from typing import Annotated, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from hitl.agent.messages import ToolMessage
from hitl.agent.tool import (
    BaseTool,
    InjectedState,
    InjectedToolArg,
    InjectedToolCallId,
    Tool,
    ToolException,
    ToolInvocationError,
    ToolRuntime,
    as_tool,
    check_names,
    tool,
    tool_message,
)
from hitl.errors import HitlError, Misuse
from hitl.values import ToolCall


class Row(BaseModel):
    key: str
    size: int = 1


def delete_file(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


@tool
def search(
    query: str,
    limit: Annotated[int, Field(ge=1)] = 10,
    kind: Literal["all", "new"] = "all",
    rows: list[Row] | None = None,
) -> str:
    """Search the records.

    Args:
        query: What to look for,
            in plain words.
        limit (int): How many at the most.

    Returns:
        Lines of text.
    """
    return f"{query} {limit} {kind} {rows}"


# --- making -----------------------------------------------------------------------------


def test_a_function_becomes_a_tool_of_its_name_and_docstring() -> None:
    made = tool(delete_file)
    assert (made.name, made.description, made.effect) == ("delete_file", "Delete a file.", "effect")
    assert made.args_schema["properties"] == {"path": {"type": "string"}}
    assert made.args_schema["required"] == ["path"]
    assert made.invoke({"path": "/a"}) == "deleted /a"


def test_name_description_and_effect_can_be_given() -> None:
    @tool("rm", description="Remove it.", effect="idempotent", return_direct=True)
    def anything(path: str) -> str:
        return path

    assert (anything.name, anything.description) == ("rm", "Remove it.")
    assert (anything.effect, anything.return_direct) == ("idempotent", True)
    assert anything.spec.args_schema is anything.args_schema


def test_the_schema_says_what_signature_and_docstring_say() -> None:
    properties = search.args_schema["properties"]
    assert isinstance(properties, dict)
    assert properties["query"] == {
        "description": "What to look for, in plain words.",
        "type": "string",
    }
    assert properties["limit"] == {
        "default": 10,
        "description": "How many at the most.",
        "minimum": 1,
        "type": "integer",
    }
    assert properties["kind"]["enum"] == ["all", "new"]  # type: ignore[call-overload,index]
    assert search.description == "Search the records.\n\nReturns:\n    Lines of text."


def test_a_tool_without_any_description_is_refused() -> None:
    with pytest.raises(Misuse, match="no description"):
        tool("f")(lambda: None)


@pytest.mark.parametrize(
    "name", ["", "two words", "delete\u200b_file", "x\n", "<lambda>", "x" * 200]
)
def test_a_name_that_cannot_be_told_apart_is_refused(name: str) -> None:
    with pytest.raises(Misuse, match="cannot be named"):
        tool(name, description="x")(delete_file)


def test_an_effect_of_another_name_is_refused() -> None:
    with pytest.raises(Misuse, match="effect"):
        tool(effect="safe")(delete_file)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("delete_file", "delete_file"),
        ("delete_file", "Delete_File"),
        ("delete_file", "\uff44elete_file"),
        ("kelvin", "\u212aelvin"),
    ],
)
def test_names_that_look_alike_are_refused(one: str, other: str) -> None:
    tools = [tool(name, description="x")(delete_file) for name in (one, other)]
    with pytest.raises(Misuse, match="too alike"):
        check_names(tools)


def test_names_that_differ_are_taken() -> None:
    tools = [tool(name, description="x")(delete_file) for name in ("a", "b")]
    assert check_names(tools) == {"a": tools[0], "b": tools[1]}


def test_functions_and_tools_become_tools_and_nothing_else_does() -> None:
    assert as_tool(search) is search
    assert isinstance(as_tool(delete_file), Tool)
    assert BaseTool is Tool
    for wrong in ("search", 5, Row, {"name": "x"}):
        with pytest.raises(Misuse, match="is not a tool"):
            as_tool(wrong)


def test_a_method_of_an_object_becomes_a_tool() -> None:
    class Desk:
        def file(self, paper: str) -> str:
            """File a paper."""
            return f"filed {paper}"

    assert as_tool(Desk().file).invoke({"paper": "p"}) == "filed p"


def test_signatures_that_no_schema_can_tell_are_refused() -> None:
    def positional(x: int, /) -> None:
        """No."""

    def anything(**rest: int) -> None:
        """No."""

    def opaque(x: asyncio.AbstractEventLoop) -> None:
        """No."""

    def unknown(x: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
        """No."""

    for function in (positional, anything, opaque, unknown):
        with pytest.raises(Misuse, match=function.__name__):
            tool(function)


def test_importing_tools_does_not_load_pydantic() -> None:
    code = "import hitl.agent.tool, hitl.agent.scripted, sys; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# --- arguments --------------------------------------------------------------------------


def test_arguments_are_converted_once() -> None:
    seen: list[int] = []

    def doubled(value: int) -> int:
        seen.append(value)
        return value * 2

    @tool
    def pay(amount: Annotated[int, AfterValidator(doubled)], row: Row) -> str:
        """Pay."""
        return f"{amount} {row.size}"

    assert pay.invoke({"amount": 4, "row": {"key": "k", "size": "3"}}) == "8 3"
    assert seen == [4]


def test_types_may_be_defined_where_the_tool_is() -> None:
    class Local(BaseModel):
        x: int

    @tool
    def use(local: Local) -> int:
        """Use it."""
        return local.x

    assert use.invoke({"local": {"x": 3}}) == 3


def test_a_tool_that_changes_its_arguments_does_not_change_the_call() -> None:
    @tool
    def spoil(data: dict) -> None:
        """Spoil it."""
        data["rows"].append("x")

    args: dict = {"data": {"rows": []}}
    spoil.invoke(args)
    assert args == {"data": {"rows": []}}


def test_names_around_do_not_hide_a_tools_own_types() -> None:
    Row = 5  # noqa: N806, F841

    assert search.args_schema == as_tool(search.func).args_schema


def test_defaults_are_filled_and_not_shared() -> None:
    @tool
    def collect(items: list[str] = []) -> list[str]:  # noqa: B006
        """Collect."""
        items.append("x")
        return items

    assert collect.invoke({}) == ["x"]
    assert collect.invoke({}) == ["x"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({}, "query: is required"),
        ({"query": "x", "limitt": 3}, "limitt: unknown argument, did you mean 'limit'?"),
        ({"query": "x", "zzz": 3}, "zzz: unknown argument, there are query, limit, kind, rows"),
        ({"query": "x", "limit": 0}, "limit: Input should be greater than or equal to 1"),
        ({"query": 5}, "query: Input should be a valid string"),
        ({"query": "x", "rows": [{"key": "a", "size": "b"}]}, "rows.0.size: Input should be"),
        ([], "a JSON object is needed, not a list"),
    ],
)
def test_arguments_that_do_not_fit_are_told_in_words(args: dict, words: str) -> None:
    with pytest.raises(ToolInvocationError) as caught:
        search.validate(args)
    assert words in str(caught.value)
    assert "'search'" in str(caught.value)
    assert "was not run" in str(caught.value)


arguments = st.fixed_dictionaries(
    {},
    optional={
        "query": st.text(max_size=3) | st.none(),
        "limit": st.integers(-1, 3),
        "kind": st.sampled_from(["all", "new", "old"]),
        "rows": st.none()
        | st.lists(st.fixed_dictionaries({}, optional={"key": st.text(max_size=2)}), max_size=2),
        "extra": st.booleans(),
    },
)


@given(arguments)
def test_the_schema_and_the_check_agree(args: dict) -> None:
    fits = jsonschema.Draft202012Validator(search.args_schema).is_valid(args)
    if fits:
        assert set(search.validate(args)) == {"query", "limit", "kind", "rows"}
    else:
        with pytest.raises(ToolInvocationError):
            search.validate(args)


def test_a_pydantic_model_may_stand_for_the_signature() -> None:
    class Input(BaseModel):
        """Look it up."""

        word: str = Field(description="Which one.")
        row: Row | None = None

    @tool(args_schema=Input)
    def look(word, row=None):
        return f"{word} {row!r}"

    assert look.description == "Look it up."
    assert look.invoke({"word": "a", "row": {"key": "k"}}) == "a Row(key='k', size=1)"
    with pytest.raises(ToolInvocationError, match="did you mean 'word'"):
        look.validate({"wrd": "a"})


def test_a_json_schema_may_stand_for_the_signature() -> None:
    schema: dict = {
        "type": "object",
        "properties": {"a": {"type": "integer", "description": "A."}},
        "required": ["a"],
    }

    @tool(description="Add.", args_schema=schema)
    def add(**values: int) -> int:
        return sum(values.values())

    @tool(description="Add.", args_schema=schema)
    def typed(a: int) -> int:
        return a

    assert add.args_schema == schema
    assert add.invoke({"a": 3}) == 3
    assert typed.invoke({"a": 3}) == 3
    misfits: list[tuple[Tool, dict]] = [(add, {}), (add, {"b": 1}), (typed, {"a": "x"})]
    for made, wrong in misfits:
        with pytest.raises(ToolInvocationError):
            made.validate(wrong)


def test_a_schema_that_does_not_fit_its_function_is_refused() -> None:
    with pytest.raises(Misuse, match="differ in path, way"):
        tool(args_schema={"properties": {"way": {}}})(delete_file)
    with pytest.raises(Misuse, match=r"args_schema .* is a int"):
        tool(args_schema=5)(delete_file)  # type: ignore[call-overload]


# --- what the run gives -----------------------------------------------------------------


@tool
def note(
    text: str,
    runtime: ToolRuntime[None, dict],
    state: Annotated[dict, InjectedState],
    user: Annotated[str, InjectedState("user")],
    call_id: Annotated[str, InjectedToolCallId],
    tenant: Annotated[str, InjectedToolArg] = "home",
) -> str:
    """Write a note.

    Args:
        text: What to write.
        runtime: Not for the model.
    """
    return f"{text} {user} {call_id} {tenant} {state == runtime.state} {runtime.idempotency_key}"


def test_what_the_run_gives_is_not_in_the_schema_and_cannot_be_set() -> None:
    assert set(note.args_schema["properties"]) == {"text"}  # type: ignore[arg-type]
    with pytest.raises(ToolInvocationError, match="runtime: unknown argument"):
        note.validate({"text": "x", "runtime": {}})


def test_what_the_run_gives_arrives() -> None:
    runtime = ToolRuntime(state={"user": "eve"}, tool_call_id="c1", idempotency_key="k")
    assert note.run({"text": "x"}, runtime) == "x eve c1 home True k"
    assert note.run({"text": "x"}, runtime, {"tenant": "t"}) == "x eve c1 t True k"


def test_the_state_may_be_an_object() -> None:
    @dataclasses.dataclass
    class State:
        user: str

    assert note.run({"text": "x"}, ToolRuntime(state=State("bob"))).startswith("x bob None")  # type: ignore[attr-defined]


def test_a_tool_that_needs_a_run_says_so_without_one() -> None:
    with pytest.raises(Misuse, match="only the run can give"):
        note.invoke({"text": "x"})


def test_a_runtime_is_as_the_field_knows_it() -> None:
    runtime: ToolRuntime = ToolRuntime({}, None, {}, print, "c", None)
    assert (runtime.tools, runtime.execution_info, runtime.server_info) == ([], None, None)
    assert (runtime.idempotency_key, runtime.attempt) == ("", 1)


# --- running ----------------------------------------------------------------------------


@tool
async def wait(seconds: int) -> str:
    """Wait."""
    await asyncio.sleep(0)
    return f"waited {seconds}"


def test_an_async_tool_runs_in_sync_code() -> None:
    assert wait.is_async
    assert not search.is_async
    assert wait.invoke({"seconds": 3}) == "waited 3"


async def test_an_async_tool_is_refused_in_sync_code_of_a_running_loop() -> None:
    with pytest.raises(Misuse, match="Await ainvoke"):
        wait.invoke({"seconds": 3})


async def test_both_kinds_run_in_async_code() -> None:
    assert await wait.ainvoke({"seconds": 3}) == "waited 3"
    assert await as_tool(delete_file).ainvoke({"path": "p"}) == "deleted p"


def test_an_object_with_an_async_call_is_a_tool() -> None:
    class Waiter:
        """Waits."""

        async def __call__(self, seconds: int) -> str:
            return f"waited {seconds}"

    made = tool("waiter")(Waiter())
    assert made.is_async
    assert made.invoke({"seconds": 1}) == "waited 1"


def test_a_call_is_answered_with_a_message() -> None:
    call: ToolCall = {"name": "wait", "args": {"seconds": 1}, "id": "c", "type": "tool_call"}
    assert wait.invoke(call) == ToolMessage("waited 1", name="wait", tool_call_id="c")
    assert "c1" in str(
        note.invoke(
            {"name": "note", "args": {"text": "x"}, "id": "c1", "type": "tool_call"},
            ToolRuntime(state={}),
        )
    )


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ("text", "text"),
        (None, "null"),
        ({"a": [1, "ü"]}, '{"a":[1,"ü"]}'),
        ([], "[]"),
        (Row(key="k"), '{"key":"k","size":1}'),
        ([{"type": "text", "text": "x"}], [{"type": "text", "text": "x"}]),
        ([{"type": "cat"}], '[{"type":"cat"}]'),
        ({1: {"x"}}, '{"1":["x"]}'),
    ],
)
def test_any_result_becomes_content(result: object, content: object) -> None:
    call: ToolCall = {"name": "f", "args": {}, "id": "c"}
    assert tool_message(result, call).content == content


def test_a_message_as_result_is_addressed_to_its_call() -> None:
    call: ToolCall = {"name": "f", "args": {}, "id": "c"}
    made = ToolMessage("no", tool_call_id="other", status="error", artifact=5)
    expected = ToolMessage("no", name="f", tool_call_id="c", status="error", artifact=5)
    assert tool_message(made, call) == expected
    assert tool_message("no", call, status="error").status == "error"


def test_a_tool_exception_is_an_error_of_the_house() -> None:
    assert issubclass(ToolException, HitlError)
    assert str(ToolException("no such row")) == "no such row"
