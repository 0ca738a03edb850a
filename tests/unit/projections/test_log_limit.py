"""A message that comes again and again is logged once in a while, with how many were held back."""

from __future__ import annotations

from projections.log_limit import LogLimit


class Seconds:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_first_line_is_logged_and_those_within_the_time_are_held_back_and_counted():
    seconds = Seconds()
    limit = LogLimit(60.0, seconds)
    assert limit.admit() == 0
    seconds.now += 59.9
    assert [limit.admit(), limit.admit()] == [None, None]
    seconds.now += 0.1
    assert limit.admit() == 2
    assert limit.admit() is None
    seconds.now += 60.0
    assert limit.admit() == 1


def test_after_a_quiet_time_nothing_was_held_back():
    seconds = Seconds()
    limit = LogLimit(60.0, seconds)
    assert limit.admit() == 0
    seconds.now += 600.0
    assert limit.admit() == 0
