"""The owner's clock: which slots are due, in which order, and what they wait for."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from support.examples import later, remember
from support.memory_log import MemoryLog
from support.workbench import Workbench

from projections.shard.errors import ShardUnavailable
from schemas.messages.inbox import DecayDue
from schemas.topics import CONVERSATIONS, INBOX
from streams.ticks.scheduler import (
    MAX_MISSED_SLOTS,
    RETENTION_EVERY,
    TickScheduler,
    check_regularly,
    decay_due,
    retention_due,
    slots_between,
)

if TYPE_CHECKING:
    from pathlib import Path

    from schemas.log import Record

DAY = timedelta(days=1)


class SetClock:
    """A clock that the test sets."""

    def __init__(self, now: datetime) -> None:
        """Begin at an instant."""
        self.instant = now

    def now(self) -> datetime:
        """Return what was set."""
        return self.instant


class Ticks:
    """A workbench with a clock: ticks are remembered as soon as they are in the inbox."""

    def __init__(self, bench: Workbench, policy: str = "ladder", every: timedelta = DAY) -> None:
        """Begin at Monday 08:00."""
        self.bench = bench
        self.clock = SetClock(later())
        self.handled: dict[tuple[str, int], int] = defaultdict(int)
        self.scheduler = TickScheduler(
            log=bench.log,
            shards=bench.shards,
            handled=lambda topic, partition: self.handled[topic, partition],
            clock=self.clock,
            make=None if policy == "off" else lambda partition, slot: decay_due(partition, policy, slot),
            every=every,
        )

    async def run(self) -> list[datetime]:
        """Look until nothing more is due; return the slots that were applied."""
        applied = []
        while slots := await self.scheduler.append_due(0):
            applied += slots
            end = await self.bench.log.end(INBOX.name, 0)
            await self.bench.remembers(*await self.bench.log.read(INBOX.name, 0, end - 1))
        return applied


@pytest.fixture
async def ticks(bench: Workbench) -> Ticks:
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    return Ticks(bench)


def midnight(day: int) -> datetime:
    return datetime(2026, 1, day, tzinfo=UTC)


def test_slots_are_utc_multiples_of_the_period():
    assert slots_between(later(), later(days=2), DAY) == [midnight(7), midnight(6)]
    assert slots_between(midnight(6), midnight(7), DAY) == [midnight(7)]
    assert slots_between(later(), later(hours=1), DAY) == []
    weekly = slots_between(later(), later(days=20), timedelta(hours=168))
    assert [s.strftime("%a %H:%M") for s in weekly] == ["Thu 00:00"] * 3  # the epoch was a Thursday


def test_a_period_may_be_a_fraction_of_an_hour_and_slots_are_bounded():
    quarters = slots_between(midnight(6), midnight(6) + timedelta(hours=1), timedelta(hours=0.25))
    assert quarters[::-1] == [midnight(6) + timedelta(minutes=m) for m in (15, 30, 45, 60)]
    assert len(slots_between(midnight(1), midnight(1) + 9999 * DAY, DAY)) == MAX_MISSED_SLOTS


def test_a_ticks_id_comes_from_policy_slot_and_partition():
    ids = {
        decay_due(*cause).envelope.event_id
        for cause in (
            (0, "ladder", midnight(6)),
            (1, "ladder", midnight(6)),
            (0, "off", midnight(6)),
            (0, "ladder", midnight(7)),
        )
    }
    assert len(ids) == 4
    assert decay_due(0, "ladder", midnight(6)) == decay_due(0, "ladder", midnight(6).astimezone())


async def test_the_first_slot_is_the_first_one_after_the_partitions_first_record(ticks: Ticks):
    ticks.clock.instant = midnight(6) - timedelta(microseconds=1)
    assert await ticks.run() == []
    ticks.clock.instant = midnight(6)
    assert await ticks.run() == [midnight(6)]


async def test_a_first_record_that_a_wrong_clock_has_dated_does_not_put_off_the_slots(bench: Workbench):
    bench.log.now = later(days=28_830)
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    ticks = Ticks(bench)
    ticks.clock.instant = later(days=3)
    assert await ticks.run() == []
    bench.log.set_time_back(later(days=1))
    await bench.decides(remember("用户喜欢喝茶", "c-2"))
    assert await ticks.run() == [midnight(7), midnight(8)]


async def test_nothing_is_appended_while_the_clock_is_doubted(ticks: Ticks):
    ticks.clock.instant = later(days=3)
    doubted = [True]
    scheduler = ticks.scheduler
    scheduler._is_doubted = lambda: doubted[0]
    assert not scheduler._may_be_due(0)
    doubted[0] = False
    assert scheduler._may_be_due(0)


async def test_without_a_record_nothing_is_due(bench: Workbench):
    ticks = Ticks(bench)
    ticks.clock.instant = later(days=100)
    assert await ticks.run() == []


async def test_missed_slots_are_caught_up_in_order_and_each_once(ticks: Ticks, bench: Workbench):
    ticks.clock.instant = later(days=3)
    assert await ticks.run() == [midnight(6), midnight(7), midnight(8)]
    assert await ticks.run() == []
    assert await Ticks(bench).run() == []
    assert [i.as_of for i in await bench.inbox() if isinstance(i, DecayDue)] == [midnight(6), midnight(7), midnight(8)]


async def test_a_tick_that_is_on_its_way_is_not_appended_again(ticks: Ticks, bench: Workbench):
    ticks.clock.instant = later(days=1)
    assert await ticks.scheduler.append_due(0) == [midnight(6)]
    assert await ticks.scheduler.append_due(0) == []
    assert len(await bench.inbox()) == 2


async def test_a_tick_appended_by_two_workers_is_applied_once(ticks: Ticks, bench: Workbench):
    ticks.clock.instant = later(days=9)
    other = Ticks(bench)
    other.clock.instant = later(days=9)
    await ticks.scheduler.append_due(0)
    await other.scheduler.append_due(0)
    await bench.remembers(*(await bench.log.read(INBOX.name, 0, 1)))
    assert [d.item_type for d in await bench.ledger()].count("DecayDue") == 1


async def test_a_slot_waits_for_the_observations_before_it(ticks: Ticks, bench: Workbench):
    record = await bench.says("t-1")
    ticks.clock.instant = later(days=1)
    assert await ticks.run() == []
    ticks.handled[record.position.topic, 0] = record.position.offset + 1
    assert await ticks.run() == [midnight(6)]


async def test_a_slot_does_not_wait_for_the_observations_after_it(ticks: Ticks, bench: Workbench):
    bench.log.now = later(days=1)
    await bench.says("t-1")
    ticks.clock.instant = later(days=1)
    assert await ticks.run() == [midnight(6)]


async def test_off_is_a_policy(bench: Workbench):
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    ticks = Ticks(bench, policy="off")
    ticks.clock.instant = later(days=100)
    assert await ticks.run() == []


async def test_thirty_days_of_ticks_fade_a_memory_step_by_step(ticks: Ticks, bench: Workbench):
    ticks.clock.instant = later(days=30)
    assert len(await ticks.run()) == 30
    [memory] = bench.state().memories.values()
    assert memory.importance == 0.1


async def test_a_slot_waits_for_what_was_logged_at_its_very_instant(ticks: Ticks, bench: Workbench):
    bench.log.now = midnight(6)
    await bench.says("t-1")
    ticks.clock.instant = later(days=1)
    assert await ticks.run() == []


async def test_retention_is_due_daily_from_the_first_observation_on(bench: Workbench):
    clock = SetClock(later())
    scheduler = TickScheduler(
        log=bench.log,
        shards=bench.shards,
        handled=lambda _topic, _partition: 1_000,
        clock=clock,
        make=lambda partition, slot: retention_due(partition, slot, 30),
        every=RETENTION_EVERY,
        topics=[INBOX.name, CONVERSATIONS.name],
    )
    await bench.says("t-1")
    assert await scheduler.append_due(0) == []
    clock.instant = later(days=1)
    assert await scheduler.append_due(0) == [midnight(6)]
    [due] = await bench.inbox()
    assert (due.as_of, due.before) == (midnight(6), midnight(6) - 30 * DAY)
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 0))
    assert await scheduler.append_due(0) == []


class SilentLog(MemoryLog):
    """Partition 0 never answers."""

    async def read(self, topic: str, partition: int, start: int, limit: int = 1000) -> list[Record]:
        """Wait for ever, or answer."""
        if partition == 0:
            await asyncio.Event().wait()
        return await super().read(topic, partition, start, limit)


async def test_a_silent_partition_does_not_stop_the_clock_of_the_others(tmp_path: Path):
    bench = Workbench(tmp_path / "two", SilentLog(2), partitions=2)
    await bench.publish(INBOX.name, {}, partition=1)
    scheduler = TickScheduler(
        log=bench.log,
        shards=bench.shards,
        handled=lambda _topic, _partition: 1_000,
        clock=SetClock(later(days=1)),
        make=lambda partition, slot: decay_due(partition, "ladder", slot),
        every=DAY,
        check_seconds=0.1,
    )
    running = asyncio.ensure_future(scheduler.run())
    async with asyncio.timeout(120):
        while await bench.log.end(INBOX.name, 1) == 1:  # noqa: ASYNC110 - the log has no event for it
            await asyncio.sleep(0.05)
    running.cancel()
    bench.close()


async def test_only_what_is_due_is_checked_and_what_cannot_say_so_holds_up_nobody(tmp_path: Path):
    bench = Workbench(tmp_path / "three", MemoryLog(3), partitions=3)
    checked: list[int] = []
    twice = asyncio.Event()

    def is_due(partition: int) -> bool:
        if partition == 0:
            raise ShardUnavailable("the disk is full")
        return partition == 2

    async def check(partition: int) -> None:
        checked.append(partition)
        if len(checked) == 2:
            twice.set()

    running = asyncio.ensure_future(check_regularly(bench.shards, check, 0.001, is_due=is_due))
    async with asyncio.timeout(60):
        await twice.wait()
    running.cancel()
    assert checked[:2] == [2, 2]
    bench.close()


class CountedClock(SetClock):
    """Tells when it was asked so many times."""

    def __init__(self, now: datetime, times: int) -> None:
        """Begin at an instant."""
        super().__init__(now)
        self.was_asked = asyncio.Event()
        self._left = times

    def now(self) -> datetime:
        """Return what was set."""
        self._left -= 1
        if not self._left:
            self.was_asked.set()
        return super().now()


@pytest.mark.parametrize("has_record", [True, False])
async def test_a_slot_is_appended_when_its_time_comes_after_looks_that_found_none(tmp_path: Path, *, has_record: bool):
    bench, clock = Workbench(tmp_path / "one"), CountedClock(midnight(6) - timedelta(seconds=1), 4)
    if has_record:
        await bench.publish(INBOX.name, {}, partition=0)
    scheduler = TickScheduler(
        log=bench.log,
        shards=bench.shards,
        handled=lambda _topic, _partition: 1_000,
        clock=clock,
        make=lambda partition, slot: decay_due(partition, "ladder", slot),
        every=DAY,
    )
    running = asyncio.ensure_future(scheduler.run())
    async with asyncio.timeout(60):
        await clock.was_asked.wait()  # it has looked, and then seen that it need not
        before = await bench.log.end(INBOX.name, 0)
        assert before == int(has_record)
        if not has_record:
            await bench.publish(INBOX.name, {}, partition=0)
            before += 1
        clock.instant = midnight(6)
        while await bench.log.end(INBOX.name, 0) == before:  # noqa: ASYNC110 - the log has no event for it
            await asyncio.sleep(0.05)
    running.cancel()
    bench.close()


async def test_a_clock_that_was_a_year_ahead_and_is_set_right_is_followed(tmp_path: Path):
    bench, clock = Workbench(tmp_path / "one"), CountedClock(midnight(6) + 365 * DAY, 4)
    scheduler = TickScheduler(
        log=bench.log,
        shards=bench.shards,
        handled=lambda _topic, _partition: 1_000,
        clock=clock,
        make=lambda partition, slot: decay_due(partition, "ladder", slot),
        every=DAY,
    )
    running = asyncio.ensure_future(scheduler.run())
    async with asyncio.timeout(60):
        await clock.was_asked.wait()
        await bench.publish(INBOX.name, {}, partition=0)
        clock.instant = midnight(6)
        while await bench.log.end(INBOX.name, 0) == 1:  # noqa: ASYNC110 - the log has no event for it
            await asyncio.sleep(0.05)
    running.cancel()
    bench.close()
