"""Patience: reads wait for a log that is away; appends say so."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.memory_log import MemoryLog

from schemas.log import LogUnavailable, NewRecord
from schemas.topics import INBOX
from streams.delivery.retry import RetryingReads

RECORD = NewRecord(topic=INBOX.name, partition=0, key=b"default/u1", value=b"x")


class AwayLog(MemoryLog):
    """A log that cannot be reached for its first calls."""

    away = 2

    async def read(self, *place, **more):
        """Fail while away."""
        self._come_back()
        return await super().read(*place, **more)

    async def append(self, records):
        """Fail while away."""
        self._come_back()
        return await super().append(records)

    def _come_back(self):
        if self.away:
            self.away -= 1
            raise LogUnavailable("away")


async def test_a_read_waits_until_the_log_is_back():
    """The third attempt answers."""
    log = AwayLog(now=datetime(2026, 1, 1, tzinfo=UTC))
    log.away = 0
    await log.append([RECORD])
    log.away = 2
    found = await RetryingReads(log).read(INBOX.name, 0, 0)
    assert [r.value for r in found] == [b"x"]


async def test_an_append_says_that_the_log_is_away():
    """Nobody is told that something was accepted which was not."""
    with pytest.raises(LogUnavailable):
        await RetryingReads(AwayLog(now=datetime(2026, 1, 1, tzinfo=UTC))).append([RECORD])
