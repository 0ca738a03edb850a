"""Removes old observations: from the log when a tick says so, and from the shards what the log holds no more."""

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
from streams.delivery.retry import PatientReads, patiently

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from projections.partitions.shards import Shards
    from schemas.log import Log, TrimmedLog

LOOK_EVERY_SECONDS: Final = 3600.0
REMOVING_SECONDS: Final = 30.0
"""Nothing else is decided in the meantime."""

log = logging.getLogger("mnemolog")


class RetentionTask:
    """What ticks of retention do. Nothing is removed that was not handled: it would never be extracted."""

    def __init__(self, trimmed: TrimmedLog, shards: Shards, handled: Callable[[str, int], int]) -> None:
        """Take how far a topic's partition is handled: the offset before which all is extracted and in the inbox."""
        self._trimmed = trimmed
        self._log: Log = PatientReads(trimmed)
        self._shards = shards
        self._handled = handled

    async def remove(self, partition: int, before: datetime) -> int:
        """Remove the partition's observations that were logged before an instant; return how many the shard had.

        Where the log does not allow it (a right is missing on Kafka), or does not answer within REMOVING_SECONDS, they
        stay until the topic's own retention.
        """
        try:
            async with asyncio.timeout(REMOVING_SECONDS):
                for topic in INPUTS:
                    await self._remove(topic.name, partition, before)
                return await self.follow(partition)
        except TimeoutError:
            log.warning(
                "old observations of partition %d stay until their topic's own retention: not removed within %g s",
                partition,
                REMOVING_SECONDS,
            )
        return 0

    async def _remove(self, topic: str, partition: int, before: datetime) -> None:
        until = await first_since(self._log, topic, partition, before, self._handled(topic, partition))
        if until <= await self._log.earliest(topic, partition):
            return
        try:
            await patiently(partial(self._trimmed.drop_before, topic, partition, until), LogUnavailable)
        except LogError as error:
            log.warning("old observations stay in %s until its own retention: %s", topic, error)

    async def follow(self, partition: int | None = None) -> int:
        """Drop from the shards (or from one) what the log holds no more; return how many observations it was."""
        with suppress(ShardUnavailable):  # readiness says it, and the next look drops what is left
            return await remove_expired(self._log, self._shards, partition)
        return 0

    async def run(self) -> None:
        """Look again and again, for ever: Kafka's brokers remove by themselves what is older than the retention."""
        while True:
            await self.follow()
            await asyncio.sleep(LOOK_EVERY_SECONDS)


async def first_since(log: Log, topic: str, partition: int, instant: datetime, end: int) -> int:
    """Return the offset, `end` at most, before which all records were logged before the instant.

    Log time never decreases within a partition, so it is searched by halves.
    """
    low, high = await log.earliest(topic, partition), end
    while low < high:
        middle = (low + high) // 2
        [*found] = await log.read(topic, partition, middle, 1)
        if not found or found[0].position.offset >= high or found[0].recorded_at >= instant:
            high = middle
        else:
            low = found[0].position.offset + 1
    return low
