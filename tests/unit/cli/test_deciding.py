"""Deciding by command: one word, one item, on what was shown."""

from __future__ import annotations

import io
import json

import pytest

from hitl.cli.deciding import read_answer, read_arguments
from hitl.errors import Misuse


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":2}', "[1]", "5", "{", '{"a": NaN}', "", "[" * 100_000]
)
def test_arguments_that_are_no_single_clear_object_are_refused(text):
    with pytest.raises(Misuse):
        read_arguments(text)


def test_an_answer_is_json_where_it_is_json_and_text_where_not():
    assert read_answer("true") is True
    assert read_answer('{"a": 1}') == {"a": 1}
    for text in ("yes please", "NaN", '{"a":1,"a":2}', "True"):
        assert read_answer(text) == text


def test_approve_reject_and_resume_do_exactly_that(hitl, tmp_path):
    first, second = hitl.start()
    done = hitl("approve", first, "--by", "ann")
    assert done.code == 0
    assert "approve by ann" in done.out
    assert "1 more on this thread" in done.out
    assert hitl("reject", second, "-m", "not users").code == 0
    assert hitl("resume", "shop:agent", "t1").code == 3
    assert (tmp_path / "ran.txt").read_text() == "orders old\n"


def test_an_unnamed_reviewer_is_told_once_how_to_give_a_name(hitl):
    first, second = hitl.start()
    assert hitl("approve", first).out.count("--by NAME, or HITL_REVIEWER") == 1
    assert "HITL_REVIEWER" not in hitl("approve", second, "--by", "ann").out


def test_an_edit_runs_with_the_edited_arguments(hitl, tmp_path):
    first, second = hitl.start()
    shown = hitl("edit", first, "--args", '{"table": "orders", "where": "2019"}')
    assert shown.code == 0
    assert 'proposed:       delete_rows(table="orders", where="old")' in shown.out
    assert 'runs:           delete_rows(table="orders", where="2019")' in shown.out
    assert '"old" -> "2019"' in shown.out
    hitl("respond", second, "-m", "left alone")
    assert hitl("resume", "shop:agent", "t1").code == 3
    assert (tmp_path / "ran.txt").read_text() == "orders 2019\n"


def test_edited_arguments_come_from_a_file_or_standard_input(hitl, tmp_path, monkeypatch):
    first, second = hitl.start()
    args = json.dumps({"table": "a", "where": "b"})
    (tmp_path / "args.json").write_text(args)
    assert hitl("edit", first, "--args", "@args.json").code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(args))
    assert hitl("edit", second, "--args", "-").code == 0


@pytest.mark.parametrize("words", [("--args", "@missing.json"), ("--args", "{"), ()])
def test_an_edit_that_cannot_be_read_leaves_the_item_open(hitl, words):
    first, _ = hitl.start()
    assert hitl("edit", first, *words).code == 2
    assert first in hitl.ids()


def test_an_edit_that_does_not_fit_the_tool_is_refused(hitl):
    first, _ = hitl.start()
    refused = hitl("edit", first, "--args", '{"tabel": "x"}')
    assert refused.code == 5
    assert "table" in refused.err
    assert hitl("edit", first, "--args", "{}", "--name", "drop_all").code == 5
    assert first in hitl.ids()


def test_the_loser_is_told_who_was_first_by_whole_or_short_id(hitl):
    first, _ = hitl.start()
    hitl("approve", first, "--by", "ann")
    for id in (first, first[:8], first[:8].upper()):
        late = hitl("reject", id)
        assert late.code == 4
        assert "approve by ann" in late.err
    assert hitl("approve", first).code == 0, "the same decision again is no conflict"


def test_a_question_is_answered_with_answer_and_with_nothing_else(hitl):
    first, second = hitl.start()
    hitl("reject", first)
    hitl("reject", second)
    hitl("resume", "shop:agent", "t1")
    (question,) = hitl.ids()
    for words in (("approve",), ("reject",), ("respond", "-m", "x"), ("retry",)):
        refused = hitl(words[0], question, *words[1:])
        assert refused.code == 5
        assert "answer" in refused.err
    assert hitl("edit", question, "--args", "{}").code == 5
    assert hitl("answer", question, "42", "--text").code == 0
    finished = hitl("resume", "shop:agent", "t1", "--json")
    assert finished.code == 0
    told = [message["content"] for message in finished.doc["result"]["messages"]]
    assert "the answer is '42'" in told


def test_an_answer_never_decides_a_call(hitl):
    first, _ = hitl.start()
    assert hitl("answer", first, '{"type": "approve"}').code == 5
    assert hitl("retry", first).code == 5
    assert first in hitl.ids()


def test_another_fingerprint_than_the_reviewer_saw_is_stale(hitl):
    first, _ = hitl.start()
    assert hitl("approve", first, "--fingerprint", "0" * 32).code == 5
    shown = hitl("show", first, "--json").doc["item"]
    assert hitl("approve", first, "--fingerprint", shown["fingerprint"]).code == 0


@pytest.mark.parametrize(
    "id", ["", "abc", "0" * 32, "%", "../x", "a'; --", '{"$ne": null}', "x" * 10_000]
)
def test_an_id_that_names_nothing_is_refused(hitl, id):
    hitl.start()
    assert hitl("approve", id).code == 2
    assert len(hitl.ids()) == 2


def test_a_machine_gets_the_decision_as_one_document(hitl):
    first, _ = hitl.start()
    doc = hitl("reject", first, "-m", "no", "--by", "ann", "--json").doc
    assert doc["item"]["decision"]["type"] == "reject"
    assert doc["item"]["decision"]["by"] == "ann"
    assert doc["waiting"] == 1
    assert doc["resume"] == "hitl resume shop:agent t1"
    error = hitl("approve", first, "--json")
    assert error.code == 4
    assert error.doc["error"]["code"] == "already_decided"
