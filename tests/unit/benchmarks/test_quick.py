"""The benchmarks count what they say, and a quick run comes to a table with rows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks.__main__ import main, run
from benchmarks.measure import Figure, Scale, Trace, count_calls, measure, scaled
from benchmarks.paired import run_peer
from benchmarks.pause import asking, round_trip
from benchmarks.report import COLUMNS, Result, Row, cells, markdown, save
from benchmarks.steps import chain, thread
from hitl.checkpoint import SqliteSaver


@pytest.fixture
def scale():
    with scaled(quick=True) as scale:
        yield replace(scale, seconds=0.0)


@pytest.fixture
def trace(scale: Scale):
    trace = Trace(scale.file())
    yield trace
    trace.connection.close()


def test_a_step_of_one_task_is_one_commit_and_the_input_one_more(trace):
    saver = SqliteSaver(trace.connection)
    for length in (1, 5, 10):
        app = chain(saver, length)
        counts = trace.count(lambda app=app: app.invoke({"n": 0}, thread()), 1)
        assert counts["commits"] == length + 1


def test_a_pause_and_resume_is_at_most_four_commits(trace):
    app = asking(SqliteSaver(trace.connection))
    counts = trace.count(lambda: round_trip(app), 1)
    assert counts["commits"] <= 4


def test_a_commit_that_wrote_nothing_is_not_counted(trace):
    connection = trace.connection
    connection.isolation_level = None
    connection.execute("CREATE TABLE t (n)")

    def work() -> None:
        for words in ("SELECT * FROM t", "INSERT INTO t VALUES (1), (2)"):
            connection.execute("BEGIN")
            connection.execute(words)
            connection.execute("COMMIT")

    counts = trace.count(work, 2)
    assert (counts["commits"], counts["rows"]) == (0.5, 1)


def test_calls_of_python_and_of_c_are_counted():
    def one() -> int:
        return len("a")

    assert count_calls(one) == 2


def test_a_figure_is_for_one_unit(scale):
    figure = measure("sum", lambda: [len("a") for _ in range(10)], scale, units=10)
    assert 1 <= figure.counts["calls"] < 2
    assert 0 <= figure.cpu <= figure.cpu_median


def test_a_quick_run_of_one_theme_comes_to_a_table(capsys):
    assert main(["--quick", "--only", "pause"]) == 0
    shown = capsys.readouterr().out
    assert "pause and resume, SQLite (RAM)" in shown
    assert "commits" in shown


def test_a_peer_that_is_missing_is_skipped_with_a_word():
    result = run([], None, quick=True)
    assert "langgraph is not installed" in result.notes[0]
    assert "pause" in run_peer("/no/such/python", "pause", quick=True).trouble


def result_with_a_peer() -> Result:
    ours = Figure("step", 10.0, 12.0, 11.0, 13.0, {"calls": 60.0, "commits": 1.1})
    theirs = Figure("step", 800.0, 900.0, 900.0, 950.0, {"calls": 1275.0})
    return Result(True, [Row("steps", "step", ours, peer=theirs, aim="5 µs")])


def test_a_row_shows_the_ratio_to_the_peer_and_what_was_counted():
    (row,) = result_with_a_peer().rows
    shown = dict(zip(COLUMNS, cells(row), strict=True))
    assert (shown["hitl"], shown["peer"], shown["peer/hitl"]) == ("10 µs", "800 µs", "80x")
    assert shown["hitl counts"] == "60 calls, 1.1 commits"


def test_a_saved_result_holds_versions_cores_and_load(tmp_path):
    result = result_with_a_peer()
    page = save(result, tmp_path)
    assert page.read_text(encoding="utf-8") == markdown(result)
    tree = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert {"python", "sqlite", "cores", "load_before", "load_after", "versions"} <= tree.keys()
    assert tree["rows"][0]["peer"]["counts"] == {"calls": 1275.0}
