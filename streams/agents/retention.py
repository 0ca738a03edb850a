"""Retention: a tick removes old observations from the log, and shards drop what the log no longer holds."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from projections.partitions.retention import remove_expired
from projections.shard.errors import ShardUnavailable
from schemas.log import LogError, LogUnavailable
from schemas.topics import INPUTS
from streams.delivery.retry import RetryingReads, retry

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from projections.partitions.shards import Shards
    from schemas.log import Log, TrimmedLog

CHECK_EVERY_SECONDS: Final = 3600.0
DATED_AT_ONCE: Final = 1_000
"""The number of records read at once if a wrong clock has dated some."""
REMOVAL_SECONDS: Final = 30.0
"""The time limit for the removal by a tick: nothing else of the partition is decided in the meantime."""

log = logging.getLogger("mnemolog")


class RetentionTask:
    """Carries out ticks of retention. Removes only handled observations: others would never be extracted."""

    def __init__(
        self,
        trimmed: TrimmedLog,
        shards: Shards,
        handled: Callable[[str, int], int],
        *,
        removal_seconds: float = REMOVAL_SECONDS,
    ) -> None:
        """Take `handled`, the offset of a topic's partition before which all is extracted and in the inbox."""
        self._trimmed = trimmed
        self._log: Log = RetryingReads(trimmed)
        self._shards = shards
        self._handled = handled
        self._removal_seconds = removal_seconds

    async def remove(self, partition: int, before: datetime) -> int:
        """Remove the partition's observations that were logged before an instant; return how many the shard had.

        They stay until the topic's own retention where the log refuses (on Kafka a right may be missing) or takes
        longer than `removal_seconds`.
        """
        try:
            async with asyncio.timeout(self._removal_seconds):
                for topic in INPUTS:
                    await self._remove(topic.name, partition, before)
                return await self.follow(partition)
        except TimeoutError:
            log.warning(
                "old observations of partition %d stay until their topic's own retention: not removed within %g s",
                partition,
                self._removal_seconds,
            )
        return 0

    async def _remove(self, topic: str, partition: int, before: datetime) -> None:
        until = await first_since(self._log, topic, partition, before, self._handled(topic, partition))
        if until <= await self._log.earliest(topic, partition):
            return
        try:
            await retry(partial(self._trimmed.drop_before, topic, partition, until), LogUnavailable)
        except LogError as error:
            log.warning("old observations stay in %s until its own retention: %s", topic, error)

    async def follow(self, partition: int | None = None) -> int:
        """Drop observations that the log no longer holds from all shards, or from one; return their number."""
        with suppress(ShardUnavailable):  # readiness shows it, and the next call drops what is left
            return await remove_expired(self._log, self._shards, partition)
        return 0

    async def run(self) -> None:
        """Follow the log regularly, without end: Kafka's brokers remove by themselves what is past the retention."""
        while True:
            await self.follow()
            await asyncio.sleep(CHECK_EVERY_SECONDS)


async def first_since(log: Log, topic: str, partition: int, instant: datetime, end: int) -> int:
    """Return the offset, at most `end`, before which all records were logged before the instant.

    A binary search: log time never decreases within a partition, except where a wrong clock was put right. What that
    one dated later than the newest record is as old as what comes behind it.
    """
    newest = await log.read(topic, partition, end - 1, 1) if end else []
    latest = newest[0].recorded_at if newest else instant
    since = following = await _search(log, topic, partition, instant, await log.earliest(topic, partition), end)
    while following < end and (records := await log.read(topic, partition, following, DATED_AT_ONCE)):
        dated_well = next((r.position.offset for r in records if r.recorded_at <= latest), None)
        if dated_well is None:
            following = records[-1].position.offset + 1
            continue
        behind = await _search(log, topic, partition, instant, dated_well, end)
        if behind <= dated_well:
            break  # so new that those before it may be new as well
        since = following = behind
    return since


async def _search(log: Log, topic: str, partition: int, instant: datetime, low: int, high: int) -> int:  # noqa: PLR0917 - a step of the above
    while low < high:
        middle = (low + high) // 2
        records = await log.read(topic, partition, middle, 1)
        if not records or records[0].position.offset >= high or records[0].recorded_at >= instant:
            high = middle
        else:
            low = records[0].position.offset + 1
    return low
