"""What is kept of users is bounded by the memory that it takes, however long their memories are."""

from __future__ import annotations

from support.examples import remember
from support.given import given

from projections.shard.user_states import _size_of

CHARACTERS = 60_000


def test_long_texts_count_in_what_a_state_takes():
    long = given(*(remember(f"{n} {'words ' * (CHARACTERS // 6)}", f"c-{n}") for n in range(3))).state
    short = given(*(remember(f"{n} words", f"c-{n}") for n in range(3))).state
    assert len(long.memories) == len(short.memories) == 3
    texts = sum(len(one.content) for one in long.memories.values())
    assert texts > 2.9 * CHARACTERS
    assert texts < _size_of(long) < 1.1 * texts + _size_of(short)
