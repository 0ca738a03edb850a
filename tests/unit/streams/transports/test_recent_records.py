"""The newest records of the log in memory: they answer for the file only where they have everything."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from schemas.log import Position, Record
from streams.transports.recent_records import MAX_BYTES, MAX_RECORDS, RecentRecords

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def record(offset: int, value: bytes = b"v") -> Record:
    return Record(position=Position("topic", 0, offset), recorded_at=NOON, key=None, value=value)


@pytest.fixture
def recent():
    return RecentRecords()


def offsets(recent: RecentRecords, start: int, limit: int = 1000) -> list[int] | None:
    found = recent.read("topic", 0, start, limit)
    return None if found is None else [r.position.offset for r in found]


def test_what_was_added_is_read_from_any_offset_on_up_to_the_limit(recent):
    recent.add(record(n) for n in range(5, 10))
    assert offsets(recent, 5) == [5, 6, 7, 8, 9]
    assert offsets(recent, 7, 2) == [7, 8]


def test_what_lies_before_the_first_kept_record_is_the_files_to_answer(recent):
    assert offsets(recent, 0) is None
    recent.add([record(5)])
    assert offsets(recent, 4) is None


def test_a_gap_drops_what_was_before_it(recent):
    recent.add([record(1), record(3)])
    assert offsets(recent, 1) is None
    assert offsets(recent, 3) == [3]


def test_only_so_many_records_and_bytes_are_kept(recent):
    recent.add(record(n) for n in range(MAX_RECORDS + 1))
    assert offsets(recent, 0) is None
    assert len(offsets(recent, 1) or []) == MAX_RECORDS
    recent.add([record(MAX_RECORDS + 1, b"x" * (MAX_BYTES + 1))])
    assert offsets(recent, MAX_RECORDS) is None
    assert offsets(recent, MAX_RECORDS + 1) == [MAX_RECORDS + 1]


def test_a_forgotten_partition_is_read_from_the_file(recent):
    recent.add([record(0)])
    recent.forget("topic", 0)
    assert offsets(recent, 0) is None
