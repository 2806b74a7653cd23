"""C28: ``Gate`` stands in somebody else's agent loop."""

from __future__ import annotations

import asyncio
import json

import pytest

from hitl import AlreadyDecided, Gate, Inbox, SqliteSaver, tool

CALLS = [
    {"name": "delete", "args": {"path": "a"}, "id": "1"},
    {"name": "look", "args": {"path": "b"}, "id": "2"},
    {"name": "delete", "args": {"path": "c"}, "id": "3"},
]


class Hand:
    """A gate by its sync or its async methods."""

    def __init__(self, how, gate):
        self.how, self.gate = how, gate

    def __getattr__(self, name):
        if self.how == "sync":
            return getattr(self.gate, name)
        return lambda *args, **more: asyncio.run(getattr(self.gate, f"a{name}")(*args, **more))


@pytest.fixture(params=["sync", "async"])
def how(request):
    return request.param


def gate_of(store, ran, how="sync", **options):
    @tool
    def delete(path: str) -> str:
        """Delete a file."""
        ran.append(path)
        return f"deleted {path}"

    def look(path: str) -> str:
        """Look at a file."""
        ran.append(path)
        return f"saw {path}"

    return Hand(how, Gate([delete, look], interrupt_on={"delete": True}, store=store, **options))


def test_c28_a_loop_proposes_waits_and_gets_its_results_in_the_order_of_the_calls(saver, how):
    ran: list[str] = []
    gate = gate_of(saver, ran, how)
    waits = gate.review("thread", CALLS)
    assert not waits.done
    assert [item.subject["name"] for item in waits.pending] == ["delete", "delete"]
    assert ran == []
    gate.decide(waits.pending[0].id, {"type": "approve"}, by="ann")
    assert not gate.resume("thread").done
    gate.decide(waits.pending[1].id, {"type": "reject", "message": "Keep it."}, by="bob")
    result = gate.resume("thread")
    assert result.done
    assert [(r["tool_call_id"], r["name"], r["status"]) for r in result.results] == [
        ("1", "delete", "success"), ("2", "look", "success"), ("3", "delete", "error"),
    ]  # fmt: skip
    assert result.results[0]["content"] == "deleted a"
    assert "Keep it." in result.results[2]["content"]
    assert sorted(ran) == ["a", "b"]


def test_c28_what_was_approved_runs_once_however_often_it_is_resumed(saver, how):
    ran: list[str] = []
    gate = gate_of(saver, ran, how)
    (item,) = gate.review("thread", CALLS[:1]).pending
    gate.decide(item.id, {"type": "approve"})
    gate.decide(item.id, {"type": "approve"})
    results = [gate.resume("thread") for _ in range(3)]
    assert ran == ["a"]
    assert results[0] == results[1] == results[2]
    with pytest.raises(AlreadyDecided):
        gate.decide(item.id, {"type": "reject"})


def test_c28_calls_that_no_rule_names_run_at_once(saver, how):
    ran: list[str] = []
    result = gate_of(saver, ran, how).review("thread", CALLS[1:2])
    assert result.done
    assert result.results[0]["content"] == "saw b"
    assert ran == ["b"]


def test_c28_an_edit_runs_in_place_of_the_call(saver, how):
    ran: list[str] = []
    gate = gate_of(saver, ran, how)
    (item,) = gate.review("thread", CALLS[:1]).pending
    edited = {"name": "delete", "args": {"path": "A"}}
    gate.decide(item.id, {"type": "edit", "edited_action": edited})
    assert gate.resume("thread").results[0]["status"] == "success"
    assert ran == ["A"]


def test_c28_per_call_free_and_approved_calls_do_not_wait_for_the_others(saver, how):
    ran: list[str] = []
    gate = gate_of(saver, ran, how, interrupt_mode="per_call")
    waits = gate.review("thread", CALLS)
    assert ran == ["b"]
    gate.decide(waits.pending[1].id, {"type": "approve"})
    assert not gate.resume("thread").done
    assert ran == ["b", "c"]
    gate.decide(waits.pending[0].id, {"type": "respond", "message": "done by hand"})
    result = gate.resume("thread")
    assert [r["content"] for r in result.results] == ["done by hand", "saw b", "deleted c"]


def test_c28_it_is_decided_elsewhere_and_resumed_by_another_process(tmp_path, how):
    """Three store objects on one file stand for three processes."""
    ran: list[str] = []
    path = str(tmp_path / "calls.db")
    with SqliteSaver.from_conn_string(path) as store:
        gate_of(store, ran, how).review("thread", CALLS[:1])
    with SqliteSaver.from_conn_string(path) as store:
        inbox = Inbox(store)
        (item,) = inbox.pending()
        assert (item.thread, item.call_id) == ("thread", "1")
        assert inbox.decide(item.id, {"type": "approve"}, by="ann").state == "decided"
    with SqliteSaver.from_conn_string(path) as store:
        result = gate_of(store, ran, how).resume("thread")
    assert result.done
    assert ran == ["a"]


def test_c28_a_whole_loop_of_somebody_elses(saver):
    """No agent, no messages of ours: the loop keeps its own history in OpenAI's form."""
    ran: list[str] = []
    gate = gate_of(saver, ran)
    script = [("delete", {"path": "a"}), ("look", {"path": "b"}), ("delete", {"path": "c"}), None]
    history: list[dict] = [{"role": "user", "content": "Tidy up."}]
    for number, said in enumerate(script):
        if said is None:
            break
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": said[0], "arguments": json.dumps(said[1])},
        }
        history.append({"role": "assistant", "content": None, "tool_calls": [call]})
        result = gate.review("loop", [call])
        while not result.done:
            for item in result.pending:
                decision = "approve" if said[1]["path"] == "a" else "reject"
                gate.decide(item.id, {"type": decision})
            result = gate.resume("loop")
        history += [
            {"role": "tool", "tool_call_id": one["tool_call_id"], "content": one["content"]}
            for one in result.results
        ]
    assert ran == ["a", "b"]
    assert [m.get("tool_call_id") for m in history if m["role"] == "tool"] == [
        "call_0", "call_1", "call_2",
    ]  # fmt: skip
