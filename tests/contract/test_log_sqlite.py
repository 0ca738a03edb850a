"""The embedded log passes the suite of all logs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from contract.log_suite import TrimmedLogSuite

from schemas.log import NewRecord
from streams.transports.sqlite.log import SqliteLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TestSqliteLog(TrimmedLogSuite):
    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[SqliteLog]:
        log = SqliteLog.open(tmp_path)
        yield log
        log.close()


async def test_a_log_that_a_wrong_clock_has_dated_goes_on_from_the_right_time(tmp_path: Path):
    now = [datetime(2105, 11, 9, tzinfo=UTC)]
    log = SqliteLog.open(tmp_path, lambda: now[0])
    await log.create_topic("one", 1)
    await log.create_topic("other", 1)
    record = NewRecord(topic="one", partition=0, key=b"k", value=b"v")
    await log.append([record])
    now[0] = right = datetime(2026, 1, 5, 8, tzinfo=UTC)
    [misdated] = await log.append([record])
    assert (misdated.recorded_at.year, log.newest_time()) == (2105, misdated.recorded_at)
    await log.set_time_back(right)
    assert log.newest_time() == right
    [following] = await log.append([replace(record, topic="other")])
    assert following.recorded_at == right
    place = log.next_place("one", 0)
    assert (place.position.offset, place.recorded_at) == (2, right)
    assert await log.append_settled([record], [place]) == [place]
    log.close()
    log = SqliteLog.open(tmp_path, lambda: now[0])
    assert log.newest_time() == right
    assert [r.recorded_at.year for r in await log.read("one", 0, 0)] == [2105, 2105, 2026]
    log.close()
