"""Expiry and strength at their edges."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from support.examples import MONDAY, later
from support.tables import each

from projections.state.lifetime import count_over, ebbinghaus, expiry_of, is_over

MOMENT = MONDAY.resolution


def test_short_term_memories_last_48_hours_and_all_others_for_ever():
    assert expiry_of("short_term", MONDAY) == later(hours=48)
    assert expiry_of("long_term", MONDAY) is None


def test_an_expiry_is_over_after_its_instant_and_not_at_it():
    assert not is_over(MONDAY, MONDAY)
    assert is_over(MONDAY, MONDAY + MOMENT)
    assert not is_over(None, later(days=36_500))


@given(st.lists(st.integers(0, 5)), st.integers(0, 5))
def test_what_is_over_of_many_is_what_is_over_of_each(days: list[int], now: int):
    expiries = sorted(later(days=day) for day in days)
    assert count_over(expiries, later(days=now)) == sum(is_over(e, later(days=now)) for e in expiries)


@each(
    ("days", "importance", "recalls", "expected"),
    [
        (0, 1.0, 0, 1.0),
        (0, 0.5, 0, 0.6),
        (0, 0.25, 0, 0.4),
        (30, 0.25, 0, 0.1472),
        (120, 1.0, 0, 0.3679),
        (60, 0.5, 5, 0.3311),
        (0, 1.0, 5, 1.0),
        (10_000, 1.0, 3, 0.1),
        (-5, 1.0, 0, 1.0),
    ],
)
def test_known_strengths(days: float, importance: float, recalls: int, expected: float):
    """Worked out by hand: 0.4 x e^-1 = 0.1472, e^-1 = 0.3679, 0.6 x 1.5 x e^-1 = 0.3311."""
    assert ebbinghaus(1.0, days, importance, recalls) == expected


@given(st.floats(0, 1), st.floats(0, 5000), st.floats(0, 1), st.integers(0, 10_000))
def test_a_strength_is_between_a_tenth_and_one_and_never_grows_with_time(
    initial: float, days: float, importance: float, recalls: int
):
    now = ebbinghaus(initial, days, importance, recalls)
    assert 0.1 <= now <= 1.0
    assert ebbinghaus(initial, days + 1, importance, recalls) <= now
    assert ebbinghaus(initial, days, importance, recalls + 1) >= now
    assert ebbinghaus(initial, days, min(1.0, importance + 0.1), recalls) >= now


def test_days_take_fractions():
    day = timedelta(days=1)
    assert ebbinghaus(1.0, timedelta(hours=36) / day, 1.0, 0) == ebbinghaus(1.0, 1.5, 1.0, 0)
