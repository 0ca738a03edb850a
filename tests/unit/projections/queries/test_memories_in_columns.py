"""Columns of memories say what the memories say, also after these have changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from immutables import Map
from support.examples import XIAOMING, later, remember
from support.given import given

from projections.queries import memory_rows
from projections.queries.filters import Filters
from projections.queries.memory_rows import MemoryRows, MemoryRowsByUser
from projections.queries.turns.index import TurnMatches
from projections.state.memory import Memory, UserState
from projections.turns import to_end

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from projections.queries.turns.index import UserWords
    from schemas.identity import Owner

[TEA] = given(remember("User drinks tea", "c-1")).memories
NUMBERS = count()
EVENTS = [f"e{n}" for n in range(8)]


def state(*memories: Memory) -> UserState:
    return UserState(owner=XIAOMING, memories=Map({memory.memory_id: memory for memory in memories}))


def named(memory_id: str, **changes: object) -> Memory:
    return replace(TEA, memory_id=memory_id, **changes)  # type: ignore[arg-type]


@dataclass
class Words:
    """The words of turns, as far as who cites them asks."""

    rows: Mapping[str, int]
    number: int = field(default_factory=lambda: next(NUMBERS))

    def row(self, event_id: str) -> int | None:
        return self.rows.get(event_id)


def turns(words: Words, *answered: float) -> TurnMatches:
    scores = np.array(answered, np.float32)
    return TurnMatches(cast("UserWords", words), scores, scores, scores, scores > 0)


def test_a_memory_that_the_state_has_not_has_no_row():
    rows = MemoryRows()
    assert rows.rows(state(), ["a"]).tolist() == [-1]
    assert rows.rows(state(named("a")), ["b", "a", "b", "a"]).tolist() == [-1, 0, -1, 0]
    other = state(named("b"))
    for _ in range(2):
        assert rows.rows(other, ["a", "b"]).tolist() == [-1, 1]
    assert rows.rows(state(*(named(f"m{n}") for n in range(62))), [f"m{n}" for n in range(62)]).tolist()[-1] == 63
    for _ in range(2):
        assert rows.rows(other, ["m61", "unknown", "b"]).tolist() == [-1, -1, 1]


def test_what_cites_observations_is_read_once_for_a_state():
    rows, asked = MemoryRows(), list[list[str]]()

    def read(_owner: Owner, event_ids: Sequence[str]) -> dict[str, list[str]]:
        asked.append(list(event_ids))
        return {event_id: [event_id[1:]] if event_id != "e" else [] for event_id in event_ids}

    one, other = state(named("a"), named("b")), state(named("a"), named("c"))
    assert rows.citing(one, ["ea", "e"], read).tolist() == [0]
    assert rows.citing(one, ["e", "eb", "ea"], read).tolist() == [1, 0]
    assert rows.citing(other, ["eb", "ec", "ea"], read).tolist() == [-1, 2, 0]
    assert asked == [["ea", "e"], ["eb"], ["eb", "ec", "ea"]]


def test_a_memory_that_has_changed_is_read_anew_in_its_row():
    rows, before, after = MemoryRows(), state(named("a", importance=0.2)), state(named("a", importance=0.9))
    for known, importance in ((before, 0.2), (after, 0.9), (after, 0.9), (before, 0.2)):
        found = rows.rows(known, ["a"])
        assert (found.tolist(), rows.importance(found).tolist()) == ([0], [importance])
        assert rows.memories(found) == [known.memories["a"]]


def test_right_is_a_hit_of_an_active_memory_whose_text_is_of_that_version():
    rows = MemoryRows()
    known = state(named("a", text_version=3), named("b", text_version=3), named("gone", status="forgotten"))
    found = rows.rows(known, ["a", "b", "gone", "unknown"])
    right = rows.right(found, np.array([3, 2, TEA.text_version, 3]))
    assert right.tolist() == [True, False, False, False]


def test_there_is_room_for_any_number_of_memories():
    known = state(*(named(f"m{n}", importance=n / 1000) for n in range(1000)))
    rows, ids = MemoryRows(), [f"m{n}" for n in range(1000)]
    found = rows.rows(known, ids)
    assert rows.importance(found).tolist() == [n / 1000 for n in range(1000)]
    assert len(rows.shown(found, XIAOMING, later(days=1), Filters())) == 1000


@pytest.mark.parametrize("left", [("a",), ()])
def test_nothing_is_kept_of_what_was_said_in_memories_that_are_gone(left: tuple[str, ...]):
    users = MemoryRowsByUser()
    both = state(named("a"), named("b"))
    users.of(both).rows(both, ["a", "b"])
    assert users.of(both).rows(both, ["b"]).tolist() == [1]
    assert len(users.of(state(*map(named, left)))) == 0


def test_the_rows_of_a_user_asked_for_longest_ago_make_room():
    users = MemoryRowsByUser(small_bytes=5_000, max_bytes=100_000)
    states = [replace(state(named("a")), owner=replace(XIAOMING, user_id=name)) for name in ("x", "y", "z")]
    for one in states:
        rows = users.of(one)
        rows.rows(one, ["a"])
        users.count(one.owner, rows)
    assert [len(users.of(one)) for one in (states[2], states[0])] == [1, 0]


@drawn(
    st.lists(st.lists(st.sampled_from(EVENTS), max_size=3, unique=True), min_size=1, max_size=6),
    st.permutations(EVENTS),
    st.integers(0, 8),
    st.integers(0, 8),
)
def test_the_turns_that_memories_came_from_match_as_one_by_one(
    sources: list[list[str]], order: list[str], first: int, second: int
):
    known = state(*(named(f"m{n}", source_ids=tuple(each)) for n, each in enumerate(sources)))
    rows = MemoryRows()
    found = rows.rows(known, [f"m{n}" for n in range(len(sources))])
    words = Words({})
    for many in (first, second):  # turns are read on, or come from words that are read anew
        words = Words({e: n for n, e in enumerate(order[:many])}, words.number + (many < first))
        matches = turns(words, *(n / 8 for n in range(many)))
        one_by_one = [max((order.index(e) / 8 for e in each if e in order[:many]), default=None) for each in sources]
        assert rows.evidence(found, matches).tolist() == pytest.approx(
            [np.nan if match is None else match for match in one_by_one], nan_ok=True
        )


def test_rows_that_are_read_in_steps_are_of_their_own_state_although_another_one_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(memory_rows, "ITEMS_A_STEP", 2)
    before = state(*(named(str(number), importance=0.5) for number in range(5)))
    after = state(*(named(str(number), importance=0.9) for number in range(5)))
    table, ids = MemoryRows(), list(before.memories)
    steps = table.rows_in_steps(before, ids)
    next(steps)
    assert len(table) == 2
    assert table.importance(table.rows(after, ids)).tolist() == [0.9] * 5
    rows = to_end(steps)
    assert table.memories(rows) == [before.memories[i] for i in ids]
    assert table.importance(rows).tolist() == [0.5] * 5
