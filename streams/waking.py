"""The owner's clock for wakes: looks again and again, and appends a tick only when something is due."""

from __future__ import annotations

import asyncio
from datetime import UTC
from typing import TYPE_CHECKING, Final

from projections.shard_trouble import ShardUnavailable
from projections.shards import NotHeld
from schemas.envelope import Envelope
from schemas.identity import derived_id, partition_owner
from schemas.log import LogUnavailable
from schemas.topics import LEDGER
from schemas.waking import WakeDue
from schemas.words import WAKE
from streams.ticking import LOOK_SECONDS, tick_id, tick_record

if TYPE_CHECKING:
    from datetime import datetime

    from projections.shards import Shards
    from schemas.clock import Clock
    from schemas.log import Log

LOOK_EVERY_SECONDS: Final = 0.5


def wake_due(partition: int, as_of: datetime, *, after: int | None = None) -> WakeDue:
    """Return the tick of a partition: the same instant always has the same id.

    With `after` it is the owner's: the next one after so many decisions about ticks, whatever its instant.
    """
    as_of = as_of.astimezone(UTC)
    owner, cause = partition_owner(partition), as_of.isoformat() if after is None else f"after {after}"
    return WakeDue(
        envelope=Envelope(
            event_id=derived_id("tick", WAKE, cause, partition),
            tenant=owner.tenant,
            user_id=owner.user_id,
            occurred_at=as_of,
            correlation_id=tick_id(WAKE, as_of) if after is None else None,
        ),
        as_of=as_of,
    )


class Waking:
    """Emits ticks for the partitions held. The clock only says when to look; the tick says what time it is."""

    def __init__(self, *, log: Log, shards: Shards, clock: Clock, every_seconds: float = LOOK_EVERY_SECONDS) -> None:
        """Look so often at what is due."""
        self._log = log
        self._shards = shards
        self._clock = clock
        self._every_seconds = every_seconds
        self._emitted: dict[int, str] = {}

    async def run(self) -> None:
        """Look again and again, for ever."""
        while True:
            await asyncio.sleep(self._every_seconds)
            for partition in self._shards.held():
                try:
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self.look(partition)
                except (TimeoutError, LogUnavailable, NotHeld, ShardUnavailable):
                    continue  # looked at again in a moment, by whoever has it then

    async def look(self, partition: int) -> WakeDue | None:
        """Append a tick if a wake of the partition is due, and none is on its way; return it."""
        now = self._clock.now()
        if not self._shards.at(partition).ledger.wakes.is_due(now):
            return None
        # another worker may have raised it, while it had the partition
        await self._shards.up_to(LEDGER.name, partition, await self._log.end(LEDGER.name, partition))
        if not self._shards.at(partition).ledger.wakes.is_due(now):
            return None
        tick = wake_due(partition, now, after=self._shards.state(partition_owner(partition)).version)
        if self._emitted.get(partition) == tick.envelope.event_id:
            return None  # it is on its way
        await self._log.append([tick_record(partition, tick)])
        self._emitted[partition] = tick.envelope.event_id
        return tick
