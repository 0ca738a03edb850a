"""Strengths of many memories at once: those that each memory says of itself, to the last digit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given as drawn
from hypothesis import strategies as st
from support.examples import remember
from support.given import given

from projections.queries.conditions.fading import Fading

ONE = given(remember("likes green tea", "tea")).only
NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
SPANS = st.timedeltas(min_value=timedelta(days=-1), max_value=timedelta(days=400))
MEMORIES = st.builds(
    lambda formed, restored, **numbers: replace(
        ONE, formed_at=NOW - formed, restored_at=None if restored is None else NOW - restored, **numbers
    ),
    SPANS,
    st.none() | SPANS,
    initial_strength=st.integers(0, 10_000).map(lambda n: n / 10_000),
    importance=st.integers(0, 10_000).map(lambda n: n / 10_000),
    recall_count=st.integers(0, 1_000),
)


@drawn(st.lists(MEMORIES, max_size=30))
def test_strengths_are_what_each_memory_says_of_itself(memories):
    found = Fading(memories).strengths(NOW, memories)
    assert found.tolist() == [memory.strength_at(NOW) for memory in memories]


@drawn(st.lists(MEMORIES, min_size=1, max_size=10), MEMORIES)
def test_a_memory_that_changed_has_its_new_strength_and_a_new_one_a_row(memories, other):
    fading = Fading(memories)
    fading.set(0, other)
    fading.set(len(memories), other)
    now = [other, *memories[1:], other]
    assert fading.strengths(NOW, now).tolist() == [memory.strength_at(NOW) for memory in now]


def test_in_the_middle_between_two_steps_the_memory_decides():
    """When no time has passed, the strength is `initial_strength` here, and halves of a step come exactly."""
    memories = [
        replace(ONE, formed_at=NOW, initial_strength=n / 100_000, importance=1.0, recall_count=0)
        for n in range(10_005, 99_999, 10)
    ]
    assert Fading(memories).strengths(NOW, memories).tolist() == [memory.strength_at(NOW) for memory in memories]
