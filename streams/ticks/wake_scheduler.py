"""The owner's clock for wakes: looks again and again, and appends a tick only when something is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Final

from schemas.identity import derived_id, partition_owner
from schemas.messages.wakes import WakeDue
from schemas.topics import LEDGER
from schemas.vocabulary.words import WAKE
from streams.ticks.scheduler import look_for_ever, tick_envelope, tick_record

if TYPE_CHECKING:
    from datetime import datetime

    from projections.partitions.shards import Shards
    from schemas.clock import Clock
    from schemas.log import Log

LOOK_EVERY_SECONDS: Final = 0.5


def wake_due(partition: int, as_of: datetime, *, after: int | None = None) -> WakeDue:
    """Return the tick of a partition: the same instant always has the same id.

    With `after` it is the owner's: the next one after so many decisions about ticks, whatever its instant.
    """
    as_of = as_of.astimezone(UTC)
    envelope = tick_envelope(partition, WAKE, as_of)
    if after is not None:
        its_id = derived_id("tick", WAKE, f"after {after}", partition)
        envelope = replace(envelope, event_id=its_id, correlation_id=None)
    return WakeDue(envelope=envelope, as_of=as_of)


class WakeScheduler:
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
        await look_for_ever(self._shards, self.look, self._every_seconds)

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
