"""The owner's clock: appends each due slot of decay and of retention to the inboxes of its partitions, once."""

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
    from schemas.clock import Clock
    from schemas.log import Log
    from schemas.messages.inbox import Tick

LOOK_EVERY_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 5.0
"""A partition that does not answer for so long is looked at again after the others."""
RETENTION_EVERY: Final = timedelta(hours=24)
"""Evatar looks once a day for what is older than its retention."""
MAX_MISSED_SLOTS: Final = 4_000
"""Slots looked back for; at one a day about ten years."""


def tick_id(policy: str, as_of: datetime) -> str:
    """Return the id of a tick over all partitions; each partition's tick has an id of its own, and follows this one."""
    return _derived(policy, as_of)


def _derived(policy: str, as_of: datetime, *partition: int) -> str:
    names = (policy,) if policy in (RETENTION, WAKE) else ("decay", policy)
    return derived_id("tick", *names, as_of.astimezone(UTC).isoformat(), *partition)


def decay_due(partition: int, policy: str, as_of: datetime) -> DecayDue:
    """Return the tick of a partition: the same policy and instant always have the same id."""
    as_of = as_of.astimezone(UTC)
    return DecayDue(envelope=tick_envelope(partition, policy, as_of), policy=policy, as_of=as_of)


def retention_due(partition: int, as_of: datetime, days: float) -> RetentionDue:
    """Return the tick that removes a partition's observations older than so many days; 0 removes none."""
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
    """Return the slots in (first, last], newest first: UTC multiples of the period since the epoch."""
    period = every.total_seconds()
    newest, oldest = int(last.timestamp() // period), int(first.timestamp() // period) + 1
    oldest = max(oldest, newest - MAX_MISSED_SLOTS + 1)
    return [datetime.fromtimestamp(slot * period, UTC) for slot in range(newest, oldest - 1, -1)]


async def look_for_ever(shards: Shards, look: Callable[[int], Awaitable[object]], every_seconds: float) -> None:
    """Look at each partition held, again and again; one that cannot be looked at keeps no other waiting for long."""
    while True:
        await asyncio.sleep(every_seconds)
        for partition in shards.held():
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await look(partition)
            except (TimeoutError, LogUnavailable, NotHeld, ShardUnavailable):
                continue  # looked at again in a moment, by whoever has it then


class TickScheduler:
    """Catches up missed slots on start. The clock only says when to look; the tick says what time it is."""

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
    ) -> None:
        """Take how far a topic's partition is handled: the offset before which all is extracted and in the inbox.

        `make` makes the tick of a partition and a slot; without it nothing is ever due. The first record in one of
        `topics` begins a partition's slots.
        """
        self._log = log
        self._shards = shards
        self._handled = handled
        self._clock = clock
        self._make = make
        self._every = every
        self._topics = topics
        self._emitted: dict[int, str] = {}
        self._begins: dict[int, datetime] = {}

    async def run(self) -> None:
        """Look again and again, for ever."""
        await look_for_ever(self._shards, self.look, min(LOOK_EVERY_SECONDS, self._every.total_seconds() / 4))

    async def look(self, partition: int) -> list[datetime]:
        """Append the partition's oldest due slot, if what was observed before it is remembered; return what was."""
        due = await self.due(partition)
        if due:  # another worker may have applied them, while it had the partition
            await self._shards.up_to(LEDGER.name, partition, await self._log.end(LEDGER.name, partition))
            due = await self.due(partition)
        if self._make is None or not due or not await self._is_remembered(partition, due[0]):
            return []
        tick = self._make(partition, due[0])
        if self._emitted.get(partition) == tick.envelope.event_id:
            return []  # it is on its way
        await self._log.append([tick_record(partition, tick)])
        self._emitted[partition] = tick.envelope.event_id
        return due[:1]

    async def due(self, partition: int) -> list[datetime]:
        """Return the slots that are due and not applied, oldest first.

        The first slot of a partition is the first one after its first record's log time.
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
        """Return the log time of the partition's first record, of those that are left when this is asked first."""
        if partition not in self._begins:
            first = [r for topic in self._topics for r in await self._log.read(topic, partition, 0, 1)]
            if not first:
                return None
            self._begins[partition] = min(r.recorded_at for r in first)
        return self._begins[partition]

    async def _is_remembered(self, partition: int, slot: datetime) -> bool:
        """Tell whether everything that was logged before the slot has been extracted: its answer is in the inbox."""
        for topic in INPUTS:
            following = await self._log.read(topic.name, partition, self._handled(topic.name, partition), 1)
            if following and following[0].recorded_at <= slot:
                return False
        return True
