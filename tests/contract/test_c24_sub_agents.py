"""C24: who inherits which approvals, and how a sub-agent's pause is seen and answered."""

from __future__ import annotations

import pytest

from hitl import (
    AgentState,
    Command,
    FilesystemPermission,
    Misuse,
    NoCheckpointer,
    Policy,
    ScriptedModel,
    create_agent,
    create_deep_agent,
    create_sub_agent,
    tool,
)

CONFIG = {"configurable": {"thread_id": "t"}}
GO = {"messages": [{"role": "user", "content": "go"}]}
YES = {"decisions": [{"type": "approve"}]}


class Company:
    """A deep agent whose sub-agents deploy; notes what ran, and who was asked for an answer."""

    def __init__(self, saver, run):
        self.saver, self.run = saver, run
        self.ran: list[str] = []
        self.asked: list[str] = []

        @tool
        def deploy(where: str) -> str:
            """Deploy."""
            self.ran.append(where)
            return f"deployed to {where}"

        @tool(effect="pure")
        def look(what: str) -> str:
            """Look."""
            self.ran.append(what)
            return what

        self.deploy, self.look = deploy, look

    def says(self, name, *turns):
        """Return a model that writes down each time it is asked."""
        script = ScriptedModel([said(turn) for turn in turns])

        def model(messages):
            self.asked.append(name)
            return script.generate(script_input(messages))

        return model

    def worker(self, name, *turns, **more):
        return {
            "name": name,
            "description": f"{name} works",
            "system_prompt": f"You are {name}.",
            "model": self.says(name, *turns),
            **more,
        }

    def agent(self, turns, *subagents, **more):
        given = {"tools": [self.deploy, self.look], "checkpointer": self.saver, **more}
        return create_deep_agent(self.says("top", *turns), subagents=subagents, **given)

    def start(self, agent):
        return self.run(agent, GO, CONFIG, version="v2")

    def resume(self, agent, answer):
        return self.run(agent, Command(resume=answer), CONFIG, version="v2")


def said(turn):
    if isinstance(turn, str):
        return turn
    return {"tool_calls": [{"name": name, "args": args} for name, args in turn]}


def script_input(messages):
    from hitl.agent import ModelInput

    return ModelInput(tuple(m for m in messages if m.type != "system"), (), {})


def task(who, what="do it"):
    return ("task", {"description": what, "subagent_type": who})


def results(output):
    return [message.content for message in output.value["messages"] if message.type == "tool"]


@pytest.fixture
def company(saver, run):
    return Company(saver, run)


DEPLOYS = ([("deploy", {"where": "prod"})], "Deployed.")


def test_c24_a_declared_one_inherits_the_parents_map(company):
    agent = company.agent(
        [[task("ops")], "Done."],
        company.worker("ops", *DEPLOYS),
        interrupt_on={"deploy": True},
    )
    output = company.start(agent)
    (interrupt,) = output.interrupts
    assert interrupt.value["action_requests"][0]["name"] == "deploy"
    assert company.ran == []
    assert agent.get_state(CONFIG).interrupts == output.interrupts
    output = company.resume(agent, YES)
    assert (company.ran, output.interrupts) == (["prod"], ())
    assert results(output) == ["Deployed."]
    assert agent.get_state(CONFIG).interrupts == ()


def test_c24_a_resumed_sub_agent_never_asks_its_model_again(company):
    def build():
        return company.agent(
            [[task("ops")], "Done."],
            company.worker("ops", *DEPLOYS),
            interrupt_on={"deploy": True},
        )

    company.start(build())
    assert company.asked == ["top", "ops"]
    company.resume(build(), YES)
    assert company.asked == ["top", "ops", "ops", "top"]


def test_c24_its_own_map_replaces_the_parents_whole_map(company):
    turn = [("deploy", {"where": "prod"}), ("look", {"what": "log"})]
    agent = company.agent(
        [[task("ops")], "Done."],
        company.worker("ops", turn, "Done.", interrupt_on={"look": True}),
        interrupt_on={"deploy": True},
    )
    (interrupt,) = company.start(agent).interrupts
    assert [one["name"] for one in interrupt.value["action_requests"]] == ["look"]
    company.resume(agent, YES)
    assert sorted(company.ran) == ["log", "prod"]


def test_c24_its_own_false_frees_a_tool(company):
    agent = company.agent(
        [[task("ops")], "Done."],
        company.worker("ops", *DEPLOYS, interrupt_on={"deploy": False}),
        interrupt_on={"deploy": True},
    )
    assert company.start(agent).interrupts == ()
    assert company.ran == ["prod"]


def test_c24_the_general_purpose_one_inherits(saver, run):
    @tool
    def deploy(where: str) -> str:
        """Deploy."""
        return where

    turns = [said([task("general-purpose")]), said([("deploy", {"where": "x"})]), "Done.", "End."]
    answers = iter(turns)

    def model(messages):
        return ScriptedModel([next(answers)]).generate(script_input(messages[-1:]))

    agent = create_deep_agent(model, [deploy], interrupt_on={"deploy": True}, checkpointer=saver)
    output = run(agent, GO, CONFIG, version="v2")
    (interrupt,) = output.interrupts
    assert interrupt.value["action_requests"][0]["name"] == "deploy"


def test_c24_a_compiled_one_inherits_nothing(company):
    compiled = create_agent(company.says("ops", *DEPLOYS), [company.deploy], name="ops")
    agent = company.agent(
        [[task("ops")], "Done."],
        {"name": "ops", "description": "ops", "runnable": compiled},
        interrupt_on={"deploy": True},
    )
    output = company.start(agent)
    assert (output.interrupts, company.ran) == ((), ["prod"])


def test_c24_a_compiled_one_pauses_by_its_own_rules(company):
    spec = company.worker("ops", *DEPLOYS, tools=[company.deploy], interrupt_on={"deploy": True})
    agent = company.agent(
        [[task("ops")], "Done."],
        {"name": "ops", "description": "ops", "runnable": create_sub_agent(spec)},
    )
    assert company.start(agent).interrupts
    assert results(company.resume(agent, YES)) == ["Deployed."]


@pytest.mark.parametrize(
    ("decision", "ran"),
    [
        ({"type": "approve"}, ["prod"]),
        (
            {"type": "edit", "edited_action": {"name": "deploy", "args": {"where": "test"}}},
            ["test"],
        ),
        ({"type": "reject", "message": "not today"}, []),
        ({"type": "respond", "message": "It is deployed already."}, []),
    ],
)
def test_c24_all_four_decisions_reach_a_sub_agent(company, decision, ran):
    agent = company.agent(
        [[task("ops")], "Done."],
        company.worker("ops", *DEPLOYS),
        interrupt_on={"deploy": True},
    )
    company.start(agent)
    output = company.resume(agent, {"decisions": [decision]})
    assert (company.ran, output.interrupts, results(output)) == (ran, (), ["Deployed."])


def test_c24_sub_agents_side_by_side_are_answered_in_any_order(company):
    names = ["a", "b", "c"]

    def build():
        workers = [
            company.worker(name, [("deploy", {"where": name})], f"{name} is up.") for name in names
        ]
        turn = [("look", {"what": "free"}), *map(task, names)]
        return company.agent([turn, "Done."], *workers, interrupt_on={"deploy": True})

    output = company.start(build())
    asked = {
        interrupt.value["action_requests"][0]["args"]["where"]: interrupt
        for interrupt in output.interrupts
    }
    assert sorted(asked) == names
    assert {item.path for item in company.saver.items()} == {
        f"tools/{name}/HumanInTheLoopMiddleware.after_model" for name in names
    }
    assert company.ran == ["free"]
    for name in ["b", "c", "a"]:
        assert len(output.interrupts) == 3 - len(company.ran[1:])
        output = company.resume(build(), {asked[name].id: YES})
    assert company.ran == ["free", "b", "c", "a"]  # no sibling ran anything again
    assert results(output) == ["free", "a is up.", "b is up.", "c is up."]
    assert sorted(company.asked) == sorted(["top"] * 2 + names * 2)


def test_c24_an_answer_without_id_is_refused_where_two_sub_agents_wait(company):
    from hitl import WrongAnswer

    workers = [company.worker(name, *DEPLOYS) for name in ["a", "b"]]
    agent = company.agent(
        [[task("a"), task("b")], "Done."], *workers, interrupt_on={"deploy": True}
    )
    company.start(agent)
    with pytest.raises(WrongAnswer):
        company.resume(agent, YES)
    assert company.ran == []


def test_c24_two_tasks_for_one_sub_agent_have_a_run_each(company):
    turn = [task("ops", "one"), task("ops", "two")]
    agent = company.agent(
        [turn, "Done."], company.worker("ops", *DEPLOYS), interrupt_on={"deploy": True}
    )
    output = company.start(agent)
    assert len(output.interrupts) == 2
    output = company.resume(agent, {one.id: YES for one in output.interrupts})
    assert (company.ran, results(output)) == (["prod", "prod"], ["Deployed."] * 2)


def test_c24_the_conversation_of_a_sub_agent_is_its_own(company):
    agent = company.agent([[task("ops", "Only this.")], "Done."], company.worker("ops", *DEPLOYS))
    seen = []

    def model(messages):
        seen.append([message.content for message in messages])
        return "Seen."

    agent = company.agent(
        [[task("eye", "Only this.")], "Done."], company.worker("eye") | {"model": model}
    )
    output = company.start(agent)
    assert [len(texts) for texts in seen] == [2]
    assert seen[0][0].startswith("You are eye.")
    assert seen[0][1] == "Only this."
    assert [m.type for m in output.value["messages"]] == ["human", "ai", "tool", "ai"]


def test_c24_the_result_is_the_last_text_that_is_not_empty(company):
    turns = ("First words.",)
    agent = company.agent([[task("ops")], "Done."], company.worker("ops", *turns))
    assert results(company.start(agent)) == ["First words."]


def test_c24_an_unknown_sub_agent_is_told_to_the_model(company):
    agent = company.agent([[task("opps")], "Done."], company.worker("ops", *DEPLOYS))
    (text,) = results(company.start(agent))
    assert "There is no sub-agent 'opps'. Did you mean 'ops'?" in text
    assert "'general-purpose'" in text


def test_c24_what_a_sub_agent_changes_in_the_shared_state_comes_back(company):
    write = [("write_file", {"file_path": "/report.md", "content": "fine"})]
    drop = [("delete", {"file_path": "/old.md"})]
    agent = company.agent(
        [[task("writer"), task("cleaner")], "Done."],
        company.worker("writer", write, "Written."),
        company.worker("cleaner", drop, "Cleaned."),
    )
    files = {"/old.md": {"content": "old"}, "/kept.md": {"content": "kept"}}
    output = company.run(agent, {**GO, "files": files}, CONFIG)
    assert output["files"] == {"/kept.md": {"content": "kept"}, "/report.md": {"content": "fine"}}
    assert "todos" not in output or output["todos"] == []


def test_c24_keys_of_ones_own_are_shared_too(company):
    class State(AgentState):
        region: str

    @tool
    def move(region: str) -> Command:
        """Move."""
        return Command(update={"region": region})

    agent = company.agent(
        [[task("ops")], "Done."],
        company.worker("ops", [("move", {"region": "north"})], "Moved.", tools=[move]),
        state_schema=State,
    )
    assert company.run(agent, {**GO, "region": "south"}, CONFIG)["region"] == "north"


def test_c24_permissions_are_replaced_as_a_whole(company):
    secrets = FilesystemPermission(["write"], ["/secrets/**"], "interrupt")
    write = [("write_file", {"file_path": "/secrets/a", "content": "x"})]

    def paused(**more):
        agent = company.agent(
            [[task("ops")], "Done."],
            company.worker("ops", write, "Done.", **more),
            permissions=[secrets],
        )
        config = {"configurable": {"thread_id": str(more)}}
        return bool(company.run(agent, GO, config, version="v2").interrupts)

    other = FilesystemPermission(["write"], ["/other/**"], "interrupt")
    assert paused()
    assert not paused(permissions=[])
    assert not paused(permissions=[other])
    # An own map lies over the rules of the permissions that hold for the sub-agent.
    assert paused(interrupt_on={"deploy": True})
    assert not paused(interrupt_on={"write_file": False})


def test_c24_a_sub_agent_that_waits_needs_the_parents_checkpointer(company):
    spec = company.worker("ops", *DEPLOYS, interrupt_on={"deploy": True})
    agent = company.agent([[task("ops")], "Done."], spec, checkpointer=None)
    with pytest.raises(NoCheckpointer):
        company.start(agent)
    assert company.asked == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"interrupt_On": {}}, "Did you mean 'interrupt_on'"),
        ({"interrupt_on": {"deplyo": True}}, "Did you mean 'deploy'"),
        ({"name": ""}, "has no name"),
        ({"description": None}, "has no description"),
        ({"graph_id": "x", "url": "http://localhost"}, "'graph_id'"),
        ({"runnable": 5}, "not known"),
    ],
)
def test_c24_a_declaration_that_would_not_do_what_it_says_is_refused(company, spec, said):
    with pytest.raises(Misuse, match=said):
        company.agent([], company.worker("ops") | spec)


def test_c24_the_parents_map_may_name_a_tool_that_only_a_sub_agent_has(company):
    agent = company.agent(
        [[task("ops")], "Done."],
        company.worker("ops", *DEPLOYS, tools=[company.deploy]),
        tools=[company.look],
        interrupt_on={"deploy": True, "look": True},
    )
    assert company.start(agent).interrupts
    with pytest.raises(Misuse, match="Did you mean 'deploy'"):
        company.agent([], interrupt_on={"deplyo": True})


def test_c24_sub_agents_of_sub_agents_are_answered_at_the_top_too(company):
    inner = create_deep_agent(
        company.says("lead", [task("ops"), ("deploy", {"where": "test"})], "Led."),
        [company.deploy],
        subagents=[company.worker("ops", *DEPLOYS)],
        interrupt_on={"deploy": True},
        name="lead",
    )
    about = {"name": "lead", "description": "leads"}
    agent = company.agent([[task("lead")], "Done."], {**about, "runnable": inner})
    output = company.start(agent)
    while output.interrupts:  # the lead's own call first: its turn goes on when it is decided
        output = company.resume(agent, YES)
    assert company.ran == ["test", "prod"]
    assert results(output) == ["Led."]
    assert {item.path for item in company.saver.items()} == {
        "tools/lead/HumanInTheLoopMiddleware.after_model",
        "tools/lead/tools/ops/HumanInTheLoopMiddleware.after_model",
    }
    assert company.asked == ["top", "lead", "ops", "ops", "lead", "top"]


def test_c24_a_graph_that_could_not_run_inside_is_refused(company, saver):
    about = {"name": "ops", "description": "ops"}
    own = create_agent(company.says("ops", *DEPLOYS), [company.deploy], checkpointer=saver)
    for runnable, said in [(own, "checkpointer of its own"), (len, "is a builtin")]:
        with pytest.raises(Misuse, match=said):
            company.agent([], {**about, "runnable": runnable})


@pytest.mark.parametrize("missing", ["model", "tools"])
def test_c24_create_sub_agent_has_nobody_to_inherit_from(company, missing):
    spec = company.worker("ops", "Done.", tools=[])
    del spec[missing]
    with pytest.raises(ValueError, match=missing):
        create_sub_agent(spec)


def test_c24_a_sub_agent_whose_model_fails_goes_on_when_the_thread_is_run_again(company):
    down = [True]
    worker = company.worker("ops", *DEPLOYS)
    says = worker["model"]

    def model(messages):
        if down and messages[-1].type == "tool":
            raise OSError("the provider is down")
        return says(messages)

    agent = company.agent([[task("ops")], "Done."], worker | {"model": model})
    with pytest.raises(OSError, match="the provider is down"):
        company.start(agent)
    down.clear()
    output = company.run(agent, None, CONFIG, version="v2")
    assert results(output) == ["Deployed."]
    assert company.ran == ["prod"]
    assert company.asked == ["top", "ops", "ops", "top"]


def test_c24_a_policy_holds_for_declared_sub_agents_whatever_their_map_says(company):
    policy = Policy.from_text(
        "hitl_policy: 1\ndefault: allow\nrules:\n"
        "  - {id: up, tools: [deploy], effect: ask, decisions: [approve, reject]}\n"
    )
    agent = company.agent(
        [[task("ops")], "Done."],
        company.worker("ops", *DEPLOYS, interrupt_on={"deploy": False}),
        policy=policy,
    )
    (interrupt,) = company.start(agent).interrupts
    assert interrupt.value["review_configs"][0]["allowed_decisions"] == ["approve", "reject"]
    assert results(company.resume(agent, YES)) == ["Deployed."]


def test_c24_a_sub_agent_may_answer_in_a_form_which_the_parent_reads_as_json(saver, run):
    from pydantic import BaseModel

    class Report(BaseModel):
        rows: int

    send = {"name": "task", "args": {"subagent_type": "dba", "description": "count"}}
    agent = create_deep_agent(
        ScriptedModel([{"tool_calls": [send]}, {"tool_calls": [report(4)]}]),
        subagents=[
            {
                "name": "dba",
                "description": "Counts.",
                "system_prompt": "Count.",
                "model": ScriptedModel([{"tool_calls": [report(3)]}]),
                "response_format": Report,
            }
        ],
        response_format=Report,
        checkpointer=saver,
    )
    output = run(agent, {"messages": "go"}, {"configurable": {"thread_id": "t"}})
    told = [m.text for m in output["messages"] if m.name == "task"]
    assert told == ['{"rows":3}']
    assert output["structured_response"] == Report(rows=4)


def report(rows: int) -> dict:
    return {"name": "Report", "args": {"rows": rows}}
