import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl.checkpoint.rows import pack_item, show_item, unpack_item
from hitl.errors import Damaged, NotStorable
from hitl.testing.store_case import an_item
from hitl.values import Decision, Item

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
maps = st.dictionaries(st.text(), plain, max_size=3)
decisions = st.builds(
    Decision, st.sampled_from(["approve", "answer"]), maps, st.none() | st.text(), st.floats(0, 9)
)
whole = st.characters(exclude_categories=["Cs"])
items = st.builds(
    Item,
    id=st.just("1" * 32),
    thread=st.just("t"),
    interrupt=st.just("2" * 32),
    kind=st.sampled_from(["question", "action", "outcome"]),
    fingerprint=st.text(whole),
    subject=plain,
    allowed=st.lists(st.sampled_from(["approve", "reject"])).map(tuple),
    rules=maps,
    path=st.text(whole),
    call_id=st.text(whole),
    asked_at=st.floats(0, 1e10),
    decision=st.none() | decisions,
)


@given(items)
def test_an_item_comes_back_from_its_row(item):
    assert unpack_item(pack_item(item)) == item


@pytest.mark.parametrize("subject", [object(), {1, 2}, b"x"])
def test_what_is_not_plain_json_is_refused(subject):
    item = an_item(1)
    with pytest.raises(NotStorable, match=item.id):
        pack_item(Item(item.id, "t", item.id, "question", "f", subject, ()))


def test_nan_is_kept():
    item = an_item(1)
    row = pack_item(Item(item.id, "t", item.id, "question", "f", math.nan, ()))
    subject = unpack_item(row).subject
    assert isinstance(subject, float)
    assert math.isnan(subject)


@pytest.mark.parametrize(
    "damage",
    [{"subject": "{"}, {"rules": "["}, {"allowed": "1"}, {"decision": "{}"}, {"subject": 1}],
)
def test_a_damaged_row_is_told_and_can_be_shown(damage):
    row = pack_item(an_item(1))._replace(**damage)
    with pytest.raises(Damaged):
        unpack_item(row)
    shown = show_item(row)
    assert "damaged" in str(shown.subject)
    assert shown.allowed == ()
