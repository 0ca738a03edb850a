"""The test of a filter for many memories is the filter."""

from __future__ import annotations

from dataclasses import replace

import pytest
from immutables import Map
from support.examples import LUNA, XIAOMING, later, remember, share
from support.given import given

from projections.queries.filters import Filters
from projections.queries.memory_rows import MemoryRows
from projections.state.memory import UserState

FIRST = given(remember("User drinks tea", "c-1", agent_id="nova")).when(
    remember("User has a cat", "c-2", attribute="pet", value="cat")
)
SHARED = FIRST.when(share(FIRST.of("User drinks tea").memory_id, LUNA, "c-3")).memories
MEMORIES = [
    *SHARED,
    *FIRST.memories,
    *(replace(m, kind="document") for m in SHARED),
    *(replace(m, agent_id=None) for m in SHARED),
    *(replace(m, expires_at=later(days=days)) for m in FIRST.memories for days in (0, 1, 2)),
    *(replace(m, status="forgotten") for m in FIRST.memories),
]


@pytest.mark.parametrize(
    "filters",
    [
        Filters(),
        Filters(agent_id=LUNA),
        Filters(agent_id="nova", exclude_sources=frozenset()),
        Filters(exclude_sources=frozenset({"manual"})),
        Filters(kind="document"),
        Filters(agent_id=LUNA, attribute="pet"),
        Filters(min_importance=0.9),
        Filters(until=later(days=-1)),
        Filters(since=later(days=-1), until=later(days=1), session_id="s-1"),
        Filters(since=later(days=1)),
        Filters(category="fact", source_type="manual", memory_type="long_term"),
    ],
)
def test_what_passes_one_by_one_passes_together(filters: Filters):
    at, rows = later(days=1), MemoryRows()
    state = UserState(
        owner=XIAOMING, memories=Map({str(n): replace(m, memory_id=str(n)) for n, m in enumerate(MEMORIES)})
    )
    known = rows.rows(state, list(state.memories))
    shown = rows.memories(rows.shown(known, XIAOMING, at, filters))
    passing = (m for m in state.memories.values() if filters.passes(m, XIAOMING, at))
    assert shown == [m for m in passing if m.status_at(at) == "active"]
