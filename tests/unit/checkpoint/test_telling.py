"""What the standard library's logging is told of items."""

from __future__ import annotations

import logging
from typing import Any, TypedDict

from hitl import END, START, Command, Inbox, InMemorySaver, StateGraph, interrupt


class State(TypedDict):
    word: str


def asking(store):
    graph = StateGraph(State).add_node("ask", lambda state: {"word": interrupt("the question")})
    return graph.add_edge(START, "ask").add_edge("ask", END).compile(store)


def test_what_waits_and_what_was_decided_is_logged_by_ids_and_without_any_text(caplog):
    store, config = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    with caplog.at_level(logging.INFO, logger="hitl"):
        asking(store).invoke({"word": ""}, config)
        (item,) = Inbox(store).pending()
        Inbox(store).decide(item.id, "the answer", by="ann")
        asking(store).invoke(None, config)
    assert caplog.messages == [
        f"item {item.id} (question) of thread 't' waits",
        f"item {item.id} (question) of thread 't' was decided: answer by ann",
        f"item {item.id} (question) of thread 't' is done",
    ]


def test_an_answer_given_to_the_run_is_logged_like_one_given_to_the_inbox(caplog):
    store, config = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    asking(store).invoke({"word": ""}, config)
    answered: Any = Command(resume="the answer")
    with caplog.at_level(logging.INFO, logger="hitl"):
        asking(store).invoke(answered, config)
    assert "was decided: answer by an unnamed reviewer" in caplog.text
    assert "the answer" not in caplog.text


def test_nothing_is_said_unless_logging_is_configured(capfd):
    asking(InMemorySaver()).invoke({"word": ""}, {"configurable": {"thread_id": "t"}})
    assert capfd.readouterr() == ("", "")
