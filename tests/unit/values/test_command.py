from dataclasses import FrozenInstanceError

import pytest

from hitl.errors import Misuse
from hitl.values import NO_ANSWER, Command, Send


def test_a_command_says_nothing_unless_told():
    command = Command()
    assert (command.graph, command.update, command.targets()) == (None, None, ())
    assert command.resume is NO_ANSWER


@pytest.mark.parametrize("answer", [None, False, 0, "", [], {}])
def test_every_value_is_an_answer(answer):
    assert Command(resume=answer).resume is answer


def test_no_answer_shows_as_what_it_is():
    assert repr(NO_ANSWER) == "NO_ANSWER"


def test_a_command_takes_only_names():
    with pytest.raises(TypeError):
        Command("parent")  # type: ignore[misc]


def test_a_command_and_a_send_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Command().update = 1  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        Send("a", 1).node = "b"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("goto", "targets"),
    [
        ("ab", ("ab",)),
        (Send("a", 1), (Send("a", 1),)),
        (["a", Send("b", 2)], ("a", Send("b", 2))),
        ((), ()),
    ],
)
def test_one_target_or_many_become_a_tuple(goto, targets):
    assert Command(goto=goto).targets() == targets


def test_a_target_of_another_kind_is_misuse_and_named():
    with pytest.raises(Misuse, match=r"holds a int\. Give node names"):
        Command(goto=["a", 7]).targets()  # type: ignore[list-item]


def test_the_parent_is_addressed_by_a_name_that_no_node_may_have():
    assert Command.PARENT == "__parent__"
