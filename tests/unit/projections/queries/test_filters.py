"""The test of a filter for many memories is the filter."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from support.examples import LUNA, XIAOMING, later, remember, share
from support.given import given

from projections.queries.conditions.parser import condition_of
from projections.queries.filters import Filters

FIRST = given(remember("User drinks tea", "c-1", agent_id="nova")).when(
    remember("User has a cat", "c-2", attribute="pet", value="cat")
)
SHARED = FIRST.when(share(FIRST.of("User drinks tea").memory_id, LUNA, "c-3")).memories
MEMORIES = [
    *SHARED,
    *FIRST.memories,
    *(replace(m, kind="document") for m in SHARED),
    *(replace(m, agent_id=None) for m in SHARED),
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
        Filters(category="fact", source_type="manual", memory_type="long_term"),
    ],
)
def test_what_passes_one_by_one_passes_together(filters: Filters):
    at = later(days=1)
    together = filters.passing({str(n): m for n, m in enumerate(MEMORIES)}, XIAOMING, at)
    assert list(together.values()) == [m for m in MEMORIES if filters.passes(m, XIAOMING, at)]


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


@pytest.mark.parametrize("name", [field.name for field in fields(Filters)])
def test_no_field_of_a_filter_is_forgotten_where_many_are_asked(name: str):
    """One that is would show what was not asked for; a new field has to have a value here."""
    only = Filters(**{name: getattr(NARROWS, name)})
    memories = {memory.memory_id: memory for memory in FIRST.memories if memory.agent_id is not None}
    assert memories
    assert only.passing(memories, XIAOMING, later(days=1)) == {}
