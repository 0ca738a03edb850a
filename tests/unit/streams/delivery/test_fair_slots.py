"""Slots are given in turns to those who wait."""

from __future__ import annotations

import asyncio
import random

from streams.delivery.fair_slots import FairSlots


class Workers:
    """Jobs of parties, and the order in which they got their slots."""

    def __init__(self, slots: FairSlots) -> None:
        self.slots = slots
        self.order: list[str] = []
        self.running = 0
        self.most = 0

    async def work(self, party: str) -> None:
        async with self.slots.slot(party):
            self.order.append(party)
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0)
            self.running -= 1


async def test_who_has_one_job_waits_for_one_of_each_other():
    workers = Workers(FairSlots(1))
    jobs = [*("a" * 50), "b", *("c" * 10)]
    await asyncio.gather(*map(workers.work, jobs))
    assert workers.order.index("b") <= 2
    assert sorted(workers.order) == sorted(jobs)
    assert workers.most == 1


async def test_no_more_run_than_there_are_slots_and_all_of_them_do():
    workers = Workers(FairSlots(3))
    await asyncio.gather(*(workers.work(party) for party in "ab" * 20))
    assert workers.most == 3


async def test_of_one_party_the_first_comes_first():
    slots, order = FairSlots(1), list[int]()

    async def work(number: int) -> None:
        async with slots.slot("a"):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*map(work, range(20)))
    assert order == list(range(20))


async def test_a_slot_survives_whatever_is_cancelled():
    chance = random.Random(5)  # noqa: S311 - the same on every run
    for _ in range(30):
        workers = Workers(FairSlots(2))
        jobs = [asyncio.ensure_future(workers.work(chance.choice("abc"))) for _ in range(12)]
        for job in jobs:
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
            if chance.random() < 0.5:
                job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        workers.most = workers.running = 0
        await asyncio.gather(*(workers.work("d") for _ in range(6)))
        assert workers.most == 2
