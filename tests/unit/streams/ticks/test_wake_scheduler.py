"""The owner's clock for wakes: it appends a tick only when something is due, and what is due is raised once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.examples import XIAOMING, envelope, later, remember, tick
from support.wake_examples import cancelled, reminder, wake_tick, woken
from support.workbench import Workbench

from projections.queries.history import history
from projections.state.time_travel import life_of, state_at
from projections.state.wakes import next_due
from projections.turns import to_end
from schemas.identity import Owner, partition_owner, reminder_id_of
from schemas.messages.events import TickApplied
from schemas.messages.wakes import WakeDue
from schemas.topics import INBOX, LEDGER
from streams.ticks.wake_scheduler import WakeScheduler, wake_due

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

ANN = Owner("default", "ann")


class WakeClock:
    """A clock that stands where the test puts it."""

    def __init__(self, instant: datetime) -> None:
        self.instant = instant

    def now(self) -> datetime:
        """Return what was set."""
        return self.instant


class Owners:
    """A worker's clock over a workbench; `passes` lets so much time pass, looks, and remembers what it appended."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.clock = WakeClock(later())
        self.scheduler = WakeScheduler(log=bench.log, shards=bench.shards, clock=self.clock)

    async def at(self, instant: datetime) -> list[str]:
        """Look at an instant; return the texts of the wakes that were raised by it."""
        self.clock.instant = instant
        before = len(await raised(self.bench))
        while (tick := await self.scheduler.append_due(0)) is not None:
            end = await self.bench.log.end(INBOX.name, 0)
            await self.bench.remembers(*await self.bench.log.read(INBOX.name, 0, end - 1))
            assert tick.as_of == instant
        return (await raised(self.bench))[before:]


async def raised(bench: Workbench) -> list[str]:
    """Return the texts of all wakes that count, in the order of the users and of each user's numbers."""
    rows = bench.shards.at(0).ledger.wakes.raised_since("default", None, 0, 10_000)
    return [row.event.text.text for row in rows]


@pytest.fixture
def owners(bench: Workbench) -> Owners:
    return Owners(bench)


async def test_nothing_is_written_while_nothing_is_due(bench: Workbench, owners: Owners):
    await bench.decides(remember("likes tea", "c-1"))
    await bench.decides(reminder("call mum", "r-1", later(days=1)))
    for second in range(100):
        assert await owners.at(later(seconds=second)) == []
    assert (await bench.log.end(INBOX.name, 0), await bench.log.end(LEDGER.name, 0)) == (2, 2)


async def test_a_reminder_is_raised_as_soon_as_its_time_has_come(bench: Workbench, owners: Owners):
    await bench.decides(reminder("call mum", "r-1", later(days=1)))
    assert await owners.at(later(days=1)) == ["remind of call mum"]
    assert await owners.at(later(days=2)) == []


async def test_slots_that_a_worker_slept_through_raise_one_wake(bench: Workbench, owners: Owners):
    await bench.decides(woken("w-1"))
    assert len(await owners.at(later(days=365 * 3, minutes=1))) == 1
    assert await owners.at(later(days=365 * 3, minutes=59)) == []
    assert len(await owners.at(later(days=365 * 3, hours=1))) == 1


async def test_a_cancelled_reminder_and_a_removed_wake_make_nothing_due(bench: Workbench, owners: Owners):
    await bench.decides(reminder("call mum", "r-1", later(days=1)))
    await bench.decides(woken("w-1"))
    await bench.decides(cancelled(reminder_id_of(XIAOMING, "r-1"), "x-1"))
    await bench.decides(woken("w-2", every=None))
    assert await owners.at(later(days=9)) == []
    assert [i for i in await bench.inbox() if isinstance(i, WakeDue)] == []


async def test_two_reminders_for_one_past_instant_are_both_raised(bench: Workbench, owners: Owners):
    past = later(days=-3)
    await bench.decides(reminder("one", "r-1", past))
    assert await owners.at(later()) == ["remind of one"]
    await bench.decides(reminder("two", "r-2", past))
    assert await owners.at(later(seconds=1)) == ["remind of two"]


async def test_one_tick_raises_the_wakes_of_everybody_and_closes_once(bench: Workbench, owners: Owners):
    for name in ("ann", "bob", "eve"):
        whose = Owner("default", name)
        item = replace(reminder(name, f"r-{name}", later(hours=1)), envelope=envelope(f"r-{name}", owner=whose))
        await bench.decides(item)
    assert sorted(await owners.at(later(hours=1))) == ["remind of ann", "remind of bob", "remind of eve"]
    decided = [d for d in await bench.ledger() if d.item_type == "WakeDue"]
    assert [d.envelope.owner for d in decided][-1] == partition_owner(0)
    assert len(decided) == 4


async def test_a_tick_that_is_on_its_way_is_not_appended_again_to_the_inbox(bench: Workbench, owners: Owners):
    await bench.decides(reminder("call mum", "r-1", later(hours=1)))
    owners.clock.instant = later(hours=2)
    assert await owners.scheduler.append_due(0) is not None
    owners.clock.instant = later(hours=3)
    assert await owners.scheduler.append_due(0) is None


async def test_a_wake_that_two_workers_find_due_is_raised_once(bench: Workbench, owners: Owners):
    await bench.decides(reminder("call mum", "r-1", later(hours=1)))
    other = Owners(bench)
    owners.clock.instant, other.clock.instant = later(hours=1), later(hours=1, seconds=1)
    first, second = await owners.scheduler.append_due(0), await other.scheduler.append_due(0)
    assert first is not None
    assert second is not None
    assert first.envelope.event_id == second.envelope.event_id
    await bench.remembers(*await bench.log.read(INBOX.name, 0, 1))
    assert await raised(bench) == ["remind of call mum"]
    assert await owners.at(later(hours=2)) == []


async def test_a_tick_delivered_twice_raises_once(bench: Workbench):
    await bench.decides(reminder("call mum", "r-1", later(hours=1)))
    record = await bench.decides(wake_tick(later(hours=1)))
    await bench.remembers(record, record)
    assert await raised(bench) == ["remind of call mum"]


async def test_what_a_frozen_worker_raises_after_the_tick_was_closed_is_void(bench: Workbench, tmp_path: Path):
    await bench.decides(reminder("call mum", "r-1", later(hours=1)))
    frozen = Workbench(tmp_path / "two", bench.log)
    [item] = await bench.log.read(INBOX.name, 0, 0)
    await frozen.remembers(item)
    record = await bench.decides(wake_tick(later(hours=1)))
    await frozen.remembers(record)  # it folds no further than its own decisions need, and appends them too
    appended = [d for d in await bench.ledger() if d.item_type == "WakeDue" and d.envelope.owner == XIAOMING]
    await bench.shards.at(0).catch_up()
    assert (len(appended), await raised(bench), await raised(frozen)) == (
        2,
        ["remind of call mum"],
        await raised(bench),
    )
    frozen.close()


async def test_a_partition_that_moves_between_two_decisions_of_a_tick_raises_each_wake_once(
    bench: Workbench, tmp_path: Path
):
    """Half of the users were decided by a worker that is gone; the tick comes again to the next one."""
    for name in ("ann", "bob"):
        whose = Owner("default", name)
        item = replace(reminder(name, f"r-{name}", later(hours=1)), envelope=envelope(f"r-{name}", owner=whose))
        await bench.decides(item)
    record = await bench.decides(wake_tick(later(hours=1)))
    ledger = await bench.log.read(LEDGER.name, 0, 0)
    half = Workbench(tmp_path / "two")
    for each in ledger[:3]:  # both schedulings, and the first of the tick's decisions
        await half.publish(LEDGER.name, each.value, each.key)
    for each in await bench.log.read(INBOX.name, 0, 0):
        await half.publish(INBOX.name, each.value, each.key)
    await half.remembers(record)
    assert await raised(half) == await raised(bench)
    assert len(await raised(half)) == 2
    half.close()


async def test_the_closing_decision_says_how_many_wakes_were_due(bench: Workbench):
    await bench.decides(reminder("call mum", "r-1", later(hours=1)))
    record = await bench.decides(wake_tick(later(hours=1)))
    closing = bench.shards.at(0).ledger.tick_applied(0, wake_tick(later(hours=1)).envelope.event_id)
    assert isinstance(closing, TickApplied)
    assert (closing.policy, closing.decayed, closing.expired) == ("wake", 0, 0)
    assert (await bench.ledger())[-1].outcomes[0].reason == "1 wakes were due"
    assert bench.acked[-1] == str(record.position)


async def test_decay_and_wakes_are_closed_under_one_owner_in_the_order_of_the_inbox(bench: Workbench, owners: Owners):
    await bench.decides(reminder("call mum", "r-1", later(hours=1)))
    await bench.decides(tick(later(hours=2)))
    assert await owners.at(later(hours=3)) == ["remind of call mum"]
    await bench.decides(tick(later(hours=4)))
    assert [d.item_type for d in await bench.ledger() if d.envelope.owner == partition_owner(0)] == [
        "DecayDue",
        "WakeDue",
        "DecayDue",
    ]


async def test_a_shard_that_is_opened_again_knows_the_same_wakes(bench: Workbench, tmp_path: Path):
    await bench.decides(remember("likes tea", "c-1"))
    await bench.decides(woken("w-1", memory_limit=1, settings_id="s"))
    await bench.decides(reminder("call mum", "r-1", later(days=1)))
    await bench.decides(wake_tick(later(hours=1)))
    before = bench.state()
    assert before.wakes.shown
    bench.close()
    again = Workbench(tmp_path / "one", bench.log)
    assert again.state() == before
    again.shards.at(0).start_over()
    await again.shards.at(0).catch_up()
    assert again.state() == before
    assert again.shards.at(0).ledger.states.read(XIAOMING) == before
    again.close()


async def test_what_is_due_next_is_found_without_looking_at_users(bench: Workbench):
    wakes = bench.shards.at(0).ledger.wakes
    await bench.decides(woken("w-1"))
    await bench.decides(reminder("call mum", "r-1", later(minutes=5)))
    assert (wakes.is_due(later(minutes=4)), wakes.is_due(later(minutes=5))) == (False, True)
    await bench.decides(wake_tick(later(minutes=5)))
    assert next_due(bench.state().wakes) == later(hours=1)
    assert (wakes.due(later(minutes=59)), wakes.due(later(hours=1))) == ([], [XIAOMING])


async def test_wakes_are_read_by_user_and_by_place_and_a_decision_is_not_divided(bench: Workbench):
    wakes = bench.shards.at(0).ledger.wakes
    for name in ("one", "two", "three"):
        await bench.decides(reminder(name, f"r-{name}", later(hours=1)))
    other = replace(reminder("ann", "r-ann", later(hours=1)), envelope=envelope("r-ann", owner=ANN))
    await bench.decides(other)
    await bench.decides(wake_tick(later(hours=1)))
    assert [row.event.number for row in wakes.raised(XIAOMING, 0, 2)] == [1, 2]
    assert [row.event.number for row in wakes.raised(XIAOMING, 2, 2)] == [3]
    assert [row.owner for row in wakes.raised_since("default", "ann", 0, 10)] == [ANN]
    first = wakes.raised_since("default", None, 0, 1)
    rest = wakes.raised_since("default", None, first[-1].offset + 1, 1)
    assert sorted(len(rows) for rows in (first, rest)) == [1, 3]
    assert wakes.raised_since("defaul", None, 0, 10) == wakes.raised_since("other", None, 0, 10) == []


async def test_history_and_time_travel_pass_over_wakes(bench: Workbench):
    await bench.decides(remember("likes tea", "c-1"))
    await bench.decides(woken("w-1", memory_limit=1))
    await bench.decides(reminder("call mum", "r-1", later(hours=1)))
    await bench.decides(wake_tick(later(hours=1)))
    [memory_id] = bench.state().memories
    decisions = list(bench.shards.at(0).ledger.decisions(XIAOMING))
    assert [e["type"] for e in to_end(history(XIAOMING, memory_id, decisions, 0))] == ["MemoryFormed"]
    assert len(life_of(memory_id, (d for _, d in decisions))) == 1
    assert list(state_at(XIAOMING, (d for _, d in decisions), later(days=1)).memories) == [memory_id]


def test_a_ticks_id_is_its_instants_or_its_place_after_others():
    ids = {
        wake_due(0, later()).envelope.event_id,
        wake_due(1, later()).envelope.event_id,
        wake_due(0, later(days=1)).envelope.event_id,
        wake_due(0, later(), after=0).envelope.event_id,
        wake_due(0, later(), after=1).envelope.event_id,
    }
    assert len(ids) == 5
    assert wake_due(0, later(), after=1).envelope.event_id == wake_due(0, later(days=1), after=1).envelope.event_id
