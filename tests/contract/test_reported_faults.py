"""Faults that users of such runtimes have reported, and the test that each would fail here.

The table says where each is tested; what has no test elsewhere is tested below. ``FAULTS`` keeps
the kinds: repeated effects, answers to the wrong question, stale answers, several calls at once,
edits, rejections, histories with holes, nesting, forged approvals, streams, swallowed pauses.
"""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from pydantic import AfterValidator

from hitl import (
    END,
    START,
    Command,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    ScriptedModel,
    SqliteSaver,
    StateGraph,
    create_agent,
    interrupt,
    tool,
)
from hitl.errors import AlreadyDecided, HitlError, NothingWaiting

ROOT = Path(__file__).resolve().parents[2]
HERE = "tests/contract/test_reported_faults.py"
CONFIG: Any = {"configurable": {"thread_id": "t"}}
GO = {"messages": "go"}

UNIT = "tests/unit"
FAULTS = {
    "EXEC": {
        "code before a pause runs again": f"{UNIT}/engine/test_ask.py"
        "::test_a_step_before_a_pause_runs_once_and_gives_what_it_gave",
        "a loop of questions asks for more answers than there are questions": "tests/contract"
        "/test_c19_own_logic.py::test_c19_a_node_asks_until_the_answer_will_do",
        "a pausing sub-agent runs its siblings again": f"{HERE}"
        "::test_a_pausing_agent_in_a_tool_does_not_run_its_sibling_again",
        "an old approval that is sent again runs the tool again": f"{HERE}"
        "::test_an_approval_that_is_sent_again_with_the_whole_history_runs_nothing",
        "the way is chosen twice around a static pause": f"{HERE}"
        "::test_a_way_is_chosen_once_around_a_static_pause",
        "after a death nobody knows whether a call took effect": "tests/crash"
        "/test_sigkill_executor.py::test_an_effect_never_runs_twice_by_itself",
    },
    "ROUTE": {
        "answers reach the wrong one of many questions": f"{HERE}"
        "::test_each_of_many_questions_gets_its_own_answer",
        "an unknown id is ignored": f"{UNIT}/ledger/test_resolve.py"
        "::test_a_strange_id_is_refused_with_the_open_ones",
        "one plain answer is taken although two questions are open": "tests/contract"
        "/test_c24_sub_agents.py"
        "::test_c24_an_answer_without_id_is_refused_where_two_sub_agents_wait",
        "a stale button decides about what waits now": f"{HERE}"
        "::test_a_late_decision_about_one_call_does_not_reach_the_next",
        "a nested graph gets the first answer twice": f"{UNIT}/engine/test_nested.py"
        "::test_several_runs_in_one_function_keep_their_answers_apart",
        "two parallel graphs cannot be answered at once": f"{UNIT}/engine/test_nested.py"
        "::test_the_pauses_of_parallel_graphs_show_at_the_top_and_are_answered_by_id",
        "a wrongly formed answer is stored and blocks the thread": f"{UNIT}/engine"
        "/test_response_schema.py::test_a_wrong_answer_is_refused_unstored_and_a_right_one_works",
    },
    "STALE": {
        "an approval is lost where the run cannot start": "tests/crash/test_two_processes.py"
        "::test_a_decision_that_finds_the_thread_busy_is_kept",
        "a later message is taken as the answer to a dismissed question": f"{HERE}"
        "::test_an_ordinary_message_answers_no_question",
        "threads of one agent see each other's state": f"{HERE}"
        "::test_many_threads_of_one_agent_keep_to_themselves",
        "a second approval makes the first one forgotten": "tests/contract"
        "/test_c11_several_calls.py::test_c11_by_id_they_are_given_in_any_order_one_by_one",
        "an automatic reviewer is talked into approving": f"{UNIT}/agent/test_executor.py"
        "::test_what_a_model_or_a_tool_says_is_never_a_decision",
    },
    "BATCH": {
        "rejecting one call keeps the free ones from running": f"{HERE}"
        "::test_a_free_call_runs_beside_a_rejected_one",
        "two calls of one tool are mixed up": f"{HERE}"
        "::test_of_two_calls_of_one_tool_the_approved_one_runs",
        "decisions shift where a list is sorted": "tests/contract/test_c11_several_calls.py"
        "::test_c11_by_id_several_are_given_at_once_and_the_rest_later",
        "a nested approval shows twice, under two ids": f"{HERE}"
        "::test_a_nested_approval_shows_once",
    },
    "EDIT": {
        "the model proposes its call again after an edit": "tests/contract/test_c08_edit.py"
        "::test_c08_the_model_reads_what_ran_in_place_of_its_call",
        "an edit into another tool passes that tool's rule": f"{UNIT}/agent/test_approval.py"
        "::test_an_edit_into_another_tool_is_judged_by_that_tools_rule",
        "in sub-agents only approve works": "tests/contract/test_c24_sub_agents.py"
        "::test_c24_all_four_decisions_reach_a_sub_agent",
        "edited arguments are not checked": "tests/contract/test_c08_edit.py"
        "::test_c08_an_edit_that_does_not_fit_is_refused_when_it_is_submitted",
        "a transformation runs twice over edited arguments": f"{HERE}"
        "::test_a_transforming_schema_is_applied_once_to_an_edit",
    },
    "REJECT": {
        "a rejection with a message disturbs its batch": f"{HERE}"
        "::test_a_rejection_with_a_message_leaves_its_sibling_alone",
        "a jump to the tools runs rejected calls": f"{UNIT}/agent/test_approval.py"
        "::test_a_hook_that_jumps_to_the_tools_gets_no_call_past_the_rules",
        "a rejection falls through where the rule is gone": f"{UNIT}/agent/test_approval.py"
        "::test_a_declined_call_does_not_run_when_its_rule_is_gone_at_resume",
        "the agent goes on with steps that build on what was rejected": f"{UNIT}/agent"
        "/test_asking.py"
        "::test_a_rejection_that_stops_ends_the_run_and_the_model_is_not_asked_again",
    },
    "DANGLE": {
        "a new message leaves calls without answers": "tests/contract"
        "/test_c25_history_repair.py"
        "::test_c25_a_new_message_closes_what_waits_in_sub_agents_too",
        "something stands between a turn and its answers": f"{UNIT}/agent/test_repair.py"
        "::test_an_answer_behind_a_later_message_is_moved_to_its_turn",
        "a note beside an approval loses the call": f"{UNIT}/agent/test_executor.py"
        "::test_a_note_that_comes_with_the_approval_stands_behind_the_result",
    },
    "NEST": {
        "a graph inside begins anew": f"{UNIT}/engine/test_nested.py"
        "::test_a_graph_as_a_node_pauses_the_outer_run_and_goes_on_where_it_stopped",
        "a sub-agent's own rules do not hold": "tests/contract/test_c24_sub_agents.py"
        "::test_c24_its_own_map_replaces_the_parents_whole_map",
        "a resumed sub-agent asks its model again": "tests/contract/test_c24_sub_agents.py"
        "::test_c24_a_resumed_sub_agent_never_asks_its_model_again",
        "a nested approval is lost in a new process": "tests/crash/test_sigkill_sub_agents.py",
        "parallel sub-agents cannot be answered": "tests/contract/test_c24_sub_agents.py"
        "::test_c24_sub_agents_side_by_side_are_answered_in_any_order",
        "while a sub-agent waits its call has an error as its answer": f"{HERE}"
        "::test_while_an_agent_inside_waits_its_call_has_no_answer",
    },
    "FORGE": {
        "an approval brings other arguments along": f"{HERE}"
        "::test_an_approval_cannot_bring_arguments",
        "a state that the client kept is changed": f"{UNIT}/agent/test_executor.py"
        "::test_no_input_can_bring_its_own_review",
        "an approval for a session covers any arguments": f"{UNIT}/ledger/test_grants.py"
        "::test_the_same_call_under_the_same_rules_has_the_same_key",
    },
    "STREAM": {
        "some of several questions never show": f"{UNIT}/engine/test_streaming.py"
        "::test_four_parallel_questions_are_all_told_once_in_every_mode_that_tells_pauses",
        "the typed result lists no pause in one of the modes": f"{HERE}"
        "::test_every_form_of_a_result_shows_the_pause",
        "asking from async code has no context": f"{UNIT}/engine/test_ask.py"
        "::test_async_code_may_ask_from_tasks_and_threads_of_its_own",
        "who comes back to a stream does not see what waits": f"{UNIT}/engine/test_streaming.py"
        "::test_who_reads_a_paused_thread_again_is_told_what_waits",
    },
    "SWALLOW": {
        "a retry takes a pause for an error": f"{UNIT}/engine/test_retry.py"
        "::test_a_retry_never_swallows_a_pause",
        "a caller takes a pause for the end": "tests/contract/test_c13_results.py",
        "code swallows the pause": f"{UNIT}/engine/test_ask.py"
        "::test_a_pause_is_recorded_whatever_the_node_does_with_it",
    },
}


@pytest.mark.parametrize(
    "where", [where for faults in FAULTS.values() for where in faults.values()]
)
def test_each_reported_fault_names_a_test_that_exists(where: str) -> None:
    path, _, name = where.partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert not name or re.search(rf"def {name}\b", text)


# --- what is tested nowhere else --------------------------------------------------------


class Plain(TypedDict, total=False):
    x: int


class Ran(list):
    """Tools that note what they did."""

    def tools(self) -> list[Any]:
        @tool
        def pay(amount: int) -> str:
            """Pay."""
            self.append(("pay", amount))
            return f"paid {amount}"

        @tool
        def count(n: int) -> str:
            """Count."""
            self.append(("count", n))
            return f"counted {n}"

        return [pay, count]


@pytest.fixture
def ran() -> Ran:
    return Ran()


def turn(*pairs: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"tool_calls": [{"name": n, "args": a, "id": f"c{i}"} for i, (n, a) in enumerate(pairs)]}


def pays(*amounts: int) -> dict[str, Any]:
    return turn(*[("pay", {"amount": amount}) for amount in amounts])


def agent(ran: Ran, *turns: Any, saver: Any = None, more: Any = (), **options: Any) -> Any:
    return create_agent(
        ScriptedModel([*turns, "done"]),
        [*ran.tools(), *more],
        middleware=[HumanInTheLoopMiddleware({"pay": True}, **options)],
        checkpointer=saver or InMemorySaver(),
    )


def inner(ran: Ran) -> Any:
    """Return a tool that sends out an agent, which pays."""
    worker = create_agent(
        ScriptedModel([pays(5), "I paid"]),
        ran.tools(),
        middleware=[HumanInTheLoopMiddleware({"pay": True})],
        name="worker",
    )

    @tool
    def delegate(task: str) -> str:
        """Send somebody."""
        return str(worker.invoke({"messages": task})["messages"][-1].text)

    return delegate


def ids(output: Any) -> list[str]:
    return [a["id"] for i in output.interrupts for a in i.value["action_requests"]]


def answers(output: Any) -> list[tuple[str, str]]:
    return [(m.status, m.text) for m in output["messages"] if m.type == "tool"]


YES: Any = {"type": "approve"}
NO: Any = {"type": "reject"}


def test_a_pausing_agent_in_a_tool_does_not_run_its_sibling_again(ran, run):
    proposal = turn(("count", {"n": 1}), ("delegate", {"task": "pay"}))
    boss = agent(ran, proposal, more=[inner(ran)])
    paused = run(boss, GO, CONFIG)
    output = run(boss, Command(resume={ids(paused)[0]: YES}), CONFIG)
    assert ran == [("count", 1), ("pay", 5)]
    assert answers(output) == [("success", "counted 1"), ("success", "I paid")]


def test_an_approval_that_is_sent_again_with_the_whole_history_runs_nothing(ran, run):
    payer = agent(ran, pays(1))
    paused = run(payer, GO, CONFIG)
    answer = Command(resume={ids(paused)[0]: YES})
    history = run(payer, answer, CONFIG)["messages"]
    run(payer, answer, CONFIG)  # by id: a repeat, which changes nothing
    with pytest.raises(NothingWaiting):
        run(payer, Command(resume={"decisions": [YES]}), CONFIG)
    again = agent(ran, pays(1), "nothing more to do", saver=payer.checkpointer)
    run(again, {"messages": history}, CONFIG)
    assert ran == [("pay", 1)]


def test_a_way_is_chosen_once_around_a_static_pause(run):
    chosen: list[str] = []

    def choose(state: dict[str, Any]) -> str:
        chosen.append("left" if not chosen else "right")
        return chosen[-1]

    went: list[str] = []
    graph = StateGraph(Plain)
    graph.add_node("start", lambda state: {"x": 1})
    graph.add_node("left", lambda state: went.append("left"))
    graph.add_node("right", lambda state: went.append("right"))
    graph.add_edge(START, "start").add_edge("left", END).add_edge("right", END)
    graph.add_conditional_edges("start", choose, ["left", "right"])
    stopping = graph.compile(InMemorySaver(), interrupt_after=["start"])
    run(stopping, {"x": 0}, CONFIG)
    run(stopping, None, CONFIG)
    assert (chosen, went) == (["left"], ["left"])


def test_each_of_many_questions_gets_its_own_answer(run):
    @tool
    def ask(question: str) -> str:
        """Ask."""
        return f"{question} {interrupt(question)}"

    proposal = turn(*[("ask", {"question": f"q{n}"}) for n in range(30)])
    asker = create_agent(ScriptedModel([proposal, "done"]), [ask], checkpointer=InMemorySaver())
    paused = run(asker, GO, CONFIG)
    assert len(paused.interrupts) == 30
    given = {one.id: f"a{one.value[1:]}" for one in reversed(paused.interrupts)}
    output = run(asker, Command(resume=given), CONFIG)
    assert [text for _, text in answers(output)] == [f"q{n} a{n}" for n in range(30)]


def test_a_late_decision_about_one_call_does_not_reach_the_next(ran, run):
    payer = agent(ran, pays(1), pays(2))
    first = run(payer, GO, CONFIG)
    second = run(payer, Command(resume={ids(first)[0]: NO}), CONFIG)
    with pytest.raises(AlreadyDecided):
        run(payer, Command(resume={ids(first)[0]: YES}), CONFIG)
    assert ids(run(payer, None, CONFIG)) == ids(second)
    assert ran == []


def test_an_ordinary_message_answers_no_question(ran, run):
    payer = agent(ran, pays(1), "Hello to you.")
    run(payer, GO, CONFIG)
    output = run(payer, {"messages": "approve"}, CONFIG)
    assert not output.interrupts
    assert ran == []
    assert [m.type for m in output["messages"]] == ["human", "ai", "tool", "human", "ai"]


def test_many_threads_of_one_agent_keep_to_themselves(ran):
    @tool
    def echo(text: str) -> str:
        """Echo."""
        return text

    def answer(messages: list[Any]) -> Any:
        if messages[-1].type == "tool":
            return messages[-1].text
        return {"tool_calls": [{"name": "echo", "args": {"text": messages[-1].text}}]}

    shared = create_agent(
        ScriptedModel([answer, answer]),
        [echo],
        middleware=[HumanInTheLoopMiddleware({"echo": True})],
        checkpointer=InMemorySaver(),
    )
    seen: dict[int, list[str]] = {}

    def one(number: int) -> None:
        config: Any = {"configurable": {"thread_id": str(number)}}
        paused = shared.invoke({"messages": f"m{number}"}, config)
        shown = [a["args"]["text"] for i in paused.interrupts for a in i.value["action_requests"]]
        output = shared.invoke(Command(resume={"decisions": [YES]}), config)
        seen[number] = [*shown, output["messages"][-1].text]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {number: [f"m{number}"] * 2 for number in range(30)}


def test_a_free_call_runs_beside_a_rejected_one(ran, run):
    payer = agent(ran, turn(("count", {"n": 1}), ("pay", {"amount": 1})))
    paused = run(payer, GO, CONFIG)
    output = run(payer, Command(resume={ids(paused)[0]: NO}), CONFIG)
    assert ran == [("count", 1)]
    assert sorted(status for status, _ in answers(output)) == ["error", "success"]


def test_of_two_calls_of_one_tool_the_approved_one_runs(ran, run):
    payer = agent(ran, pays(1, 2))
    run(payer, GO, CONFIG)
    run(payer, Command(resume={"decisions": [NO, YES]}), CONFIG)
    assert ran == [("pay", 2)]


def test_a_nested_approval_shows_once(ran):
    saver = InMemorySaver()
    boss = agent(ran, turn(("delegate", {"task": "pay"})), more=[inner(ran)], saver=saver)
    told = [part["__interrupt__"] for part in boss.stream(GO, CONFIG) if part.get("__interrupt__")]
    (item,) = saver.items(thread="t", states=["pending"])
    shown = [a["id"] for (one,) in told for a in one.value["action_requests"]]
    assert shown == [item.id]
    boss.invoke(Command(resume={item.id: YES}), CONFIG)
    assert ran == [("pay", 5)]


def test_a_transforming_schema_is_applied_once_to_an_edit(run):
    seen: list[int] = []

    @tool
    def double(n: Annotated[int, AfterValidator(lambda n: n * 2)]) -> str:
        """Double."""
        seen.append(n)
        return str(n)

    doubler = create_agent(
        ScriptedModel([turn(("double", {"n": 1})), "done"]),
        [double],
        middleware=[HumanInTheLoopMiddleware({"double": True})],
        checkpointer=InMemorySaver(),
    )
    run(doubler, GO, CONFIG)
    edit = {"type": "edit", "edited_action": {"name": "double", "args": {"n": 10}}}
    run(doubler, Command(resume={"decisions": [edit]}), CONFIG)
    assert seen == [20]


def test_a_rejection_with_a_message_leaves_its_sibling_alone(ran, run):
    payer = agent(ran, pays(1, 2))
    run(payer, GO, CONFIG)
    no = {"type": "reject", "message": "too early"}
    output = run(payer, Command(resume={"decisions": [no, YES]}), CONFIG)
    (error, reason), good = answers(output)
    assert error == "error"
    assert "too early" in reason
    assert good == ("success", "paid 2")


def test_while_an_agent_inside_waits_its_call_has_no_answer(ran, run):
    boss = agent(ran, turn(("delegate", {"task": "pay"})), more=[inner(ran)])
    paused = run(boss, GO, CONFIG)
    assert answers(paused) == []
    output = run(boss, Command(resume={ids(paused)[0]: YES}), CONFIG)
    assert answers(output) == [("success", "I paid")]


@pytest.mark.parametrize("more", [{"args": {"amount": 9}}, {"edited_action": {}}, {"name": "x"}])
def test_an_approval_cannot_bring_arguments(ran, run, more):
    payer = agent(ran, pays(1))
    run(payer, GO, CONFIG)
    with pytest.raises(HitlError):
        run(payer, Command(resume={"decisions": [{**YES, **more}]}), CONFIG)
    run(payer, Command(resume={"decisions": [YES]}), CONFIG)
    assert ran == [("pay", 1)]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_every_form_of_a_result_shows_the_pause(ran, mode, tmp_path):
    with SqliteSaver.from_conn_string(str(tmp_path / "t.db")) as saver:
        payer = agent(ran, pays(1, 2), saver=saver, interrupt_mode=mode)
        first = payer.invoke(GO, CONFIG)
        stored = [item.id for item in saver.items(thread="t", states=["pending"])]
        forms = [
            first,
            payer.invoke(None, CONFIG, version="v2"),
            asyncio.run(payer.ainvoke(None, CONFIG)),
            asyncio.run(payer.ainvoke(None, CONFIG, version="v2")),
            payer.get_state(CONFIG),
        ]
        for form in forms:
            assert sorted(ids(form)) == sorted(stored)
        assert first["__interrupt__"]
