"""The clock of wakes: it checks regularly, and appends a tick only when a reminder or a periodic wake is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Final

from schemas.identity import derived_id, partition_owner
from schemas.messages.wakes import WakeDue
from schemas.topics import LEDGER
from schemas.vocabulary.words import WAKE
from streams.ticks.scheduler import check_regularly, never, tick_envelope, tick_record

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from projections.partitions.shards import Shards
    from schemas.instant import Clock
    from schemas.log import Log

CHECK_EVERY_SECONDS: Final = 0.5


def wake_due(partition: int, as_of: datetime, *, after: int | None = None) -> WakeDue:
    """Return a partition's tick of wakes; the same instant always gives the same id.

    With `after`, the id comes from that number instead: the version of the partition's own state, so that successive
    workers do not append two ticks for the same wake.
    """
    as_of = as_of.astimezone(UTC)
    envelope = tick_envelope(partition, WAKE, as_of)
    if after is not None:
        its_id = derived_id("tick", WAKE, f"after {after}", partition)
        envelope = replace(envelope, event_id=its_id, correlation_id=None)
    return WakeDue(envelope=envelope, as_of=as_of)


class WakeScheduler:
    """Appends ticks for the assigned partitions. The clock only decides when to check; the tick carries the time."""

    def __init__(
        self,
        *,
        log: Log,
        shards: Shards,
        clock: Clock,
        every_seconds: float = CHECK_EVERY_SECONDS,
        is_doubted: Callable[[], bool] = never,
    ) -> None:
        """Check every `every_seconds`, except while the clock is doubted."""
        self._log = log
        self._shards = shards
        self._clock = clock
        self._every_seconds = every_seconds
        self._is_doubted = is_doubted
        self._emitted: dict[int, str] = {}

    async def run(self) -> None:
        """Check all assigned partitions regularly, without end."""
        await check_regularly(self._shards, self.append_due, self._every_seconds, is_due=self._is_due)

    def _is_due(self, partition: int) -> bool:
        return not self._is_doubted() and self._shards.at(partition).ledger.wakes.is_due(self._clock.now())

    async def append_due(self, partition: int) -> WakeDue | None:
        """Append a tick if a wake of the partition is due and no tick is on its way; return it."""
        now = self._clock.now()
        if not self._shards.at(partition).ledger.wakes.is_due(now):
            return None
        # Another worker may have raised it while it had the partition.
        await self._shards.up_to(LEDGER.name, partition, await self._log.end(LEDGER.name, partition))
        if not self._shards.at(partition).ledger.wakes.is_due(now):
            return None
        tick = wake_due(partition, now, after=self._shards.state(partition_owner(partition)).version)
        if self._emitted.get(partition) == tick.envelope.event_id:
            return None  # appended already, and not decided yet
        await self._log.append([tick_record(partition, tick)])
        self._emitted[partition] = tick.envelope.event_id
        return tick
