"""The keyed pool: users at once, one job at a time for each, in order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from projections.partitions.assignment import NotHeld
from projections.shard.errors import ShardDamaged
from streams.delivery import keyed_pool as pool_module
from streams.delivery.keyed_pool import KeyedPool

if TYPE_CHECKING:
    from collections.abc import Sequence


class Work:
    """Jobs that note when they begin and end, and end when they are told."""

    def __init__(self) -> None:
        """Begin with nothing noted."""
        self.notes: list[str] = []
        self.running = 0
        self.most = 0
        self.gates: dict[str, asyncio.Event] = {}

    def job(self, name: str, *, waits: bool = False):
        if waits:
            self.gates[name] = asyncio.Event()

        async def run() -> None:
            self.notes.append(f"{name} begins")
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                await (self.gates[name].wait() if waits else asyncio.sleep(0))
            finally:
                self.running -= 1
            self.notes.append(f"{name} ends")

        return run


@pytest.fixture
def failures() -> list[BaseException]:
    return []


@pytest.fixture
def pool(failures: list[BaseException]) -> KeyedPool:
    return KeyedPool(4, failures.append)


async def test_jobs_of_one_key_run_one_at_a_time_in_order(pool: KeyedPool):
    work = Work()
    for name in "abcde":
        await pool.submit(0, "user", work.job(name))
    await pool.settle()
    assert work.notes == [f"{n} {what}" for n in "abcde" for what in ("begins", "ends")]
    assert work.most == 1


async def is_idle(pool: KeyedPool, partition: int) -> bool:
    """Tell whether there is nothing to wait for in a partition."""
    try:
        async with asyncio.timeout(0):
            await pool.settle(partition)
    except TimeoutError:
        return False
    return True


async def test_jobs_of_different_keys_run_at_once_as_many_as_there_are_slots(pool: KeyedPool):
    work = Work()
    for number in range(20):
        await pool.submit(0, f"user-{number}", work.job(str(number)))
    await pool.settle()
    assert (work.most, len(work.notes)) == (4, 40)


async def test_a_job_that_waits_behind_its_key_takes_no_slot(pool: KeyedPool):
    work = Work()
    for number in range(6):
        await pool.submit(0, "slow", work.job(f"slow-{number}", waits=True))
    await pool.submit(0, "quick", work.job("quick"))
    async with asyncio.timeout(120):
        while "quick ends" not in work.notes:  # noqa: ASYNC110 - the job tells nobody
            await asyncio.sleep(0)
    assert not await is_idle(pool, 0)
    pool.drop(0)


async def test_settling_a_partition_waits_for_its_jobs_only(pool: KeyedPool):
    work = Work()
    await pool.submit(0, "user", work.job("mine"))
    await pool.submit(1, "user", work.job("theirs", waits=True))
    async with asyncio.timeout(120):
        await pool.settle(0)
    assert (await is_idle(pool, 0), await is_idle(pool, 1)) == (True, False)
    work.gates["theirs"].set()
    async with asyncio.timeout(120):
        await pool.settle()
    assert await is_idle(pool, 1)


async def test_dropping_a_partition_cancels_what_runs_and_what_waits(pool: KeyedPool):
    work = Work()
    await pool.submit(0, "user", work.job("running", waits=True))
    await pool.submit(0, "user", work.job("waiting"))
    await pool.submit(1, "user", work.job("theirs"))
    await asyncio.sleep(0.01)
    pool.drop(0)
    async with asyncio.timeout(120):
        await pool.settle()
    assert "theirs ends" in work.notes
    assert not {"running ends", "waiting begins"} & set(work.notes)


async def test_a_partition_that_comes_back_works_again(pool: KeyedPool):
    work = Work()
    await pool.submit(0, "user", work.job("old", waits=True))
    await asyncio.sleep(0)
    pool.drop(0)
    await pool.submit(0, "user", work.job("new"))
    async with asyncio.timeout(120):
        await pool.settle(0)
    assert work.notes[-1] == "new ends"
    await asyncio.sleep(0)
    assert await is_idle(pool, 0)


async def test_an_error_that_escapes_a_job_is_reported(pool: KeyedPool, failures: list[BaseException]):
    async def fails() -> None:
        raise ValueError("no")

    await pool.submit(0, "user", fails)
    async with asyncio.timeout(120):
        await pool.settle()
    assert [str(f) for f in failures] == ["no"]
    work = Work()
    await pool.submit(0, "user", work.job("next"))
    await pool.settle()
    assert work.notes[-1] == "next ends"


async def test_submitting_waits_while_too_many_jobs_are_queued(pool: KeyedPool):
    work = Work()
    await pool.submit(0, "user", work.job("first", waits=True))
    for number in range(pool_module.MAX_QUEUED - 1):
        await pool.submit(0, "user", work.job(str(number)))
    late = asyncio.create_task(pool.submit(0, "other", work.job("late")))
    await asyncio.sleep(0.01)
    assert not late.done()
    work.gates["first"].set()
    async with asyncio.timeout(120):
        await late
        await pool.settle()
    assert "late ends" in work.notes


async def test_dropping_makes_room_for_those_who_wait_to_submit(pool: KeyedPool):
    work = Work()
    for number in range(pool_module.MAX_QUEUED):
        await pool.submit(0, "user", work.job(str(number), waits=True))
    late = asyncio.create_task(pool.submit(1, "other", work.job("late")))
    await asyncio.sleep(0.01)
    pool.drop(0)
    async with asyncio.timeout(120):
        await late
        await pool.settle()
    assert work.notes[-1] == "late ends"


async def test_what_waits_to_be_queued_when_its_partition_is_dropped_is_dropped_too(pool: KeyedPool):
    work = Work()
    for number in range(pool_module.MAX_QUEUED):
        await pool.submit(0, "user", work.job(str(number), waits=True))
    late = asyncio.create_task(pool.submit(0, "user", work.job("late")))
    await asyncio.sleep(0.01)
    pool.drop(0)
    async with asyncio.timeout(120):
        await late
        await pool.submit(0, "user", work.job("comes again"))
        await pool.settle()
    assert [note for note in work.notes if note.endswith("ends")] == ["comes again ends"]


async def test_a_job_whose_partition_was_taken_away_ends_those_behind_it_and_nothing_else(
    pool: KeyedPool, failures: list[BaseException]
):
    async def taken_away() -> None:
        raise NotHeld(0)

    work = Work()
    await pool.submit(0, "user", taken_away)
    await pool.submit(0, "user", work.job("behind it"))
    await pool.submit(0, "other", work.job("of another user"))
    await pool.settle()
    assert work.notes == ["of another user begins", "of another user ends"]
    assert failures == []


class Batches:
    """Work on items that notes which it was given together."""

    def __init__(self) -> None:
        """Begin with nothing noted."""
        self.given: list[list[int]] = []
        self.gate = asyncio.Event()

    async def first(self, items: Sequence[int]) -> None:
        """Note the items, and wait for the gate."""
        self.given.append(list(items))
        await self.gate.wait()

    async def second(self, items: Sequence[int]) -> None:
        """Note the items."""
        self.given.append(list(items))


@pytest.mark.parametrize("dropped", [False, True])
async def test_a_job_that_finds_a_shard_damaged_runs_again_before_those_behind_it_unless_it_is_dropped(
    pool: KeyedPool,
    failures: list[BaseException],
    dropped: bool,  # noqa: FBT001 - a case
):
    work, attempts = Work(), list[str]()

    async def damaged_at_first() -> None:
        attempts.append("attempt")
        if len(attempts) == 1:
            raise ShardDamaged(Path("3.sqlite"), ValueError("malformed"))

    await pool.submit(0, "user", damaged_at_first)
    await pool.submit(0, "user", work.job("behind"))
    while not attempts:  # noqa: ASYNC110 - the job tells nobody
        await asyncio.sleep(0)
    if dropped:
        pool.drop(0)
    await pool.settle()
    assert (len(attempts), work.notes) == ((1, []) if dropped else (2, ["behind begins", "behind ends"]))
    assert failures == []


async def test_items_that_wait_for_equal_work_are_done_by_one_job(pool: KeyedPool):
    work = Batches()
    most = pool_module.MAX_SHARED
    for item in range(most + 2):
        await pool.share(0, "user", work.first, item)
        await asyncio.sleep(0)
    for item in (-1, -2):
        await pool.share(0, "user", work.second, item)
    await pool.share(0, "user", work.first, -3)
    work.gate.set()
    async with asyncio.timeout(120):
        await pool.settle()
    assert work.given == [[0], [*range(1, most + 1)], [most + 1], [-1, -2], [-3]]


async def test_items_do_not_pass_the_jobs_between_them(pool: KeyedPool):
    work, notes = Batches(), Work()
    work.gate.set()
    await pool.share(0, "user", work.first, 1)
    await pool.submit(0, "user", notes.job("between"))
    await pool.share(0, "user", work.first, 2)
    await pool.settle()
    assert (work.given, notes.notes) == ([[1], [2]], ["between begins", "between ends"])


async def test_items_of_a_partition_that_was_dropped_are_not_done(pool: KeyedPool):
    work = Batches()
    for item in range(3):
        await pool.share(0, "user", work.first, item)
        await asyncio.sleep(0)
    pool.drop(0)
    await pool.share(0, "user", work.second, 9)
    async with asyncio.timeout(120):
        await pool.settle()
    assert work.given == [[0], [9]]


async def test_jobs_of_a_held_key_wait_until_it_is_released_and_those_of_others_do_not(pool: KeyedPool):
    work = Work()
    hold = pool.hold(0, "user")
    assert hold is not None
    assert pool.hold(0, "user") is None
    assert not hold.is_wanted
    await pool.submit(0, "user", work.job("a"))
    assert hold.is_wanted
    await pool.submit(1, "user", work.job("b"))
    await pool.settle(1)
    assert work.notes == ["b begins", "b ends"]
    hold.release()
    await pool.settle()
    assert work.notes[2:] == ["a begins", "a ends"]


async def test_settling_waits_for_a_held_key(pool: KeyedPool):
    hold = pool.hold(0, "user")
    assert hold is not None
    settling = asyncio.create_task(pool.settle(0))
    await asyncio.sleep(0)
    assert not settling.done()
    hold.release()
    await asyncio.wait_for(settling, 60)


async def test_a_dropped_hold_says_so_and_its_release_takes_nothing_from_the_next_one(pool: KeyedPool):
    dropped = pool.hold(0, "user")
    assert dropped is not None
    pool.drop(0)
    assert dropped.is_wanted
    hold = pool.hold(0, "user")
    assert hold is not None
    dropped.release()
    assert pool.is_busy(0, "user")
    hold.release()
    assert not pool.is_busy(0, "user")
