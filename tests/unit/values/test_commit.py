import pytest

from hitl.values import (
    LIVE,
    RUN_KINDS,
    Commit,
    Draft,
    Entry,
    Item,
    ItemChange,
    Loaded,
    Mark,
    Receipt,
)

item = Item("1" * 32, "t", "1" * 32, "question", "f", None, ("answer",))
made = [
    Draft("step", "{}"),
    Entry(1, "step", 0, 1.0, "{}", "h"),
    ItemChange(item),
    Commit("t"),
    Receipt((1,), 1.0, None),
    Mark("t"),
    Loaded(Mark("t")),
    item,
]


@pytest.mark.parametrize("value", made, ids=lambda value: type(value).__name__)
def test_what_a_transaction_carries_cannot_be_changed(value):
    for name in type(value).__annotations__:
        with pytest.raises(AttributeError):
            setattr(value, name, 1)


def test_a_commit_does_nothing_unless_told():
    commit = Commit("t")
    assert (commit.entries, commit.items, commit.expect, commit.fence) == ((), (), None, None)
    assert (commit.lease, commit.owner, commit.lenient) == (None, "", False)


def test_two_loads_of_nothing_share_no_items():
    assert Loaded(Mark("t")).items is not Loaded(Mark("t")).items


def test_a_decision_is_no_entry_of_a_run():
    assert not {"decide", "withdraw"} & RUN_KINDS
    assert "done" not in LIVE
