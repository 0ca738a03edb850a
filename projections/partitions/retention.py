"""Retention in the shards: observations that the log no longer holds are removed, so that live equals rebuilt."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from schemas.topics import INPUTS

if TYPE_CHECKING:
    from projections.partitions.shards import Shards
    from projections.shard.shard import Shard
    from schemas.log import Log

ROWS_A_STEP: Final = 2_000


async def remove_expired(log: Log, shards: Shards, partition: int | None = None, rows: int = ROWS_A_STEP) -> int:
    """Remove the observations before each input topic's earliest offset, of one partition or of all.

    Returns their number. Decisions stay, and so do the ids of covered pieces: a piece that is delivered again is not
    extracted again.
    """
    removed = 0
    for shard in shards.all():
        if partition not in (None, shard.partition):
            continue
        for topic in INPUTS:
            if topic.name in shard.topics:
                removed += await _remove(log, shards, shard, topic.name, rows)
    return removed


async def _remove(log: Log, shards: Shards, shard: Shard, topic: str, rows: int) -> int:
    """Remove observations in steps of `rows`, yielding to the event loop between two steps."""
    earliest = await log.earliest(topic, shard.partition)
    if earliest <= shard.removed_before.get(topic, 0):
        return 0
    removed, place = 0, ("", "")
    while True:
        async with shard.folding:
            if shard not in shards.all():
                return removed  # another generation has taken its place
            step = shard.remove_before(topic, earliest, place, rows)
        removed += step.removed
        if step.next_after is None:
            shard.removed_before[topic] = earliest
            return removed
        place = step.next_after
        await asyncio.sleep(0)
