"""C19: approval logic of one's own, from the same parts."""

from __future__ import annotations

from typing import Annotated, TypedDict

import pytest

from hitl import (
    END,
    START,
    AgentMiddleware,
    Command,
    HumanInTheLoopMiddleware,
    ScriptedModel,
    StateGraph,
    ToolMessage,
    create_agent,
    interrupt,
    step,
    tool,
)

CONFIG = {"configurable": {"thread_id": "t"}}
INPUT = {"messages": [{"role": "user", "content": "go"}]}


class State(TypedDict, total=False):
    answers: Annotated[list, lambda old, new: old + new]


def asking(saver, *questions):
    def ask(state):
        return {"answers": [interrupt(question) for question in questions]}

    graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize(
    "payload", ["Sure?", {"kind": "form", "fields": ["a", 1.5, None]}, [1, [2]], None, 0, True],
    ids=repr,
)  # fmt: skip
def test_c19_a_node_asks_with_any_payload(run, saver, payload):
    (asked,) = run(asking(saver, payload), {"answers": []}, CONFIG, version="v2").interrupts
    assert asked.value == payload


@pytest.mark.parametrize(
    "answer", ["yes", False, 0, "", [], {}, None, {"action": "edit", "args": {"to": ["x"]}}],
    ids=repr,
)  # fmt: skip
def test_c19_any_value_is_an_answer(run, saver, answer):
    graph = asking(saver, "Sure?")
    run(graph, {"answers": []}, CONFIG)
    assert run(graph, Command(resume=answer), CONFIG)["answers"] == [answer]


def test_c19_several_questions_of_a_node_get_their_answers_in_turn(run, saver):
    graph = asking(saver, "name?", "age?")
    assert run(graph, {"answers": []}, CONFIG).interrupts[0].value == "name?"
    assert run(graph, Command(resume="Ann"), CONFIG).interrupts[0].value == "age?"
    assert run(graph, Command(resume=7), CONFIG)["answers"] == ["Ann", 7]


def test_c19_a_node_asks_until_the_answer_will_do(run, saver):
    def ask(state):
        question = "Age?"
        while not isinstance(age := interrupt(question), int):
            question = f"{age!r} is no age. Age?"
        return {"answers": [age]}

    graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile(saver)
    run(graph, {"answers": []}, CONFIG)
    again = run(graph, Command(resume="old"), CONFIG)
    assert again.interrupts[0].value == "'old' is no age. Age?"
    assert run(graph, Command(resume=30), CONFIG)["answers"] == [30]


def test_c19_an_answer_chooses_the_way(run, saver):
    def approve(state):
        return Command(goto="go" if interrupt("Go?") else "stop")

    graph = StateGraph(State).add_node("approve", approve).add_edge(START, "approve")
    graph.add_node("go", lambda state: {"answers": ["gone"]})
    graph.add_node("stop", lambda state: {"answers": ["stopped"]})
    compiled = graph.compile(checkpointer=saver)
    for answer, came in ((True, "gone"), (False, "stopped")):
        config = {"configurable": {"thread_id": came}}
        run(compiled, {"answers": []}, config)
        assert run(compiled, Command(resume=answer), config)["answers"] == [came]


def test_c19_a_tool_asks_in_its_own_body(run, saver):
    looked: list[str] = []

    def look_up(hotel: str) -> int:
        looked.append(hotel)
        return 90

    @tool
    def book(hotel: str) -> str:
        """Book a hotel."""
        price = step(look_up, hotel)
        answer = interrupt({"hotel": hotel, "price": price})
        return f"booked {answer['hotel']}" if answer["ok"] else "not booked"

    model = ScriptedModel([{"tool_calls": [{"name": "book", "args": {"hotel": "Ritz"}}]}, "Done."])
    agent = create_agent(model=model, tools=[book], checkpointer=saver)
    paused = run(agent, INPUT, CONFIG, version="v2")
    assert paused.interrupts[0].value == {"hotel": "Ritz", "price": 90}
    done = run(agent, Command(resume={"ok": True, "hotel": "Savoy"}), CONFIG, version="v2")
    assert done.value["messages"][-2].content == "booked Savoy"
    assert looked == ["Ritz"]


def mail_agent(saver, middleware, sent):
    @tool
    def send(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    model = ScriptedModel([{"tool_calls": [{"name": "send", "args": {"to": "bob"}}]}, "Done."])
    return create_agent(model=model, tools=[send], middleware=[middleware], checkpointer=saver)


class AsksOnce(AgentMiddleware):
    """A gate as somebody else would write it."""

    def after_model(self, state, runtime):
        turn = state["messages"][-1]
        if not turn.tool_calls or interrupt([c["args"] for c in turn.tool_calls]) == "go":
            return None
        answers = [
            ToolMessage("Stopped.", tool_call_id=call["id"], name=call["name"], status="error")
            for call in turn.tool_calls
        ]
        return {"messages": answers}


@pytest.mark.parametrize(("answer", "sent"), [("go", ["bob"]), ("stop", [])])
def test_c19_middleware_of_ones_own_asks_after_the_model(run, saver, answer, sent):
    seen: list[str] = []
    agent = mail_agent(saver, AsksOnce(), seen)
    assert run(agent, INPUT, CONFIG).interrupts[0].value == [{"to": "bob"}]
    assert agent.get_state(CONFIG).next == ("AsksOnce.after_model",)
    done = run(agent, Command(resume=answer), CONFIG)
    assert seen == sent
    assert [m.type for m in done["messages"]] == ["human", "ai", "tool", "ai"]


class AsksAtTheCall(AgentMiddleware):
    """A gate around the call itself, for both kinds of run."""

    def wrap_tool_call(self, request, handler):
        return handler(request) if interrupt(request.tool_call["args"]) else self.no(request)

    async def awrap_tool_call(self, request, handler):
        return await handler(request) if interrupt(request.tool_call["args"]) else self.no(request)

    def no(self, request):
        return ToolMessage("No.", tool_call_id=request.tool_call["id"], name="send")


@pytest.mark.parametrize(("answer", "sent"), [(True, ["bob"]), (False, [])])
def test_c19_middleware_of_ones_own_asks_around_the_call(run, saver, answer, sent):
    seen: list[str] = []
    agent = mail_agent(saver, AsksAtTheCall(), seen)
    assert run(agent, INPUT, CONFIG).interrupts[0].value == {"to": "bob"}
    run(agent, Command(resume=answer), CONFIG)
    assert seen == sent


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_c19_a_tool_that_was_approved_asks_in_its_body_beside_others(run, saver, mode):
    entered: list[str] = []
    booked: list[str] = []

    @tool
    def book(flight: str) -> str:
        """Book a flight."""
        entered.append(flight)
        step(booked.append, flight)
        return f"{flight} seat {interrupt({'seat for': flight})}"

    calls = [{"name": "book", "args": {"flight": f"f{n}"}, "id": f"c{n}"} for n in range(3)]
    agent = create_agent(
        ScriptedModel([{"tool_calls": calls}, "done"]),
        [book],
        middleware=[HumanInTheLoopMiddleware({"book": True}, interrupt_mode=mode)],
        checkpointer=saver,
    )
    asked = run(agent, INPUT, CONFIG, version="v2").interrupts
    assert entered == []
    actions = [action for one in asked for action in one.value["action_requests"]]
    by_id = {a["id"]: {"type": "approve"} for a in actions}
    by_id[actions[1]["id"]] = {"type": "reject"}
    seats = run(agent, Command(resume=by_id), CONFIG, version="v2").interrupts
    assert [one.value for one in seats] == [{"seat for": "f0"}, {"seat for": "f2"}]
    # The second is answered first; the first goes on waiting, and is not entered again for it.
    left = run(agent, Command(resume={seats[1].id: "B"}), CONFIG, version="v2").interrupts
    assert [one.id for one in left] == [seats[0].id]
    output = run(agent, Command(resume={seats[0].id: "A"}), CONFIG, version="v2")
    texts = {m.tool_call_id: m.text for m in output.value["messages"] if m.type == "tool"}
    assert (texts["c0"], texts["c2"]) == ("f0 seat A", "f2 seat B")
    assert sorted(booked) == ["f0", "f2"]
