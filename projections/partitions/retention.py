"""Drops from the shards what the log holds no more, so that a live shard is what a rebuilt one would be."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from schemas.topics import INPUTS

if TYPE_CHECKING:
    from projections.partitions.shards import Shards
    from projections.shard.shard import Shard
    from schemas.log import Log

ROWS_A_STEP: Final = 2_000


async def drop_expired(log: Log, shards: Shards, partition: int | None = None, rows: int = ROWS_A_STEP) -> int:
    """Forget the observations before each input topic's earliest offset; return how many they were.

    With a partition only its shard is looked at.
    What was decided stays, and so do the ids of covered pieces: what comes again is not extracted again.
    """
    dropped = 0
    for shard in shards.all():
        if partition not in (None, shard.partition):
            continue
        for topic in INPUTS:
            if topic.name in shard.topics:
                dropped += await _drop(log, shards, shard, topic.name, rows)
    return dropped


async def _drop(log: Log, shards: Shards, shard: Shard, topic: str, rows: int) -> int:
    """Drop in steps of so many rows looked at; the event loop gets its turn between two."""
    earliest = await log.earliest(topic, shard.partition)
    if earliest <= shard.dropped.get(topic, 0):
        return 0
    dropped, place = 0, ("", "")
    while True:
        async with shard.folding:
            if shard not in shards.all():
                return dropped  # another generation has taken its place
            step = shard.drop_before(topic, earliest, place, rows)
        dropped += step.dropped
        if step.following is None:
            shard.dropped[topic] = earliest
            return dropped
        place = step.following
        await asyncio.sleep(0)
