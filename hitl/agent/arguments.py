"""What a tool takes: its signature read once, as a schema for the model and a check for us.

Owns what a model may give to a tool, and the text it reads when that does not fit. pydantic is
loaded when the first signature is read.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

from hitl.agent.injection import Injection, injection_of, is_injected, marks_of
from hitl.errors import Misuse
from hitl.ledger import schema_faults
from hitl.values import Json

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

__all__ = [
    "ArgsSchema",
    "Arguments",
    "ToolInvocationError",
    "read_arguments",
    "split_docstring",
]

ArgsSchema = typing.Union["type[BaseModel]", Mapping[str, Json], None]
"""A pydantic model, a JSON schema, or nothing: then the signature says it."""

Check = Callable[[dict[str, Json]], dict[str, object]]


class ToolInvocationError(Misuse):
    """The arguments of a tool call do not fit; the text is written for the model to read."""

    code = "tool_arguments"


@dataclass(frozen=True, slots=True)
class Arguments:
    """A signature, read.

    Attributes:
        schema: JSON schema of what the model may give.
        check: Turns what the model gave into keyword arguments, or raises
            ``ToolInvocationError``.
        injected: For each parameter that the run gives, how to take it from the runtime; None
            for one that only the calling code can give.
        optional: Names among these that have a default.
    """

    schema: dict[str, Json]
    check: Check
    injected: Mapping[str, Injection | None]
    optional: frozenset[str]


def read_arguments(
    name: str, function: Callable[..., object], about: Mapping[str, str], given: ArgsSchema
) -> Arguments:
    """Return what a tool's function takes.

    Args:
        name: The tool's name, for errors.
        function: The function behind it, sync or async.
        about: Descriptions of parameters, by name.
        given: A schema that stands in for the signature's own.

    Raises:
        Misuse: The signature or the schema cannot be used.
    """
    parameters = _parameters(name, function)
    injected = {
        key: injection_of(annotation)
        for key, (annotation, _) in parameters.items()
        if is_injected(annotation)
    }
    plain = {key: value for key, value in parameters.items() if key not in injected}
    optional = frozenset(
        key for key in injected if parameters[key][1] is not inspect.Parameter.empty
    )
    schema, check = _schema_and_check(name, function, plain, about, given)
    return Arguments(schema, _known_only(name, schema, check), injected, optional)


# --- the signature ----------------------------------------------------------------------

Parameters = dict[str, tuple[object, object]]
"""Annotation and default by name."""

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _parameters(name: str, function: Callable[..., object]) -> Parameters:
    hints = _hints(name, function)
    found: Parameters = {}
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise Misuse(
                f"The parameter {key!r} of the tool {name!r} is positional-only.",
                hint="Arguments of tools are given by name; remove the slash.",
            )
        if parameter.kind not in _VARIADIC:
            found[key] = (hints.get(key, typing.Any), parameter.default)
    return found


def _hints(name: str, function: Callable[..., object]) -> dict[str, object]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        try:
            return typing.get_type_hints(target, include_extras=True)
        except NameError:
            return typing.get_type_hints(target, localns=_names_around(), include_extras=True)
    except Exception as error:
        raise Misuse(
            f"The annotations of the tool {name!r} cannot be read: {error}.",
            hint="Its types must be importable at module level, not only for type checking.",
        ) from error


def _names_around() -> dict[str, object]:
    """Return the local names where the tool is made: its types may be defined in a function."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
    return {} if frame is None or frame.f_locals is frame.f_globals else dict(frame.f_locals)


def _takes_any(function: Callable[..., object]) -> bool:
    kinds = [each.kind for each in inspect.signature(function).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


# --- schema and check -------------------------------------------------------------------


def _schema_and_check(
    name: str,
    function: Callable[..., object],
    plain: Parameters,
    about: Mapping[str, str],
    given: ArgsSchema,
) -> tuple[dict[str, Json], Check]:
    from pydantic import BaseModel

    if given is None:
        if _takes_any(function):
            raise Misuse(
                f"The tool {name!r} takes any keyword arguments, so that no schema says which.",
                hint="Declare its arguments, or give args_schema=.",
            )
        return _of_signature(name, plain, about)
    if isinstance(given, type) and issubclass(given, BaseModel):
        _fits(name, function, plain, set(given.model_fields))
        return _schema_of(name, given.model_json_schema), _model_check(name, given)
    if not isinstance(given, Mapping):
        raise Misuse(
            f"args_schema of the tool {name!r} is a {type(given).__name__}.",
            hint="Give a pydantic model class or a JSON schema.",
        )
    schema = {"type": "object", "properties": {}, **given}
    faults = schema_faults(cast(Json, schema))
    if faults:
        raise Misuse(
            f"args_schema of the tool {name!r} is no JSON Schema: {'; '.join(faults)}.",
            hint="A pydantic model has one: Model.model_json_schema().",
        )
    properties = cast(dict[str, Json], schema["properties"])
    _fits(name, function, plain, set(properties))
    check: Check = dict if _takes_any(function) else _of_signature(name, plain, about)[1]
    return schema, _required_first(name, schema, check)


def _fits(name: str, function: Callable[..., object], plain: Parameters, told: set[str]) -> None:
    needed = {key for key, (_, default) in plain.items() if default is inspect.Parameter.empty}
    lost = sorted(needed - told) + ([] if _takes_any(function) else sorted(told - set(plain)))
    if lost:
        raise Misuse(
            f"args_schema of the tool {name!r} and its function differ in {', '.join(lost)}.",
            hint="Use the same names in both.",
        )


def _of_signature(
    name: str, plain: Parameters, about: Mapping[str, str]
) -> tuple[dict[str, Json], Check]:
    from pydantic import ConfigDict, TypeAdapter, ValidationError
    from pydantic_core import ArgsKwargs

    def collect(**arguments: object) -> dict[str, object]:
        return arguments

    # pydantic reads a function's signature better than we could; this one only collects.
    described = {key: _described(each[0], about.get(key)) for key, each in plain.items()}
    collect.__annotations__ = described
    cast(typing.Any, collect).__signature__ = inspect.Signature(
        [
            inspect.Parameter(
                key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=described[key]
            )
            for key, (_, default) in plain.items()
        ]
    )
    try:
        adapter = TypeAdapter(
            cast(typing.Any, collect), config=ConfigDict(arbitrary_types_allowed=True)
        )
        schema = _schema_of(name, lambda: adapter.json_schema(schema_generator=_untitled()))
    except Misuse:
        raise
    except Exception as error:
        raise _unreadable(name, error) from error

    def check(given: dict[str, Json]) -> dict[str, object]:
        try:
            return cast(dict[str, object], adapter.validate_python(ArgsKwargs((), given)))
        except ValidationError as error:
            raise _misfit(name, error) from None

    return {"type": "object", "properties": {}, **schema}, check


def _described(annotation: object, text: str | None) -> object:
    from pydantic import Field

    if not text:
        return annotation
    marks = marks_of(annotation)
    bare = typing.get_args(annotation)[0] if marks else annotation
    return Annotated[(bare, Field(description=text), *marks)]


def _untitled() -> type[typing.Any]:
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        def get_title_from_name(self, name: str) -> str:
            return name

        def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
            return False

    return Untitled


def _schema_of(name: str, make: Callable[[], dict[str, Json]]) -> dict[str, Json]:
    try:
        return make()
    except Exception as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: Exception) -> Misuse:
    reason = str(error).split("\n", 1)[0].rstrip(".")
    return Misuse(
        f"No JSON schema can be made of the arguments of the tool {name!r}: {reason}.",
        hint="Annotate them with JSON-like types, or mark those that the run gives as injected.",
    )


def _model_check(name: str, model: type[BaseModel]) -> Check:
    from pydantic import ValidationError

    def check(given: dict[str, Json]) -> dict[str, object]:
        try:
            made = model.model_validate(given)
        except ValidationError as error:
            raise _misfit(name, error) from None
        return {key: getattr(made, key) for key in (*model.model_fields, *(made.model_extra or ()))}

    return check


def _required_first(name: str, schema: Mapping[str, Json], check: Check) -> Check:
    required = cast(list[str], schema.get("required", []))

    def checked(given: dict[str, Json]) -> dict[str, object]:
        missing = [f"{key}: is required" for key in required if key not in given]
        if missing:
            raise _misfit(name, missing)
        return check(given)

    return checked


def _known_only(name: str, schema: Mapping[str, Json], check: Check) -> Check:
    known = list(cast(dict[str, Json], schema.get("properties", {})))
    open_ended = bool(schema.get("additionalProperties", False))

    def checked(given: dict[str, Json]) -> dict[str, object]:
        if not isinstance(given, dict):
            raise _misfit(name, [f"a JSON object is needed, not a {type(given).__name__}"])
        unknown = [] if open_ended else [key for key in given if key not in known]
        if unknown:
            raise _misfit(name, [_stranger(key, known) for key in unknown])
        # A copy: the call belongs to the conversation, and a tool may change what it is given.
        return check({key: _copied(value) for key, value in given.items()})

    return checked


def _copied(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value


def _stranger(key: object, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(str(key), known, n=1)
    if near:
        return f"{key}: unknown argument, did you mean {near[0]!r}?"
    return f"{key}: unknown argument, there are {', '.join(known) or 'none'}"


def _misfit(name: str, found: ValidationError | list[str]) -> ToolInvocationError:
    problems = found if isinstance(found, list) else [*map(_problem, found.errors())]
    return ToolInvocationError(
        f"The arguments of the tool {name!r} do not fit: {'; '.join(problems)}.",
        hint="The tool was not run; call it again with arguments that fit its schema.",
        tool=name,
        problems=problems,
    )


def _problem(error: ErrorDetails) -> str:
    place = ".".join(map(str, error["loc"])) or "arguments"
    missing = error["type"].startswith("missing")
    return f"{place}: {'is required' if missing else error['msg']}"


# --- the docstring ----------------------------------------------------------------------

_SECTION = re.compile(r"^[A-Z][A-Za-z ]*:\s*$")
_ARGUMENT = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


def split_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return a Google-form docstring without its ``Args`` section, and what that says.

    Args:
        text: A docstring as it stands in the source.
    """
    kept: list[str] = []
    about: dict[str, str] = {}
    inside, current = False, ""
    for line in inspect.cleandoc(text).splitlines():
        if _SECTION.match(line):
            inside = line.strip() in ("Args:", "Arguments:", "Parameters:")
        elif line and not line[0].isspace():
            inside = False
        if not inside:
            kept.append(line)
        elif line and line[0].isspace():
            current = _note(about, current, line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), about


def _note(about: dict[str, str], current: str, line: str) -> str:
    """Add one line of the section; return the argument that it belongs to."""
    found = _ARGUMENT.match(line.strip())
    deeper = len(line) - len(line.lstrip()) > 4
    if found and not (current and deeper):
        about[found[1]] = found[2]
        return found[1]
    if current:
        about[current] = f"{about[current]} {line.strip()}".strip()
    return current
