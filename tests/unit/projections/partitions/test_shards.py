"""Partitions come and go: who holds one answers for it, and nobody else does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.examples import XIAOMING, envelope, remember
from support.memory_log import MemoryLog
from support.workbench import Workbench

from projections.partitions.assignment import NotHeld
from projections.partitions.shards import Shards
from projections.shard.rows.damage import LedgerDamaged
from schemas.identity import GLOBAL_USER, Owner, partition_owner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from schemas.messages.inbox import RememberFact


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog(2)


@pytest.fixture
def shards(log: MemoryLog, tmp_path: Path) -> Iterator[Shards]:
    """Those of a worker that has not been assigned anything yet."""
    made = Shards(tmp_path / "shards", log, 2)
    yield made
    made.close()


async def test_nothing_is_answered_before_a_partition_is_held(shards: Shards):
    shards.takeover.assign([0])
    for partition in (0, 1):
        with pytest.raises(NotHeld, match=f"partition {partition}"):
            shards.at(partition)
    await shards.takeover.hold(0)
    assert (shards.held(), shards.assignment.is_settled) == ([0], True)
    with pytest.raises(NotHeld):
        shards.state(partition_owner(1))


async def test_who_waits_for_a_partition_hears_that_it_is_held(shards: Shards):
    shards.takeover.assign([0])
    waiting = asyncio.create_task(shards.assignment.wait_until_ready(0))
    await asyncio.sleep(0)
    assert not waiting.done()
    await shards.takeover.hold(0)
    await waiting


async def test_who_waits_for_a_partition_hears_that_it_is_another_workers(shards: Shards):
    waiting = asyncio.create_task(shards.assignment.wait_until_ready(1))
    await asyncio.sleep(0)
    shards.takeover.assign([0])
    with pytest.raises(NotHeld):
        await waiting


async def test_a_partition_that_is_taken_away_while_it_is_folded_is_not_held(shards: Shards):
    lease = shards.assignment.lease(0)
    shards.assignment.release(0)
    await shards.takeover.hold(0, lease)
    assert shards.held() == []
    await shards.takeover.hold(0)
    assert shards.held() == [0]


async def test_what_an_assignment_does_not_name_is_held_no_longer(shards: Shards):
    shards.takeover.assign([0, 1])
    await shards.takeover.hold(0)
    await shards.takeover.hold(1)
    shards.takeover.assign([1])
    assert shards.held() == [1]


async def test_while_partitions_move_nothing_is_settled(shards: Shards):
    shards.takeover.assign([])
    await shards.takeover.fold_globals()
    assert shards.assignment.is_settled
    shards.assignment.unassign()
    assert not shards.assignment.is_settled


async def test_a_partition_that_comes_back_has_what_was_decided_elsewhere_meanwhile(tmp_path: Path):
    bench = Workbench(tmp_path / "one")
    await bench.decides(remember("用户喜欢喝咖啡", "c-1"))
    bench.shards.assignment.release(0)
    other = Workbench(tmp_path / "two", bench.log)
    await other.decides(remember("用户喜欢喝茶", "c-2"))
    await bench.shards.takeover.hold(0)
    assert bench.state() == other.state()
    assert len(bench.shards.state(XIAOMING).memories) == 2
    bench.close()
    other.close()


@pytest.mark.parametrize("owner", [XIAOMING, Owner("default", GLOBAL_USER)])
async def test_a_log_that_was_exchanged_under_a_running_worker_is_not_folded_at_the_next_move_and_the_right_one_is(
    tmp_path: Path, owner: Owner
):
    """Another worker has decided in it, so that it is as long as the right one."""

    def remembered(content: str) -> RememberFact:
        return replace(remember(content, content), envelope=envelope(content, owner=owner))

    bench, other, right = Workbench(tmp_path / "one"), Workbench(tmp_path / "two", MemoryLog(1)), MemoryLog(1)
    await bench.shards.takeover.hold(0)
    await bench.decides(remembered("用户喜欢喝咖啡"))
    await bench.shards.up_to(*bench.shards.resolve(owner).ledger_place, 1)
    await other.decides(remembered("用户喜欢喝茶"))
    right.restore(bench.log)
    bench.log.restore(other.log)
    bench.shards.assignment.release(0)
    bench.shards.takeover.assign([0])
    with pytest.raises(LedgerDamaged, match="the record at 0 is another one by now"):
        await bench.shards.takeover.hold(0)
    assert bench.shards.held() == []
    bench.log.restore(right)
    await bench.shards.takeover.hold(0)
    assert [one.content for one in bench.shards.state(owner).memories.values()] == ["用户喜欢喝咖啡"]
    bench.close()
    other.close()


async def test_a_term_tells_that_a_partition_moved_even_when_the_same_one_has_it_again(shards: Shards):
    await shards.takeover.hold(0)
    before = shards.assignment.leases()
    shards.assignment.release(0)
    await shards.takeover.hold(0)
    assert shards.held() == sorted(before)
    assert shards.assignment.leases() != before


async def test_a_worker_is_ready_when_everything_that_it_was_assigned_is_held(shards: Shards):
    assert not shards.assignment.is_ready
    shards.takeover.assign([0, 1])
    await shards.takeover.hold(0)
    assert not shards.assignment.is_ready, "the other one may come in a moment"
    await shards.takeover.hold(1)
    assert shards.assignment.is_ready
    shards.assignment.unassign()
    assert not shards.assignment.is_ready


async def test_a_partition_that_takes_long_does_not_keep_a_worker_with_others_from_being_ready(
    log: MemoryLog, tmp_path: Path
):
    shards = Shards(tmp_path / "shards", log, 2, move_seconds=0)
    try:
        shards.takeover.assign([0, 1])
        await shards.takeover.fold_globals()
        assert not shards.assignment.is_ready, "it holds nothing"
        await shards.takeover.hold(0)
        assert shards.assignment.is_ready
        shards.assignment.unassign()
        assert not shards.assignment.is_ready, "nobody knows whose users these are"
    finally:
        shards.close()
