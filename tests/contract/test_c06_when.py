"""C06: ``when`` says by the call whether it waits."""

from __future__ import annotations

import pytest

from hitl import ToolCallRequest


def config_with(when):
    return {"write_file": {"allowed_decisions": ["approve", "edit", "reject"], "when": when}}


def writes_outside_workspace(request: ToolCallRequest) -> bool:
    return not str(request.tool_call["args"].get("path", "")).startswith("/workspace/")


INSIDE = ("write_file", {"path": "/workspace/a"})
OUTSIDE = ("write_file", {"path": "/etc/passwd"})


def paths(world):
    return [args["path"] for _, args in world.ran]


def test_c06_a_call_for_which_it_is_false_runs_without_a_pause(world):
    assert (
        world.start(world.agent(config_with(writes_outside_workspace), [INSIDE])).interrupts == ()
    )
    assert paths(world) == ["/workspace/a"]


def test_c06_such_a_call_never_enters_the_batch(world):
    agent = world.agent(config_with(writes_outside_workspace), [INSIDE, OUTSIDE, INSIDE])
    (interrupt,) = world.start(agent).interrupts
    (request,) = interrupt.value["action_requests"]
    assert request["args"] == {"path": "/etc/passwd"}
    assert len(interrupt.value["review_configs"]) == 1
    world.decide(agent, {"type": "reject"})
    assert paths(world) == ["/workspace/a", "/workspace/a"]


def test_c06_it_sees_the_name_and_the_arguments_and_cannot_change_them(world):
    seen = []

    def when(request):
        seen.append((request.tool_call["name"], dict(request.tool_call["args"])))
        request.tool_call["args"]["path"] = "/changed"
        return False

    world.start(world.agent(config_with(when), [OUTSIDE]))
    assert seen == [OUTSIDE]
    assert paths(world) == ["/etc/passwd"]


def raises(request):
    raise KeyError("path")


async def coroutine(request):
    return False


@pytest.mark.parametrize(
    "when", [raises, coroutine, lambda r: None, lambda r: 0, lambda r: "no"],
    ids=["raises", "coroutine", "None", "zero", "text"],
)  # fmt: skip
def test_c06_only_exactly_false_lets_a_call_run_unasked(world, when):
    agent = world.agent(config_with(when), [OUTSIDE])
    assert len(world.start(agent).interrupts) == 1
    assert world.ran == []


def test_c06_its_answer_is_frozen_with_the_question(world):
    asked = []

    def once(request):
        asked.append(request.tool_call["args"]["path"])
        return len(asked) == 1

    first = world.agent(config_with(once), [OUTSIDE, INSIDE])
    assert len(world.start(first).interrupts) == 1
    # Another process, in which the same predicate would answer otherwise.
    again = world.agent(config_with(lambda request: True), [OUTSIDE, INSIDE])
    assert world.run(again, None, world.config, version="v2").interrupts != ()
    world.decide(again, {"type": "reject"})
    assert asked == ["/etc/passwd", "/workspace/a"]
    assert paths(world) == ["/workspace/a"]
