import time

from hypothesis import given
from hypothesis import strategies as st

from hitl.values import ManualClock, SystemClock, iso


def test_the_clock_of_the_machine_tells_seconds_since_1970():
    before = time.time()
    assert before <= SystemClock().now() <= time.time()


@given(st.lists(st.integers(-1000, 1000)))
def test_a_manual_clock_moves_only_when_it_is_wound(moves):
    clock = ManualClock(5.0)
    for seconds in moves:
        clock.advance(seconds)
    assert clock.now() == clock.now() == 5.0 + sum(moves)


def test_a_time_is_written_in_utc_to_the_millisecond():
    assert iso(0.0) == "1970-01-01T00:00:00.000+00:00"
    assert iso(1_000_000_000.25) == "2001-09-09T01:46:40.250+00:00"


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_written_times_sort_as_the_times_do(one, two):
    one, two = one / 128, two / 128
    assert (iso(one) <= iso(two)) or one > two
