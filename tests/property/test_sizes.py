"""What a reader knows of the size of a state is what its writer knew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hitl.engine.record import apply, checkpoint_body
from hitl.engine.standing import NO_ARG, Standing
from hitl.values import Entry

NAMES = st.sampled_from(["log", "text", "ch", 'a"b', "é"])
TEXTS = st.sampled_from(['x","ch":{"log":', "é", "", '"}]}', "plain"]) | st.text(max_size=5)
ROWS = TEXTS | st.dictionaries(st.sampled_from(["ch", "log"]), TEXTS, max_size=2)
VALUES = st.lists(ROWS, max_size=3) | ROWS | st.integers()
DUE = st.tuples(st.just("n"), st.just(NO_ARG) | st.fixed_dictionaries({"ch": st.just({"log": 1})}))
STEPS = st.lists(
    st.tuples(
        st.dictionaries(NAMES, VALUES, max_size=2),
        st.lists(DUE, max_size=2),
        st.sampled_from(["step", "input"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@given(STEPS)
def test_a_reader_knows_what_the_writer_knew_of_sizes_and_last_elements(steps):
    writer, reader = Standing("t"), Standing("t")
    for seq, (changes, due, kind, grows) in enumerate(steps, 1):
        for name, value in changes.items():
            old: Any = writer.values.get(name)
            both = grows and type(old) is list and type(value) is list
            writer.values[name] = [*old, *value] if both else value  # type: ignore[misc]
        writer.due = due
        writer.metadata = {"note": ',"ch":{"log":'}
        body = checkpoint_body(writer, list(changes), base=False, first=kind == "input")
        apply(reader, Entry(seq, kind, 0, 1.0, body, ""))
    assert (reader.values, reader.live, reader.spent) == (writer.values, writer.live, writer.spent)
    assert reader.kept == {name: replace(one) for name, one in writer.kept.items()}
