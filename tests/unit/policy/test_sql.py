"""Which SQL surely reads, which surely writes, and what is not known."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl.errors import Misuse
from hitl.policy.sql import compile_sql, sql_is

READS = """
SELECT 1
SELECT 1;
SELECT 1; SELECT 2
select a, count(*) from t where x > 1 group by a order by 2 desc limit 5
WITH x AS (SELECT * FROM t) SELECT * FROM x JOIN y USING (id)
(SELECT 1) UNION ALL (SELECT 2)
SELECT 'DELETE FROM t; -- x'
SELECT "update" FROM t
SELECT replace(a, 'x', 'y'), lower(b), coalesce(c, 0) FROM t
SELECT a -- why
SELECT a /* DELETE FROM t */ FROM t
SELECT * FROM t WHERE a LIKE '%x' AND b IN (SELECT c FROM d) AND EXISTS (SELECT 1)
SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t
SELECT CASE WHEN a THEN 1 ELSE 2 END, CAST(b AS int) FROM t
SELECT u.a FROM public.users u LEFT JOIN o ON o.id = u.id WHERE u.day > '2024-01-01'
"""
WRITES = """
DELETE FROM t
INSERT INTO t VALUES (1)
UPDATE t SET a = 1
MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE
CREATE TABLE t (a int)
DROP TABLE t
TRUNCATE t
ALTER TABLE t ADD a int
GRANT ALL ON t TO x
REPLACE INTO t VALUES (1)
SELECT 1; DROP TABLE t
WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a
WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x
WITH x AS (UPDATE t SET a = 1 RETURNING *) SELECT * FROM x
"""
UNKNOWN = """
SELECT 1 DELETE FROM t
SELECT 1 EXEC xp_cmdshell 'dir'
SELECT * INTO x FROM t
SELECT a INTO OUTFILE '/x' FROM t
SELECT 1 INTO @x
SELECT * FROM t FOR UPDATE
SELECT * FROM t FOR SHARE
SELECT * FROM t LOCK IN SHARE MODE
SELECT nextval('s')
SELECT pg_sleep(10)
SELECT my.own(1)
SELECT load_file('/etc/passwd')
SELECT load_extension('x')
SELECT lo_import('/etc/passwd')
SELECT set_config('a', 'b', false)
SELECT @a := 1
SELECT * FROM read_csv('x')
SELECT * FROM dblink('x', 'DELETE FROM t')
SELECT * FROM '/etc/passwd'
SELECT 1 /*! ; DELETE FROM t */
SELECT 1 /*!50000 INTO OUTFILE '/x' */
SELECT 1 /*M! ; DELETE FROM t */
SELECT 1 /* /* */ ; DELETE FROM t */
SELECT 1 --1; DELETE FROM t
SELECT 'a\\'; DELETE FROM t; --'
EXPLAIN SELECT 1
EXPLAIN ANALYZE DELETE FROM t
PRAGMA journal_mode = wal
ATTACH 'x' AS y
COPY t TO '/x'
CALL p()
EXEC p
DO $$ BEGIN DELETE FROM t; END $$
SET a = 1
USE x
BEGIN
VACUUM
LOCK TABLE t
SHOW TABLES
SELEKT 1
SELECT FROM WHERE (
;
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.parametrize("text", lines(READS))
def test_a_query_reads(text):
    assert sql_is(text, "read") is True
    assert sql_is(text, "write") is False


@pytest.mark.parametrize("text", lines(WRITES))
def test_a_statement_that_changes_something_never_counts_as_reading(text):
    for dialect in ("postgres", "sqlite", "mysql", None):
        assert sql_is(text, "read", dialect) is not True
    assert sql_is(text, "write", "postgres") is True
    assert sql_is(text, "read", "postgres") is False


@pytest.mark.parametrize("text", lines(UNKNOWN))
@pytest.mark.parametrize("dialect", [None, "postgres", "sqlite", "mysql", "tsql"])
def test_what_is_not_surely_reading_is_not_known(text, dialect):
    assert sql_is(text, "read", dialect) is not True


@pytest.mark.parametrize(
    "value", [None, 1, b"SELECT 1", ["SELECT 1"], "", " ", "SELECT '\x00'", "SELECT\u00a01",
              "SELECT 1\rDELETE", "SELECT 1\u2028", "SELECT " + "1," * 6000 + "1"],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_what_is_no_readable_text_is_not_known(value):
    assert sql_is(value, "read") is None
    assert sql_is(value, "write") is None


def test_a_dialect_settles_what_several_read_differently():
    text = "SELECT `a` FROM t"
    assert sql_is(text, "read", "mysql") is True
    assert sql_is(text, "read", "postgres") is None


def test_wrong_words_are_refused():
    with pytest.raises(ValueError, match="neither"):
        compile_sql("delete")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dialect"):
        compile_sql("read", "klingon")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(Misuse, match=r"hitl\[policy\]"):
        compile_sql("read")


@pytest.mark.parametrize("piece", ["JOIN b ", "LEFT JOIN b ON 1 JOIN b ", ", (a"])
def test_joins_that_cost_a_parser_exponential_time_end_soon(piece):
    # Without a bound on its work a parser would not end within a lifetime.
    assert sql_is("SELECT * FROM a " + piece * 100, "read") is None


WORDS = """
SELECT FROM WHERE ( ) , ; * a t 1 'x' DELETE INSERT INTO VALUES UPDATE SET WITH AS UNION
JOIN ON FOR -- /* */ DROP TABLE RETURNING
"""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join) | st.text(max_size=20))
def test_a_read_holds_no_bare_word_that_writes(text):
    kind = sql_is(text, "read", "sqlite")
    assert kind in (True, False, None)
    if kind and "--" not in text and "/*" not in text:
        assert not {"DELETE", "INSERT", "INTO", "UPDATE", "DROP"} & set(text.split())
