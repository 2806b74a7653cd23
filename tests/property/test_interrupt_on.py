"""Laws of ``interrupt_on`` that hold for every map and every call."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hitl.policy import DECISIONS, InterruptOn, ToolCallRequest

NAMES = st.sampled_from(["pay", "Pay", "write_file", "read_file", "ask", "fs.list", "delete\u200b"])


def says(answer):
    return lambda _request: answer


def raises(error):
    def when(_request):
        raise error

    return when


async def asynchronous(_request):
    return False


NOT_FALSE = st.one_of(
    st.just(True),
    st.none(),
    st.integers(),
    st.floats(),
    st.text(max_size=2),
    st.lists(st.booleans(), max_size=2),
).map(says)
BROKEN = st.sampled_from([ValueError(), KeyError("x"), EOFError(), TimeoutError()]).map(raises)
ASKING = NOT_FALSE | BROKEN | st.just(asynchronous)

ALLOWED = st.lists(st.sampled_from(DECISIONS), min_size=1, unique=True)
CONFIGS = st.fixed_dictionaries(
    {"allowed_decisions": ALLOWED},
    optional={"when": ASKING | st.just(says(False)), "description": st.text(max_size=3)},
)
ENTRIES = st.booleans() | CONFIGS
MAPS = st.dictionaries(NAMES | st.just("*"), ENTRIES, max_size=6)


def judge(interrupt_on, name):
    call: Any = {"name": name, "args": {}, "id": "1"}
    compiled = InterruptOn.compile(interrupt_on)
    return compiled.judge(call, lambda: ToolCallRequest(call, None, {}, None))


@given(MAPS, NAMES, st.randoms(use_true_random=False))
def test_the_verdict_does_not_depend_on_the_order_of_the_map(interrupt_on, name, random):
    pairs = list(interrupt_on.items())
    random.shuffle(pairs)
    assert judge(dict(pairs), name) == judge(interrupt_on, name)


@given(MAPS, NAMES, NAMES, ENTRIES)
def test_an_entry_for_another_tool_never_changes_the_verdict(interrupt_on, name, other, entry):
    if other != name:
        assert judge(interrupt_on | {other: entry}, name) == judge(interrupt_on, name)


@given(MAPS, NAMES, ALLOWED, ASKING)
def test_a_when_that_does_anything_but_return_false_asks(interrupt_on, name, allowed, when):
    verdict = judge(interrupt_on | {name: {"allowed_decisions": allowed, "when": when}}, name)
    assert (verdict.effect, verdict.allowed) == ("ask", tuple(allowed))


@given(MAPS, NAMES)
def test_a_verdict_agrees_with_the_map_read_by_hand(interrupt_on, name):
    entry = interrupt_on.get(name, interrupt_on.get("*", False))
    verdict = judge(interrupt_on, name)
    if entry is False:
        assert verdict.effect == "allow"
    elif entry is True:
        assert (verdict.effect, verdict.allowed) == ("ask", DECISIONS)
    elif "when" not in entry:
        assert (verdict.effect, verdict.allowed) == ("ask", tuple(entry["allowed_decisions"]))
    assert (verdict.allowed == ()) is (verdict.effect == "allow")


@given(MAPS, NAMES, st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3))
def test_describing_never_fails_and_names_the_call_where_no_text_is_given(interrupt_on, name, args):
    call: Any = {"name": name, "args": args, "id": "1"}
    text = InterruptOn.compile(interrupt_on).describe(call, lambda: ToolCallRequest(call))
    entry = interrupt_on.get(name, interrupt_on.get("*", False))
    given_text = entry.get("description") if isinstance(entry, dict) else None
    assert text == given_text if given_text is not None else name in text
