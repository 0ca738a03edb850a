"""The clock of decay and retention: it appends one tick for each due slot to the inboxes of assigned partitions."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardUnavailable
from projections.state.evolve import is_decided
from schemas import codec
from schemas.identity import derived_id, partition_owner
from schemas.log import LogUnavailable, NewRecord
from schemas.messages.envelope import Envelope
from schemas.messages.inbox import DecayDue, RetentionDue
from schemas.topics import INBOX, INPUTS, LEDGER
from schemas.vocabulary.words import RETENTION, WAKE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from projections.partitions.shards import Shards
    from schemas.instant import Clock
    from schemas.log import Log
    from schemas.messages.inbox import Tick

CHECK_EVERY_SECONDS: Final = 1.0
CHECK_SECONDS: Final = 5.0
"""How long the check of one partition may take before the others are checked first."""
RETENTION_EVERY: Final = timedelta(hours=24)
"""Once a day, as in Evatar."""
EMPTY_EVERY: Final = timedelta(seconds=5)
FAR_AHEAD: Final = timedelta(days=1)
"""A log time that is further ahead of the clock comes from a wrong clock."""
MAX_MISSED_SLOTS: Final = 4_000
"""The most missed slots that are caught up: about ten years at one a day."""


def tick_id(policy: str, as_of: datetime) -> str:
    """Return the id of a tick over all partitions, which is the correlation id of each partition's tick."""
    return _derived(policy, as_of)


def _derived(policy: str, as_of: datetime, *partition: int) -> str:
    names = (policy,) if policy in (RETENTION, WAKE) else ("decay", policy)
    return derived_id("tick", *names, as_of.astimezone(UTC).isoformat(), *partition)


def decay_due(partition: int, policy: str, as_of: datetime) -> DecayDue:
    """Return a partition's tick of decay; the same policy and instant always give the same id."""
    as_of = as_of.astimezone(UTC)
    return DecayDue(envelope=tick_envelope(partition, policy, as_of), policy=policy, as_of=as_of)


def retention_due(partition: int, as_of: datetime, days: float) -> RetentionDue:
    """Return a partition's tick of retention: it removes observations older than `days`; 0 removes none."""
    as_of = as_of.astimezone(UTC)
    before = as_of - timedelta(days=days) if days else None
    return RetentionDue(envelope=tick_envelope(partition, RETENTION, as_of), as_of=as_of, before=before)


def tick_envelope(partition: int, policy: str, as_of: datetime) -> Envelope:
    """Return the envelope of a partition's tick; `as_of` in UTC."""
    owner = partition_owner(partition)
    return Envelope(
        event_id=_derived(policy, as_of, partition),
        tenant=owner.tenant,
        user_id=owner.user_id,
        occurred_at=as_of,
        correlation_id=tick_id(policy, as_of),
    )


def tick_record(partition: int, tick: Tick) -> NewRecord:
    """Return the tick as a record of the partition's inbox."""
    return NewRecord(topic=INBOX.name, partition=partition, key=tick.envelope.owner.key, value=codec.encode(tick))


def slots_between(first: datetime, last: datetime, every: timedelta) -> list[datetime]:
    """Return the due slots in (first, last], newest first: UTC multiples of the period since the epoch."""
    period = every.total_seconds()
    newest, oldest = int(last.timestamp() // period), int(first.timestamp() // period) + 1
    oldest = max(oldest, newest - MAX_MISSED_SLOTS + 1)
    return [datetime.fromtimestamp(slot * period, UTC) for slot in range(newest, oldest - 1, -1)]


def always(_partition: int) -> bool:
    """Return True: every partition is checked."""
    return True


def never() -> bool:
    """Return False: the clock is trusted."""
    return False


async def check_regularly(
    shards: Shards,
    check: Callable[[int], Awaitable[object]],
    every_seconds: float,
    check_seconds: float = CHECK_SECONDS,
    is_due: Callable[[int], bool] = always,
) -> None:
    """Check each assigned partition, without end; one whose log or shard is down delays the others only briefly.

    `is_due` returns whether a partition needs a check at all: it does not wait, and raises the same errors as `check`.
    """
    while True:
        await asyncio.sleep(every_seconds)
        for partition in shards.held():
            try:
                if not is_due(partition):
                    continue
                async with asyncio.timeout(check_seconds):
                    await check(partition)
            except (TimeoutError, LogUnavailable, NotHeld, ShardUnavailable):
                continue  # checked again in the next round, by the worker that has it then


class TickScheduler:
    """Appends a tick for each due slot, oldest first. The clock only decides when to check; the tick has the time."""

    def __init__(
        self,
        *,
        log: Log,
        shards: Shards,
        handled: Callable[[str, int], int],
        clock: Clock,
        make: Callable[[int, datetime], Tick] | None,
        every: timedelta,
        topics: Sequence[str] = (INBOX.name,),
        check_seconds: float = CHECK_SECONDS,
        is_doubted: Callable[[], bool] = never,
    ) -> None:
        """Schedule a due slot every period, from the first record in one of `topics` on.

        No tick is appended while the clock is doubted. `handled` returns the offset of a topic's partition before which
        everything is extracted and in the inbox. `make` returns the tick for a partition and a due slot; without it,
        nothing is ever due.
        """
        self._log = log
        self._shards = shards
        self._handled = handled
        self._clock = clock
        self._make = make
        self._every = every
        self._topics = topics
        self._check_seconds = check_seconds
        self._is_doubted = is_doubted
        self._emitted: dict[int, str] = {}
        self._begins: dict[int, datetime] = {}
        self._nothing_due: dict[int, tuple[datetime, datetime]] = {}
        """The times from which and until which no slot can be due, by partition."""

    async def run(self) -> None:
        """Check all assigned partitions regularly, without end."""
        every_seconds = min(CHECK_EVERY_SECONDS, self._every.total_seconds() / 4)
        await check_regularly(self._shards, self.append_due, every_seconds, self._check_seconds, self._may_be_due)

    async def append_due(self, partition: int) -> list[datetime]:
        """Append a tick for the oldest due slot once all observations before it are extracted; return [slot], or []."""
        now = self._clock.now()
        due = await self.due(partition)
        if due:  # another worker may have applied them while it had the partition
            await self._shards.up_to(LEDGER.name, partition, await self._log.end(LEDGER.name, partition))
            due = await self.due(partition)
        if not due:
            self._nothing_due[partition] = now, self._next_slot(partition, now)
        if self._make is None or not due or not await self._is_extracted(partition, due[0]):
            return []
        tick = self._make(partition, due[0])
        if self._emitted.get(partition) == tick.envelope.event_id:
            return []  # appended already, and not decided yet
        await self._log.append([tick_record(partition, tick)])
        self._emitted[partition] = tick.envelope.event_id
        return due[:1]

    def _may_be_due(self, partition: int) -> bool:
        if self._make is None or self._is_doubted():
            return False
        between = self._nothing_due.get(partition)
        return between is None or not between[0] <= self._clock.now() < between[1]  # a clock may be set back

    def _next_slot(self, partition: int, now: datetime) -> datetime:
        """Return when the next slot may be due, if none is due now: an applied slot never becomes due again.

        A partition without records is checked again after EMPTY_EVERY: by the log's clock, its first record may precede
        a slot that has passed by this machine's clock.
        """
        period = self._every.total_seconds()
        slot = datetime.fromtimestamp((now.timestamp() // period + 1) * period, UTC)
        return slot if partition in self._begins else min(slot, now + EMPTY_EVERY)

    async def due(self, partition: int) -> list[datetime]:
        """Return the slots that are due and not applied, oldest first.

        A partition's first due slot follows the log time of its first record.
        """
        if self._make is None or (begin := await self._begin(partition)) is None:
            return []
        state = self._shards.state(partition_owner(partition))
        due: list[datetime] = []
        for slot in slots_between(begin, self._clock.now(), self._every):
            if is_decided(state, self._make(partition, slot).envelope.event_id):
                break
            due.append(slot)
        return due[::-1]

    async def _begin(self, partition: int) -> datetime | None:
        """Return the log time of the first record that the partition had at the first call; None without records.

        Records far ahead of the clock were dated by a wrong clock, and are skipped.
        """
        if partition not in self._begins:
            latest = self._clock.now() + FAR_AHEAD
            firsts = [await self._first_until(topic, partition, latest) for topic in self._topics]
            if not (times := [one for one in firsts if one is not None]):
                return None
            self._begins[partition] = min(times)
        return self._begins[partition]

    async def _first_until(self, topic: str, partition: int, latest: datetime) -> datetime | None:
        """Return the time of a partition's first record that is not dated after `latest`; None without one."""
        start, limit = 0, 1
        while records := await self._log.read(topic, partition, start, limit):
            if (first := next((r.recorded_at for r in records if r.recorded_at <= latest), None)) is not None:
                return first
            start, limit = records[-1].position.offset + 1, 1000
        return None

    async def _is_extracted(self, partition: int, slot: datetime) -> bool:
        """Return whether the answers to all observations logged up to the slot are in the inbox."""
        for topic in INPUTS:
            unhandled = await self._log.read(topic.name, partition, self._handled(topic.name, partition), 1)
            if unhandled and unhandled[0].recorded_at <= slot:
                return False
        return True
