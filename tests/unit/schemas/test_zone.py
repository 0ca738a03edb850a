"""By which clock an observation lives: the offset that it was given with, what its metadata name, else the default."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from support.tables import each

from schemas.inputs.input_events import new_event, parse_event
from schemas.inputs.zone import local, offset_given, zone_named, zone_of
from schemas.messages.observations import TurnRecorded

NOW = datetime(2026, 3, 10, 7, 30, tzinfo=UTC)
TURN = {"type": "TurnRecorded", "session_id": "s1", "role": "user", "content": "hi"}


@each(
    ("given", "offset"),
    [
        ("2026-03-09T23:30:00-08:00", "-08:00"),
        ("2026-03-09t23:30:00.25+05:45", "+05:45"),
        ("2026-03-10T07:30:00Z", "+00:00"),
        ("2026-03-10T07:30:00z", "+00:00"),
        ("2026-03-10", "+00:00"),
        ("2026-03-10T07:30:00-00:00", None),
        (NOW, "+00:00"),
        (None, None),
    ],
)
def test_a_time_tells_its_offset(given: object, offset: str | None):
    assert offset_given(given) == offset


@each(
    ("metadata", "day"),
    [
        ("{}", 10),
        ('{"timezone":"-08:00"}', 9),
        ('{"timezone":"America/Los_Angeles"}', 10),
        ('{"timezone":"Mars/Olympus"}', 10),
        ('{"timezone":8}', 10),
        ("timezone", 10),
    ],
)
def test_a_piece_lives_in_the_zone_that_its_metadata_name(metadata: str, day: int):
    # Los Angeles has summer time from 2026-03-08 on.
    assert local(NOW, zone_of(metadata)).day == day


def test_without_a_zone_of_its_own_it_lives_in_the_default_one():
    tokyo = zone_named("Asia/Tokyo")
    assert tokyo is not None
    assert local(NOW, zone_of("{}", tokyo)).hour == 16
    assert local(datetime.min.replace(tzinfo=UTC), zone_of('{"timezone":"-12:00"}')).year == 1


@each(
    ("given", "setting", "kept"),
    [
        ({"occurred_at": "2026-03-09T23:30:00-08:00"}, "UTC", {"timezone": "-08:00"}),
        ({"occurred_at": "2026-03-09T23:30:00-08:00"}, "Asia/Tokyo", {"timezone": "-08:00"}),
        ({"occurred_at": "2026-03-10T07:30:00Z"}, "UTC", {}),
        ({"occurred_at": "2026-03-10T07:30:00Z"}, "Asia/Tokyo", {"timezone": "+00:00"}),
        ({"occurred_at": "2026-03-10T07:30:00Z"}, None, {"timezone": "+00:00"}),
        ({"occurred_at": "2026-03-10T07:30:00-00:00"}, "Asia/Tokyo", {"timezone": "Asia/Tokyo"}),
        ({}, "UTC", {}),
        ({}, "Asia/Tokyo", {"timezone": "Asia/Tokyo"}),
        ({}, None, {}),
        (
            {"occurred_at": "2026-03-09T23:30:00-08:00", "metadata": {"timezone": "Asia/Tokyo", "a": 1}},
            "UTC",
            {"timezone": "Asia/Tokyo", "a": 1},
        ),
    ],
)
def test_the_offset_of_an_event_is_kept_and_changes_neither_its_instant_nor_its_digest(
    given: dict[str, Any], setting: str | None, kept: dict[str, Any]
):
    event = parse_event(TURN | given, tenant="default", accepted_at=NOW, event_id="t-1", timezone=setting)
    assert isinstance(event, TurnRecorded)
    assert orjson.loads(event.metadata) == kept
    assert event.envelope.occurred_at == NOW.replace(second=0)
    as_instant = {"occurred_at": NOW} if "occurred_at" in given else {}
    plain = new_event(TURN | given | as_instant, tenant="default", accepted_at=NOW, event_id="t-1")
    assert isinstance(plain, TurnRecorded)
    assert plain.body_digest == event.body_digest


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "America", "../etc/passwd", "+99:00", "x" * 300])
def test_what_is_no_zone_is_none(name: str):
    assert zone_named(name) is None
