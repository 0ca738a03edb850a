"""Records of a partition that is not ready wait in order, and those of others do not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from support.examples import MONDAY

from schemas.log import Position, Record
from schemas.topics import GLOBALS, INBOX, LEDGER
from streams.agents import waiting_records
from streams.agents.waiting_records import WaitingRecords
from streams.delivery.delivery import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable


class Rig:
    """Partitions of which the test says when they are ready, and what was handled."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.handled: list[int] = []
        self.goes_on = True
        self.records = WaitingRecords(
            lambda partition: partition == 0 or self.ready.is_set(), self._handle, lambda: asyncio.sleep(0)
        )

    async def _handle(self, delivery: Delivery) -> bool:
        await self.ready.wait()
        self.handled.append(delivery.record.position.offset)
        return self.goes_on

    async def until(self, offsets: list[int]) -> None:
        async with asyncio.timeout(10):
            while self.handled != offsets:  # noqa: ASYNC110 - what handles tells nobody
                await asyncio.sleep(0)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def delivery(offset: int, is_current: Callable[[], bool] = lambda: True) -> Delivery:
    record = Record(position=Position(INBOX.name, 1, offset), recorded_at=MONDAY, key=b"default/u1", value=b"")
    return Delivery(record, lambda: None, is_current)


def test_only_those_of_partitions_that_are_not_ready_wait(rig: Rig):
    """Global memories are in no partition that has to be ready."""
    places = (Position(INBOX.name, 0, 7), Position(LEDGER.name, 1, 7), Position(GLOBALS.name, 1, 7))
    assert [rig.records.concern(place) for place in places] == [False, True, False]


async def test_they_are_handled_in_order_when_it_is_ready_and_later_ones_behind_them(rig: Rig):
    for offset in (1, 2):
        await rig.records.add(delivery(offset))
    await asyncio.sleep(0)
    rig.ready.set()
    third = delivery(3)
    assert rig.records.concern(third.record.position), "two are before it"
    await rig.records.add(third)
    await rig.until([1, 2, 3])
    await asyncio.sleep(0)
    assert not rig.records.concern(third.record.position)


async def test_no_more_than_so_many_of_one_partition_are_held(rig: Rig, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(waiting_records, "MOST", 2)
    for offset in (1, 2, 3):
        await rig.records.add(delivery(offset))  # the first is being handled
        await asyncio.sleep(0)
    adding = asyncio.create_task(rig.records.add(delivery(4)))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not adding.done()
    rig.ready.set()
    await adding
    await rig.until([1, 2, 3, 4])


async def test_what_was_delivered_before_a_rebalance_is_left_out(rig: Rig):
    await rig.records.add(delivery(1))
    await rig.records.add(delivery(2, lambda: False))
    await rig.records.add(delivery(3))
    rig.ready.set()
    await rig.until([1, 3])


async def test_after_a_failure_nothing_more_is_handled(rig: Rig):
    rig.goes_on = False
    for offset in (1, 2):
        await rig.records.add(delivery(offset))
    rig.ready.set()
    await rig.until([1])
    for _ in range(5):
        await asyncio.sleep(0)
    assert rig.handled == [1]


async def test_what_was_dropped_is_not_handled(rig: Rig):
    await rig.records.add(delivery(1))
    rig.records.drop()
    rig.ready.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert rig.handled == []
