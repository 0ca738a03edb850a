"""The test of a filter for many memories is the filter."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from immutables import Map
from support.examples import LUNA, XIAOMING, later, remember, share
from support.given import given
from support.tables import each

from projections.queries.conditions.parser import condition_of
from projections.queries.filters import Filters
from projections.queries.memory_rows import MemoryRows
from projections.state.memory import UserState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from projections.state.memory import Memory

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


AT = later(days=1)


def shown(filters: Filters, memories: Sequence[Memory]) -> list[Memory]:
    """Return the memories that are shown of a user who has these, all looked at together."""
    rows, state = MemoryRows(), UserState(owner=XIAOMING, memories=Map({m.memory_id: m for m in memories}))
    return rows.memories(rows.shown(rows.rows(state, list(state.memories)), XIAOMING, AT, filters))


@each(
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
    memories = [replace(memory, memory_id=str(number)) for number, memory in enumerate(MEMORIES)]
    passing = [m.memory_id for m in memories if filters.passes(m, XIAOMING, AT) and m.status_at(AT) == "active"]
    assert sorted(memory.memory_id for memory in shown(filters, memories)) == sorted(passing)


NARROWS = Filters(
    agent_id="who knows nothing",
    session_id="none",
    kind="episodic",
    memory_type="short_term",
    category="people",
    source_type="chat",
    attribute="none",
    since=later(days=9),
    until=later(days=-9),
    min_importance=1.0,
    exclude_sources=frozenset({"manual"}),
    condition=condition_of({"user_id": "nobody"}),
)


@each("name", [field.name for field in fields(Filters)])
def test_no_field_of_a_filter_is_forgotten_where_many_are_asked(name: str):
    """One that is would show what was not asked for; a new field has to have a value here."""
    memories = [memory for memory in FIRST.memories if memory.agent_id is not None]
    assert shown(Filters(), memories)
    assert shown(Filters(**{name: getattr(NARROWS, name)}), memories) == []
