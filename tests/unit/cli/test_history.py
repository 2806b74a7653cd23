"""A log is told in short lines that lose nothing."""

from __future__ import annotations

from hitl.cli.history import short_names, told
from hitl.codec import dumps
from hitl.values import Entry, Json


def entry(kind: str, body: Json) -> Entry:
    return Entry(1, kind, 0, 0.0, dumps(body), "")


def step(*due: str, **more: Json) -> Entry:
    return entry("input", {"due": [[name] for name in due], "ch": {}, **more})


def test_a_node_goes_by_its_last_part_where_no_other_ends_so():
    names = short_names([step("A.review", "B.before"), step("C.before", "model")])
    assert names == {"A.review": "review", "model": "model"}
    (line,) = told(step("A.review", "B.before"), {}, names).text
    assert line.endswith("next: review, B.before")


def test_what_an_entry_closed_is_told():
    closed: list[Json] = [["88fe12ab" * 4, "withdrawn"], ["99" * 16, "superseded"]]
    lines = told(step("model", closed=closed), {}, {}).text
    assert lines[1:] == ["closed   88fe12ab: withdrawn", "closed   99999999: superseded"]
    assert told(step("model", closed=["odd"]), {}, {}).text[1:] == ["closed   odd: given up"]


def test_a_decision_on_an_item_that_is_gone_names_it():
    rows: list[Json] = [{"id": "ab" * 16, "type": "reject", "by": "ann", "payload": {}}]
    assert told(entry("decide", {"items": rows}), {}, {}).text == [
        f"decided  ann: reject for item {'ab' * 16}"
    ]


def test_a_body_that_cannot_be_read_is_never_fatal():
    broken = Entry(1, "step", 0, 0.0, "not json", "")
    assert short_names([broken]) == {}
    assert told(broken, {}, {}).text == ["step: its body cannot be read"]
