from types import SimpleNamespace

import pytest

from hitl.values import INTERRUPT, GraphOutput, Interrupt, Output, PregelTask, StateSnapshot

asked = (Interrupt("go on?", "1" * 32),)
config: dict[str, object] = {"configurable": {"thread_id": "t"}}


def warned():
    return pytest.warns(DeprecationWarning, match=r"use \.value and \.interrupts")


def test_an_output_is_the_dict_of_its_value_and_tells_a_pause_both_ways():
    output = Output({"n": 1}, asked, config)
    assert output == {"n": 1, INTERRUPT: list(asked)}
    assert output.value == {"n": 1}
    assert (output.interrupts, output.config) == (asked, config)


def test_an_output_of_a_finished_run_has_no_key_for_interrupts():
    assert Output({"n": 1}) == {"n": 1}
    assert Output({"n": 1}).interrupts == ()


def test_an_output_does_not_touch_the_value_it_was_made_of():
    value: dict[str, object] = {"n": 1}
    Output(value, asked)["m"] = 2
    assert value == {"n": 1}


def test_an_output_that_is_no_dict_is_kept_as_its_value():
    output = Output(7, asked)
    assert output.value == 7
    assert output == {INTERRUPT: list(asked)}


@pytest.mark.parametrize("value", [{"n": 1}, SimpleNamespace(n=1)])
def test_a_graph_output_may_still_be_read_like_a_dict_with_a_warning(value):
    output = GraphOutput(value, asked, config)
    with warned() as caught:
        assert output["n"] == 1
    assert caught[0].filename == __file__
    with warned():
        assert output[INTERRUPT] == list(asked)
    with warned():
        assert "n" in output
    with warned():
        assert "m" not in output
    with warned():
        assert INTERRUPT in output


def test_a_finished_graph_output_holds_no_interrupts():
    with warned():
        assert INTERRUPT not in GraphOutput({"n": 1})


def test_reading_what_is_not_there_fails_as_with_a_dict():
    with warned(), pytest.raises(KeyError):
        GraphOutput({})["n"]


def test_a_snapshot_and_its_tasks_are_tuples_with_names():
    task = PregelTask("id", "node", ("pull", "node"), interrupts=asked)
    snapshot = StateSnapshot({"n": 1}, ("node",), config, None, None, None, (task,), asked)
    values, *_, interrupts = snapshot
    assert (values, interrupts) == ({"n": 1}, asked)
    assert snapshot.tasks[0].error is None
