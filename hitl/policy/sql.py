"""SQL: whether a text only reads, or writes.

Owns the reading of SQL, by sqlglot's tokenizer and parser. Only what is surely a read is one:
every statement a query, no word that writes or locks anywhere outside quotes, only functions of
a list. Where no dialect is named, several must agree. All else is unknown, so it asks. Size and
work are bounded: some joins cost a parser exponential time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from hitl.errors import Misuse

if TYPE_CHECKING:
    from sqlglot import Dialect, Token, exp

__all__ = ["compile_sql", "sql_is"]

SqlKind = Literal["read", "write"]

_LONGEST = 10_000
_TOKENS = 1000
_UNNAMED = ("", "postgres", "mysql", "sqlite", "tsql")
"""The dialects that must agree on a text whose own is not named."""

_ODD = re.compile(r"\r(?!\n)|/\*[!+M]|/\*(?:(?!\*/).)*/\*|--\S", re.DOTALL)
"""Comments that some systems run, nest, or end elsewhere."""

_LINES = str.maketrans("", "", "\t\r\n")

_QUERIES = frozenset({"SELECT", "WITH", "("})
_WRITES_TEXT = """
ALTER CREATE DELETE DROP GRANT INSERT MERGE REPLACE REVOKE TRUNCATE UPDATE UPSERT
"""
_WRITES = frozenset(_WRITES_TEXT.split())
_HANDS_ON_TEXT = """
ANALYZE ATTACH BEGIN CALL CHECKPOINT COMMIT COPY DECLARE DETACH DO EXEC EXECUTE EXPLAIN HANDLER
IMPORT INTO KILL LOAD LOCK PERFORM PRAGMA PREPARE PROCEDURE RECONFIGURE REINDEX RENAME REVERT
ROLLBACK SET SHARE SHUTDOWN UNLOAD USE VACUUM WAITFOR WRITETEXT
"""
_HANDS_ON = _WRITES | frozenset(_HANDS_ON_TEXT.split())
"""Words that begin something else than a query; several systems need no ``;`` between."""

_FUNCTIONS_TEXT = """
Abs And AnyValue ApproxDistinct ArgMax ArgMin Array ArrayAgg ArrayContains ArrayLength ArraySize
ArrayToString Avg Between BitwiseAnd BitwiseOr Case Cast Ceil Chr Coalesce Concat ConcatWs
Contains Convert Corr Count CountIf CumeDist CurrentDate CurrentDatetime CurrentSchema
CurrentTime CurrentTimestamp CurrentUser Date DateAdd DateDiff DateFromParts DateSub DateTrunc
Datetime DatetimeAdd DatetimeDiff DatetimeSub Day DayOfMonth DayOfWeek DayOfYear DenseRank
EndsWith Exists Exp Extract First FirstValue Floor Format Greatest GroupConcat Grouping Hex Hour
If Initcap IsNan JSONArray JSONArrayAgg JSONBExtract JSONBExtractScalar JSONExtract
JSONExtractArray JSONExtractScalar JSONObject JSONObjectAgg Lag Last LastDay LastValue Lead
Least Left Length Levenshtein Ln Log LogicalAnd LogicalOr Lower MD5 Max Median Min Minute Mode
Month NthValue Ntile Nullif Nvl2 Or Pad ParseJSON PercentRank PercentileCont PercentileDisc Pi
Pow Quarter Rand Rank RegexpExtract RegexpLike RegexpReplace Repeat Replace Reverse Right Round
RowNumber SHA SHA2 Second Sign Soundex Split SplitPart Sqrt StartsWith Stddev StddevPop
StddevSamp StrPosition StrToDate StrToTime String StringToArray Struct Substring SubstringIndex
Sum Time TimeAdd TimeDiff TimeStrToTime TimeSub TimeToStr TimeToUnix Timestamp TimestampAdd
TimestampDiff TimestampSub TimestampTrunc ToChar ToNumber Translate Trim Trunc TryCast TsOrDsAdd
TsOrDsDiff TsOrDsToDate TsOrDsToTime TsOrDsToTimestamp Typeof Unhex Unicode UnixToTime Unnest
Upper Variance VariancePop Week WeekOfYear Xor Year
"""
_FUNCTIONS = frozenset(_FUNCTIONS_TEXT.split())
"""Functions, by the parser's names for them, that compute a value and do nothing else."""


def compile_sql(what: SqlKind, dialect: str | None = None) -> Callable[[object], bool | None]:
    """Return a function that says whether a text is SQL that reads, or writes; None if unknown.

    Args:
        what: ``read``: every statement only reads. ``write``: some statement writes.
        dialect: The database's dialect by sqlglot's name (``postgres``, ``sqlite`` ...).

    Raises:
        Misuse: The extra ``policy`` is not installed.
        ValueError: ``what`` or the dialect is not known.
    """
    if what not in ("read", "write"):
        raise ValueError(f"{what!r} is neither 'read' nor 'write'")
    dialects = _dialects(_UNNAMED if dialect is None else (dialect,))

    def matches(value: object) -> bool | None:
        kind = _kind(value, dialects)
        return None if kind is None else kind == what

    return matches


def sql_is(value: object, what: SqlKind, dialect: str | None = None) -> bool | None:
    """Return whether a text is SQL that reads, or writes, None if unknown; see `compile_sql`.

    Args:
        value: The argument as the model proposed it; anything.
        what: ``read`` or ``write``.
        dialect: The database's dialect by sqlglot's name.

    Raises:
        Misuse: The extra ``policy`` is not installed.
        ValueError: ``what`` or the dialect is not known.
    """
    return compile_sql(what, dialect)(value)


def _dialects(names: Iterable[str]) -> list[Dialect]:
    try:
        from sqlglot import Dialect
    except ImportError:
        raise Misuse(
            "Telling reading SQL from writing SQL needs the package sqlglot.",
            hint="Install the extra: pip install 'hitl[policy]'.",
        ) from None
    return [Dialect.get_or_raise(name) for name in names]


def _kind(value: object, dialects: list[Dialect]) -> SqlKind | None:
    if type(value) is not str or len(value) > _LONGEST or _ODD.search(value):
        return None
    if not value.translate(_LINES).isprintable():
        return None
    kinds: set[SqlKind | None] = set()
    for dialect in dialects:
        kinds.add(_in_dialect(value, dialect))
        if len(kinds) > 1 or None in kinds:
            return None
    return kinds.pop()


def _in_dialect(text: str, dialect: Dialect) -> SqlKind | None:
    """Return what all statements of a text do together."""
    try:
        tokens = dialect.tokenize(text)
        if not tokens or len(tokens) > _TOKENS:
            return None
        kinds = {_statement(statement, text, dialect) for statement in _statements(tokens)}
    except Exception:  # noqa: BLE001 - whatever a parser raises, the text was not understood
        return None
    if kinds == {"read"}:
        return "read"
    return "write" if "write" in kinds and None not in kinds else None


def _statements(tokens: list[Token]) -> list[list[Token]]:
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type.name == "SEMICOLON":
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def _statement(tokens: list[Token], text: str, dialect: Dialect) -> SqlKind | None:
    """Return what one statement does."""
    first = tokens[0].text.upper()
    if first in _WRITES:
        return "write"
    if first not in _QUERIES:
        return None
    tree = _parsed(tokens, text, dialect)
    if tree is None:
        return None
    if _writes(tree):
        return "write"
    return None if _hands_on(tokens) or not _only_reads(tree) else "read"


def _parsed(tokens: list[Token], text: str, dialect: Dialect) -> exp.Expr | None:
    from sqlglot import ErrorLevel

    parser = dialect.parser(error_level=ErrorLevel.IMMEDIATE, max_nodes=10 * len(tokens) + 100)
    trees = parser.parse(tokens, text)
    return trees[0] if len(trees) == 1 else None


def _hands_on(tokens: list[Token]) -> bool:
    """Return whether a bare word could begin something else than a query."""
    quoted = ("IDENTIFIER", "STRING")
    return any(
        token.text.upper() in _HANDS_ON
        and token.token_type.name not in quoted
        and not (token.text.upper() == "REPLACE" and after is not None and after.text == "(")
        for token, after in pairwise([*tokens, None])
        if token is not None
    )


def _writes(tree: exp.Expr) -> bool:
    from sqlglot import exp

    return next(tree.find_all(exp.Insert, exp.Update, exp.Delete, exp.Merge), None) is not None


def _only_reads(tree: exp.Expr) -> bool:
    """Return whether a query holds nothing that locks, assigns, or calls what is not known."""
    from sqlglot import exp

    if not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        return False
    for node in tree.walk():
        if isinstance(node, exp.Func) and type(node).__name__ not in _FUNCTIONS:
            return False
        if isinstance(node, exp.Lock | exp.Command | exp.PropertyEQ):
            return False
        if isinstance(node, exp.Table) and "/" in node.name:
            return False  # some systems take it for a file
    return True
