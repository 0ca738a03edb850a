"""What is kept of users is bounded by the memory that it takes, however long their memories are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from support.examples import remember
from support.given import given

from projections.shard import user_states
from projections.shard.user_states import UserStates, _size_of

if TYPE_CHECKING:
    import pytest

    from projections.state.memory import UserState

CHARACTERS = 60_000


def test_long_texts_count_in_what_a_state_takes():
    long = given(*(remember(f"{n} {'words ' * (CHARACTERS // 6)}", f"c-{n}") for n in range(3))).state
    short = given(*(remember(f"{n} words", f"c-{n}") for n in range(3))).state
    assert len(long.memories) == len(short.memories) == 3
    texts = sum(len(one.content) for one in long.memories.values())
    assert texts > 2.9 * CHARACTERS
    assert texts < _size_of(long) < 1.1 * texts + _size_of(short)


def test_a_state_is_measured_once_in_eight_decisions_however_many_each_fold_has(monkeypatch: pytest.MonkeyPatch):
    measured: list[int] = []

    def size_of(state: UserState) -> int:
        measured.append(state.version)
        return _size_of(state)

    monkeypatch.setattr(user_states, "_size_of", size_of)
    nothing: Any = None
    states = UserStates(nothing, nothing, nothing)
    state = given(remember("some words", "c-1")).state
    for version in (1, 2, 7, 9, 15, 17, 33):
        states.keep(state.owner, replace(state, version=version))
    assert measured == [1, 9, 17, 33]
    states.keep(state.owner, replace(state, version=34, memories=state.memories.delete(*state.memories)))
    assert measured[4:] == [34]
    assert states.state(state.owner).version == 34
    states.forget()
