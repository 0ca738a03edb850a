"""Validity: an interval never ends before it begins."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from support.examples import remember
from support.given import given

from projections.queries.validity import validity
from projections.state.memory import SUPERSEDED

OSLO = replace(
    given(remember("User lives in Oslo", "oslo")).only,
    attribute="city",
    occurred_at=datetime(2026, 11, 25, tzinfo=UTC),
    status=SUPERSEDED,
    superseded_by="newer",
)


def test_what_is_superseded_by_something_that_began_later_is_true_until_then():
    moved = datetime(2026, 12, 1, tzinfo=UTC)
    newer = replace(OSLO, memory_id="newer", occurred_at=moved, status="active", superseded_by=None)
    assert validity(OSLO, {"newer": newer}) == (OSLO.occurred_at, moved)


def test_what_is_superseded_by_something_that_began_before_it_was_said_ends_no_sooner_than_it_begins():
    moved = datetime(2026, 11, 23, tzinfo=UTC)
    newer = replace(OSLO, memory_id="newer", occurred_at=moved, status="active", superseded_by=None)
    assert validity(OSLO, {"newer": newer}) == (moved, moved)
